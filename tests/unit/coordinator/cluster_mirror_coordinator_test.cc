// ClusterMirrorCoordinator over real logs in a simulated world: states over shards, durability,
// replay, both generations of its RPCs.
#include <gtest/gtest.h>

#include "site.h"

namespace kmirror::coordinator::testing {
namespace {

using std::chrono::milliseconds;
using States = ClusterMirrorCoordinator::States;

class ClusterMirrorCoordinatorTest : public ::testing::Test {
 protected:
  ClusterMirrorCoordinatorTest() {
    site.engine.add_topic("t", 30);
    site.start();
  }

  MirrorPartitionKey key(std::int32_t partition, std::string mirror = "m") {
    return {std::move(mirror), site.engine.image()->topic("t")->id, partition};
  }
  MirrorStateWrite write_of(std::int32_t partition, MirrorState target) {
    MirrorStateWrite write;
    write.key = key(partition);
    write.target = target;
    return write;
  }
  std::vector<MirrorStateWritten> write(std::vector<MirrorStateWrite> writes) {
    return site.answer<std::vector<MirrorStateWritten>>([&](auto done) {
      site.mirrors->write(std::move(writes), site.process->loop(1), std::move(done));
    });
  }
  std::vector<MirrorStateRead> read(std::vector<MirrorPartitionKey> keys) {
    return site.answer<std::vector<MirrorStateRead>>([&](auto done) {
      site.mirrors->read(std::move(keys), site.process->loop(1), std::move(done));
    });
  }
  States list(const std::string& mirror) {
    const auto states = site.answer<std::optional<States>>([&](auto done) {
      site.mirrors->list(mirror, site.process->loop(2),
                         [done = std::move(done)](Result<States> result) mutable {
                           EXPECT_TRUE(result);
                           done(result ? *result : States());
                         });
    });
    return states.value_or(States());
  }
  template <class Call>
  bool succeeds(Call call) {
    const auto ok = site.answer<std::optional<bool>>([&](auto done) {
      call([done = std::move(done)](Result<void> result) mutable { done(result.has_value()); });
    });
    return ok.value_or(false);
  }

  Site site;
};

TEST_F(ClusterMirrorCoordinatorTest, BeforeTheTopicExistsEverythingIsUnknown) {
  const auto reads = read({key(0), key(1)});
  ASSERT_EQ(reads.size(), 2u);
  EXPECT_EQ(reads[1].error, ErrorCode::NONE);
  EXPECT_EQ(reads[1].state.status.state, MirrorState::kUnknown);
  EXPECT_TRUE(list("").empty());
  EXPECT_EQ(site.engine.created_count, 0);
}

TEST_F(ClusterMirrorCoordinatorTest, HashesTheCompositeKeyAsJavaDoes) {
  // "m:AAAAAAAAAAAAAAAAAAAAAQ:7": String.hashCode is computed here once more, by its definition.
  const std::string text = "m:" + key(7).topic_id.text() + ":7";
  std::int32_t hash = 0;
  for (const char c : text) {
    hash = static_cast<std::int32_t>(static_cast<std::uint32_t>(hash) * 31U +
                                     static_cast<std::uint32_t>(c));
  }
  const std::int64_t positive = hash == std::numeric_limits<std::int32_t>::min()
                                    ? 0
                                    : std::abs(static_cast<std::int64_t>(hash));
  EXPECT_EQ(site.mirrors->partition_for(key(7)), positive % 5);
}

TEST_F(ClusterMirrorCoordinatorTest, WritesOverAllShardsKeepTheirOrder) {
  std::vector<MirrorStateWrite> writes;
  for (int i = 0; i < 30; ++i) writes.push_back(write_of(i, MirrorState::kLogAlignment));
  writes.push_back(write_of(4, MirrorState::kMirroring));
  writes.push_back(write_of(5, MirrorState::kPaused));
  const auto written = write(writes);
  ASSERT_EQ(written.size(), 32u);
  for (int i = 0; i < 30; ++i)
    EXPECT_EQ(written[static_cast<std::size_t>(i)].error, ErrorCode::NONE);
  EXPECT_EQ(written[30].state.state_epoch, 2);
  EXPECT_EQ(written[31].error, ErrorCode::INVALID_CLUSTER_MIRROR_STATE);
  const States states = list("m");
  ASSERT_EQ(states.size(), 30u);
  EXPECT_EQ(states[4].first, key(4)) << "sorted";
  EXPECT_EQ(states[4].second.status.state, MirrorState::kMirroring);
  EXPECT_TRUE(list("other").empty());
}

TEST_F(ClusterMirrorCoordinatorTest, G42ReplayAfterAPowerCutGivesTheLiveState) {
  std::vector<MirrorStateWrite> writes;
  for (int i = 0; i < 30; ++i) writes.push_back(write_of(i, MirrorState::kLogAlignment));
  write(writes);
  for (int i = 0; i < 10; ++i) {
    MirrorStateWrite stop = write_of(i, MirrorState::kStopping);
    stop.last_mirror_epoch = LeaderEpoch(i);
    stop.last_mirror_offset = Offset(100 + i);
    stop.leader_epoch = LeaderEpoch(3);
    MirrorStateWrite failed = write_of(i + 10, MirrorState::kFailed);
    failed.error_message = "no route";
    write({stop, failed});
  }
  const States live = list("");
  EXPECT_EQ(live.size(), 30u);
  site.crash(env::SimCrash::kPowerCutLosesAll);
  site.start();
  EXPECT_TRUE(list("") == live);
  site.stop();
  site.start();
  EXPECT_TRUE(list("") == live);
}

TEST_F(ClusterMirrorCoordinatorTest, RequestsWaitForALoadingShard) {
  write({write_of(0, MirrorState::kLogAlignment)});
  site.stop();
  site.disk_latency = milliseconds(20);
  site.start(milliseconds(1));
  EXPECT_EQ(read({key(0)})[0].state.status.state, MirrorState::kLogAlignment);
}

TEST_F(ClusterMirrorCoordinatorTest, StoredStatesAreFoundEvenBeforeStartHasRun) {
  write({write_of(0, MirrorState::kLogAlignment)});
  site.stop();
  site.start(env::Duration(0));
  EXPECT_EQ(list("m").size(), 1u);
}

TEST_F(ClusterMirrorCoordinatorTest, ADeletedMirrorIsForgotten) {
  std::vector<MirrorStateWrite> writes;
  for (int i = 0; i < 30; ++i) writes.push_back(write_of(i, MirrorState::kLogAlignment));
  writes.push_back(write_of(0, MirrorState::kLogAlignment));
  writes.back().key = key(0, "other");
  write(writes);
  EXPECT_TRUE(succeeds(
      [&](auto done) { site.mirrors->remove({key(3)}, site.process->loop(0), std::move(done)); }));
  EXPECT_EQ(list("m").size(), 29u);
  EXPECT_TRUE(succeeds([&](auto done) {
    site.mirrors->remove_mirror("m", site.process->loop(0), std::move(done));
  }));
  EXPECT_TRUE(list("m").empty());
  site.crash(env::SimCrash::kPowerCutLosesAll);
  site.start();
  EXPECT_TRUE(list("m").empty());
  EXPECT_EQ(list("").size(), 1u);
}

TEST_F(ClusterMirrorCoordinatorTest, NothingIsAnsweredThatThePowerCanTakeBack) {
  std::map<std::int32_t, MirrorState> answered;
  write({write_of(0, MirrorState::kLogAlignment)});
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 6; ++i) {
      const auto partition = static_cast<std::int32_t>(site.world.rng().below(30));
      const MirrorState target =
          site.world.rng().below(2) == 0 ? MirrorState::kLogAlignment : MirrorState::kFailed;
      site.mirrors->write({write_of(partition, target)}, site.process->loop(0),
                          [&answered, partition](std::vector<MirrorStateWritten> written) {
                            if (written[0].error != ErrorCode::NONE) return;
                            answered[partition] = written[0].state.status.state;
                          });
      site.world.run_for(std::chrono::microseconds(site.world.rng().below(300)));
    }
    site.crash(env::SimCrash::kPowerCut);
    site.start();
    const States states = list("m");
    for (const auto& [partition, state] : answered) {
      const auto found = std::find_if(states.begin(), states.end(), [&](const auto& entry) {
        return entry.first == key(partition);
      });
      ASSERT_NE(found, states.end()) << "partition " << partition << ", round " << round;
      answered[partition] = found->second.status.state;
    }
  }
  EXPECT_GT(answered.size(), 10u);
}

// --- RPCs ---------------------------------------------------------------------------------------

TEST_F(ClusterMirrorCoordinatorTest, RpcsOfTheNewestGeneration) {
  wire::WriteMirrorStatesRequest request;
  request.mirror_name = "m";
  for (const std::string topic : {"t", "missing"}) {
    auto& one = request.topics.emplace_back();
    one.topic_name = topic;
    auto& partition = one.partitions.emplace_back();
    partition.state = 0;
    partition.leader_epoch = LeaderEpoch(4);
    partition.last_mirror_epoch = LeaderEpoch(2);
    partition.last_mirror_offset = Offset(55);
  }
  const auto written = site.answer<wire::WriteMirrorStatesResponse>([&](auto done) {
    site.mirrors->write_mirror_states(request, ApiVersion(1), site.process->loop(0),
                                      std::move(done));
  });
  EXPECT_EQ(written.topics[0].partitions[0].error_code, ErrorCode::NONE);
  EXPECT_EQ(written.topics[0].partitions[0].state_epoch, 1);
  EXPECT_EQ(written.topics[1].partitions[0].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  wire::ReadMirrorStatesRequest ask;
  ask.mirror_name = "m";
  auto& topic = ask.topics.emplace_back();
  topic.topic_name = "t";
  topic.partitions.resize(2);
  topic.partitions[1].partition_index = 1;
  const auto got = site.answer<wire::ReadMirrorStatesResponse>([&](auto done) {
    site.mirrors->read_mirror_states(ask, ApiVersion(1), site.process->loop(0), std::move(done));
  });
  const auto& partitions = got.topics[0].partitions;
  EXPECT_EQ(partitions[0].state, 0);
  EXPECT_EQ(partitions[0].leader_epoch, LeaderEpoch(4));
  EXPECT_EQ(partitions[0].last_mirror_epoch, LeaderEpoch(2));
  EXPECT_EQ(partitions[0].last_mirror_offset, Offset(55));
  EXPECT_EQ(partitions[1].state, -1);
}

TEST_F(ClusterMirrorCoordinatorTest, RpcsOfTheSeedGenerationHaveTheirOwnCodes) {
  write({write_of(0, MirrorState::kLogAlignment), write_of(1, MirrorState::kLogAlignment)});
  wire::WriteMirrorStatesRequest request;
  request.mirror_name = "m";
  auto& topic = request.topics.emplace_back();
  topic.topic_name = "t";
  topic.partitions.resize(2);
  topic.partitions[0].state = 2;  // STOPPING
  topic.partitions[0].last_mirrored_offset = Offset(77);
  topic.partitions[1].partition_index = 1;
  topic.partitions[1].state = 3;  // no such code there
  const auto written = site.answer<wire::WriteMirrorStatesResponse>([&](auto done) {
    site.mirrors->write_mirror_states(request, ApiVersion(0), site.process->loop(0),
                                      std::move(done));
  });
  EXPECT_EQ(written.topics[0].partitions[0].error_code, ErrorCode::NONE);
  EXPECT_EQ(written.topics[0].partitions[1].error_code, ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(read({key(0)})[0].state.status.state, MirrorState::kStopping);
  wire::ReadMirrorStatesRequest ask;
  ask.mirror_name = "m";
  auto& asked = ask.topics.emplace_back();
  asked.topic_name = "t";
  asked.partitions.resize(2);
  asked.partitions[1].partition_index = 9;
  const auto got = site.answer<wire::ReadMirrorStatesResponse>([&](auto done) {
    site.mirrors->read_mirror_states(ask, ApiVersion(0), site.process->loop(0), std::move(done));
  });
  EXPECT_EQ(got.topics[0].partitions[0].state, 2);
  EXPECT_EQ(got.topics[0].partitions[0].last_mirrored_offset, Offset(77));
  EXPECT_EQ(got.topics[0].partitions[1].state, 16);
  EXPECT_EQ(got.topics[0].partitions[1].last_mirrored_offset, Offset(0));
}

TEST_F(ClusterMirrorCoordinatorTest, TopicsRemovedBySeedGenerationWritersAreForgotten) {
  write({write_of(0, MirrorState::kLogAlignment), write_of(1, MirrorState::kLogAlignment)});
  wire::WriteMirrorStatesRequest request;
  request.mirror_name = "m";
  request.removed_topics = {"t", "missing"};
  const auto written = site.answer<wire::WriteMirrorStatesResponse>([&](auto done) {
    site.mirrors->write_mirror_states(request, ApiVersion(0), site.process->loop(0),
                                      std::move(done));
  });
  EXPECT_EQ(written.error_code, ErrorCode::NONE);
  EXPECT_TRUE(list("m").empty());
}

}  // namespace
}  // namespace kmirror::coordinator::testing
