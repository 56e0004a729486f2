// A source whose leaders move, whose answers come late, throttled or without a session.
// Cases G23, G52, G53 (b), G54, G55, G56.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/mirror/batches.h"
#include "unit/mirror/mirror_site.h"

namespace kmirror::mirror {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Each;
using ::testing::Ge;

const TopicPartition kT0("t", 0);
const TopicPartition kU0("u", 0);
const TopicPartition kV0("v", 0);

class MirrorSourceTest : public ::testing::Test {
 protected:
  /// Topic t with one partition led by node 1 under epoch `epoch`, ending at `end`, mirrored.
  void mirror_up_to(std::int64_t end, std::int32_t epoch) {
    site_.source.create_topic("t", 1);
    site_.source.move_leader(kT0, kSourceOne, LeaderEpoch{epoch});
    while (site_.source.log(kT0).end() < Offset(end)) site_.source.produce(kT0, 10);
    site_.start();
    site_.create_mirror();
    ASSERT_EQ(site_.start_topics({"t"}), ErrorCode::NONE);
    ASSERT_TRUE(site_.catches_up(kT0, end));
    ASSERT_TRUE(site_.reaches(kT0, "MIRRORING"));
  }
  void settle(env::Duration time = seconds(2)) { site_.world.run_for(time); }
  void refresh_soon() {
    // Changing a filter makes the mirror look at once.
    site_.set_mirror_config("mirror.topics.include", fmt::format("x{}", ++filters_));
  }
  [[nodiscard]] bool is_copy() { return site_.bytes_of(kT0) == site_.source_bytes_of(kT0); }
  /// Fetch offsets asked for t-0, in order, from request number `from` on.
  [[nodiscard]] std::vector<std::int64_t> asked_offsets(std::size_t from = 0) {
    std::vector<std::int64_t> offsets;
    const auto& seen = site_.source.fetch.seen;
    for (std::size_t i = from; i < seen.size(); ++i) {
      for (const auto& topic : seen[i].request.topics) {
        for (const auto& partition : topic.partitions) {
          offsets.push_back(partition.fetch_offset.get());
        }
      }
    }
    return offsets;
  }

  MirrorSite site_;
  int filters_ = 0;
};

TEST_F(MirrorSourceTest, FollowsALeaderThatMoves) {
  mirror_up_to(40, 4);
  site_.source.move_leader(kT0, kSourceTwo);
  site_.source.produce(kT0, 5);
  ASSERT_TRUE(site_.catches_up(kT0, 45));
  EXPECT_TRUE(is_copy());
  EXPECT_EQ(site_.describe(kT0).state, "MIRRORING");
  EXPECT_GT(site_.fetches(kSourceTwo), 0U);
}

/// What A's held answer says in the three runs of G52.
enum class Late { kBatches, kDiverging, kOutOfRange };

class MirrorLateAnswerTest : public MirrorSourceTest, public ::testing::WithParamInterface<Late> {};

TEST_P(MirrorLateAnswerTest, CountsForNothing) {
  mirror_up_to(40, 4);
  // (1) A holds the answer to fetch(40).
  site_.source.fetch.hold_next(1, kSourceOne);
  site_.source.produce(kT0, 10);
  ASSERT_TRUE(
      site_.world.run_until([&] { return site_.source.fetch.held.size() == 1; }, seconds(10)));
  const auto held = site_.source.fetch.held.front();
  // (2) B leads with epoch 5 and serves 40-59.
  site_.source.move_leader(kT0, kSourceTwo, LeaderEpoch{5});
  site_.source.produce(kT0, 10);
  refresh_soon();
  ASSERT_TRUE(site_.catches_up(kT0, 60)) << site_.end_of(kT0);
  // (3) A leads again with epoch 6.
  site_.source.move_leader(kT0, kSourceOne, LeaderEpoch{6});
  refresh_soon();
  settle();
  // (4) A lets go of the old answer.
  auto& answer = held->response.responses.at(0).partitions.at(0);
  if (GetParam() == Late::kDiverging) {
    answer.records.reset();
    answer.diverging_epoch.epoch = LeaderEpoch{0};
    answer.diverging_epoch.end_offset = Offset(10);
  } else if (GetParam() == Late::kOutOfRange) {
    answer.records.reset();
    answer.error_code = ErrorCode::OFFSET_OUT_OF_RANGE;
  }
  held->release();
  settle();
  EXPECT_EQ(site_.end_of(kT0), 60);
  site_.source.produce(kT0, 5);
  ASSERT_TRUE(site_.catches_up(kT0, 65));
  EXPECT_TRUE(is_copy());
  EXPECT_EQ(site_.describe(kT0).state, "MIRRORING");
  EXPECT_EQ(site_.log(kT0)->log_start_offset(), Offset(0));
}

INSTANTIATE_TEST_SUITE_P(G52, MirrorLateAnswerTest,
                         ::testing::Values(Late::kBatches, Late::kDiverging, Late::kOutOfRange));

// G23: asked with epoch 4; 10-11 of epoch 4, 12 of epoch 5, 13 of epoch 4 in one answer.
TEST_F(MirrorSourceTest, BatchesOfANewerEpochWaitForMetadata) {
  mirror_up_to(10, 4);
  bool bent = false;
  std::int64_t end_after_bent = -1;
  site_.source.fetch.hook = [&](const auto& exchange) {
    if (bent || exchange->response.responses.empty()) return;
    auto& partition = exchange->response.responses[0].partitions.at(0);
    if (!partition.records || partition.records->empty()) return;
    bent = true;
    partition.records =
        ByteChain(join({batch(10, 11, 4, "x"), batch(12, 12, 5, "x"), batch(13, 13, 4, "x")}));
  };
  const testing::Unhook unhook(site_.source);
  site_.source.append(kT0, Slice::take(batch(10, 11, 4, "x")));
  ASSERT_TRUE(site_.catches_up(kT0, 12));
  end_after_bent = site_.end_of(kT0);
  EXPECT_EQ(end_after_bent, 12);
  site_.source.move_leader(kT0, kSourceOne, LeaderEpoch{5});
  site_.source.append(kT0, Slice::take(batch(12, 12, 5, "x")));
  ASSERT_TRUE(site_.catches_up(kT0, 13));
  EXPECT_TRUE(is_copy());
  EXPECT_TRUE(site_.reaches(kT0, "MIRRORING"));
}

// G53 (b): silence for as long as the broker asks for, then the next session epoch.
TEST_F(MirrorSourceTest, AThrottledAnswerMeansSilence) {
  mirror_up_to(40, 4);
  env::Instant throttled_at{};
  site_.source.fetch.hook = [&](const auto& exchange) {
    if (throttled_at != env::Instant{}) return;
    throttled_at = site_.world.clock().now();
    exchange->response.throttle_time_ms = 1'500;
    exchange->response.responses.clear();
  };
  const testing::Unhook unhook(site_.source);
  ASSERT_TRUE(site_.world.run_until([&] { return throttled_at != env::Instant{}; }, seconds(5)));
  const std::size_t before = site_.source.fetch.seen.size();
  const std::int32_t epoch = site_.source.fetch.seen.back().request.session_epoch;
  site_.world.run_for(milliseconds(1'490));
  EXPECT_EQ(site_.source.fetch.seen.size(), before);
  site_.world.run_for(milliseconds(100));
  ASSERT_GT(site_.source.fetch.seen.size(), before);
  EXPECT_EQ(site_.source.fetch.seen[before].request.session_epoch, epoch + 1);
  EXPECT_TRUE(site_.source.fetch.seen[before].request.topics.empty());
  EXPECT_EQ(site_.source.connection_count(kSourceOne), 2U) << "metadata and one fetcher";
  site_.source.produce(kT0, 5);
  ASSERT_TRUE(site_.catches_up(kT0, 45));
}

// G54 (a), (b): the session is lost; the next request is a full one at the current ends.
class MirrorSessionTest : public MirrorSourceTest,
                          public ::testing::WithParamInterface<ErrorCode> {};

TEST_P(MirrorSessionTest, ALostSessionIsOpenedAnew) {
  for (const auto* topic : {"u", "v"}) site_.source.create_topic(topic, 1);
  mirror_up_to(40, 4);
  ASSERT_EQ(site_.start_topics({"u", "v"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.reaches(kV0, "MIRRORING"));
  settle();
  bool bent = false;
  site_.source.fetch.hook = [&](const auto& exchange) {
    if (std::exchange(bent, true)) return;
    exchange->response.error_code = GetParam();
    exchange->response.responses.clear();
  };
  const testing::Unhook unhook(site_.source);
  const std::size_t before = site_.source.fetch.seen.size();
  site_.source.produce(kT0, 5);
  site_.source.produce(kV0, 5);
  ASSERT_TRUE(site_.catches_up(kT0, 45, seconds(1)));
  ASSERT_TRUE(site_.catches_up(kV0, 5, seconds(1)));
  const auto full =
      std::find_if(site_.source.fetch.seen.begin() + static_cast<std::ptrdiff_t>(before),
                   site_.source.fetch.seen.end(),
                   [](const auto& seen) { return seen.request.session_epoch == 0; });
  ASSERT_NE(full, site_.source.fetch.seen.end());
  EXPECT_TRUE(is_copy());
  EXPECT_EQ(site_.describe(kT0).state, "MIRRORING");
}

INSTANTIATE_TEST_SUITE_P(G54, MirrorSessionTest,
                         ::testing::Values(ErrorCode::FETCH_SESSION_ID_NOT_FOUND,
                                           ErrorCode::INVALID_FETCH_SESSION_EPOCH));

// G54 (c): a broker that never grants a session.
TEST_F(MirrorSourceTest, WorksForEverWithoutASession) {
  site_.source.fetch.hook = [](const auto& exchange) { exchange->response.session_id = 0; };
  mirror_up_to(40, 4);
  for (int round = 1; round <= 20; ++round) {
    site_.source.produce(kT0, 1);
    ASSERT_TRUE(site_.catches_up(kT0, 40 + round, seconds(1)));
  }
  for (const auto& seen : site_.source.fetch.seen) {
    EXPECT_LE(seen.request.session_epoch, 0);
  }
  EXPECT_TRUE(is_copy());
}

// G54 (d) and the clean end of a session.
TEST_F(MirrorSourceTest, ABrokerThatRestartsIsFetchedFromAgainAtOnce) {
  mirror_up_to(40, 4);
  site_.source.stop_node(kSourceOne);
  settle(seconds(3));
  EXPECT_EQ(site_.describe(kT0).state, "MIRRORING");
  ASSERT_TRUE(site_.source.start_node(kSourceOne));
  site_.source.produce(kT0, 5);
  ASSERT_TRUE(site_.catches_up(kT0, 45, seconds(2)));
  EXPECT_EQ(site_.describe(kT0).state, "MIRRORING");
  EXPECT_TRUE(is_copy());
  site_.stop();
  EXPECT_EQ(site_.source.fetch.seen.back().request.session_epoch, -1);
}

// G55 (b), (c): no leader for three seconds, then absent from an answer.
TEST_F(MirrorSourceTest, APartitionWithoutLeaderWaits) {
  mirror_up_to(40, 4);
  site_.source.move_leader(kT0, NodeId{-1});
  settle(milliseconds(500));
  const std::size_t before = site_.source.metadata.seen.size();
  settle(seconds(3));
  EXPECT_LE(site_.source.metadata.seen.size() - before, 30U) << "at most ten requests a second";
  EXPECT_EQ(site_.describe(kT0).state, "MIRRORING");
  site_.source.move_leader(kT0, kSourceTwo);
  site_.source.produce(kT0, 5);
  ASSERT_TRUE(site_.catches_up(kT0, 45, seconds(1)));
  EXPECT_TRUE(is_copy());
}

TEST_F(MirrorSourceTest, ATopicThatIsAbsentFromAnAnswerIsNotDeleted) {
  mirror_up_to(40, 4);
  int answers = 0;
  site_.source.metadata.hook = [&](const auto& exchange) {
    ++answers;
    exchange->response.topics.clear();
  };
  const testing::Unhook unhook(site_.source);
  settle(seconds(100));
  EXPECT_GE(answers, 3);
  site_.source.metadata.hook = nullptr;
  EXPECT_EQ(site_.describe(kT0).state, "MIRRORING");
  site_.source.produce(kT0, 5);
  ASSERT_TRUE(site_.catches_up(kT0, 45));
}

// G55 (a): one answer of a lagging broker.
TEST_F(MirrorSourceTest, OneAnswerWithAnOldLeaderChangesNothing) {
  mirror_up_to(40, 7);
  bool bent = false;
  site_.source.metadata.hook = [&](const auto& exchange) {
    if (exchange->response.topics.empty() || std::exchange(bent, true)) return;
    auto& partition = exchange->response.topics[0].partitions.at(0);
    partition.leader_id = kSourceTwo;
    partition.leader_epoch = LeaderEpoch{5};
  };
  const testing::Unhook unhook(site_.source);
  refresh_soon();
  settle();
  EXPECT_TRUE(bent);
  EXPECT_EQ(site_.fetches(kSourceTwo), 0U);
  EXPECT_EQ(site_.describe(kT0).state, "MIRRORING");
}

// G56: a new leader knows its high watermark late.
TEST_F(MirrorSourceTest, AHighWatermarkBehindUsIsNoTruncation) {
  mirror_up_to(100, 5);
  site_.source.move_leader(kT0, kSourceTwo, LeaderEpoch{6});
  site_.source.log(kT0).set_high_watermark(Offset(90));
  site_.source.partition(kT0).offset_not_available = true;
  site_.source.notify();
  settle(seconds(5));
  Described shown = site_.describe(kT0);
  EXPECT_EQ(shown.state, "MIRRORING");
  EXPECT_EQ(shown.source_offset, 90);
  EXPECT_EQ(shown.destination_offset, 100);
  EXPECT_EQ(site_.log(kT0)->high_watermark(), Offset(100));
  double lag = -1;
  for (const auto& sample : site_.metrics->snapshot()) {
    if (sample.name == "kmirror_fetcher_lag_records") lag = sample.value;
  }
  EXPECT_EQ(lag, 0);
  site_.source.log(kT0).set_high_watermark(std::nullopt);
  site_.source.partition(kT0).offset_not_available = false;
  site_.source.produce(kT0, 5);
  ASSERT_TRUE(site_.catches_up(kT0, 105));
  EXPECT_TRUE(is_copy());
  EXPECT_THAT(asked_offsets(), Each(Ge(0)));
}

// A source before 2.8: no topic ids, Fetch up to version 12.
TEST_F(MirrorSourceTest, MirrorsASourceWithoutTopicIds) {
  site_.source.forget_topic_ids();
  mirror_up_to(40, 4);
  site_.source.produce(kT0, 5);
  ASSERT_TRUE(site_.catches_up(kT0, 45));
  EXPECT_TRUE(is_copy());
  for (const auto& seen : site_.source.fetch.seen) EXPECT_LE(seen.call.version, ApiVersion(12));
}

}  // namespace
}  // namespace kmirror::mirror
