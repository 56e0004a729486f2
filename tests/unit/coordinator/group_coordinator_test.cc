// GroupCoordinator over real logs in a simulated world: the wire shapes of every version, topics
// made on first need, loading, durability over power cuts, timeouts by the world's clock, shutting
// down.
#include <gtest/gtest.h>

#include "group_fixture.h"
#include "site.h"

namespace kmirror::coordinator::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class GroupCoordinatorTest : public ::testing::Test {
 protected:
  GroupCoordinatorTest() {
    site.engine.add_topic("t", 3);
    site.start();
  }

  wire::OffsetCommitRequest commit_request(const std::string& group, const std::string& topic,
                                           std::int64_t offset, std::int32_t partition = 0) {
    wire::OffsetCommitRequest request;
    request.group_id = group;
    auto& one = request.topics.emplace_back();
    one.name = topic;
    auto& part = one.partitions.emplace_back();
    part.partition_index = partition;
    part.committed_offset = Offset(offset);
    part.committed_leader_epoch = LeaderEpoch(6);
    part.committed_metadata = "note";
    return request;
  }
  ErrorCode commit(const std::string& group, std::int64_t offset, std::int16_t version = 8) {
    const auto response =
        site.send(&GroupCoordinator::commit_offsets, commit_request(group, "t", offset), version);
    return response.topics.at(0).partitions.at(0).error_code;
  }
  wire::OffsetFetchResponse fetch(const std::string& group, std::vector<std::int32_t> partitions,
                                  std::int16_t version) {
    wire::OffsetFetchRequest request;
    request.group_id = group;
    request.topics.emplace();
    auto& topic = request.topics->emplace_back();
    topic.name = "t";
    topic.partition_indexes = std::move(partitions);
    return site.send(&GroupCoordinator::fetch_offsets, std::move(request), version);
  }
  std::int64_t position(const std::string& group) {
    return fetch(group, {0}, 7).topics.at(0).partitions.at(0).committed_offset.get();
  }
  wire::JoinGroupRequest join_request(const std::string& member = "") {
    wire::JoinGroupRequest request;
    request.group_id = "g";
    request.member_id = member;
    request.session_timeout_ms = 10'000;
    request.rebalance_timeout_ms = 20'000;
    request.protocol_type = "consumer";
    auto& protocol = request.protocols.emplace_back();
    protocol.name = "range";
    protocol.metadata = subscription_of({"t"});
    return request;
  }
  /// A stable group of one member; returns the member's id.
  std::string stable_member() {
    const auto first = site.send(&GroupCoordinator::join_group, join_request(), 9);
    const auto joined = site.send(&GroupCoordinator::join_group, join_request(first.member_id), 9);
    EXPECT_EQ(joined.error_code, ErrorCode::NONE);
    wire::SyncGroupRequest sync;
    sync.group_id = "g";
    sync.member_id = joined.member_id;
    sync.generation_id = 1;
    sync.protocol_type = "consumer";
    sync.protocol_name = "range";
    EXPECT_EQ(site.send(&GroupCoordinator::sync_group, sync, 5).error_code, ErrorCode::NONE);
    return joined.member_id;
  }
  ErrorCode heartbeat(const std::string& member) {
    wire::HeartbeatRequest request;
    request.group_id = "g";
    request.member_id = member;
    request.generation_id = 1;
    return site.send(&GroupCoordinator::heartbeat, request, 4).error_code;
  }

  Site site;
};

// --- Topic and loading --------------------------------------------------------------------------

TEST_F(GroupCoordinatorTest, TheTopicIsMadeOnFirstNeed) {
  wire::ListGroupsRequest list;
  EXPECT_TRUE(site.send(&GroupCoordinator::list_groups, list, 5).groups.empty());
  EXPECT_EQ(site.engine.created_count, 0) << "listing needs no topic";
  EXPECT_EQ(commit("g", 7), ErrorCode::NONE);
  EXPECT_EQ(site.engine.created_count, 1);
  EXPECT_EQ(site.engine.image()->topic("__consumer_offsets")->partitions.size(), 5u);
  EXPECT_EQ(position("g"), 7);
  EXPECT_EQ(site.groups->partition_for("g"), 103 % 5) << "Java's hash of \"g\"";
}

TEST_F(GroupCoordinatorTest, ATopicThatCannotBeMadeIsSaid) {
  site.engine.refuse_topics = ErrorCode::REQUEST_TIMED_OUT;
  EXPECT_EQ(commit("g", 7), ErrorCode::COORDINATOR_NOT_AVAILABLE);
  const auto ensured = site.answer<std::optional<ErrorCode>>([&](auto done) {
    site.groups->ensure_topic(site.process->loop(1),
                              [done = std::move(done)](Result<void> result) mutable {
                                done(result ? ErrorCode::NONE : to_kafka_error(result.error()));
                              });
  });
  EXPECT_EQ(ensured, ErrorCode::REQUEST_TIMED_OUT);
  site.engine.refuse_topics = ErrorCode::NONE;
  EXPECT_EQ(commit("g", 7), ErrorCode::NONE) << "and the next request tries again";
}

TEST_F(GroupCoordinatorTest, WhileAShardLoadsCommitsAreRefusedAndHeartbeatsPass) {
  const std::string member = stable_member();
  site.stop();
  site.disk_latency = milliseconds(20);
  site.start(milliseconds(1));
  EXPECT_EQ(heartbeat(member), ErrorCode::NONE) << "nobody knows better yet";
  EXPECT_EQ(commit("g", 1), ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
  wire::ListGroupsRequest list;
  EXPECT_EQ(site.send(&GroupCoordinator::list_groups, list, 5).error_code,
            ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
  site.world.run_for(milliseconds(200));
  EXPECT_EQ(heartbeat("nobody"), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(heartbeat(member), ErrorCode::NONE);
}

// --- Durability ---------------------------------------------------------------------------------

TEST_F(GroupCoordinatorTest, AnsweredCommitsSurviveAPowerCut) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(commit("g" + std::to_string(i), i), ErrorCode::NONE);
  }
  site.crash(env::SimCrash::kPowerCutLosesAll);
  site.start();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(position("g" + std::to_string(i)), i);
}

TEST_F(GroupCoordinatorTest, NoAnsweredCommitIsLostWhereverThePowerGoes) {
  std::int64_t answered = -1;
  std::int64_t sent = 0;
  EXPECT_EQ(commit("g", 0), ErrorCode::NONE);
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < 5; ++i) {
      const std::int64_t offset = ++sent;
      site.groups->commit_offsets(commit_request("g", "t", offset), ApiVersion(8), site.client(),
                                  [&answered, offset](wire::OffsetCommitResponse response) {
                                    const auto code = response.topics[0].partitions[0].error_code;
                                    if (code == ErrorCode::NONE) answered = offset;
                                  });
    }
    site.world.run_for(std::chrono::microseconds(site.world.rng().below(700)));
    site.crash(env::SimCrash::kPowerCut);
    const std::int64_t known = answered;
    site.start();
    const std::int64_t found = position("g");
    EXPECT_GE(found, known) << "round " << round;
    EXPECT_LE(found, sent);
  }
  EXPECT_GT(answered, 5) << "some rounds got answers";
}

TEST_F(GroupCoordinatorTest, AStableGroupSurvivesAPowerCut) {
  const std::string member = stable_member();
  site.crash(env::SimCrash::kPowerCutLosesAll);
  site.start();
  EXPECT_EQ(heartbeat(member), ErrorCode::NONE);
}

TEST_F(GroupCoordinatorTest, AFailedSyncOfTheDiskIsNotAnsweredAsDone) {
  EXPECT_EQ(commit("g", 1), ErrorCode::NONE);
  env::DiskFault fault(env::DiskOp::kSync, "__consumer_offsets", 5);
  fault.count = -1;
  site.disk.add_fault(fault);
  EXPECT_EQ(commit("g", 2), ErrorCode::NOT_COORDINATOR);
  EXPECT_EQ(commit("g", 3), ErrorCode::NOT_COORDINATOR);
  site.disk.clear_faults();
}

TEST_F(GroupCoordinatorTest, AFullDiskRefusesCommitsAndRecovers) {
  EXPECT_EQ(commit("g", 1), ErrorCode::NONE);
  env::DiskFault fault(env::DiskOp::kWrite, "__consumer_offsets", 28);
  fault.count = 1;
  site.disk.add_fault(fault);
  EXPECT_EQ(commit("g", 2), ErrorCode::NOT_COORDINATOR);
  EXPECT_EQ(position("g"), 1);
  EXPECT_EQ(commit("g", 3), ErrorCode::NONE);
  EXPECT_EQ(position("g"), 3);
}

// --- Timeouts in the world's time ---------------------------------------------------------------

TEST_F(GroupCoordinatorTest, SessionsEndByTheClock) {
  const std::string member = stable_member();
  for (int i = 0; i < 5; ++i) {
    site.world.run_for(seconds(8));
    EXPECT_EQ(heartbeat(member), ErrorCode::NONE);
  }
  site.world.run_for(seconds(11));
  EXPECT_EQ(heartbeat(member), ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST_F(GroupCoordinatorTest, ShuttingDownAnswersWaitingJoins) {
  const auto first = site.send(&GroupCoordinator::join_group, join_request(), 9);
  std::optional<ErrorCode> code;
  site.groups->join_group(
      join_request(first.member_id), ApiVersion(9), site.client(),
      [&code](wire::JoinGroupResponse response) { code = response.error_code; });
  site.world.run_for(milliseconds(10));
  EXPECT_FALSE(code.has_value());
  site.stop();
  EXPECT_EQ(code, ErrorCode::NOT_COORDINATOR);
}

// --- Wire shapes --------------------------------------------------------------------------------

TEST_F(GroupCoordinatorTest, JoinChecksIdAndSessionTimeout) {
  auto request = join_request();
  request.group_id = "";
  EXPECT_EQ(site.send(&GroupCoordinator::join_group, request, 9).error_code,
            ErrorCode::INVALID_GROUP_ID);
  request.group_id = std::string(40'000, 'x');
  EXPECT_EQ(site.send(&GroupCoordinator::join_group, request, 9).error_code,
            ErrorCode::INVALID_GROUP_ID);
  request = join_request();
  request.session_timeout_ms = 5'999;
  EXPECT_EQ(site.send(&GroupCoordinator::join_group, request, 9).error_code,
            ErrorCode::INVALID_SESSION_TIMEOUT);
  request.session_timeout_ms = 1'800'001;
  const auto refused = site.send(&GroupCoordinator::join_group, request, 4);
  EXPECT_EQ(refused.error_code, ErrorCode::INVALID_SESSION_TIMEOUT);
  EXPECT_EQ(refused.protocol_name, "") << "not null before version 7";
}

TEST_F(GroupCoordinatorTest, EveryJoinAnswerCanBeEncodedInItsVersion) {
  for (std::int16_t version = 0; version <= 9; ++version) {
    auto request = join_request();
    request.group_id = "v" + std::to_string(version);
    const auto response = site.send(&GroupCoordinator::join_group, request, version);
    Writer writer;
    EXPECT_TRUE(response.encode(writer, ApiVersion(version))) << version;
    EXPECT_EQ(response.error_code, version < 4 ? ErrorCode::NONE : ErrorCode::MEMBER_ID_REQUIRED);
  }
}

TEST_F(GroupCoordinatorTest, SyncOfVersion5NamesItsProtocol) {
  wire::SyncGroupRequest request;
  request.group_id = "g";
  EXPECT_EQ(site.send(&GroupCoordinator::sync_group, request, 5).error_code,
            ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  EXPECT_EQ(site.send(&GroupCoordinator::sync_group, request, 4).error_code,
            ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST_F(GroupCoordinatorTest, LeaveOfBothShapes) {
  const std::string member = stable_member();
  wire::LeaveGroupRequest old;
  old.group_id = "g";
  old.member_id = "bogus";
  EXPECT_EQ(site.send(&GroupCoordinator::leave_group, old, 2).error_code,
            ErrorCode::UNKNOWN_MEMBER_ID);
  old.member_id = member;
  const auto left = site.send(&GroupCoordinator::leave_group, old, 2);
  EXPECT_EQ(left.error_code, ErrorCode::NONE);
  EXPECT_TRUE(left.members.empty());
  wire::LeaveGroupRequest batch;
  batch.group_id = "unknown";
  batch.members.emplace_back();
  batch.members[0].member_id = "m";
  const auto unknown = site.send(&GroupCoordinator::leave_group, batch, 5);
  EXPECT_EQ(unknown.error_code, ErrorCode::NONE);
  EXPECT_EQ(unknown.members.at(0).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST_F(GroupCoordinatorTest, G48CommitAnswersPerPartition) {
  auto request = commit_request("gs", "t", 7);
  request.topics.push_back(commit_request("gs", "missing", 7).topics[0]);
  request.topics[0].partitions.push_back(request.topics[0].partitions[0]);
  request.topics[0].partitions[1].partition_index = 3;
  const auto response = site.send(&GroupCoordinator::commit_offsets, request, 3);
  EXPECT_EQ(response.topics[0].partitions[0].error_code, ErrorCode::NONE);
  EXPECT_EQ(response.topics[0].partitions[1].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(response.topics[1].partitions[0].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(response.topics[1].name, "missing");
}

TEST_F(GroupCoordinatorTest, CommitsByTopicId) {
  auto request = commit_request("g", "", 7);
  request.topics[0].topic_id = site.engine.image()->topic("t")->id;
  request.topics.push_back(request.topics[0]);
  request.topics[1].topic_id = Uuid(std::array<std::uint8_t, 16>{9});
  const auto response = site.send(&GroupCoordinator::commit_offsets, request, 10);
  EXPECT_EQ(response.topics[0].partitions[0].error_code, ErrorCode::NONE);
  EXPECT_EQ(response.topics[0].topic_id, request.topics[0].topic_id);
  EXPECT_EQ(response.topics[1].partitions[0].error_code, ErrorCode::UNKNOWN_TOPIC_ID);
  EXPECT_EQ(position("g"), 7);
}

TEST_F(GroupCoordinatorTest, G48FetchInTheOldShape) {
  commit("g", 7);
  const auto some = fetch("g", {0, 1}, 5);
  const auto& partitions = some.topics.at(0).partitions;
  EXPECT_EQ(partitions[0].committed_offset, Offset(7));
  EXPECT_EQ(partitions[0].committed_leader_epoch, LeaderEpoch(6));
  EXPECT_EQ(partitions[0].metadata, "note");
  EXPECT_EQ(partitions[1].committed_offset, kNoOffset);
  EXPECT_EQ(partitions[1].committed_leader_epoch, kNoLeaderEpoch);
  EXPECT_EQ(partitions[1].metadata, "");
  EXPECT_EQ(partitions[1].error_code, ErrorCode::NONE);
  EXPECT_EQ(fetch("unknown", {0}, 5).topics.at(0).partitions[0].committed_offset, kNoOffset);
  wire::OffsetFetchRequest all;
  all.group_id = "g";
  all.topics.reset();
  const auto everything = site.send(&GroupCoordinator::fetch_offsets, all, 5);
  ASSERT_EQ(everything.topics.size(), 1u);
  EXPECT_EQ(everything.topics[0].partitions.size(), 1u);
  all.group_id = "unknown";
  EXPECT_TRUE(site.send(&GroupCoordinator::fetch_offsets, all, 5).topics.empty());
  all.group_id = std::string(40'000, 'x');
  EXPECT_EQ(site.send(&GroupCoordinator::fetch_offsets, all, 5).error_code,
            ErrorCode::INVALID_GROUP_ID);
}

TEST_F(GroupCoordinatorTest, FetchOfManyGroups) {
  for (int i = 0; i < 8; ++i) commit("g" + std::to_string(i), i);
  wire::OffsetFetchRequest request;
  for (int i = 0; i < 9; ++i) {
    auto& group = request.groups.emplace_back();
    group.group_id = "g" + std::to_string(i);
    group.topics.reset();
  }
  const auto response = site.send(&GroupCoordinator::fetch_offsets, request, 9);
  ASSERT_EQ(response.groups.size(), 9u);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(response.groups[i].group_id, "g" + std::to_string(i)) << "in the order asked for";
    EXPECT_EQ(response.groups[i].topics.at(0).partitions.at(0).committed_offset,
              Offset(static_cast<std::int64_t>(i)));
  }
  EXPECT_TRUE(response.groups[8].topics.empty());
}

TEST_F(GroupCoordinatorTest, FetchByTopicId) {
  commit("g", 7);
  wire::OffsetFetchRequest request;
  auto& group = request.groups.emplace_back();
  group.group_id = "g";
  group.topics.emplace(2);
  (*group.topics)[0].topic_id = site.engine.image()->topic("t")->id;
  (*group.topics)[0].partition_indexes = {0};
  (*group.topics)[1].topic_id = Uuid(std::array<std::uint8_t, 16>{9});
  (*group.topics)[1].partition_indexes = {0};
  auto response = site.send(&GroupCoordinator::fetch_offsets, request, 10);
  EXPECT_EQ(response.groups[0].topics[0].partitions[0].committed_offset, Offset(7));
  EXPECT_EQ(response.groups[0].topics[1].partitions[0].committed_offset, kNoOffset);
  EXPECT_EQ(response.groups[0].topics[1].partitions[0].error_code, ErrorCode::UNKNOWN_TOPIC_ID);
  request.groups[0].topics.reset();
  response = site.send(&GroupCoordinator::fetch_offsets, request, 10);
  EXPECT_EQ(response.groups[0].topics.at(0).topic_id, site.engine.image()->topic("t")->id);
}

TEST_F(GroupCoordinatorTest, ADeletedTopicTakesItsPositionsAlong) {
  commit("g", 7);
  const Uuid before = site.engine.image()->topic("t")->id;
  site.process->loop(0).post([this] { site.engine.delete_topic("t"); });
  site.world.run_for(milliseconds(10));
  site.process->loop(0).post([this] { site.engine.add_topic("t", 3); });
  site.world.run_for(milliseconds(10));
  EXPECT_NE(site.engine.image()->topic("t")->id, before);
  EXPECT_EQ(position("g"), -1);
}

TEST_F(GroupCoordinatorTest, G48DescribeByVersion) {
  commit("gs", 7);
  wire::DescribeGroupsRequest request;
  request.groups = {"unknown", "gs"};
  for (const std::int16_t version : std::initializer_list<std::int16_t>{0, 5, 6}) {
    const auto response = site.send(&GroupCoordinator::describe_groups, request, version);
    EXPECT_EQ(response.groups[0].group_state, "Dead");
    EXPECT_EQ(response.groups[0].error_code,
              version < 6 ? ErrorCode::NONE : ErrorCode::GROUP_ID_NOT_FOUND);
    EXPECT_EQ(response.groups[0].error_message.has_value(), version >= 6);
    EXPECT_EQ(response.groups[1].group_state, "Empty");
    EXPECT_TRUE(response.groups[1].members.empty());
  }
}

TEST_F(GroupCoordinatorTest, ListsGroupsOfAllShards) {
  for (int i = 0; i < 10; ++i) commit("g" + std::to_string(i), i);
  stable_member();
  wire::ListGroupsRequest request;
  auto listed = site.send(&GroupCoordinator::list_groups, request, 5);
  ASSERT_EQ(listed.groups.size(), 11u);
  EXPECT_EQ(listed.groups[0].group_id, "g");
  EXPECT_EQ(listed.groups[10].group_id, "g9");
  EXPECT_EQ(listed.groups[0].group_type, "classic");
  request.states_filter = {"STABLE"};
  listed = site.send(&GroupCoordinator::list_groups, request, 5);
  ASSERT_EQ(listed.groups.size(), 1u);
  EXPECT_EQ(listed.groups[0].group_state, "Stable");
}

TEST_F(GroupCoordinatorTest, DeletesGroupsAndOffsets) {
  commit("a", 1);
  stable_member();
  wire::DeleteGroupsRequest request;
  request.groups_names = {"a", "g", "none"};
  const auto deleted = site.send(&GroupCoordinator::delete_groups, request, 3);
  EXPECT_EQ(deleted.results[0].error_code, ErrorCode::NONE);
  EXPECT_EQ(deleted.results[1].error_code, ErrorCode::NON_EMPTY_GROUP);
  EXPECT_EQ(deleted.results[2].error_code, ErrorCode::GROUP_ID_NOT_FOUND);
  EXPECT_EQ(position("a"), -1);
  wire::OffsetDeleteRequest offsets;
  offsets.group_id = "g";
  for (const std::string topic : {"t", "missing"}) {
    auto& one = offsets.topics.emplace_back();
    one.name = topic;
    one.partitions.emplace_back();
  }
  const auto response = site.send(&GroupCoordinator::delete_offsets, offsets, 0);
  EXPECT_EQ(response.error_code, ErrorCode::NONE);
  EXPECT_EQ(response.topics[0].partitions[0].error_code, ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC);
  EXPECT_EQ(response.topics[1].partitions[0].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  offsets.group_id = "none";
  EXPECT_EQ(site.send(&GroupCoordinator::delete_offsets, offsets, 0).error_code,
            ErrorCode::GROUP_ID_NOT_FOUND);
}

TEST_F(GroupCoordinatorTest, SyncedPositionsStayWhileTheTopicIsMirrored) {
  site.engine.set_mirror("t", metadata::DesiredMirrorState::kMirroring);
  SyncedOffset synced;
  synced.topic_partition = TopicPartition("t", 0);
  synced.offset = Offset(80);
  const auto result = site.answer<SyncOffsetsResult>([&](auto done) {
    site.groups->sync_offsets("g", "m", {synced}, site.process->loop(2), std::move(done));
  });
  EXPECT_EQ(result.outcomes, std::vector{SyncOutcome::kWritten});
  site.world.run_for(std::chrono::hours(24 * 15));
  EXPECT_EQ(position("g"), 80);
  site.process->loop(0).post(
      [this] { site.engine.set_mirror("t", metadata::DesiredMirrorState::kStopped); });
  site.world.run_for(std::chrono::hours(24 * 6));
  EXPECT_EQ(position("g"), 80);
  site.world.run_for(std::chrono::hours(24 * 2));
  EXPECT_EQ(position("g"), -1);
}

}  // namespace
}  // namespace kmirror::coordinator::testing
