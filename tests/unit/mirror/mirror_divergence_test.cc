// Two logs that disagree, and a source whose log starts later than ours ends.
// Cases G22, G27, G28, G57, G64; decisions 3.9, 3.10.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/mirror/batches.h"
#include "unit/mirror/mirror_site.h"

namespace kmirror::mirror {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

const TopicPartition kT0("t", 0);

class MirrorDivergenceTest : public ::testing::Test {
 protected:
  void start_mirror(const std::map<std::string, std::string>& configs = {}) {
    site_.start();
    site_.create_mirror(configs);
    ASSERT_EQ(site_.start_topics({"t"}), ErrorCode::NONE);
  }
  void append(std::int64_t first, std::int64_t last, std::int32_t epoch,
              const std::string& value = "v") {
    site_.source.append(kT0, Slice::take(batch(first, last, epoch, value)));
  }
  [[nodiscard]] bool is_copy() { return site_.bytes_of(kT0) == site_.source_bytes_of(kT0); }
  /// The request positions of t-0 as (offset, last fetched epoch), from request `from` on.
  [[nodiscard]] std::set<std::pair<std::int64_t, std::int32_t>> asked(std::size_t from) {
    std::set<std::pair<std::int64_t, std::int32_t>> positions;
    const auto& seen = site_.source.fetch.seen;
    for (std::size_t i = from; i < seen.size(); ++i) {
      // Sessionless requests look at our last batch only.
      if (seen[i].request.session_epoch < 0) continue;
      for (const auto& topic : seen[i].request.topics) {
        for (const auto& partition : topic.partitions) {
          positions.emplace(partition.fetch_offset.get(), partition.last_fetched_epoch.get());
        }
      }
    }
    return positions;
  }
  MirrorSite site_;
};

/// Mirror 0-49 of epoch 3, as in G57.
class MirrorLastEpochTest : public MirrorDivergenceTest {
 protected:
  MirrorLastEpochTest() {
    site_.source.create_topic("t", 1);
    site_.source.move_leader(kT0, kSourceOne, LeaderEpoch{3});
    append(0, 19, 3);
    append(20, 39, 3);
    append(40, 49, 3);
    start_mirror();
    EXPECT_TRUE(site_.catches_up(kT0, 50));
    EXPECT_TRUE(site_.reaches(kT0, "MIRRORING"));
  }
  /// The source becomes {0@0, 3@20, 5@40}, end 60, leader epoch 5.
  void rewrite_source() {
    auto& log = site_.source.log(kT0);
    log.truncate_to(Offset(0));
    append(0, 19, 0);
    append(20, 39, 3);
    append(40, 59, 5, "other");
    site_.source.move_leader(kT0, kSourceOne, LeaderEpoch{5});
  }
};

// G57: after empty answers, a reconnect, pause and resume, and a restart.
TEST_F(MirrorLastEpochTest, EveryRequestSaysWhereTheLogStands) {
  site_.world.run_for(seconds(4));
  const std::size_t before = site_.source.fetch.seen.size();
  site_.source.drop_connections(kSourceOne);
  site_.world.run_for(seconds(3));
  EXPECT_EQ(site_.pause_topics({"t"}), ErrorCode::NONE);
  EXPECT_TRUE(site_.reaches(kT0, "PAUSED"));
  EXPECT_EQ(site_.resume_topics({"t"}), ErrorCode::NONE);
  EXPECT_TRUE(site_.reaches(kT0, "MIRRORING"));
  site_.world.run_for(seconds(3));
  site_.stop();
  site_.start();
  EXPECT_TRUE(site_.reaches(kT0, "MIRRORING"));
  site_.world.run_for(seconds(3));
  EXPECT_THAT(asked(before), ::testing::ElementsAre(std::make_pair(50, 3)));
  EXPECT_EQ(site_.describe(kT0).state, "MIRRORING");
}

TEST_F(MirrorLastEpochTest, ACutSourceFailsThePartitionAndNothingIsTouched) {
  const Bytes before = site_.bytes_of(kT0);
  rewrite_source();
  ASSERT_TRUE(site_.reaches(kT0, "FAILED"));
  site_.world.run_for(seconds(60));
  const Described shown = site_.describe(kT0);
  EXPECT_EQ(shown.state, "FAILED");
  EXPECT_EQ(shown.attempt, -1) << "not retried";
  EXPECT_THAT(shown.error, HasSubstr("agrees with ours up to offset 40 only, ours ends at 50"));
  EXPECT_EQ(site_.bytes_of(kT0), before);
}

TEST_F(MirrorLastEpochTest, ACutSourceIsFollowedIfTheTopicAllowsIt) {
  site_.set_topic_config("t", "mirror.support.unclean.leader.election", "true");
  // The next assignment carries the new setting.
  EXPECT_EQ(site_.pause_topics({"t"}), ErrorCode::NONE);
  EXPECT_TRUE(site_.reaches(kT0, "PAUSED"));
  EXPECT_EQ(site_.resume_topics({"t"}), ErrorCode::NONE);
  EXPECT_TRUE(site_.reaches(kT0, "MIRRORING"));
  site_.world.run_for(seconds(2));
  rewrite_source();
  ASSERT_TRUE(site_.catches_up(kT0, 60));
  const auto entries = site_.log(kT0)->epoch_entries();
  EXPECT_EQ(entries.back(), storage::EpochEntry(LeaderEpoch{5}, Offset(40)));
  const Bytes ours = site_.bytes_of(kT0);
  const Bytes theirs = site_.source_bytes_of(kT0);
  // What was shared by epoch (0-39 here) was not touched; 40-59 are the source's.
  const Bytes tail = batch(40, 59, 5, "other");
  ASSERT_GE(ours.size(), tail.size());
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), ours.end() - static_cast<long>(tail.size())));
  EXPECT_TRUE(site_.reaches(kT0, "MIRRORING"));
}

// G22: mirror {0@0, 1@5, 3@8} end 10, source {0@0, 2@4, 5@9} end 12; Fetch without DivergingEpoch.
TEST_F(MirrorDivergenceTest, InterleavedEpochsAreCutInTwoSteps) {
  site_.source.fetch.max_version = ApiVersion(11);
  site_.source.create_topic("t", 1);
  site_.source.move_leader(kT0, kSourceOne, LeaderEpoch{3});
  append(0, 3, 0);
  append(4, 4, 0);
  append(5, 7, 1);
  append(8, 9, 3);
  start_mirror();
  ASSERT_TRUE(site_.catches_up(kT0, 10));
  ASSERT_TRUE(site_.reaches(kT0, "MIRRORING"));
  site_.set_topic_config("t", "mirror.support.unclean.leader.election", "true");
  EXPECT_EQ(site_.pause_topics({"t"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.reaches(kT0, "PAUSED"));
  auto& log = site_.source.log(kT0);
  log.truncate_to(Offset(4));
  append(4, 8, 2);
  append(9, 11, 5);
  site_.source.move_leader(kT0, kSourceOne, LeaderEpoch{5});
  site_.source.offset_for_leader_epoch.seen.clear();
  EXPECT_EQ(site_.resume_topics({"t"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.catches_up(kT0, 12));
  EXPECT_TRUE(is_copy());
  // The first question is fenced, for the leader's epoch moved; then 3, then 1.
  std::vector<std::int32_t> questions;
  for (const auto& seen : site_.source.offset_for_leader_epoch.seen) {
    const auto epoch = seen.request.topics.at(0).partitions.at(0).leader_epoch.get();
    if (questions.empty() || questions.back() != epoch) questions.push_back(epoch);
  }
  ASSERT_GE(questions.size(), 2U);
  EXPECT_EQ(questions[0], 3);
  EXPECT_EQ(questions[1], 1);
}

// Decisions 3.10: epochs agree, but the source holds another batch where our log ends.
TEST_F(MirrorDivergenceTest, AnotherBatchAtTheTailIsNeverAppendedTo) {
  site_.source.forget_topic_ids();
  site_.source.create_topic("t", 1);
  append(0, 9, 0, "old");
  append(10, 19, 0, "old");
  start_mirror();
  ASSERT_TRUE(site_.catches_up(kT0, 20));
  ASSERT_TRUE(site_.reaches(kT0, "MIRRORING"));
  const Bytes before = site_.bytes_of(kT0);
  site_.stop();
  site_.source.log(kT0).truncate_to(Offset(0));
  append(0, 9, 0, "new");
  append(10, 19, 0, "new");
  append(20, 29, 0, "new");
  site_.start();
  ASSERT_TRUE(site_.reaches(kT0, "FAILED"));
  const Described shown = site_.describe(kT0);
  EXPECT_EQ(shown.attempt, -1);
  EXPECT_THAT(shown.error, HasSubstr("another batch at our log's tail: ours offsets 10..19"));
  EXPECT_EQ(site_.bytes_of(kT0), before);
}

// G27: caught up, restarted, then DeleteRecords(1000) at the source.
TEST_F(MirrorDivergenceTest, TheLogStartFollowsTheSource) {
  site_.source.create_topic("t", 1);
  for (int i = 0; i < 50; ++i) append(i * 100, i * 100 + 99, 0);
  start_mirror();
  ASSERT_TRUE(site_.catches_up(kT0, 5'000));
  site_.stop();
  site_.start();
  ASSERT_TRUE(site_.reaches(kT0, "MIRRORING"));
  site_.world.run_for(seconds(2));
  site_.source.log(kT0).set_start(Offset(1'000));
  site_.source.notify();
  ASSERT_TRUE(site_.world.run_until(
      [&] { return site_.log(kT0)->log_start_offset() == Offset(1'000); }, seconds(30)));
  storage::ReadRequest request;
  request.from = Offset(1'000);
  EXPECT_TRUE(site_.log(kT0)->read(request));
  request.from = Offset(999);
  EXPECT_EQ(to_kafka_error(site_.log(kT0)->read(request).error()), ErrorCode::OFFSET_OUT_OF_RANGE);
  EXPECT_EQ(site_.end_of(kT0), 5'000);
}

// G28: paused at 100; the source's start moves to 300 (end 400).
TEST_F(MirrorDivergenceTest, RetentionAtTheSourceThatOvertookUsIsAGap) {
  site_.source.create_topic("t", 1);
  append(0, 99, 0);
  start_mirror();
  ASSERT_TRUE(site_.catches_up(kT0, 100));
  ASSERT_TRUE(site_.reaches(kT0, "MIRRORING"));
  EXPECT_EQ(site_.pause_topics({"t"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.reaches(kT0, "PAUSED"));
  append(100, 299, 0);
  append(300, 399, 0);
  site_.source.log(kT0).set_start(Offset(300));
  EXPECT_EQ(site_.resume_topics({"t"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.catches_up(kT0, 400));
  EXPECT_EQ(site_.log(kT0)->log_start_offset(), Offset(300));
  EXPECT_EQ(site_.bytes_of(kT0), batch(300, 399, 0));
  const Described shown = site_.describe(kT0);
  EXPECT_EQ(shown.state, "MIRRORING");
  EXPECT_THAT(shown.error, HasSubstr("200 records were dropped at the source"));
  double lost = 0;
  for (const auto& sample : site_.metrics->snapshot()) {
    if (sample.name == "kmirror_mirror_gap_records_total") lost = sample.value;
  }
  EXPECT_EQ(lost, 200);
}

TEST_F(MirrorDivergenceTest, AGapFailsThePartitionIfThePolicySaysSo) {
  site_.source.create_topic("t", 1);
  append(0, 99, 0);
  start_mirror({{"mirror.gap.policy", "fail"}});
  ASSERT_TRUE(site_.catches_up(kT0, 100));
  ASSERT_TRUE(site_.reaches(kT0, "MIRRORING"));
  EXPECT_EQ(site_.pause_topics({"t"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.reaches(kT0, "PAUSED"));
  append(100, 399, 0);
  site_.source.log(kT0).set_start(Offset(400));
  EXPECT_EQ(site_.resume_topics({"t"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.reaches(kT0, "FAILED"));
  EXPECT_EQ(site_.describe(kT0).attempt, -1);
  EXPECT_THAT(site_.describe(kT0).error, HasSubstr("records 100..399"));
  EXPECT_EQ(site_.end_of(kT0), 100);
}

// A topic whose first records are gone already when it is started: no gap, it begins there.
TEST_F(MirrorDivergenceTest, ANewTopicBeginsWhereTheSourceBegins) {
  site_.source.create_topic("t", 1);
  append(0, 99, 0);
  append(100, 149, 0);
  site_.source.log(kT0).set_start(Offset(100));
  start_mirror();
  ASSERT_TRUE(site_.catches_up(kT0, 150));
  EXPECT_EQ(site_.log(kT0)->log_start_offset(), Offset(100));
  EXPECT_EQ(site_.describe(kT0).error, "");
}

// G64: everything is gone at the source, start and end are 300, and then the source dies.
TEST_F(MirrorDivergenceTest, ARestartAtTheSourcesStartLeavesAValidEmptyLog) {
  site_.source.create_topic("t", 1);
  append(0, 99, 0);
  start_mirror();
  ASSERT_TRUE(site_.catches_up(kT0, 100));
  ASSERT_TRUE(site_.reaches(kT0, "MIRRORING"));
  EXPECT_EQ(site_.pause_topics({"t"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.reaches(kT0, "PAUSED"));
  site_.source.log(kT0).set_start(Offset(300));
  EXPECT_EQ(site_.resume_topics({"t"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.catches_up(kT0, 300));
  site_.source.stop_node(kSourceOne);
  site_.source.stop_node(kSourceTwo);
  const auto log = site_.log(kT0);
  EXPECT_EQ(log->log_start_offset(), Offset(300));
  EXPECT_EQ(log->high_watermark(), Offset(300));
  EXPECT_EQ(log->log_end_offset(), Offset(300));
  storage::ReadRequest request;
  request.from = Offset(300);
  const auto empty = log->read(request);
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->records.empty());
  request.from = Offset(100);
  EXPECT_EQ(to_kafka_error(log->read(request).error()), ErrorCode::OFFSET_OUT_OF_RANGE);
  EXPECT_TRUE(site_.disk.exists("/data/t-0/00000000000000000300.log"));
  // Stopped without the source, written to, killed.
  EXPECT_EQ(site_.stop_topics({"t"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.reaches(kT0, "STOPPED", seconds(10)));
  EXPECT_TRUE(site_.service->is_writable("t", 0));
  EXPECT_EQ(site_.end_of(kT0), 301) << "a reset record stands at 300";
  site_.crash(env::SimCrash::kProcessDies);
  site_.start();
  ASSERT_TRUE(site_.reaches(kT0, "STOPPED"));
  EXPECT_EQ(site_.end_of(kT0), 301);
  EXPECT_EQ(site_.log(kT0)->log_start_offset(), Offset(300));
}

}  // namespace
}  // namespace kmirror::mirror
