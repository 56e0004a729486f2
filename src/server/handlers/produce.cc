#include "server/handlers/produce.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "kmirror/metadata/names.h"
#include "kmirror/model/record_batch.h"
#include "server/handlers/partition_finder.h"

namespace kmirror::server {
namespace {

constexpr ApiVersion kFirstWithZstd{7};
constexpr ApiVersion kFirstWithLeader{10};
constexpr ApiVersion kFirstByTopicId{13};
constexpr std::int16_t kAcksNone = 0;
constexpr std::int16_t kAcksLeader = 1;
constexpr std::int16_t kAcksAll = -1;
constexpr std::string_view kAdminClient = "__admin_client";  // may write internal topics

using PartitionResponse = wire::ProduceResponse::PartitionProduceResponse;

// One partition's append: what goes to the owner loop and what comes back.
struct Append {
  Append() = default;
  std::size_t topic_index = 0;
  std::size_t partition_index = 0;
  std::shared_ptr<storage::PartitionLog> log;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  Slice records;
  std::vector<storage::RecordError> record_errors;
  std::optional<Result<storage::AppendInfo>> result;
};

// The appends of one owner loop. Belongs to that loop between the post there and the post back.
struct Group {
  Group() = default;
  std::vector<Append> appends;
  std::size_t flushes_due = 0;
};

class ProduceOperation : public std::enable_shared_from_this<ProduceOperation> {
 public:
  ProduceOperation(const ProduceDeps& deps, env::Loop& loop, ApiVersion version, std::int16_t acks,
                   Reply<wire::ProduceResponse> reply)
      : deps_(deps), loop_(loop), version_(version), acks_(acks), reply_(std::move(reply)) {}

  void start(const wire::ProduceRequest& request, bool may_write_internal);

 private:
  void check(const wire::ProduceRequest::PartitionProduceData& data, Append append,
             const TopicKey& topic, bool may_write_internal);
  Result<Slice> records_of(const wire::ProduceRequest::PartitionProduceData& data) const;
  void fail(PartitionResponse& entry, const Error& error) const;
  void run_on_owner(std::shared_ptr<Group> group);
  void flush(const std::shared_ptr<Group>& group);
  void send_back(std::shared_ptr<Group> group);
  void gather(const Group& group);
  void time_out();
  void answer();
  [[nodiscard]] PartitionResponse& entry_of(const Append& append) {
    return response_.responses[append.topic_index].partition_responses[append.partition_index];
  }

  const ProduceDeps& deps_;
  env::Loop& loop_;
  const ApiVersion version_;
  const std::int16_t acks_;
  std::optional<Reply<wire::ProduceResponse>> reply_;  // empty once answered
  wire::ProduceResponse response_;
  std::shared_ptr<const metadata::MetadataImage> image_;
  std::map<env::Loop*, std::shared_ptr<Group>> groups_;
  std::size_t groups_due_ = 0;
  bool failed_ = false;
  std::optional<TimerQueue::Id> timer_;
};

void ProduceOperation::start(const wire::ProduceRequest& request, bool may_write_internal) {
  image_ = deps_.metadata.image();
  for (const auto& asked : request.topic_data) {
    auto& topic = response_.responses.emplace_back();
    topic.name = asked.name;
    topic.topic_id = asked.topic_id;
    const TopicKey key =
        version_ >= kFirstByTopicId ? TopicKey::of_id(asked.topic_id) : TopicKey::named(asked.name);
    for (const auto& data : asked.partition_data) {
      auto& entry = topic.partition_responses.emplace_back();
      entry.index = data.index;
      entry.base_offset = kNoOffset;
      entry.log_append_time_ms = -1;
      Append append;
      append.topic_index = response_.responses.size() - 1;
      append.partition_index = topic.partition_responses.size() - 1;
      check(data, std::move(append), key, may_write_internal);
    }
  }
  groups_due_ = groups_.size();
  if (groups_due_ == 0) return answer();
  if (acks_ == kAcksAll) {
    const std::chrono::milliseconds timeout(std::max(request.timeout_ms, 0));
    timer_ = deps_.timers[loop_.index()]->add(deps_.environment.clock.now() + timeout,
                                              [self = shared_from_this()] { self->time_out(); });
  }
  const auto groups = std::move(groups_);
  for (const auto& [owner, group] : groups) {
    if (owner->is_current()) {
      run_on_owner(group);
    } else {
      owner->post([self = shared_from_this(), held = group] { self->run_on_owner(held); });
    }
  }
}

void ProduceOperation::check(const wire::ProduceRequest::PartitionProduceData& data, Append append,
                             const TopicKey& topic, bool may_write_internal) {
  PartitionResponse& entry = entry_of(append);
  if (acks_ != kAcksNone && acks_ != kAcksLeader && acks_ != kAcksAll) {
    return fail(entry, kafka_error(ErrorCode::INVALID_REQUIRED_ACKS,
                                   fmt::format("acks is {}; 0, 1 and -1 are legal", acks_)));
  }
  auto found = PartitionFinder(deps_.logs, deps_.config.node_id)
                   .find(*image_, topic, data.index, kNoLeaderEpoch);
  if (found.error != ErrorCode::NONE) {
    if (version_ >= kFirstWithLeader && found.error == ErrorCode::NOT_LEADER_OR_FOLLOWER) {
      entry.current_leader.leader_id = found.leader;
      entry.current_leader.leader_epoch = found.leader_epoch;
    }
    return fail(entry, kafka_error(found.error, ""));
  }
  const std::string& name = found.topic->name;
  if (metadata::is_internal_topic(name) && !may_write_internal) {
    return fail(entry, kafka_error(ErrorCode::INVALID_TOPIC_EXCEPTION,
                                   fmt::format("topic {} is written by the broker only", name)));
  }
  if (!deps_.guard.partition_is_writable(name, data.index)) {
    return fail(entry, kafka_error(ErrorCode::POLICY_VIOLATION, deps_.guard.message(name)));
  }
  auto records = records_of(data);
  if (!records) return fail(entry, records.error());
  entry.error_code = ErrorCode::REQUEST_TIMED_OUT;  // until gather() knows better
  append.records = std::move(*records);
  append.leader_epoch = found.leader_epoch;
  append.log = std::move(found.log);
  auto& group = groups_[&deps_.logs.loop_of(*append.log)];
  if (group == nullptr) group = std::make_shared<Group>();
  group->appends.push_back(std::move(append));
}

Result<Slice> ProduceOperation::records_of(
    const wire::ProduceRequest::PartitionProduceData& data) const {
  if (!data.records || data.records->empty()) {
    return kafka_error(ErrorCode::INVALID_RECORD, "the request holds no batch for this partition");
  }
  KM_TRY(bytes, data.records->flatten());
  KM_TRY(batch, RecordBatchView::parse(bytes));
  if (batch.magic() != 2 || batch.size() != bytes.size()) {
    return kafka_error(ErrorCode::INVALID_RECORD,
                       "a produce request holds exactly one batch of magic 2 for a partition");
  }
  if (batch.compression() == Compression::kZstd && version_ < kFirstWithZstd) {
    return kafka_error(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE,
                       "zstd needs Produce version 7 or newer");
  }
  return bytes;
}

void ProduceOperation::fail(PartitionResponse& entry, const Error& error) const {
  entry.error_code = to_kafka_error(error);
  if (!error.message.empty()) entry.error_message = error.message;
}

void ProduceOperation::run_on_owner(std::shared_ptr<Group> group) {
  for (Append& append : group->appends) {
    append.result =
        append.log->append_as_leader(std::move(append.records), append.leader_epoch,
                                     storage::AppendOrigin::kClient, &append.record_errors);
  }
  if (acks_ == kAcksAll && deps_.config.flush_acks_all) return flush(group);
  send_back(std::move(group));
}

void ProduceOperation::flush(const std::shared_ptr<Group>& group) {
  ++group->flushes_due;  // held by this function, so that no early flush ends the group
  for (Append& append : group->appends) {
    if (append.result->has_error()) continue;
    ++group->flushes_due;
    deps_.logs.flush(append.log,
                     [self = shared_from_this(), group, entry = &append](Result<void> flushed) {
                       if (!flushed) *entry->result = flushed.error();
                       if (--group->flushes_due == 0) self->send_back(group);
                     });
  }
  if (--group->flushes_due == 0) send_back(group);
}

void ProduceOperation::send_back(std::shared_ptr<Group> group) {
  if (loop_.is_current()) return gather(*group);
  loop_.post([self = shared_from_this(), group = std::move(group)] { self->gather(*group); });
}

void ProduceOperation::gather(const Group& group) {
  if (!reply_) return;  // timed out before
  for (const Append& append : group.appends) {
    PartitionResponse& entry = entry_of(append);
    entry.log_start_offset = append.log->log_start_offset();
    if (append.result->has_error()) {
      fail(entry, append.result->error());
      for (const auto& record : append.record_errors) {
        auto& told = entry.record_errors.emplace_back();
        told.batch_index = record.batch_index;
        told.batch_index_error_message = record.message;
      }
      continue;
    }
    const storage::AppendInfo& info = **append.result;
    entry.error_code = ErrorCode::NONE;
    entry.base_offset = info.first_offset;
    entry.log_append_time_ms = info.log_append_time_ms;
  }
  if (--groups_due_ == 0) answer();
}

void ProduceOperation::time_out() {
  if (reply_) answer();
}

void ProduceOperation::answer() {
  auto self = shared_from_this();  // the timer's reference goes below
  if (timer_) deps_.timers[loop_.index()]->cancel(*timer_);
  for (const auto& topic : response_.responses) {
    for (const auto& entry : topic.partition_responses) {
      failed_ = failed_ || entry.error_code != ErrorCode::NONE;
    }
  }
  auto reply = std::exchange(reply_, std::nullopt).value();
  if (acks_ != kAcksNone) return reply(response_);
  // There is no answer that could tell of the failure; the end of the connection does.
  if (failed_) return reply.close("");
  reply.nothing(response_);
}

}  // namespace

void handle_produce(const ProduceDeps& deps, const RequestContext& context,
                    wire::ProduceRequest request, Reply<wire::ProduceResponse> reply) {
  auto operation = std::make_shared<ProduceOperation>(deps, *context.loop, context.version,
                                                      request.acks, std::move(reply));
  operation->start(request, context.client_id == kAdminClient);
}

}  // namespace kmirror::server
