// Fetch as a Kafka leader answers it.
// Sources: Kafka 4.4 ReplicaManager.readFromLog, Partition.readRecords, DelayedFetch; KIP-951.
#include <algorithm>

#include "sim/sim_source.h"
#include "sim/source_node.h"

namespace kmirror::testing {

namespace {

using PartitionData = wire::FetchResponse::PartitionData;

constexpr std::int16_t kFirstVersionWithIds = 13;
constexpr std::int16_t kFirstVersionWithDivergence = 12;
constexpr std::int16_t kFirstVersionWithEndpoints = 16;

PartitionData failed(std::int32_t index, ErrorCode error) {
  PartitionData data;
  data.partition_index = index;
  data.error_code = error;
  data.high_watermark = kNoOffset;
  return data;
}

bool is_diverging(const Call& call, const SourceLog& log,
                  const wire::FetchRequest::FetchPartition& request, PartitionData& data) {
  if (call.version.get() < kFirstVersionWithDivergence) return false;
  if (request.last_fetched_epoch == kNoLeaderEpoch) return false;
  const EpochEnd end = log.end_of_epoch(request.last_fetched_epoch);
  if (end.end_offset == kNoOffset || request.fetch_offset < log.start()) {
    data = failed(request.partition, ErrorCode::OFFSET_OUT_OF_RANGE);
    return true;
  }
  if (end.epoch >= request.last_fetched_epoch && end.end_offset >= request.fetch_offset) {
    return false;
  }
  data.diverging_epoch.epoch = end.epoch;
  data.diverging_epoch.end_offset = end.end_offset;
  return true;
}

std::size_t records_bytes(const FetchReading& reading) {
  return reading.data.records ? reading.data.records->size() : 0;
}

// An answer that does not wait: enough bytes, an error or something to tell.
bool is_worth_sending(const std::vector<FetchReading>& readings, std::int32_t min_bytes) {
  std::size_t bytes = 0;
  for (const FetchReading& reading : readings) {
    if (reading.data.error_code != ErrorCode::NONE) return true;
    if (reading.data.diverging_epoch.epoch != kNoLeaderEpoch) return true;
    bytes += records_bytes(reading);
  }
  return readings.empty() || bytes >= static_cast<std::size_t>(std::max(min_bytes, 0));
}

}  // namespace

FetchReading SimSource::read_one(const Call& call, const FetchSessions::Wanted& wanted,
                                 std::size_t most_bytes, bool at_least_one) {
  FetchReading reading;
  reading.topic = wanted.key.topic;
  reading.topic_id = wanted.key.topic_id;
  const bool by_id = call.version.get() >= kFirstVersionWithIds;
  if (by_id) {
    for (const auto& [name, topic] : topics_) {
      if (topic.id == wanted.key.topic_id) reading.topic = name;
    }
  }
  const auto& request = wanted.request;
  const SimPartition* const partition = find_partition(reading.topic, request.partition);
  reading.partition = partition;
  ErrorCode error = check_leader(call, partition, request.current_leader_epoch);
  if (by_id && reading.topic.empty()) error = ErrorCode::UNKNOWN_TOPIC_ID;
  if (error != ErrorCode::NONE) {
    reading.data = failed(request.partition, error);
    return reading;
  }
  const SourceLog& log = partition->log;
  PartitionData& data = reading.data;
  data.partition_index = request.partition;
  data.high_watermark = log.high_watermark();
  data.last_stable_offset = log.high_watermark();
  data.log_start_offset = log.start();
  data.aborted_transactions.reset();
  if (is_diverging(call, log, request, data)) return reading;
  if (request.fetch_offset < log.start() || request.fetch_offset > log.end()) {
    data = failed(request.partition, ErrorCode::OFFSET_OUT_OF_RANGE);
    return reading;
  }
  const auto limit = static_cast<std::size_t>(std::max(request.partition_max_bytes, 0));
  Bytes bytes = log.read(request.fetch_offset, log.high_watermark(), std::min(limit, most_bytes),
                         at_least_one);
  data.records = ByteChain(Slice::take(std::move(bytes)));
  return reading;
}

std::vector<FetchReading> SimSource::read_all(const Call& call, const wire::FetchRequest& request,
                                              const std::vector<FetchSessions::Wanted>& wanted) {
  std::vector<FetchReading> readings;
  auto left = static_cast<std::size_t>(std::max(request.max_bytes, 0));
  bool at_least_one = true;  // the first partition with data gives a whole batch in any case
  for (const auto& one : wanted) {
    readings.push_back(read_one(call, one, left, at_least_one));
    const std::size_t bytes = records_bytes(readings.back());
    if (bytes > 0) at_least_one = false;
    left -= std::min(left, bytes);
  }
  return readings;
}

// Who leads now, for a reader that came to the wrong broker or with an old epoch.
void SimSource::add_leader_hints(const Call& call, const FetchReading& reading,
                                 wire::FetchResponse& response) const {
  const ErrorCode error = reading.data.error_code;
  if (call.version.get() < kFirstVersionWithEndpoints || reading.partition == nullptr) return;
  if (error != ErrorCode::NOT_LEADER_OR_FOLLOWER && error != ErrorCode::FENCED_LEADER_EPOCH) {
    return;
  }
  auto& data = response.responses.back().partitions.back();
  data.current_leader.leader_id = reading.partition->leader;
  data.current_leader.leader_epoch = reading.partition->epoch;
  const auto node = nodes_.find(reading.partition->leader);
  if (node == nodes_.end()) return;
  for (const auto& known : response.node_endpoints) {
    if (known.node_id == node->first) return;
  }
  auto& endpoint = response.node_endpoints.emplace_back();
  endpoint.node_id = node->first;
  endpoint.host = node->second->endpoint().host;
  endpoint.port = node->second->endpoint().port;
}

wire::FetchResponse::PartitionData* SimSource::data_of(
    const SimApi<wire::FetchRequest>::ExchangePtr& exchange, const TopicPartition& of) const {
  const auto known = topics_.find(of.topic);
  for (auto& topic : exchange->response.responses) {
    const bool by_id = known != topics_.end() && !topic.topic_id.is_zero();
    if (by_id ? topic.topic_id != known->second.id : topic.topic != of.topic) continue;
    for (auto& data : topic.partitions) {
      if (data.partition_index == of.partition) return &data;
    }
  }
  return nullptr;
}

env::Awaitable<wire::FetchResponse> SimSource::answer_fetch(const Call* call,
                                                            const wire::FetchRequest* request) {
  wire::FetchResponse response;
  const FetchSessions::Plan plan = sessions.plan(*call, *request);
  if (plan.error != ErrorCode::NONE) {
    response.error_code = plan.error;
    co_return response;
  }
  const auto node = nodes_.find(call->node);
  SourceNode& self = *node->second;
  const env::Instant deadline =
      self.clock().now() + std::chrono::milliseconds(std::max(request->max_wait_ms, 0));
  std::vector<FetchReading> readings = read_all(*call, *request, plan.wanted);
  while (!is_worth_sending(readings, request->min_bytes) && self.clock().now() < deadline &&
         self.is_listening()) {
    co_await self.wait_for_change(deadline);
    const bool cancelled = co_await env::task_cancelled();
    if (cancelled) break;
    readings = read_all(*call, *request, plan.wanted);
  }
  response.session_id = plan.session_id;
  std::erase_if(readings, [&](const FetchReading& r) { return !sessions.must_send(plan, r); });
  sessions.told(plan, readings);
  const bool by_id = call->version.get() >= kFirstVersionWithIds;
  for (FetchReading& reading : readings) {
    const bool same = !response.responses.empty() &&
                      response.responses.back().topic == (by_id ? "" : reading.topic) &&
                      response.responses.back().topic_id == reading.topic_id;
    if (!same) {
      auto& topic = response.responses.emplace_back();
      topic.topic_id = reading.topic_id;
      if (!by_id) topic.topic = reading.topic;
    }
    response.responses.back().partitions.push_back(reading.data);
    add_leader_hints(*call, reading, response);
  }
  co_return response;
}

}  // namespace kmirror::testing
