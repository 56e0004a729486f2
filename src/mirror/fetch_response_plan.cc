// Error codes, hints and batches of one partition's answer, sorted.
// Owner: any one task.
#include "mirror/fetch_response_plan.h"

#include <fmt/format.h>

namespace kmirror::mirror {
namespace {

using Answer = wire::FetchResponse::PartitionData;

void plan_leader_move(PartitionPlan& plan, const Answer& answer) {
  plan.problem = FetchProblem::kLeaderMoved;
  if (answer.current_leader.leader_id < NodeId{0}) return;
  plan.leader = answer.current_leader.leader_id;
  plan.epoch = answer.current_leader.leader_epoch;
}

void plan_error(PartitionPlan& plan, const Answer& answer) {
  plan.message = fmt::format("Fetch: {}", answer.error_code);
  switch (answer.error_code) {
    case ErrorCode::OFFSET_OUT_OF_RANGE:
      plan.problem = FetchProblem::kOutOfRange;
      return;
    case ErrorCode::NOT_LEADER_OR_FOLLOWER:
    case ErrorCode::FENCED_LEADER_EPOCH:
      plan_leader_move(plan, answer);
      return;
    case ErrorCode::UNKNOWN_LEADER_EPOCH:
    case ErrorCode::UNKNOWN_TOPIC_OR_PARTITION:
    case ErrorCode::UNKNOWN_TOPIC_ID:
    case ErrorCode::INCONSISTENT_TOPIC_ID:
      plan.problem = FetchProblem::kStaleMetadata;
      return;
    case ErrorCode::TOPIC_AUTHORIZATION_FAILED:
      plan.problem = FetchProblem::kNotAuthorized;
      return;
    case ErrorCode::CORRUPT_MESSAGE:
      plan.problem = FetchProblem::kCorrupt;
      plan.message = "the source reports CORRUPT_MESSAGE in its own log";
      return;
    case ErrorCode::OFFSET_NOT_AVAILABLE:
    case ErrorCode::LEADER_NOT_AVAILABLE:
    case ErrorCode::REPLICA_NOT_AVAILABLE:
    case ErrorCode::KAFKA_STORAGE_ERROR:
      plan.problem = FetchProblem::kBusy;
      return;
    default:
      plan.problem = is_retriable(answer.error_code) ? FetchProblem::kBusy : FetchProblem::kOther;
  }
}

void plan_records(PartitionPlan& plan, const Answer& answer, const AskedPosition& asked,
                  const FetchStatus& status) {
  if (!answer.records || answer.records->empty()) return;
  Result<Slice> records = answer.records->flatten();
  if (!records) {
    plan.problem = FetchProblem::kOther;
    plan.message = records.error().message;
    return;
  }
  BatchCheckInput input;
  input.records = std::move(*records);
  input.expected = status.next_offset;
  input.asked_epoch = asked.current_leader_epoch;
  input.own_epoch = status.own_epoch;
  plan.batches = check_batches(input);
  plan.epoch = plan.batches.stop_epoch;
  switch (plan.batches.stop) {
    case CheckStop::kNone:
      return;
    case CheckStop::kCorrupt:
      plan.problem = FetchProblem::kCorrupt;
      plan.message = plan.batches.reason;
      return;
    case CheckStop::kSourceEpochAhead:
      plan.problem = FetchProblem::kSourceEpochAhead;
      plan.message =
          fmt::format("batch at offset {} has leader epoch {}, the source's leader had {}",
                      plan.batches.next_offset, plan.epoch, asked.current_leader_epoch);
      return;
    case CheckStop::kOwnEpochBehind:
      plan.problem = FetchProblem::kOwnEpochBehind;
      plan.message = fmt::format("batch at offset {} has leader epoch {}, this partition has {}",
                                 plan.batches.next_offset, plan.epoch, status.own_epoch);
      return;
  }
}

}  // namespace

PartitionPlan plan_partition(const Answer& answer, const AskedPosition& asked,
                             const FetchStatus& status) {
  PartitionPlan plan;
  plan.batches.next_offset = status.next_offset;
  plan.is_ours = asked.assignment == status.assignment && asked.offset == status.next_offset;
  if (!plan.is_ours) return plan;
  if (answer.error_code != ErrorCode::NONE) {
    plan_error(plan, answer);
    return plan;
  }
  plan.source_high_watermark = answer.high_watermark;
  plan.source_log_start = answer.log_start_offset;
  const auto& diverging = answer.diverging_epoch;
  if (diverging.epoch >= LeaderEpoch{0} || diverging.end_offset >= Offset(0)) {
    plan.problem = FetchProblem::kDiverged;
    plan.epoch = diverging.epoch;
    plan.end_offset = diverging.end_offset;
    plan.message = fmt::format("the source's log ends at offset {} in leader epoch {}, ours at {}",
                               plan.end_offset, plan.epoch, status.next_offset);
    return plan;
  }
  plan_records(plan, answer, asked, status);
  return plan;
}

}  // namespace kmirror::mirror
