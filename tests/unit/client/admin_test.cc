// Bootstrap lists, and AdminClient against scripted brokers.
#include "kmirror/client/admin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kmirror/env/posix.h"
#include "unit/client/scripted_broker.h"

namespace kmirror::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ParseBootstrap, TakesHostsAndPorts) {
  const auto parsed = parse_bootstrap(" a:1, b.example.org:65535 ,,[::1]:9092");
  ASSERT_TRUE(parsed);
  EXPECT_THAT(*parsed, ElementsAre(env::Endpoint("a", 1), env::Endpoint("b.example.org", 65'535),
                                   env::Endpoint("::1", 9'092)));
}

TEST(ParseBootstrap, NamesTheBadEntry) {
  for (const char* bad : {"", " , ", "a", "a:", ":1", "a:0", "a:65536", "a:1x", "::1:9", "a:1,b"}) {
    const auto parsed = parse_bootstrap(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(to_kafka_error(parsed.error()), ErrorCode::INVALID_CONFIG) << bad;
  }
  EXPECT_THAT(parse_bootstrap("a:1,b").error().message, HasSubstr("'b'"));
}

class AdminTest : public testing::Test {
 protected:
  AdminTest() : posix_(env::PosixOptions(1, 1)) { posix_.start(); }
  env::Environment& environment() { return posix_.environment(); }
  env::Loop& loop() { return *environment().loops[0]; }
  env::PosixEnvironment posix_;
};

using Members = std::vector<std::pair<int, env::Endpoint>>;

/// Answers Metadata for a cluster of the given brokers; `controller` names one of them.
ScriptedBroker::Script cluster_of(Members* brokers, int controller) {
  return [brokers, controller](const Asked& request) {
    wire::MetadataResponse response;
    response.cluster_id = "abc";
    response.controller_id = NodeId{controller};
    for (const auto& [id, at] : *brokers) {
      wire::MetadataResponse::MetadataResponseBroker broker;
      broker.node_id = NodeId{id};
      broker.host = at.host;
      broker.port = at.port;
      response.brokers.push_back(broker);
    }
    return ScriptedBroker::reply(request, response);
  };
}

env::Awaitable<void> finds_the_controller(env::Environment& environment, env::Loop& loop) {
  Members brokers;
  ScriptedBroker one(environment, loop, {{3, 12}}, cluster_of(&brokers, 2));
  ScriptedBroker two(environment, loop, {{3, 12}}, cluster_of(&brokers, 2));
  one.start();
  two.start();
  brokers = {{1, one.endpoint()}, {2, two.endpoint()}};
  AdminOptions options;
  options.bootstrap = {env::Endpoint("127.0.0.1", 1), one.endpoint()};
  AdminClient admin(environment, loop, options);
  auto cluster = co_await admin.cluster();
  EXPECT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->cluster_id, "abc");
  EXPECT_EQ(admin.brokers().size(), 2U);
  wire::MetadataRequest request;
  request.allow_auto_topic_creation = false;
  auto answer = co_await admin.call_controller(std::move(request));
  EXPECT_TRUE(answer);
  EXPECT_EQ(two.asked.size(), 1U);
  auto unknown = co_await admin.broker(NodeId(7));
  EXPECT_EQ(to_kafka_error(unknown.error()), ErrorCode::BROKER_NOT_AVAILABLE);
  admin.close();
  co_await one.stop();
  co_await two.stop();
}

TEST_F(AdminTest, SkipsADeadBootstrapServerAndFindsTheController) {
  posix_.run(loop(), finds_the_controller(environment(), loop()));
}

env::Awaitable<void> survives_an_idle_close(env::Environment& environment, env::Loop& loop) {
  Members brokers;
  ScriptedBroker broker(environment, loop, {{3, 12}}, cluster_of(&brokers, 1));
  broker.start();
  brokers = {{1, broker.endpoint()}};
  AdminOptions options;
  options.bootstrap = {broker.endpoint()};
  AdminClient admin(environment, loop, options);
  auto first = co_await admin.cluster();
  EXPECT_TRUE(first);
  broker.drop_connections();
  auto second = co_await admin.cluster();
  EXPECT_TRUE(second) << second.error().message;
  EXPECT_EQ(broker.connections(), 2);
  admin.close();
  co_await broker.stop();
}

TEST_F(AdminTest, ReconnectsWhenAnIdleConnectionWasClosed) {
  posix_.run(loop(), survives_an_idle_close(environment(), loop()));
}

env::Awaitable<void> never_creates_topics(env::Environment& environment, env::Loop& loop) {
  Members brokers;
  ScriptedBroker broker(environment, loop, {{3, 12}}, cluster_of(&brokers, 1));
  broker.start();
  brokers = {{1, broker.endpoint()}};
  AdminOptions options;
  options.bootstrap = {broker.endpoint()};
  AdminClient admin(environment, loop, options);
  const std::vector<std::string> two = {"t", "nope"};
  std::optional<std::vector<std::string>> names(two);
  auto named = co_await admin.metadata(std::move(names));
  EXPECT_TRUE(named);
  auto all = co_await admin.metadata(std::nullopt);
  EXPECT_TRUE(all);
  for (const Asked& asked : broker.asked) {
    Reader reader(asked.body);
    const auto request = wire::MetadataRequest::decode(reader, asked.version).value();
    EXPECT_FALSE(request.allow_auto_topic_creation);
  }
  EXPECT_EQ(broker.asked.size(), 2U);
  admin.close();
  co_await broker.stop();
}

// G63
TEST_F(AdminTest, NeverAsksTheSourceToCreateATopic) {
  posix_.run(loop(), never_creates_topics(environment(), loop()));
}

env::Awaitable<void> nobody_answers(env::Environment& environment, env::Loop& loop) {
  AdminOptions options;
  options.bootstrap = {env::Endpoint("127.0.0.1", 1)};
  AdminClient admin(environment, loop, options);
  auto cluster = co_await admin.cluster();
  EXPECT_FALSE(cluster);
  EXPECT_TRUE(is_connection_error(cluster.error()));
  EXPECT_THAT(cluster.error().message, HasSubstr("127.0.0.1:1"));
}

TEST_F(AdminTest, NamesEveryAddressWhenNobodyAnswers) {
  posix_.run(loop(), nobody_answers(environment(), loop()));
}

}  // namespace
}  // namespace kmirror::client
