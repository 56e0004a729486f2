// The honest answers of the fake source, all but Fetch.
// Sources: Kafka 4.4 KafkaApis, MetadataCache, ReplicaManager.lastOffsetForLeaderEpoch.
#include "sim/sim_source.h"
#include "sim/source_node.h"

namespace kmirror::testing {

namespace {

constexpr std::int64_t kLatest = -1;
constexpr std::int64_t kEarliest = -2;
constexpr std::int64_t kMaxTimestamp = -3;
constexpr std::int64_t kEarliestLocal = -4;

}  // namespace

ErrorCode SimSource::check_leader(const Call& call, const SimPartition* partition,
                                  LeaderEpoch current_epoch) const {
  if (partition == nullptr) return ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
  if (current_epoch != kNoLeaderEpoch) {
    if (current_epoch < partition->epoch) return ErrorCode::FENCED_LEADER_EPOCH;
    if (current_epoch > partition->epoch) return ErrorCode::UNKNOWN_LEADER_EPOCH;
  }
  return partition->leader == call.node ? ErrorCode::NONE : ErrorCode::NOT_LEADER_OR_FOLLOWER;
}

// --- ApiVersions ----------------------------------------------------------------------------

wire::ApiVersionsResponse SimSource::api_versions_of(const Call& call) {
  static_cast<void>(call);
  wire::ApiVersionsResponse response;
  for (const auto& [key, api] : apis_) {
    if (!api->is_on) continue;
    auto& entry = response.api_keys.emplace_back();
    entry.api_key = key.get();
    entry.min_version = api->min_version.get();
    entry.max_version = api->max_version.get();
  }
  return response;
}

env::Awaitable<wire::ApiVersionsResponse> SimSource::answer_api_versions(
    const Call* call, const wire::ApiVersionsRequest* request) {
  static_cast<void>(request);
  co_return api_versions_of(*call);
}

// --- Metadata -------------------------------------------------------------------------------

wire::MetadataResponse::MetadataResponseTopic SimSource::describe_topic(
    const std::string& name) const {
  wire::MetadataResponse::MetadataResponseTopic described;
  described.name = name;
  const auto found = topics_.find(name);
  if (found == topics_.end()) {
    described.error_code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    return described;
  }
  described.topic_id = found->second.id;
  described.is_internal = found->second.is_internal;
  for (const SimPartition& partition : found->second.partitions) {
    auto& entry = described.partitions.emplace_back();
    entry.partition_index = static_cast<std::int32_t>(described.partitions.size() - 1);
    entry.leader_id = partition.leader;
    entry.leader_epoch = partition.epoch;
    if (partition.leader == NodeId(-1)) entry.error_code = ErrorCode::LEADER_NOT_AVAILABLE;
    for (const auto& [id, node] : nodes_) {
      entry.replica_nodes.push_back(id);
      (node->is_listening() ? entry.isr_nodes : entry.offline_replicas).push_back(id);
    }
  }
  return described;
}

env::Awaitable<wire::MetadataResponse> SimSource::answer_metadata(
    const Call* call, const wire::MetadataRequest* request) {
  wire::MetadataResponse response;
  response.cluster_id = cluster_id_;
  for (const auto& [id, node] : nodes_) {
    if (!node->is_listening()) continue;
    auto& broker = response.brokers.emplace_back();
    broker.node_id = id;
    broker.host = node->endpoint().host;
    broker.port = node->endpoint().port;
    if (response.controller_id == NodeId(-1)) response.controller_id = id;
  }
  // Version 0 has no null: there an empty list means all.
  const bool all = !request->topics || (call->version == ApiVersion(0) && request->topics->empty());
  if (all) {
    for (const auto& [name, topic] : topics_) response.topics.push_back(describe_topic(name));
    co_return response;
  }
  for (const auto& wanted : *request->topics) {
    if (wanted.name) {
      response.topics.push_back(describe_topic(*wanted.name));
      continue;
    }
    auto& entry = response.topics.emplace_back();
    entry.name.reset();
    entry.topic_id = wanted.topic_id;
    entry.error_code = ErrorCode::UNKNOWN_TOPIC_ID;
    for (const auto& [name, topic] : topics_) {
      if (topic.id == wanted.topic_id) entry = describe_topic(name);
    }
  }
  co_return response;
}

// --- ListOffsets ----------------------------------------------------------------------------

namespace {

using ListedOffset = wire::ListOffsetsResponse::ListOffsetsPartitionResponse;

void look_up(const SimPartition& partition, std::int64_t timestamp, ListedOffset& entry) {
  const SourceLog& log = partition.log;
  TimestampHit hit;
  switch (timestamp) {
    case kLatest:
      if (partition.offset_not_available) {
        entry.error_code = ErrorCode::OFFSET_NOT_AVAILABLE;
        return;
      }
      hit.offset = log.high_watermark();
      hit.epoch = log.latest_epoch();
      break;
    case kEarliest:
    case kEarliestLocal:
      hit.offset = log.start();
      hit.epoch = log.epoch_at(log.start());
      break;
    case kMaxTimestamp:
      hit = log.greatest_timestamp();
      break;
    default:
      hit = log.find_timestamp(timestamp);
  }
  entry.timestamp = hit.timestamp_ms;
  entry.offset = hit.offset;
  entry.leader_epoch = hit.epoch;
}

}  // namespace

env::Awaitable<wire::ListOffsetsResponse> SimSource::answer_list_offsets(
    const Call* call, const wire::ListOffsetsRequest* request) {
  wire::ListOffsetsResponse response;
  for (const auto& topic : request->topics) {
    auto& answered = response.topics.emplace_back();
    answered.name = topic.name;
    for (const auto& wanted : topic.partitions) {
      auto& entry = answered.partitions.emplace_back();
      entry.partition_index = wanted.partition_index;
      const SimPartition* partition = find_partition(topic.name, wanted.partition_index);
      entry.error_code = check_leader(*call, partition, wanted.current_leader_epoch);
      if (entry.error_code == ErrorCode::NONE) look_up(*partition, wanted.timestamp, entry);
    }
  }
  co_return response;
}

// --- OffsetForLeaderEpoch -------------------------------------------------------------------

env::Awaitable<wire::OffsetForLeaderEpochResponse> SimSource::answer_epochs(
    const Call* call, const wire::OffsetForLeaderEpochRequest* request) {
  wire::OffsetForLeaderEpochResponse response;
  for (const auto& topic : request->topics) {
    auto& answered = response.topics.emplace_back();
    answered.topic = topic.topic;
    for (const auto& wanted : topic.partitions) {
      auto& entry = answered.partitions.emplace_back();
      entry.partition = wanted.partition;
      const SimPartition* partition = find_partition(topic.topic, wanted.partition);
      entry.error_code = check_leader(*call, partition, wanted.current_leader_epoch);
      if (entry.error_code != ErrorCode::NONE) continue;
      const EpochEnd end = partition->log.end_of_epoch(wanted.leader_epoch);
      entry.leader_epoch = end.epoch;
      entry.end_offset = end.end_offset;
    }
  }
  co_return response;
}

// --- DescribeClusterMirrors -----------------------------------------------------------------

env::Awaitable<wire::DescribeClusterMirrorsResponse> SimSource::answer_mirrors(
    const Call* call, const wire::DescribeClusterMirrorsRequest* request) {
  static_cast<void>(call);
  wire::DescribeClusterMirrorsResponse response;
  response.mirrors = mirrors;
  for (const auto& lookup : request->last_mirror_epoch_lookups) {
    auto& result = response.lookup_results.emplace_back();
    result.topic_id = lookup.topic_id;
    for (const std::int32_t partition : lookup.partitions) {
      auto& entry = result.partitions.emplace_back();
      entry.partition_index = partition;
      const auto known = last_mirror_positions.find(TopicIdPartition(lookup.topic_id, partition));
      if (known == last_mirror_positions.end()) continue;
      entry.last_mirror_epoch = known->second.epoch;
      entry.last_mirror_offset = known->second.end_offset;
    }
  }
  co_return response;
}

}  // namespace kmirror::testing
