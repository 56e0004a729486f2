// G52 (late answers), G56 (high watermark behind), G57 (divergence) and the sorting of errors.
#include "mirror/fetch_response_plan.h"

#include <gtest/gtest.h>

#include "unit/mirror/batches.h"

namespace kmirror::mirror {
namespace {

using Answer = wire::FetchResponse::PartitionData;

AskedPosition asked(std::uint64_t assignment, std::int64_t offset, std::int32_t epoch) {
  AskedPosition position;
  position.assignment = assignment;
  position.offset = Offset(offset);
  position.current_leader_epoch = LeaderEpoch{epoch};
  return position;
}

FetchStatus status(std::uint64_t assignment, std::int64_t next_offset) {
  FetchStatus now;
  now.assignment = assignment;
  now.next_offset = Offset(next_offset);
  now.own_epoch = LeaderEpoch{15};
  return now;
}

Answer records(const Slice& bytes, std::int64_t high_watermark) {
  Answer answer;
  answer.records = ByteChain(bytes);
  answer.high_watermark = Offset(high_watermark);
  answer.log_start_offset = Offset(0);
  return answer;
}

// G52: A's held answer, released after B served 40-59 and A is the leader again (epoch 6).
TEST(FetchResponsePlan, NothingOfALateAnswerCounts) {
  Answer diverging;
  diverging.diverging_epoch.epoch = LeaderEpoch{0};
  diverging.diverging_epoch.end_offset = Offset(10);
  Answer out_of_range;
  out_of_range.error_code = ErrorCode::OFFSET_OUT_OF_RANGE;
  for (const Answer& late : {records(join({batch(40, 49, 4)}), 60), diverging, out_of_range}) {
    const PartitionPlan plan = plan_partition(late, asked(1, 40, 4), status(3, 60));
    EXPECT_FALSE(plan.is_ours);
    EXPECT_TRUE(plan.batches.good.empty());
    EXPECT_EQ(plan.problem, FetchProblem::kNone);
    EXPECT_EQ(plan.source_high_watermark, kNoOffset);
    // The same position under an older assignment does not count either, nor the other way round.
    EXPECT_FALSE(plan_partition(late, asked(1, 60, 4), status(3, 60)).is_ours);
    EXPECT_FALSE(plan_partition(late, asked(3, 40, 4), status(3, 60)).is_ours);
  }
  const PartitionPlan now =
      plan_partition(records(join({batch(60, 64, 6)}), 65), asked(3, 60, 6), status(3, 60));
  EXPECT_TRUE(now.is_ours);
  EXPECT_EQ(now.batches.next_offset, Offset(65));
}

// G56: no records and a high watermark below our end is no problem at all.
TEST(FetchResponsePlan, AHighWatermarkBehindUsIsNoTruncation) {
  Answer answer;
  answer.high_watermark = Offset(90);
  answer.log_start_offset = Offset(0);
  const PartitionPlan plan = plan_partition(answer, asked(1, 100, 6), status(1, 100));
  EXPECT_TRUE(plan.is_ours);
  EXPECT_EQ(plan.problem, FetchProblem::kNone);
  EXPECT_EQ(plan.batches.next_offset, Offset(100));
  EXPECT_EQ(plan.source_high_watermark, Offset(90));
}

// G57: not one record of the answer that reports divergence is taken.
TEST(FetchResponsePlan, ADivergingEpochIsReportedAndRecordsAreNotTaken) {
  Answer answer = records(join({batch(50, 59, 5)}), 60);
  answer.diverging_epoch.epoch = LeaderEpoch{3};
  answer.diverging_epoch.end_offset = Offset(40);
  const PartitionPlan plan = plan_partition(answer, asked(1, 50, 5), status(1, 50));
  EXPECT_EQ(plan.problem, FetchProblem::kDiverged);
  EXPECT_EQ(plan.epoch, LeaderEpoch{3});
  EXPECT_EQ(plan.end_offset, Offset(40));
  EXPECT_TRUE(plan.batches.good.empty());
}

TEST(FetchResponsePlan, ALeaderHintIsPassedOn) {
  for (const ErrorCode code : {ErrorCode::NOT_LEADER_OR_FOLLOWER, ErrorCode::FENCED_LEADER_EPOCH}) {
    Answer answer;
    answer.error_code = code;
    PartitionPlan plan = plan_partition(answer, asked(1, 5, 4), status(1, 5));
    EXPECT_EQ(plan.problem, FetchProblem::kLeaderMoved);
    EXPECT_FALSE(plan.leader.has_value());
    answer.current_leader.leader_id = NodeId{2};
    answer.current_leader.leader_epoch = LeaderEpoch{5};
    plan = plan_partition(answer, asked(1, 5, 4), status(1, 5));
    EXPECT_EQ(plan.leader, NodeId{2});
    EXPECT_EQ(plan.epoch, LeaderEpoch{5});
  }
}

TEST(FetchResponsePlan, SortsErrors) {
  const std::vector<std::pair<ErrorCode, FetchProblem>> cases = {
      {ErrorCode::OFFSET_OUT_OF_RANGE, FetchProblem::kOutOfRange},
      {ErrorCode::UNKNOWN_LEADER_EPOCH, FetchProblem::kStaleMetadata},
      {ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, FetchProblem::kStaleMetadata},
      {ErrorCode::UNKNOWN_TOPIC_ID, FetchProblem::kStaleMetadata},
      {ErrorCode::TOPIC_AUTHORIZATION_FAILED, FetchProblem::kNotAuthorized},
      {ErrorCode::OFFSET_NOT_AVAILABLE, FetchProblem::kBusy},
      {ErrorCode::KAFKA_STORAGE_ERROR, FetchProblem::kBusy},
      {ErrorCode::REPLICA_NOT_AVAILABLE, FetchProblem::kBusy},
      {ErrorCode::CORRUPT_MESSAGE, FetchProblem::kCorrupt},
      {ErrorCode::UNKNOWN_SERVER_ERROR, FetchProblem::kOther},
      {ErrorCode::INVALID_REQUEST, FetchProblem::kOther},
  };
  for (const auto& [code, problem] : cases) {
    Answer answer;
    answer.error_code = code;
    const PartitionPlan plan = plan_partition(answer, asked(1, 5, 4), status(1, 5));
    EXPECT_EQ(plan.problem, problem) << name(code);
    EXPECT_FALSE(plan.message.empty()) << name(code);
  }
}

// G71: the batch of an epoch that Metadata does not know yet is refused, with both epochs named.
TEST(FetchResponsePlan, ABatchOfANewerLeaderIsRefused) {
  const PartitionPlan plan =
      plan_partition(records(join({batch(5, 5, 6)}), 6), asked(1, 5, 5), status(1, 5));
  EXPECT_EQ(plan.problem, FetchProblem::kSourceEpochAhead);
  EXPECT_EQ(plan.epoch, LeaderEpoch{6});
  EXPECT_TRUE(plan.batches.good.empty());
  EXPECT_EQ(plan.message, "batch at offset 5 has leader epoch 6, the source's leader had 5");
}

TEST(FetchResponsePlan, OurEpochBehindIsReported) {
  const PartitionPlan plan =
      plan_partition(records(join({batch(5, 5, 16)}), 6), asked(1, 5, 16), status(1, 5));
  EXPECT_EQ(plan.problem, FetchProblem::kOwnEpochBehind);
  EXPECT_EQ(plan.epoch, LeaderEpoch{16});
}

}  // namespace
}  // namespace kmirror::mirror
