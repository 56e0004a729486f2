#include "app/room_configs.h"

#include <gtest/gtest.h>

namespace kmirror::app {
namespace {

BrokerConfig config(const metadata::ConfigMap& more) {
  metadata::ConfigMap values{{"node.id", "3"}, {"log.dirs", "/data"}};
  for (const auto& [key, value] : more) values[key] = value;
  auto made = make_broker_config(values);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return std::move(*made);
}

TEST(RoomConfigs, ServerTakesItsKeys) {
  const auto given = config({{"listeners", "PLAINTEXT://127.0.0.1:0"},
                             {"auto.create.topics.enable", "false"},
                             {"max.connections", "12"},
                             {"fetch.max.bytes", "123456"}});
  const server::ServerConfig out = server_config(given);
  EXPECT_EQ(out.node_id, NodeId(3));
  ASSERT_EQ(out.listeners.size(), 1U);
  EXPECT_EQ(out.listeners[0].name, "PLAINTEXT");
  EXPECT_EQ(out.listeners[0].bind.text(), "127.0.0.1:0");
  EXPECT_FALSE(out.auto_create_topics);
  EXPECT_EQ(out.max_connections, 12);
  EXPECT_EQ(out.fetch_max_bytes, 123456);
}

TEST(RoomConfigs, CoordinatorsTakeTheirKeys) {
  const auto given = config({{"offsets.retention.minutes", "5"},
                             {"group.initial.rebalance.delay.ms", "9"},
                             {"mirror.topic.num.partitions", "11"},
                             {"mirror.failed.retry.max.attempts", "3"}});
  EXPECT_EQ(group_config(given).offsets_retention_ms, 300'000);
  EXPECT_EQ(group_config(given).group_initial_rebalance_delay_ms, 9);
  EXPECT_EQ(group_config(given).offsets_topic_num_partitions, 50);
  EXPECT_EQ(mirror_state_config(given).topic_num_partitions, 11);
  EXPECT_EQ(mirror_state_config(given).retry.max_attempts, 3);
  EXPECT_EQ(mirror_state_config(given).retry.initial_backoff, std::chrono::milliseconds(100));
}

}  // namespace
}  // namespace kmirror::app
