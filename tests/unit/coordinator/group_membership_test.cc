// Classic groups: joining, rebalancing, syncing, heartbeats, leaving, static members, timeouts.
#include <gtest/gtest.h>

#include "group_fixture.h"

namespace kmirror::coordinator::testing {
namespace {

using std::chrono::milliseconds;

// --- G47 ----------------------------------------------------------------------------------------

TEST_F(GroupTest, G47aUnknownMemberGetsAnIdAndNoRebalance) {
  const auto answer = join({});
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->error_code, ErrorCode::MEMBER_ID_REQUIRED);
  EXPECT_TRUE((*answer)->member_id.starts_with("c-"));
  EXPECT_EQ((*answer)->member_id.size(), 2u + 36u);
  EXPECT_EQ((*answer)->generation_id, -1);
  EXPECT_EQ(state(), GroupState::kEmpty);
  EXPECT_TRUE(shard->membership().find("g")->members().empty());
}

TEST_F(GroupTest, G47bVersion3JoinsAtOnce) {
  JoinSpec spec;
  spec.version = 3;
  const auto answer = join(spec);
  EXPECT_FALSE(answer->has_value()) << "waits for the initial delay";
  context.advance(milliseconds(3'000));
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->error_code, ErrorCode::NONE);
  EXPECT_EQ((*answer)->generation_id, 1);
  EXPECT_EQ((*answer)->leader, (*answer)->member_id);
  EXPECT_EQ((*answer)->protocol_name, "range");
  ASSERT_EQ((*answer)->members.size(), 1u);
  EXPECT_EQ((*answer)->members[0].metadata, subscription_of({"t"}));
}

TEST_F(GroupTest, G47cStaticMemberJoinsAtOnce) {
  JoinSpec spec;
  spec.version = 5;
  spec.instance = "i1";
  const auto answer = join(spec);
  context.advance(milliseconds(3'000));
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->error_code, ErrorCode::NONE);
  EXPECT_TRUE((*answer)->member_id.starts_with("i1-"));
}

TEST_F(GroupTest, G47dMadeUpMemberIdIsUnknown) {
  JoinSpec spec;
  spec.member = "bogus";
  EXPECT_EQ((*join(spec))->error_code, ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(shard->membership().find("g"), nullptr) << "no group for a refused member";
  stable_member();
  EXPECT_EQ((*join(spec))->error_code, ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST_F(GroupTest, G47eSecondProcessWithTheInstanceIdFencesTheFirst) {
  JoinSpec spec;
  spec.instance = "i1";
  const std::string first = stable_member(spec);
  const auto again = join(spec);
  ASSERT_TRUE(again->has_value());
  EXPECT_NE((*again)->member_id, first);
  EXPECT_EQ(heartbeat(first, 1, "i1"), ErrorCode::FENCED_INSTANCE_ID);
  EXPECT_EQ(heartbeat((*again)->member_id, 1, "i1"), ErrorCode::NONE);
}

// --- Joining ------------------------------------------------------------------------------------

TEST_F(GroupTest, PendingMemberThatNeverComesBackIsForgotten) {
  const auto first = join({});
  context.advance(milliseconds(30'010));
  JoinSpec late;
  late.member = (*first)->member_id;
  EXPECT_EQ((*join(late))->error_code, ErrorCode::UNKNOWN_MEMBER_ID);
}

TEST_F(GroupTest, APendingMemberHoldsTheRebalanceUntilItsTimeout) {
  const std::string leader = stable_member();
  join({});  // an id that is never used
  JoinSpec rejoin;
  rejoin.member = leader;
  const auto answer = join(rejoin);
  EXPECT_FALSE(answer->has_value());
  context.advance(milliseconds(30'010));
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->generation_id, 2);
}

TEST_F(GroupTest, InitialRebalanceWaitsForLatecomersUpToTheRebalanceTimeout) {
  JoinSpec spec;
  spec.rebalance_ms = 7'000;
  const auto first = join_with_id(spec);
  context.advance(milliseconds(2'900));
  const auto second = join_with_id(spec);
  context.advance(milliseconds(200));
  EXPECT_FALSE(first->has_value()) << "a member came: another delay";
  context.advance(milliseconds(2'000));
  const auto third = join_with_id(spec);
  context.advance(milliseconds(1'890));
  EXPECT_FALSE(first->has_value());
  context.advance(milliseconds(20));
  ASSERT_TRUE(first->has_value()) << "never longer than the rebalance timeout";
  EXPECT_EQ((*third)->generation_id, 1);
  EXPECT_EQ((*first)->members.size(), 3u);
  EXPECT_TRUE((*second)->members.empty()) << "only the leader gets the members";
}

TEST_F(GroupTest, ProtocolIsTheOneMostPreferAmongThoseAllSupport) {
  JoinSpec a;
  a.protocols = {"x", "range", "sticky"};
  JoinSpec b;
  b.protocols = {"sticky", "range"};
  JoinSpec c;
  c.protocols = {"sticky", "range", "y"};
  const auto answers = {join_with_id(a), join_with_id(b), join_with_id(c)};
  context.advance(milliseconds(6'000));
  for (const auto& answer : answers) EXPECT_EQ((*answer)->protocol_name, "sticky");
}

TEST_F(GroupTest, InconsistentProtocolsAreRefused) {
  stable_member();
  JoinSpec other_type;
  other_type.type = "connect";
  EXPECT_EQ((*join(other_type))->error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  JoinSpec other_name;
  other_name.protocols = {"foo"};
  EXPECT_EQ((*join(other_name))->error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  JoinSpec nothing;
  nothing.group = "new";
  nothing.protocols = {};
  EXPECT_EQ((*join(nothing))->error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  EXPECT_EQ(shard->membership().find("new"), nullptr);
}

TEST_F(GroupTest, ProtocolNamedTwiceCountsOnce) {
  JoinSpec twice;
  twice.protocols = {"range", "range"};
  stable_member(twice);
  EXPECT_EQ((*join({}))->error_code, ErrorCode::MEMBER_ID_REQUIRED);
}

TEST_F(GroupTest, FullGroupTakesNobodyElse) {
  config.group_max_size = 1;
  const std::string id = stable_member();
  const auto refused = join({});
  EXPECT_EQ((*refused)->error_code, ErrorCode::GROUP_MAX_SIZE_REACHED);
  EXPECT_EQ((*refused)->member_id, "");
  EXPECT_EQ(heartbeat(id, 1), ErrorCode::NONE) << "those who are in stay undisturbed";
}

TEST_F(GroupTest, FollowerThatRejoinsUnchangedIsTheSameGeneration) {
  const auto a = join_with_id({});
  const auto b = join_with_id({});
  context.advance(milliseconds(6'000));
  const std::string leader = (*a)->leader;
  const std::string follower = leader == (*a)->member_id ? (*b)->member_id : (*a)->member_id;
  JoinSpec again;
  again.member = follower;
  auto repeated = join(again);
  ASSERT_TRUE(repeated->has_value()) << "the answer may have been lost";
  EXPECT_EQ((*repeated)->generation_id, 1);
  sync(leader, 1, {{leader, "1"}, {follower, "2"}});
  sync(follower, 1);
  repeated = join(again);
  ASSERT_TRUE(repeated->has_value());
  EXPECT_TRUE((*repeated)->members.empty());
  EXPECT_EQ(state(), GroupState::kStable);
  again.topics = {"other"};
  EXPECT_FALSE(join(again)->has_value()) << "changed metadata rebalances";
  EXPECT_EQ(state(), GroupState::kPreparingRebalance);
}

TEST_F(GroupTest, LeaderThatRejoinsForcesARebalance) {
  const std::string leader = stable_member();
  JoinSpec again;
  again.member = leader;
  const auto answer = join(again);
  ASSERT_TRUE(answer->has_value()) << "alone, so it need not wait";
  EXPECT_EQ((*answer)->generation_id, 2);
  EXPECT_EQ(state(), GroupState::kCompletingRebalance);
}

TEST_F(GroupTest, RepeatedJoinAnswersTheOlderOne) {
  const std::string leader = stable_member();
  const auto second = join_with_id({});  // rebalance: waits for the leader
  JoinSpec again;
  const auto& members = shard->membership().find("g")->members();
  const std::string& lowest = members.begin()->first;
  const std::string id = lowest == leader ? std::next(members.begin())->first : lowest;
  again.member = id;
  const auto repeated = join(again);
  ASSERT_TRUE(second->has_value()) << "one answer for each request";
  EXPECT_EQ((*second)->error_code, ErrorCode::REBALANCE_IN_PROGRESS);
  EXPECT_FALSE(repeated->has_value());
}

// --- Timeouts: G115 -----------------------------------------------------------------------------

TEST_F(GroupTest, G115RebalanceTimeoutDropsTheSilentMember) {
  JoinSpec a;
  a.rebalance_ms = 2'500;
  const std::string first = stable_member(a);
  JoinSpec b;
  b.rebalance_ms = 2'500;
  const auto joined = join_with_id(b);
  EXPECT_EQ(heartbeat(first, 1), ErrorCode::REBALANCE_IN_PROGRESS);
  EXPECT_EQ(commit("t", 5, 1, first).front(), ErrorCode::NONE);
  context.advance(milliseconds(2'490));
  EXPECT_FALSE(joined->has_value());
  context.advance(milliseconds(20));
  ASSERT_TRUE(joined->has_value());
  const std::string second = (*joined)->member_id;
  EXPECT_EQ((*joined)->generation_id, 2);
  EXPECT_EQ((*joined)->members.size(), 1u);
  EXPECT_EQ(heartbeat(first, 1), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(commit("t", 6, 1, first).front(), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(commit("t", 6, 2, second).front(), ErrorCode::REBALANCE_IN_PROGRESS);
  EXPECT_EQ(commit("t", 6, 1, second).front(), ErrorCode::ILLEGAL_GENERATION);
  EXPECT_EQ((*sync(second, 1))->error_code, ErrorCode::ILLEGAL_GENERATION);
  wire::SyncGroupRequest foo;
  foo.group_id = "g";
  foo.member_id = second;
  foo.generation_id = 2;
  foo.protocol_type = "consumer";
  foo.protocol_name = "foo";
  EXPECT_EQ((*sync(foo))->error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
}

TEST_F(GroupTest, G115Version0UsesTheSessionTimeout) {
  JoinSpec v0;
  v0.version = 0;
  v0.session_ms = 1'500;
  config.group_initial_rebalance_delay_ms = 0;
  stable_member(v0);
  const auto second = join(v0);
  context.advance(milliseconds(1'490));
  EXPECT_FALSE(second->has_value());
  context.advance(milliseconds(20));
  ASSERT_TRUE(second->has_value());
  EXPECT_EQ((*second)->generation_id, 2);
}

TEST_F(GroupTest, SilentMemberIsRemovedAfterItsSessionTimeout) {
  const std::string id = stable_member();
  context.advance(milliseconds(29'000));
  EXPECT_EQ(heartbeat(id, 1), ErrorCode::NONE);
  context.advance(milliseconds(29'000));
  EXPECT_EQ(state(), GroupState::kStable);
  context.advance(milliseconds(1'010));
  EXPECT_EQ(state(), GroupState::kEmpty);
  EXPECT_EQ(heartbeat(id, 1), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(shard->membership().find("g")->generation(), 2);
}

TEST_F(GroupTest, CommitsCountAsHeartbeats) {
  const std::string id = stable_member();
  for (int i = 0; i < 4; ++i) {
    context.advance(milliseconds(20'000));
    EXPECT_EQ(commit("t", i, 1, id).front(), ErrorCode::NONE);
  }
  EXPECT_EQ(state(), GroupState::kStable);
}

TEST_F(GroupTest, MemberThatWaitsInJoinIsAlive) {
  JoinSpec patient;
  patient.session_ms = 6'000;
  patient.rebalance_ms = 60'000;
  const std::string first = stable_member(patient);
  const auto waiting = join_with_id(patient);
  for (int i = 0; i < 10; ++i) {
    context.advance(milliseconds(5'000));
    EXPECT_EQ(heartbeat(first, 1), ErrorCode::REBALANCE_IN_PROGRESS);
  }
  EXPECT_FALSE(waiting->has_value());
  EXPECT_EQ(shard->membership().find("g")->members().size(), 2u);
}

TEST_F(GroupTest, NewMemberWhoseClientIsGoneIsDroppedAfterFiveMinutes) {
  JoinSpec slow;
  slow.session_ms = 600'000;
  slow.rebalance_ms = 600'000;
  const std::string first = stable_member(slow);
  const auto ghost = join_with_id(slow);
  context.advance(milliseconds(300'010));
  ASSERT_TRUE(ghost->has_value());
  EXPECT_EQ((*ghost)->error_code, ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(shard->membership().find("g")->members().size(), 1u);
}

TEST_F(GroupTest, MemberThatNeverSyncsIsDroppedAfterTheRebalanceTimeout) {
  JoinSpec spec;
  spec.session_ms = 600'000;
  spec.rebalance_ms = 10'000;
  const auto a = join_with_id(spec);
  const auto b = join_with_id(spec);
  context.advance(milliseconds(6'000));
  const std::string leader = (*a)->leader;
  const std::string other = leader == (*a)->member_id ? (*b)->member_id : (*a)->member_id;
  sync(leader, 1, {{leader, "1"}});
  EXPECT_EQ(state(), GroupState::kStable);
  context.advance(milliseconds(10'010));
  EXPECT_EQ(heartbeat(other, 1), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(heartbeat(leader, 1), ErrorCode::REBALANCE_IN_PROGRESS);
}

// --- SyncGroup ----------------------------------------------------------------------------------

TEST_F(GroupTest, FollowersWaitForTheLeadersAssignment) {
  const auto a = join_with_id({});
  const auto b = join_with_id({});
  context.advance(milliseconds(6'000));
  const std::string leader = (*a)->leader;
  const std::string other = leader == (*a)->member_id ? (*b)->member_id : (*a)->member_id;
  const auto follower = sync(other, 1);
  EXPECT_FALSE(follower->has_value());
  context.hold_answers = true;
  const auto leading = sync(leader, 1, {{leader, "L"}, {other, "F"}});
  EXPECT_FALSE(leading->has_value()) << "not before the group is durable";
  context.release();
  ASSERT_TRUE(follower->has_value());
  EXPECT_EQ((*follower)->assignment, Bytes({'F'}));
  EXPECT_EQ((*leading)->assignment, Bytes({'L'}));
  EXPECT_EQ((*leading)->protocol_name, "range");
  context.hold_answers = false;
  EXPECT_EQ((*sync(other, 1))->assignment, Bytes({'F'})) << "asked again when stable";
}

TEST_F(GroupTest, MemberWithoutAssignmentGetsAnEmptyOne) {
  const auto a = join_with_id({});
  const auto b = join_with_id({});
  context.advance(milliseconds(6'000));
  const std::string leader = (*a)->leader;
  const std::string other = leader == (*a)->member_id ? (*b)->member_id : (*a)->member_id;
  sync(leader, 1, {{leader, "L"}});
  EXPECT_TRUE((*sync(other, 1))->assignment.empty());
}

TEST_F(GroupTest, AFailedGroupRecordSendsEverybodyBackToJoin) {
  const auto joined = join_with_id({});
  context.advance(milliseconds(3'000));
  context.fail_after = 0;
  const auto synced = sync((*joined)->member_id, 1, {{(*joined)->member_id, "a"}});
  ASSERT_TRUE(synced->has_value());
  EXPECT_EQ((*synced)->error_code, ErrorCode::NOT_COORDINATOR);
  EXPECT_EQ(state(), GroupState::kPreparingRebalance);
}

TEST_F(GroupTest, ARebalanceReleasesWaitingSyncs) {
  const auto a = join_with_id({});
  const auto b = join_with_id({});
  context.advance(milliseconds(6'000));
  const std::string leader = (*a)->leader;
  const std::string other = leader == (*a)->member_id ? (*b)->member_id : (*a)->member_id;
  const auto follower = sync(other, 1);
  EXPECT_EQ(leave({{leader, std::nullopt}}), std::vector{ErrorCode::NONE});
  ASSERT_TRUE(follower->has_value());
  EXPECT_EQ((*follower)->error_code, ErrorCode::REBALANCE_IN_PROGRESS);
}

TEST_F(GroupTest, RequestsOfStrangersAreRefused) {
  EXPECT_EQ((*sync("x", 1))->error_code, ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(heartbeat("x", 1), ErrorCode::UNKNOWN_MEMBER_ID);
  const std::string id = stable_member();
  EXPECT_EQ((*sync("x", 1))->error_code, ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(heartbeat(id, 2), ErrorCode::ILLEGAL_GENERATION);
}

// --- Leaving and static members: G116 -----------------------------------------------------------

TEST_F(GroupTest, G116StaticMemberRestartsWithoutRebalance) {
  JoinSpec spec;
  spec.instance = "i1";
  const std::string first = stable_member(spec);
  context.hold_answers = true;
  const auto again = join(spec);
  EXPECT_FALSE(again->has_value()) << "not before the new id is durable";
  context.release();
  context.hold_answers = false;
  ASSERT_TRUE(again->has_value());
  EXPECT_EQ((*again)->generation_id, 1);
  EXPECT_NE((*again)->member_id, first);
  EXPECT_TRUE((*again)->skip_assignment);
  EXPECT_EQ((*again)->members.size(), 1u);
  EXPECT_EQ(heartbeat(first, 1, "i1"), ErrorCode::FENCED_INSTANCE_ID);
  EXPECT_EQ((*sync((*again)->member_id, 1, {}, "i1"))->assignment, Bytes({'a'}));
  EXPECT_EQ(state(), GroupState::kStable);
  EXPECT_EQ(leave({{"bogus", "i1"}}), std::vector{ErrorCode::FENCED_INSTANCE_ID});
  const std::vector<ErrorCode> expected{ErrorCode::NONE, ErrorCode::UNKNOWN_MEMBER_ID,
                                        ErrorCode::UNKNOWN_MEMBER_ID};
  EXPECT_EQ(leave({{"", "i1"}, {"", "i2"}, {"bogus", std::nullopt}}), expected);
  EXPECT_EQ(leave({{"m", std::nullopt}}, "none"), std::vector{ErrorCode::UNKNOWN_MEMBER_ID});
}

TEST_F(GroupTest, OldClientThatLedIsToldTheFormerLeader) {
  JoinSpec spec;
  spec.instance = "i1";
  spec.version = 8;
  const std::string first = stable_member(spec);
  const auto again = join(spec);
  EXPECT_EQ((*again)->leader, first) << "so that it does not assign anew";
  EXPECT_FALSE((*again)->skip_assignment);
  EXPECT_TRUE((*again)->members.empty());
}

TEST_F(GroupTest, StaticMemberThatChangesItsProtocolRebalances) {
  JoinSpec spec;
  spec.instance = "i1";
  spec.protocols = {"range", "sticky"};
  stable_member(spec);
  spec.protocols = {"sticky"};
  const auto again = join(spec);
  ASSERT_TRUE(again->has_value());
  EXPECT_EQ((*again)->generation_id, 2);
  EXPECT_EQ((*again)->protocol_name, "sticky");
}

TEST_F(GroupTest, AStaticMembersNewIdThatCannotBeStoredIsTakenBack) {
  JoinSpec spec;
  spec.instance = "i1";
  const std::string first = stable_member(spec);
  context.fail_after = 0;
  const auto again = join(spec);
  ASSERT_TRUE(again->has_value());
  EXPECT_EQ((*again)->error_code, ErrorCode::NOT_COORDINATOR);
  EXPECT_EQ(heartbeat(first, 1, "i1"), ErrorCode::NONE) << "the first goes on";
}

TEST_F(GroupTest, StaticMemberKeepsItsPlaceThroughARebalance) {
  JoinSpec fixed;
  fixed.instance = "i1";
  fixed.rebalance_ms = 5'000;
  fixed.session_ms = 60'000;
  const std::string silent = stable_member(fixed);
  JoinSpec other;
  other.rebalance_ms = 5'000;
  const auto joined = join_with_id(other);
  context.advance(milliseconds(5'010));
  ASSERT_TRUE(joined->has_value());
  EXPECT_EQ((*joined)->generation_id, 2);
  EXPECT_EQ((*joined)->members.size(), 2u) << "the silent static member is still in";
  EXPECT_EQ((*joined)->leader, (*joined)->member_id) << "but it does not lead";
}

TEST_F(GroupTest, LastMemberLeavesAnEmptyGroupWithANewGeneration) {
  const std::string id = stable_member();
  EXPECT_EQ(leave({{id, std::nullopt}}), std::vector{ErrorCode::NONE});
  EXPECT_EQ(state(), GroupState::kEmpty);
  EXPECT_EQ(shard->membership().find("g")->generation(), 2);
  EXPECT_EQ(heartbeat(id, 1), ErrorCode::UNKNOWN_MEMBER_ID);
}

// --- Restart ------------------------------------------------------------------------------------

TEST_F(GroupTest, StableGroupSurvivesARestart) {
  JoinSpec spec;
  spec.instance = "i1";
  const std::string id = stable_member(spec);
  restart();
  EXPECT_EQ(state(), GroupState::kStable);
  EXPECT_EQ(heartbeat(id, 1, "i1"), ErrorCode::NONE);
  EXPECT_EQ((*sync(id, 1, {}, "i1"))->assignment, Bytes({'a'}));
  const auto described = shard->describe("g");
  ASSERT_EQ(described->members.size(), 1u);
  EXPECT_EQ(described->members[0].client_id, "c");
  EXPECT_EQ(described->members[0].client_host, "/127.0.0.1");
  EXPECT_EQ(described->members[0].member_metadata, subscription_of({"t"}));
  EXPECT_EQ(described->protocol_data, "range");
  context.advance(milliseconds(30'010));
  EXPECT_EQ(state(), GroupState::kEmpty) << "sessions run again after a restart";
}

TEST_F(GroupTest, UnloadingAnswersEverybodyWhoWaits) {
  const auto a = join_with_id({});
  const auto b = join_with_id({});
  context.advance(milliseconds(6'000));
  const std::string leader = (*a)->leader;
  const std::string other = leader == (*a)->member_id ? (*b)->member_id : (*a)->member_id;
  const auto syncing = sync(other, 1);
  JoinSpec spec;
  spec.group = "h";
  const auto joining = join_with_id(spec);
  shard->on_unloaded();
  EXPECT_EQ((*syncing)->error_code, ErrorCode::NOT_COORDINATOR);
  EXPECT_EQ((*joining)->error_code, ErrorCode::NOT_COORDINATOR);
}

}  // namespace
}  // namespace kmirror::coordinator::testing
