// MirrorStateShard: fencing, legal transitions, last mirror positions, tombstones, and that a
// replay of its log gives its state.
#include "coordinator/mirror/mirror_state_shard.h"

#include <random>

#include <gtest/gtest.h>

#include "fakes.h"
#include "kmirror/wire/mirror_partition_state_key.h"

namespace kmirror::coordinator {
namespace {

using testing::MemoryContext;

MirrorPartitionKey key_of(std::int32_t partition, std::string mirror = "m") {
  std::array<std::uint8_t, 16> id{};
  id[15] = 7;
  return {std::move(mirror), Uuid(id), partition};
}

MirrorStateWrite write_of(MirrorPartitionKey key, MirrorState target) {
  MirrorStateWrite write;
  write.key = std::move(key);
  write.target = target;
  return write;
}

class MirrorStateShardTest : public ::testing::Test {
 protected:
  MirrorStateWritten write(const MirrorStateWrite& one) {
    return shard.write(std::span(&one, 1)).front();
  }
  MirrorStateShard::StateMap replayed() {
    MirrorStateShard other(context, MirrorRetryPolicy());
    for (const CoordinatorRecord& record : context.log) other.replay(record, kNoProducerId);
    return other.states();
  }

  MemoryContext context;
  MirrorStateShard shard{context, MirrorRetryPolicy()};
};

TEST_F(MirrorStateShardTest, UnknownPartitionsAreUnknown) {
  const MirrorPartitionState state = shard.read(key_of(3));
  EXPECT_EQ(state.status.state, MirrorState::kUnknown);
  EXPECT_EQ(state.state_epoch, 0);
  EXPECT_EQ(state.last_mirror_offset, kNoOffset);
}

TEST_F(MirrorStateShardTest, WritesCountTheStateEpoch) {
  EXPECT_EQ(write(write_of(key_of(0), MirrorState::kLogAlignment)).state.state_epoch, 1);
  MirrorStateWrite next = write_of(key_of(0), MirrorState::kMirroring);
  next.state_epoch = 1;
  next.leader_epoch = LeaderEpoch(5);
  const MirrorStateWritten done = write(next);
  EXPECT_EQ(done.error, ErrorCode::NONE);
  EXPECT_EQ(done.state.state_epoch, 2);
  EXPECT_EQ(done.state.leader_epoch, LeaderEpoch(5));
  EXPECT_EQ(context.log.size(), 2u);
  EXPECT_EQ(write(next).error, ErrorCode::FENCED_STATE_EPOCH);
  next.state_epoch = 2;
  EXPECT_EQ(write(next).state.state_epoch, 2) << "nothing changed, so nothing is written";
  EXPECT_EQ(context.log.size(), 2u);
}

TEST_F(MirrorStateShardTest, AnOldLeaderIsFenced) {
  MirrorStateWrite first = write_of(key_of(0), MirrorState::kLogAlignment);
  first.leader_epoch = LeaderEpoch(4);
  write(first);
  MirrorStateWrite old = write_of(key_of(0), MirrorState::kMirroring);
  old.leader_epoch = LeaderEpoch(3);
  const MirrorStateWritten fenced = write(old);
  EXPECT_EQ(fenced.error, ErrorCode::FENCED_LEADER_EPOCH);
  EXPECT_EQ(fenced.state.status.state, MirrorState::kLogAlignment);
  old.leader_epoch = kNoLeaderEpoch;
  EXPECT_EQ(write(old).error, ErrorCode::NONE) << "-1 skips the check";
}

TEST_F(MirrorStateShardTest, IllegalTransitionsAreRefusedAndLeaveNoRecord) {
  const MirrorStateWritten refused = write(write_of(key_of(0), MirrorState::kPaused));
  EXPECT_EQ(refused.error, ErrorCode::INVALID_CLUSTER_MIRROR_STATE);
  EXPECT_FALSE(refused.error_message.empty());
  EXPECT_TRUE(context.log.empty());
  EXPECT_TRUE(shard.states().empty());
}

TEST_F(MirrorStateShardTest, PositionIsStoredBeforeTheStateAndKept) {
  write(write_of(key_of(0), MirrorState::kLogAlignment));
  MirrorStateWrite stop = write_of(key_of(0), MirrorState::kStopping);
  stop.last_mirror_epoch = LeaderEpoch(9);
  stop.last_mirror_offset = Offset(120);
  write(stop);
  ASSERT_EQ(context.log.size(), 3u);
  EXPECT_EQ(*record_type(context.log[1].key), 1) << "last mirror epochs";
  EXPECT_EQ(*record_type(context.log[2].key), 2) << "state";
  const auto stopped = write(write_of(key_of(0), MirrorState::kStopped));
  EXPECT_EQ(stopped.state.last_mirror_epoch, LeaderEpoch(9));
  EXPECT_EQ(stopped.state.last_mirror_offset, Offset(120));
}

TEST_F(MirrorStateShardTest, PositionAloneLeavesTheStateEpoch) {
  write(write_of(key_of(0), MirrorState::kLogAlignment));
  MirrorStateWrite position = write_of(key_of(0), MirrorState::kUnknown);
  position.last_mirror_offset = Offset(0);
  const auto done = write(position);
  EXPECT_EQ(done.state.state_epoch, 1);
  EXPECT_EQ(done.state.last_mirror_offset, Offset(0)) << "0 is a position, not nothing";
}

TEST_F(MirrorStateShardTest, FailuresKeepTextAttemptAndPreviousState) {
  write(write_of(key_of(0), MirrorState::kLogAlignment));
  write(write_of(key_of(0), MirrorState::kMirroring));
  MirrorStateWrite failed = write_of(key_of(0), MirrorState::kFailed);
  failed.error_message = "source refused";
  write(failed);
  const MirrorStatus status = write(failed).state.status;
  EXPECT_EQ(status.retry_attempt, 2);
  EXPECT_EQ(status.previous, MirrorState::kMirroring);
  EXPECT_EQ(status.error_message, "source refused");
  EXPECT_EQ(replayed().at(key_of(0)).status, status);
}

TEST_F(MirrorStateShardTest, OneCallSeesItsOwnEarlierWrites) {
  const std::vector<MirrorStateWrite> writes{write_of(key_of(0), MirrorState::kLogAlignment),
                                             write_of(key_of(1), MirrorState::kLogAlignment),
                                             write_of(key_of(0), MirrorState::kMirroring),
                                             write_of(key_of(1), MirrorState::kPaused)};
  const auto results = shard.write(writes);
  EXPECT_EQ(results[2].error, ErrorCode::NONE);
  EXPECT_EQ(results[2].state.state_epoch, 2);
  EXPECT_EQ(results[3].error, ErrorCode::INVALID_CLUSTER_MIRROR_STATE);
  EXPECT_EQ(context.append_count, 2u) << "appended together as far as possible";
}

TEST_F(MirrorStateShardTest, AFailedAppendChangesNothing) {
  write(write_of(key_of(0), MirrorState::kLogAlignment));
  context.fail_after = 1;
  const std::vector<MirrorStateWrite> writes{write_of(key_of(0), MirrorState::kMirroring),
                                             write_of(key_of(1), MirrorState::kLogAlignment)};
  const auto results = shard.write(writes);
  EXPECT_EQ(results[0].error, ErrorCode::NONE);
  EXPECT_EQ(results[1].error, ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_EQ(results[1].state.status.state, MirrorState::kUnknown);
  EXPECT_EQ(replayed(), shard.states());
}

TEST_F(MirrorStateShardTest, RemovingWritesStateThenPositionTombstones) {
  write(write_of(key_of(0), MirrorState::kLogAlignment));
  write(write_of(key_of(0, "other"), MirrorState::kLogAlignment));
  const std::size_t before = context.log.size();
  ASSERT_TRUE(shard.remove(shard.keys_of("m")));
  ASSERT_EQ(context.log.size(), before + 2);
  EXPECT_EQ(*record_type(context.log[before].key), 2);
  EXPECT_EQ(*record_type(context.log[before + 1].key), 1);
  EXPECT_FALSE(context.log[before].value.has_value());
  EXPECT_FALSE(context.log[before + 1].value.has_value());
  EXPECT_EQ(shard.states().size(), 1u);
  ASSERT_TRUE(shard.remove(shard.keys_of("m")));
  EXPECT_EQ(context.log.size(), before + 2) << "repeating writes nothing";
}

TEST_F(MirrorStateShardTest, UnknownRecordsAreSkipped) {
  CoordinatorRecord unknown_type;
  unknown_type.key = from_hex("006300016d");
  CoordinatorRecord no_type;
  no_type.key = from_hex("00");
  CoordinatorRecord torn_key;
  torn_key.key = from_hex("00020001");
  auto unknown_state = record_of(
      [] {
        wire::MirrorPartitionStateKey key;
        key.mirror_name = "m";
        return key;
      }(),
      wire::MirrorPartitionStateKey(), ApiVersion(0));
  ASSERT_TRUE(unknown_state);
  unknown_state->value = from_hex("00004dffffffff00000000000000ff00");
  for (const auto* record : {&unknown_type, &no_type, &torn_key, &*unknown_state}) {
    shard.replay(*record, kNoProducerId);
  }
  EXPECT_TRUE(shard.states().empty());
}

TEST_F(MirrorStateShardTest, ReplayGivesTheLiveState) {
  std::mt19937 random(42);  // NOLINT: the same writes every run
  for (int i = 0; i < 20'000; ++i) {
    MirrorStateWrite one = write_of(key_of(static_cast<std::int32_t>(random() % 20)),
                                    kAllMirrorStates.at(random() % kAllMirrorStates.size()));
    if (random() % 5 == 0) one.last_mirror_offset = Offset(random() % 100);
    if (random() % 5 == 0) one.leader_epoch = LeaderEpoch(static_cast<std::int32_t>(random() % 9));
    if (random() % 50 == 0) context.fail_after = 0;
    write(one);
    context.fail_after.reset();
    if (random() % 500 == 0) {
      ASSERT_TRUE(shard.remove(shard.keys_of("m")));
    }
  }
  EXPECT_GT(shard.states().size(), 3u);
  EXPECT_EQ(replayed(), shard.states());
}

}  // namespace
}  // namespace kmirror::coordinator
