#include <gtest/gtest.h>

#include "kmirror/cli/tables.h"

namespace kmirror::cli {
namespace {

PartitionRow row(std::string topic, std::int32_t partition, std::int64_t source,
                 std::int64_t destination, std::string state) {
  PartitionRow r;
  r.mirror = "m";
  r.topic = std::move(topic);
  r.partition = partition;
  r.source_offset = source;
  r.destination_offset = destination;
  r.state = std::move(state);
  return r;
}

TEST(Tables, ColumnKeepsTheRightEndOfALongName) {
  EXPECT_EQ(column("abc", 6), "abc   ");
  EXPECT_EQ(column("abcdef", 6), "abcdef");
  EXPECT_EQ(column("abcdefgh", 6), "...fgh");
}

TEST(Tables, DescribeSortsAndPrintsDashForUnknown) {
  EXPECT_EQ(describe_table({row("t", 10, -1, -1, "PAUSED"), row("t", 2, 100, 90, "MIRRORING")}),
            "MIRROR                         TOPIC                                    PARTITION  "
            "SOURCE-OFFSET   DESTINATION-OFFSET LAG        STATE\n"
            "m                              t                                        2          "
            "100             90                 10         MIRRORING\n"
            "m                              t                                        10         "
            "-               -                  -          PAUSED\n");
}

TEST(Tables, LagIsNeverNegative) { EXPECT_EQ(row("t", 0, 90, 100, "MIRRORING").lag(), 0); }

TEST(Tables, FailedShowsAttemptsOrNonRetryable) {
  PartitionRow retried = row("t", 0, -1, -1, "FAILED");
  retried.retry_attempt = 3;
  retried.error = "connection refused";
  PartitionRow terminal = row("t", 1, -1, -1, "FAILED");
  terminal.retry_attempt = -1;
  terminal.error = std::string(100, 'x');
  const std::string table = failed_table({retried, terminal}, 20);
  EXPECT_NE(table.find(" 0          3/20    connection refused\n"), std::string::npos) << table;
  EXPECT_NE(table.find(" NonRetryable " + std::string(80, 'x') + "\n"), std::string::npos) << table;
}

TEST(Tables, JsonIsAFlatArray) {
  EXPECT_EQ(describe_json({}), "[]");
  EXPECT_EQ(describe_json({row("t", 0, 5, 5, "MIRRORING")}),
            R"([{"mirror":"m","topic":"t","partition":0,"sourceOffset":5,"destinationOffset":5,)"
            R"("lag":0,"state":"MIRRORING","retryAttempt":0,"errorMessage":null}])");
}

TEST(Tables, ListAsTheToolPrintsIt) {
  MirrorRow mirror;
  mirror.mirror = "demo";
  mirror.topic_count = 3;
  mirror.source_cluster_id = "abcdefghijklmnopqrstuv";
  mirror.source_bootstrap = "localhost:9092";
  EXPECT_EQ(
      list_table({mirror}),
      "MIRROR                         TOPICS     SOURCE-CLUSTER-ID          "
      "SOURCE-BOOTSTRAP-SERVER\n"
      "demo                           3          abcdefghijklmnopqrstuv     localhost:9092\n");
  EXPECT_EQ(java_list({"a", "b"}), "[a, b]");
}

}  // namespace
}  // namespace kmirror::cli
