// G55 (metadata that goes backwards or has no leader) and what the cache tells of changes.
#include "kmirror/client/source_metadata.h"

#include <gtest/gtest.h>

#include "kmirror/wire/metadata_response.h"

namespace kmirror::client {
namespace {

const Uuid kId = *Uuid::parse("AAAAAAAAAAAAAAAAAAAAAQ");
const Uuid kOtherId = *Uuid::parse("AAAAAAAAAAAAAAAAAAAAAg");
const TopicPartition kP0("t", 0);

struct Said {
  Said() = default;
  Said(std::int32_t leader_id, std::int32_t leader_epoch, ErrorCode code = ErrorCode::NONE)
      : leader(leader_id), epoch(leader_epoch), error(code) {}
  std::int32_t leader = -1;
  std::int32_t epoch = -1;
  ErrorCode error = ErrorCode::NONE;
};

wire::MetadataResponse answer(const std::vector<Said>& partitions, const Uuid& id = kId) {
  wire::MetadataResponse response;
  response.cluster_id = "source";
  for (const int node : {1, 2}) {
    wire::MetadataResponse::MetadataResponseBroker broker;
    broker.node_id = NodeId{node};
    broker.host = "b" + std::to_string(node);
    broker.port = 9092;
    response.brokers.push_back(broker);
  }
  wire::MetadataResponse::MetadataResponseTopic topic;
  topic.name = "t";
  topic.topic_id = id;
  std::int32_t index = 0;
  for (const Said& said : partitions) {
    wire::MetadataResponse::MetadataResponsePartition partition;
    partition.partition_index = index++;
    partition.leader_id = NodeId{said.leader};
    partition.leader_epoch = LeaderEpoch{said.epoch};
    partition.error_code = said.error;
    topic.partitions.push_back(partition);
  }
  response.topics.push_back(topic);
  return response;
}

class SourceMetadataTest : public testing::Test {
 protected:
  SourceMetadataTest() { metadata_.apply(answer({Said(2, 7)})); }
  [[nodiscard]] NodeId leader() const { return metadata_.partition(kP0)->leader; }
  [[nodiscard]] LeaderEpoch epoch() const { return metadata_.partition(kP0)->epoch; }
  SourceMetadata metadata_;
};

TEST_F(SourceMetadataTest, LearnsTheCluster) {
  EXPECT_EQ(metadata_.cluster_id(), "source");
  EXPECT_EQ(metadata_.leader_endpoint(kP0), env::Endpoint("b2", 9092));
  EXPECT_EQ(metadata_.topic("t")->id, kId);
  EXPECT_EQ(metadata_.partition(TopicPartition("t", 1)), nullptr);
  EXPECT_EQ(metadata_.topic("u"), nullptr);
}

// G55 (a)
TEST_F(SourceMetadataTest, OneLaggingAnswerDoesNotMoveTheLeader) {
  const SourceChanges changes = metadata_.apply(answer({Said(1, 5)}));
  EXPECT_TRUE(changes.leaders.empty());
  EXPECT_EQ(leader(), NodeId{2});
  EXPECT_EQ(epoch(), LeaderEpoch{7});
}

// G55 (b)
TEST_F(SourceMetadataTest, WithoutALeaderTheEpochIsKept) {
  metadata_.apply(answer({Said(-1, -1, ErrorCode::LEADER_NOT_AVAILABLE)}));
  EXPECT_EQ(leader(), NodeId{-1});
  EXPECT_EQ(epoch(), LeaderEpoch{7});
  EXPECT_EQ(metadata_.leader_endpoint(kP0), std::nullopt);
  const SourceChanges back = metadata_.apply(answer({Said(2, 8)}));
  EXPECT_EQ(back.leaders, std::set<TopicPartition>{kP0});
  EXPECT_EQ(leader(), NodeId{2});
}

// G55 (c)
TEST_F(SourceMetadataTest, AbsenceFromOneAnswerProvesNothing) {
  wire::MetadataResponse other = answer({});
  other.topics.clear();
  const SourceChanges changes = metadata_.apply(other);
  EXPECT_TRUE(changes.refused.empty());
  EXPECT_EQ(leader(), NodeId{2});
}

// G55 (d)
TEST_F(SourceMetadataTest, AnAnswerWithoutEpochIsTakenWithoutEpoch) {
  const SourceChanges changes = metadata_.apply(answer({Said(1, -1)}));
  EXPECT_EQ(changes.leaders, std::set<TopicPartition>{kP0});
  EXPECT_EQ(leader(), NodeId{1});
  EXPECT_EQ(epoch(), kNoLeaderEpoch);
}

// G55 (e)
TEST_F(SourceMetadataTest, ALowerEpochIsBelievedTheThirdTime) {
  metadata_.apply(answer({Said(1, 5)}));
  metadata_.apply(answer({Said(1, 5)}));
  EXPECT_EQ(leader(), NodeId{2});
  const SourceChanges changes = metadata_.apply(answer({Said(1, 5)}));
  EXPECT_EQ(changes.leaders, std::set<TopicPartition>{kP0});
  EXPECT_EQ(leader(), NodeId{1});
  EXPECT_EQ(epoch(), LeaderEpoch{5});
}

TEST_F(SourceMetadataTest, RefusalsInARowAreCountedAnewAfterAGoodAnswer) {
  metadata_.apply(answer({Said(1, 5)}));
  metadata_.apply(answer({Said(1, 5)}));
  metadata_.apply(answer({Said(2, 7)}));
  metadata_.apply(answer({Said(1, 5)}));
  EXPECT_EQ(leader(), NodeId{2});
}

TEST_F(SourceMetadataTest, ALeaderHintCountsOnlyIfItIsNewer) {
  EXPECT_FALSE(metadata_.apply_leader_hint(kP0, NodeId{1}, LeaderEpoch{7}));
  EXPECT_FALSE(metadata_.apply_leader_hint(kP0, NodeId{9}, LeaderEpoch{8})) << "unknown broker";
  EXPECT_FALSE(metadata_.apply_leader_hint(kP0, NodeId{-1}, LeaderEpoch{8}));
  EXPECT_TRUE(metadata_.apply_leader_hint(kP0, NodeId{1}, LeaderEpoch{8}));
  EXPECT_EQ(leader(), NodeId{1});
  metadata_.add_broker(NodeId{9}, env::Endpoint("b9", 9));
  EXPECT_TRUE(metadata_.apply_leader_hint(kP0, NodeId{9}, LeaderEpoch{9}));
  EXPECT_EQ(metadata_.leader_endpoint(kP0), env::Endpoint("b9", 9));
}

// G29 (a): the id tells a topic from another one of the same name.
TEST_F(SourceMetadataTest, ARecreatedTopicIsReportedAndNotTaken) {
  const SourceChanges changes = metadata_.apply(answer({Said(1, 0)}, kOtherId));
  EXPECT_EQ(changes.recreated.at("t"), kOtherId);
  EXPECT_EQ(metadata_.topic("t")->id, kId);
  EXPECT_EQ(leader(), NodeId{2});
  metadata_.forget("t");
  metadata_.apply(answer({Said(1, 0)}, kOtherId));
  EXPECT_EQ(metadata_.topic("t")->id, kOtherId);
}

TEST_F(SourceMetadataTest, PartitionsOnlyGrow) {
  const SourceChanges grown = metadata_.apply(answer({Said(2, 7), Said(1, 0), Said(1, 0)}));
  EXPECT_EQ(grown.grown, std::set<std::string>{"t"});
  EXPECT_EQ(metadata_.topic("t")->partitions.size(), 3U);
  const SourceChanges fewer = metadata_.apply(answer({Said(2, 7)}));
  EXPECT_TRUE(fewer.grown.empty());
  EXPECT_EQ(metadata_.topic("t")->partitions.size(), 3U);
}

TEST_F(SourceMetadataTest, ATopicWithAnErrorStays) {
  wire::MetadataResponse refused = answer({});
  refused.topics[0].error_code = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
  const SourceChanges changes = metadata_.apply(refused);
  EXPECT_EQ(changes.refused.at("t"), ErrorCode::TOPIC_AUTHORIZATION_FAILED);
  EXPECT_EQ(leader(), NodeId{2});
}

TEST_F(SourceMetadataTest, OnlyWantedTopicsGetANewEntry) {
  const std::set<std::string> wanted{"other"};
  SourceMetadata fresh;
  fresh.apply(answer({Said(1, 0)}), &wanted);
  EXPECT_EQ(fresh.topic("t"), nullptr);
}

}  // namespace
}  // namespace kmirror::client
