// Cases of ListOffsets, OffsetForLeaderEpoch and DeleteRecords.
#include <gtest/gtest.h>

#include "server_world.h"

#include "kmirror/wire/delete_records_request.h"
#include "kmirror/wire/delete_records_response.h"
#include "kmirror/wire/list_offsets_request.h"
#include "kmirror/wire/list_offsets_response.h"
#include "kmirror/wire/offset_for_leader_epoch_request.h"
#include "kmirror/wire/offset_for_leader_epoch_response.h"
#include "support/batches.h"

namespace kmirror::server {
namespace {

using kmirror::testing::kGivenTimeMs;
using kmirror::testing::simple_batch;
using Position = wire::ListOffsetsResponse::ListOffsetsPartitionResponse;

class OffsetsCases : public ::testing::Test {
 protected:
  void append(const std::string& topic, const std::vector<Slice>& batches) {
    world_.with_log(topic, [&](storage::PartitionLog& log) {
      ByteChain chain;
      for (const auto& batch : batches) chain.append(batch);
      const auto appended = log.append_as_follower(chain, false);
      EXPECT_FALSE(appended.error) << appended.error->message;
    });
  }
  // "offset epoch error"
  std::string position(const std::string& topic, std::int64_t timestamp, std::int16_t version = 9,
                       std::int8_t isolation = 0, std::int32_t current_epoch = -1) {
    wire::ListOffsetsRequest request;
    request.isolation_level = isolation;
    auto& asked = request.topics.emplace_back();
    asked.name = topic;
    auto& partition = asked.partitions.emplace_back();
    partition.timestamp = timestamp;
    partition.current_leader_epoch = LeaderEpoch(current_epoch);
    const auto response = client_.call<wire::ListOffsetsResponse>(request, version);
    const Position& entry = response.topics.at(0).partitions.at(0);
    return fmt::format("{} {} {}", entry.offset, entry.leader_epoch, entry.error_code);
  }

  ServerWorld world_;
  TestClient client_{world_};
};

// Epochs 0 from 0, 2 from 11, 4 from 12; the end is 13, and the leader's epoch is 4.
class EpochCases : public OffsetsCases {
 protected:
  EpochCases() {
    world_.create_topic("t", 1);
    std::vector<Slice> batches;
    for (int i = 0; i < 11; ++i) {
      batches.push_back(simple_batch(i, 1, 0, kGivenTimeMs + i));
    }
    batches.push_back(simple_batch(11, 1, 2, kGivenTimeMs + 11));
    batches.push_back(simple_batch(12, 1, 4, kGivenTimeMs + 12));
    append("t", batches);
    world_.bump_leader_epoch("t", 4);
  }
};

TEST_F(EpochCases, G19_offset_for_leader_epoch) {
  wire::OffsetForLeaderEpochRequest request;
  request.replica_id = NodeId(-1);
  auto& topic = request.topics.emplace_back();
  topic.topic = "t";
  for (const std::int32_t epoch : {-1, 0, 1, 2, 3, 4, 5}) {
    topic.partitions.emplace_back().leader_epoch = LeaderEpoch(epoch);
  }
  const auto response = client_.call<wire::OffsetForLeaderEpochResponse>(request, 4);
  std::string told;
  for (const auto& end : response.topics.at(0).partitions) {
    EXPECT_EQ(end.error_code, ErrorCode::NONE);
    told += fmt::format("({},{})", end.leader_epoch, end.end_offset);
  }
  EXPECT_EQ(told, "(-1,-1)(0,11)(0,11)(2,12)(2,12)(4,13)(-1,-1)");
}

TEST_F(EpochCases, G19_a_leader_ahead_of_its_batches_is_no_truncation) {
  // As on a mirror: the leader's epoch was raised and no batch carries it.
  world_.bump_leader_epoch("t", 14);
  EXPECT_EQ(position("t", -1, 5), "13 14 NONE");
  wire::OffsetForLeaderEpochRequest request;
  auto& topic = request.topics.emplace_back();
  topic.topic = "t";
  for (const std::int32_t epoch : {4, 9, 14, 15}) {
    topic.partitions.emplace_back().leader_epoch = LeaderEpoch(epoch);
  }
  const auto response = client_.call<wire::OffsetForLeaderEpochResponse>(request, 4);
  std::string told;
  for (const auto& end : response.topics.at(0).partitions) {
    told += fmt::format("({},{})", end.leader_epoch, end.end_offset);
  }
  EXPECT_EQ(told, "(4,13)(4,13)(14,13)(-1,-1)");
}

TEST_F(EpochCases, G21_leader_epoch_in_list_offsets) {
  EXPECT_EQ(position("t", -2, 5), "0 0 NONE");
  EXPECT_EQ(position("t", -1, 5), "13 4 NONE");
  EXPECT_EQ(position("t", kGivenTimeMs + 5, 5), "5 0 NONE");
  EXPECT_EQ(position("t", kGivenTimeMs + 12, 5), "12 4 NONE");
  EXPECT_EQ(position("t", kGivenTimeMs + 99, 5), "-1 -1 NONE");
}

TEST_F(EpochCases, G18_current_leader_epoch_in_list_offsets) {
  EXPECT_EQ(position("t", -1, 5, 0, 0), "-1 -1 FENCED_LEADER_EPOCH");
  EXPECT_EQ(position("t", -1, 5, 0, 3), "-1 -1 FENCED_LEADER_EPOCH");
  EXPECT_EQ(position("t", -1, 5, 0, 4), "13 4 NONE");
  EXPECT_EQ(position("t", -1, 5, 0, 5), "-1 -1 UNKNOWN_LEADER_EPOCH");
}

TEST_F(OffsetsCases, G17_latest_by_isolation) {
  world_.create_topic("t", 1);
  kmirror::testing::BatchSpec spec;
  spec.producer_id = 1'000;
  spec.producer_epoch = 0;
  spec.base_sequence = 0;
  spec.transactional = true;
  spec.records.emplace_back("k", "v");
  append("t", {simple_batch(0)});
  spec.base_offset = 1;
  append("t", {kmirror::testing::make_batch(spec)});
  EXPECT_EQ(position("t", -1, 5, 0), "2 0 NONE");
  EXPECT_EQ(position("t", -1, 5, 1), "1 0 NONE");
}

TEST_F(OffsetsCases, G50_special_timestamps) {
  world_.create_topic("empty", 1);
  EXPECT_EQ(position("empty", -3), "-1 -1 NONE");
  EXPECT_EQ(position("empty", -4), "0 0 NONE");
  EXPECT_EQ(position("empty", -5), "-1 -1 NONE");
  EXPECT_EQ(position("empty", 5), "-1 -1 NONE");
  EXPECT_EQ(position("empty", -3, 5), "-1 -1 UNSUPPORTED_VERSION");
  EXPECT_EQ(position("empty", -7), "-1 -1 UNSUPPORTED_VERSION");

  world_.create_topic("stamped", 1, {{"message.timestamp.type", "LogAppendTime"}});
  world_.with_log("stamped", [](storage::PartitionLog& log) {
    EXPECT_TRUE(
        log.append_as_leader(simple_batch(0, 3), LeaderEpoch(0), storage::AppendOrigin::kClient));
  });
  EXPECT_EQ(position("stamped", -3), "0 0 NONE");
}

TEST_F(OffsetsCases, a_partition_named_twice_is_refused) {
  world_.create_topic("t", 2);
  wire::ListOffsetsRequest request;
  auto& asked = request.topics.emplace_back();
  asked.name = "t";
  for (const std::int32_t index : {0, 1, 0}) {
    auto& partition = asked.partitions.emplace_back();
    partition.partition_index = index;
    partition.timestamp = -1;
  }
  const auto response = client_.call<wire::ListOffsetsResponse>(request, 9);
  const auto& partitions = response.topics.at(0).partitions;
  EXPECT_EQ(partitions.at(0).error_code, ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(partitions.at(1).error_code, ErrorCode::NONE);
  EXPECT_EQ(partitions.at(2).error_code, ErrorCode::INVALID_REQUEST);
}

TEST_F(OffsetsCases, G49_delete_records) {
  world_.create_topic("t", 1);
  world_.create_topic("compacted", 1, {{"cleanup.policy", "compact"}});
  append("t", {simple_batch(0, 10)});
  append("compacted", {simple_batch(0, 10)});
  const auto cut = [&](const std::string& topic, std::int64_t offset) {
    wire::DeleteRecordsRequest request;
    auto& asked = request.topics.emplace_back();
    asked.name = topic;
    asked.partitions.emplace_back().offset = Offset(offset);
    const auto response = client_.call<wire::DeleteRecordsResponse>(request, 2);
    const auto& entry = response.topics.at(0).partitions.at(0);
    return fmt::format("{} {}", entry.low_watermark, entry.error_code);
  };
  EXPECT_EQ(cut("t", 11), "-1 OFFSET_OUT_OF_RANGE");
  EXPECT_EQ(cut("t", 7), "7 NONE");
  EXPECT_EQ(cut("t", 3), "7 NONE");
  EXPECT_EQ(cut("t", -2), "-1 OFFSET_OUT_OF_RANGE");
  EXPECT_EQ(cut("t", -1), "10 NONE");
  EXPECT_EQ(cut("compacted", 0), "-1 POLICY_VIOLATION");
  EXPECT_EQ(cut("nope", 0), "-1 UNKNOWN_TOPIC_OR_PARTITION");
}

}  // namespace
}  // namespace kmirror::server
