// Committed positions: who may commit, what is fetched, expiry, deletion, and a mirror's sync.
#include <random>

#include <gtest/gtest.h>

#include "group_fixture.h"
#include "kmirror/wire/offset_commit_value.h"

namespace kmirror::coordinator::testing {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kSevenDays(604'800'000);

Uuid uuid_of(std::uint8_t last) {
  std::array<std::uint8_t, 16> bytes{};
  bytes[15] = last;
  return Uuid(bytes);
}

SyncedOffset synced(const std::string& topic, std::int64_t offset) {
  SyncedOffset one;
  one.topic_partition = TopicPartition(topic, 0);
  one.offset = Offset(offset);
  one.metadata = "from the source";
  return one;
}

// --- G48 ----------------------------------------------------------------------------------------

TEST_F(GroupTest, G48CommitRules) {
  EXPECT_EQ(commit("t", 7).front(), ErrorCode::NONE) << "a group without members";
  EXPECT_EQ(commit("t", 8, -1, "", std::string(5000, 'x')).front(),
            ErrorCode::OFFSET_METADATA_TOO_LARGE);
  EXPECT_EQ(commit("t", 8, 3, "m").front(), ErrorCode::UNKNOWN_MEMBER_ID);
  EXPECT_EQ(position("t"), 7);
  const std::string id = stable_member();
  EXPECT_EQ(commit("t", 9).front(), ErrorCode::UNKNOWN_MEMBER_ID) << "the group has members";
  EXPECT_EQ(commit("t", 9, 1, id).front(), ErrorCode::NONE);
  EXPECT_EQ(commit("t", 10, 0, id).front(), ErrorCode::ILLEGAL_GENERATION);
  EXPECT_EQ(position("t"), 9);
}

TEST_F(GroupTest, CommitToAGroupThatIsNotThereNeedsNoGeneration) {
  EXPECT_EQ(commit("t", 7, 3, "m", "", 8).front(), ErrorCode::ILLEGAL_GENERATION);
  EXPECT_EQ(commit("t", 7, 3, "m", "", 9).front(), ErrorCode::GROUP_ID_NOT_FOUND);
  EXPECT_EQ(shard->membership().find("g"), nullptr);
}

TEST_F(GroupTest, G48FetchShapes) {
  commit("t", 7, -1, "", "note");
  FetchItem known;
  known.topic_partition = TopicPartition("t", 0);
  FetchItem unknown;
  unknown.topic_partition = TopicPartition("t", 1);
  const auto fetched = shard->offsets().fetch("g", {known, unknown}, true);
  ASSERT_TRUE(fetched[0].position);
  EXPECT_EQ(fetched[0].position->offset, Offset(7));
  EXPECT_EQ(fetched[0].position->leader_epoch, LeaderEpoch(4));
  EXPECT_EQ(fetched[0].position->metadata, "note");
  EXPECT_FALSE(fetched[1].position);
  EXPECT_EQ(fetched[1].error, ErrorCode::NONE);
  EXPECT_FALSE(shard->offsets().fetch("unknown", {known}, false)[0].position);
  EXPECT_EQ(shard->offsets().fetch_all("g", false).size(), 1u);
  EXPECT_TRUE(shard->offsets().fetch_all("unknown", false).empty());
}

TEST_F(GroupTest, G48DescribeUnknownAndMemberless) {
  EXPECT_FALSE(shard->describe("unknown"));
  commit("t", 7);
  const auto described = shard->describe("g");
  ASSERT_TRUE(described);
  EXPECT_EQ(described->group_state, "Empty");
  EXPECT_TRUE(described->members.empty());
  EXPECT_EQ(described->protocol_type, "");
}

TEST_F(GroupTest, MetadataIsMeasuredInJavaCharacters) {
  const auto four_bytes = [](std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += "\xF0\x9F\x98\x80";
    return text;
  };
  EXPECT_EQ(commit("t", 1, -1, "", four_bytes(2048)).front(), ErrorCode::NONE);
  EXPECT_EQ(commit("t", 1, -1, "", four_bytes(2049)).front(), ErrorCode::OFFSET_METADATA_TOO_LARGE);
}

TEST_F(GroupTest, ARecreatedTopicHasNoPositions) {
  topic_id = uuid_of(1);
  commit("t", 7);
  FetchItem item;
  item.topic_partition = TopicPartition("t", 0);
  item.topic_id = uuid_of(2);
  EXPECT_FALSE(shard->offsets().fetch("g", {item}, false)[0].position);
  item.topic_id = uuid_of(1);
  EXPECT_TRUE(shard->offsets().fetch("g", {item}, false)[0].position);
  item.topic_id = Uuid();
  EXPECT_TRUE(shard->offsets().fetch("g", {item}, false)[0].position);
}

TEST_F(GroupTest, AFailedAppendCommitsNothing) {
  commit("t", 7);
  context.fail_after = 0;
  EXPECT_EQ(commit("t", 8).front(), ErrorCode::NOT_COORDINATOR);
  EXPECT_EQ(position("t"), 7);
}

// --- Records ------------------------------------------------------------------------------------

TEST_F(GroupTest, RecordsAreThoseOfKafka44) {
  topic_id = uuid_of(9);
  commit("t", 7, -1, "", "note");
  ASSERT_EQ(context.log.size(), 1u);
  EXPECT_EQ(to_hex(context.log[0].key),
            "0001"
            "000167"
            "000174"
            "00000000");
  EXPECT_EQ(to_hex(*context.log[0].value),
            "0004"
            "0000000000000007"
            "00000004"
            "056e6f7465"
            "0000018bcfe56800"
            "01"
            "0010"
            "00000000000000000000000000000009");
  EXPECT_TRUE(context.log[0].headers.empty());
}

TEST_F(GroupTest, RetentionTimeOfOldClientsIsStoredInVersion1) {
  CommitHeader header;
  header.group_id = "g";
  header.retention_time_ms = 1'000;
  CommitItem item;
  item.topic_partition = TopicPartition("t", 0);
  item.offset = Offset(3);
  ASSERT_EQ(shard->offsets().commit(header, {item}, ApiVersion(3)).front(), ErrorCode::NONE);
  EXPECT_EQ(to_hex(*context.log[0].value).substr(0, 4), "0001");
  context.advance(milliseconds(600'000));
  EXPECT_EQ(position("t"), -1) << "gone with the first check after its time";
}

TEST_F(GroupTest, OffsetsOfTransactionsCountWhenTheTransactionCommits) {
  auto pending = offset_record("g", TopicPartition("t", 0), OffsetAndMetadata());
  shard->replay(*pending, ProducerId(5));
  EXPECT_EQ(position("t"), -1);
  FetchItem item;
  item.topic_partition = TopicPartition("t", 0);
  EXPECT_EQ(shard->offsets().fetch("g", {item}, true)[0].error, ErrorCode::UNSTABLE_OFFSET_COMMIT);
  shard->replay_end_transaction(ProducerId(6), true);
  EXPECT_EQ(position("t"), -1);
  shard->replay_end_transaction(ProducerId(5), true);
  EXPECT_EQ(position("t"), 0);
  shard->replay(*offset_record("g", TopicPartition("u", 0), OffsetAndMetadata()), ProducerId(5));
  shard->replay_end_transaction(ProducerId(5), false);
  EXPECT_EQ(position("u"), -1);
}

// --- Deleting -----------------------------------------------------------------------------------

TEST_F(GroupTest, DeletingAGroupTakesItsPositions) {
  EXPECT_EQ(shard->remove("g"), ErrorCode::GROUP_ID_NOT_FOUND);
  const std::string id = stable_member();
  commit("t", 7, 1, id);
  EXPECT_EQ(shard->remove("g"), ErrorCode::NON_EMPTY_GROUP);
  leave({{id, std::nullopt}});
  EXPECT_EQ(shard->remove("g"), ErrorCode::NONE);
  EXPECT_EQ(shard->membership().find("g"), nullptr);
  restart();
  EXPECT_EQ(shard->membership().find("g"), nullptr);
  EXPECT_EQ(position("t"), -1);
}

TEST_F(GroupTest, OffsetDeleteSparesWhatTheGroupConsumes) {
  std::vector<ErrorCode> codes;
  EXPECT_EQ(shard->offsets().remove("g", {TopicPartition("t", 0)}, codes),
            ErrorCode::GROUP_ID_NOT_FOUND);
  const std::string id = stable_member();
  commit("t", 7, 1, id);
  commit("u", 8, 1, id);
  EXPECT_EQ(shard->offsets().remove("g", {TopicPartition("t", 0), TopicPartition("u", 0)}, codes),
            ErrorCode::NONE);
  EXPECT_EQ(codes, (std::vector{ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC, ErrorCode::NONE}));
  EXPECT_EQ(position("t"), 7);
  EXPECT_EQ(position("u"), -1);
  leave({{id, std::nullopt}});
  EXPECT_EQ(shard->offsets().remove("g", {TopicPartition("t", 0)}, codes), ErrorCode::NONE);
  EXPECT_EQ(position("t"), -1);
}

TEST_F(GroupTest, OffsetDeleteOfAnotherProtocolNeedsAnEmptyGroup) {
  JoinSpec connect;
  connect.type = "connect";
  const auto joined = join_with_id(connect);
  std::vector<ErrorCode> codes;
  EXPECT_EQ(shard->offsets().remove("g", {TopicPartition("t", 0)}, codes),
            ErrorCode::NON_EMPTY_GROUP);
}

TEST_F(GroupTest, DeletedTopicsTakeTheirPositions) {
  commit("t", 7);
  commit("u", 8);
  shard->offsets().forget_topics({"t", "none"});
  EXPECT_EQ(position("t"), -1);
  EXPECT_EQ(position("u"), 8);
  restart();
  EXPECT_EQ(position("t"), -1);
}

// --- Expiry -------------------------------------------------------------------------------------

TEST_F(GroupTest, StandalonePositionsExpireAfterTheirLastCommit) {
  commit("t", 7);
  context.clock().advance(kSevenDays - milliseconds(10));
  commit("u", 8);
  context.advance(milliseconds(600'000));
  EXPECT_EQ(position("t"), -1);
  EXPECT_EQ(position("u"), 8);
  context.clock().advance(kSevenDays);
  context.advance(milliseconds(600'000));
  EXPECT_EQ(shard->membership().find("g"), nullptr) << "nothing left of the group";
  restart();
  EXPECT_EQ(shard->membership().find("g"), nullptr);
}

TEST_F(GroupTest, PositionsOfAGroupExpireAfterItBecameEmpty) {
  const std::string id = stable_member();
  commit("t", 7, 1, id);
  for (int day = 0; day < 8; ++day) {
    context.clock().advance(milliseconds(86'400'000 - 20'000));
    heartbeat(id, 1);
    context.advance(milliseconds(20'000));
    heartbeat(id, 1);
  }
  EXPECT_EQ(position("t"), 7) << "in use, however old";
  leave({{id, std::nullopt}});
  context.clock().advance(kSevenDays - milliseconds(600'010));
  context.advance(milliseconds(600'000));
  EXPECT_EQ(position("t"), 7);
  context.advance(milliseconds(600'020));
  EXPECT_EQ(position("t"), -1);
}

TEST_F(GroupTest, ALiveGroupLosesPositionsOfTopicsItNoLongerReads) {
  JoinSpec spec;
  spec.session_ms = 1'800'000;
  const std::string id = stable_member(spec);
  commit("t", 7, 1, id);
  commit("old", 8, 1, id);
  // Time passes without running timers, then one heartbeat and one check.
  context.timers().clear();
  context.clock().advance(kSevenDays);
  shard->offsets().expire();
  EXPECT_EQ(position("t"), 7);
  EXPECT_EQ(position("old"), -1);
}

// --- A mirror's sync (decisions 3.5, G34, G35) ---------------------------------------------------

TEST_F(GroupTest, G34SyncStoresZeroAndWhatItIsGiven) {
  const auto result = shard->offsets().sync("g", "m", {synced("b", 0), synced("c", 80)});
  EXPECT_EQ(result.outcomes, (std::vector{SyncOutcome::kWritten, SyncOutcome::kWritten}));
  EXPECT_EQ(position("b"), 0);
  EXPECT_EQ(position("c"), 80);
  EXPECT_EQ(context.log.back().headers.size(), 1u);
  EXPECT_EQ(context.log.back().headers[0].key, "mirror.name");
}

TEST_F(GroupTest, SyncWritesOnlyWhatChanged) {
  (void)shard->offsets().sync("g", "m", {synced("b", 5), synced("c", 80)});
  const std::size_t before = context.log.size();
  const auto result = shard->offsets().sync("g", "m", {synced("b", 5), synced("c", 81)});
  EXPECT_EQ(result.outcomes, (std::vector{SyncOutcome::kUnchanged, SyncOutcome::kWritten}));
  EXPECT_EQ(context.log.size(), before + 1);
  restart();
  EXPECT_EQ(shard->offsets().sync("g", "m", {synced("c", 81)}).outcomes,
            std::vector{SyncOutcome::kUnchanged})
      << "who stored it is known after a restart";
}

TEST_F(GroupTest, G35SyncNeverRewindsAGroupThatWorksHere) {
  (void)shard->offsets().sync("g", "m", {synced("t", 50), synced("u", 50)});
  const std::string id = stable_member();
  EXPECT_TRUE(shard->offsets().sync("g", "m", {synced("t", 51)}).group_is_active);
  commit("t", 70, 1, id);
  const auto second = join_with_id({});  // in the middle of a rebalance
  EXPECT_TRUE(shard->offsets().sync("g", "m", {synced("t", 52)}).group_is_active);
  EXPECT_EQ(position("t"), 70);
  leave({{id, std::nullopt}});
  const auto& members = shard->membership().find("g")->members();
  const std::string left = members.begin()->first;
  leave({{left, std::nullopt}});
  ASSERT_EQ(state(), GroupState::kEmpty);
  const auto result = shard->offsets().sync("g", "m", {synced("t", 53), synced("u", 60)});
  EXPECT_FALSE(result.group_is_active);
  EXPECT_EQ(result.outcomes, (std::vector{SyncOutcome::kOwnedByGroup, SyncOutcome::kWritten}));
  EXPECT_EQ(position("t"), 70);
  EXPECT_EQ(position("u"), 60);
}

TEST_F(GroupTest, SyncedPositionsLiveWhileTheTopicIsMirroredAndAWholeRetentionAfter) {
  mirrored = {"t"};
  (void)shard->offsets().sync("g", "m", {synced("t", 50)});
  context.clock().advance(3 * kSevenDays);
  context.advance(milliseconds(600'000));
  EXPECT_EQ(position("t"), 50) << "its group works at the source";
  mirrored.clear();  // failover
  context.advance(milliseconds(600'000));
  EXPECT_EQ(position("t"), 50) << "not at once because the commit is old";
  context.clock().advance(kSevenDays - milliseconds(1'200'000));
  context.advance(milliseconds(600'000));
  EXPECT_EQ(position("t"), 50);
  context.advance(milliseconds(1'200'000));
  EXPECT_EQ(position("t"), -1);
}

TEST_F(GroupTest, ReplayGivesTheLivePositions) {
  std::mt19937 random(7);  // NOLINT: the same commits every run
  for (int i = 0; i < 5'000; ++i) {
    const std::string topic(1, static_cast<char>('a' + random() % 6));
    switch (random() % 6) {
      case 0:
        (void)shard->offsets().sync("g", "m", {synced(topic, static_cast<int>(random() % 50))});
        break;
      case 1: {
        std::vector<ErrorCode> codes;
        (void)shard->offsets().remove("g", {TopicPartition(topic, 0)}, codes);
        break;
      }
      case 2:
        context.fail_after = random() % 2;
        commit(topic, static_cast<int>(random() % 50));
        context.fail_after.reset();
        break;
      default:
        commit(topic, static_cast<int>(random() % 50));
    }
  }
  const auto live = shard->offsets().offsets();
  EXPECT_FALSE(live.empty());
  restart();
  EXPECT_EQ(shard->offsets().offsets(), live);
}

TEST_F(GroupTest, ListFiltersByStateAndType) {
  stable_member();
  commit("t", 1);
  JoinSpec other;
  other.group = "h";
  join(other);
  EXPECT_EQ(shard->list({}, {}).size(), 2u);
  ASSERT_EQ(shard->list({"stable"}, {}).size(), 1u);
  EXPECT_EQ(shard->list({"stable"}, {})[0].group_id, "g");
  EXPECT_EQ(shard->list({"stable"}, {})[0].protocol_type, "consumer");
  EXPECT_EQ(shard->list({}, {"classic"}).size(), 2u);
  EXPECT_TRUE(shard->list({}, {"consumer"}).empty());
  EXPECT_TRUE(shard->list({"dead"}, {}).empty());
}

}  // namespace
}  // namespace kmirror::coordinator::testing
