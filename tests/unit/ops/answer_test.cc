#include <gtest/gtest.h>

#include "kmirror/base/log.h"
#include "kmirror/ops/http_server.h"

namespace kmirror::ops {
namespace {

std::vector<Check> all_well() { return {Check("metadata", true, "offset 12")}; }
std::vector<Check> one_bad() {
  return {Check("metadata", true, ""), Check("log dirs", false, "d1 is offline")};
}

TEST(HttpAnswer, MetricsHaveHelpTypeAndEscapedLabels) {
  metrics::Registry registry;
  registry.counter("kmirror_bytes_total", "Bytes\ncopied", {{"topic", "a\"b\\c"}}).add(7);
  registry.gauge("kmirror_lag_records", "Records behind").set(-3);
  const HttpAnswer reply = answer("GET", "/metrics", registry, all_well);
  EXPECT_EQ(reply.status, 200U);
  EXPECT_EQ(reply.body,
            "# HELP kmirror_bytes_total Bytes\\ncopied\n"
            "# TYPE kmirror_bytes_total counter\n"
            "kmirror_bytes_total{topic=\"a\\\"b\\\\c\"} 7\n"
            "# HELP kmirror_lag_records Records behind\n"
            "# TYPE kmirror_lag_records gauge\n"
            "kmirror_lag_records -3\n");
}

TEST(HttpAnswer, ReadyzNamesWhatIsNotWell) {
  metrics::Registry registry;
  EXPECT_EQ(answer("GET", "/readyz", registry, all_well).body, "ready\n");
  EXPECT_EQ(answer("GET", "/readyz?verbose", registry, all_well).body,
            "[+] metadata: offset 12\nready\n");
  const HttpAnswer bad = answer("GET", "/readyz", registry, one_bad);
  EXPECT_EQ(bad.status, 503U);
  EXPECT_EQ(bad.body, "[-] log dirs: d1 is offline\nnot ready\n");
}

TEST(HttpAnswer, UnknownPathAndMethodSayWhatIsServed) {
  metrics::Registry registry;
  EXPECT_EQ(answer("GET", "/nope", registry, all_well).status, 404U);
  EXPECT_EQ(answer("POST", "/metrics", registry, all_well).status, 405U);
  EXPECT_EQ(answer("GET", "/livez", registry, all_well).body, "alive\n");
}

TEST(HttpAnswer, LogLevelChangesAtRunTimeByPrefix) {
  metrics::Registry registry;
  EXPECT_EQ(answer("PUT", "/log-level?level=loud", registry, all_well).status, 400U);
  EXPECT_FALSE(log::enabled(log::Level::kDebug, "mirror.fetch"));
  EXPECT_EQ(answer("PUT", "/log-level?level=debug&prefix=mirror", registry, all_well).body,
            "mirror = debug\n");
  EXPECT_TRUE(log::enabled(log::Level::kDebug, "mirror.fetch"));
  EXPECT_FALSE(log::enabled(log::Level::kDebug, "server.request"));
  EXPECT_EQ(answer("PUT", "/log-level?level=warn", registry, all_well).body, "all = warn\n");
  EXPECT_FALSE(log::enabled(log::Level::kDebug, "mirror.fetch"));
}

}  // namespace
}  // namespace kmirror::ops
