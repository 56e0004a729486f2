#include <gtest/gtest.h>

#include "kmirror/cli/progress_view.h"

namespace kmirror::cli {
namespace {

TopicProgress topic(std::int64_t source, std::int64_t mirrored, int partitions, int mirroring) {
  TopicProgress t;
  t.source_records = source;
  t.mirrored_records = mirrored;
  t.partitions = partitions;
  t.mirroring = mirroring;
  return t;
}

TEST(ProgressView, PlainLineShowsShareRateAndLagPerTopic) {
  ProgressSample before;
  before.seconds = 1;
  before.bytes = 10'000'000;
  ProgressSample now;
  now.seconds = 2;
  now.bytes = 60'000'000;
  now.topics["a"] = topic(2'000, 500, 2, 2);
  now.topics["b"] = topic(1'000, 1'000, 1, 1);
  EXPECT_EQ(plain_line(before, now),
            "   2.0 s        1,500 of 3,000 records ( 50 %)     50.0 MB/s  lag: a 1,500");
  EXPECT_EQ(bar_line(before, now, 10),
            "[#####.....]  50 %        1,500 records     50.0 MB/s  lag: a 1,500");
  EXPECT_FALSE(now.caught_up());
}

TEST(ProgressView, CaughtUpNeedsEveryPartitionMirroring) {
  ProgressSample now;
  EXPECT_FALSE(now.caught_up());
  now.topics["a"] = topic(10, 10, 2, 1);
  EXPECT_FALSE(now.caught_up());
  EXPECT_NE(plain_line(now, now).find("a starting"), std::string::npos);
  now.topics["a"] = topic(10, 10, 2, 2);
  EXPECT_TRUE(now.caught_up());
  EXPECT_NE(plain_line(now, now).find("lag 0"), std::string::npos);
}

TEST(ProgressView, FailedPartitionsAreSaid) {
  ProgressSample now;
  now.topics["a"] = topic(10, 4, 2, 1);
  now.topics["a"].failed = 1;
  EXPECT_TRUE(now.any_failed());
  EXPECT_NE(plain_line(now, now).find("a 1 FAILED"), std::string::npos);
}

}  // namespace
}  // namespace kmirror::cli
