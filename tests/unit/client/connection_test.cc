// Connection against a scripted broker on loopback: negotiation, order, limits, errors.
#include "kmirror/client/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kmirror/env/posix.h"
#include "kmirror/wire/fetch_request.h"
#include "kmirror/wire/fetch_response.h"
#include "kmirror/wire/metadata_request.h"
#include "kmirror/wire/metadata_response.h"
#include "unit/client/scripted_broker.h"

namespace kmirror::client {
namespace {

using testing::HasSubstr;

/// One loop that runs the test's coroutine and the broker's.
class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() : posix_(env::PosixOptions(1, 1)) { posix_.start(); }

  env::Environment& environment() { return posix_.environment(); }
  env::Loop& loop() { return *environment().loops[0]; }
  void run(env::Awaitable<void> task) { posix_.run(loop(), std::move(task)); }

  env::PosixEnvironment posix_;
};

Reply metadata_reply(const Asked& request, const std::string& cluster) {
  wire::MetadataResponse response;
  response.cluster_id = cluster;
  return ScriptedBroker::reply(request, response);
}

wire::MetadataRequest metadata_request() {
  wire::MetadataRequest request;
  request.allow_auto_topic_creation = false;
  return request;
}

env::Awaitable<void> negotiates(env::Environment& environment, env::Loop& loop,
                                ApiVersion newest_api_versions) {
  ScriptedBroker broker(environment, loop, {{3, 9}, {18, 3}},
                        [](const Asked& request) { return metadata_reply(request, "c1"); });
  broker.newest_api_versions = newest_api_versions;
  broker.start();
  ConnectionOptions options;
  options.client_id = "kmirror-test";
  auto opened = co_await Connection::open(environment, loop, broker.endpoint(), options);
  EXPECT_TRUE(opened) << opened.error().message;
  Connection& connection = **opened;
  EXPECT_EQ(connection.version_for<wire::MetadataRequest>().value(), ApiVersion{9});
  EXPECT_EQ(connection.version_for<wire::MetadataRequest>(ApiVersion{4}).value(), ApiVersion{4});
  auto refused = connection.version_for<wire::FetchRequest>();
  EXPECT_FALSE(refused);
  EXPECT_EQ(to_kafka_error(refused.error()), ErrorCode::UNSUPPORTED_VERSION);
  EXPECT_THAT(refused.error().message, HasSubstr(broker.endpoint().text()));
  auto answer = co_await connection.call(metadata_request(), ApiVersion(9));
  EXPECT_TRUE(answer);
  EXPECT_EQ(answer->cluster_id, "c1");
  EXPECT_EQ(broker.asked.at(0).client_id, "kmirror-test");
  connection.close();
  co_await broker.stop();
}

TEST_F(ConnectionTest, NegotiatesWithANewBroker) {
  run(negotiates(environment(), loop(), ApiVersion{4}));
}

TEST_F(ConnectionTest, FallsBackToVersionZeroOfApiVersionsForAnOldBroker) {
  run(negotiates(environment(), loop(), ApiVersion{2}));
}

env::Awaitable<void> pipelines(env::Environment& environment, env::Loop& loop) {
  int asked = 0;
  ScriptedBroker broker(environment, loop, {{3, 9}}, [&asked](const Asked& request) {
    return metadata_reply(request, "answer " + std::to_string(++asked));
  });
  broker.start();
  auto opened =
      co_await Connection::open(environment, loop, broker.endpoint(), ConnectionOptions());
  Connection& connection = **opened;
  const env::Instant deadline = environment.clock.now() + std::chrono::seconds(30);
  for (int i = 0; i < 3; ++i) {
    auto sent = co_await connection.send(metadata_request(), ApiVersion(7), deadline);
    EXPECT_TRUE(sent);
  }
  EXPECT_EQ(connection.outstanding(), 3U);
  for (int i = 1; i <= 3; ++i) {
    auto answer = co_await connection.receive<wire::MetadataRequest>(deadline);
    EXPECT_EQ(answer->cluster_id, "answer " + std::to_string(i));
  }
  EXPECT_EQ(connection.outstanding(), 0U);
  connection.close();
  co_await broker.stop();
}

TEST_F(ConnectionTest, AnswersComeInTheOrderOfTheRequests) {
  run(pipelines(environment(), loop()));
}

Reply two_partitions_of(const Asked& request, const Slice& records) {
  wire::FetchResponse response;
  wire::FetchResponse::FetchableTopicResponse topic;
  topic.topic = "t";
  wire::FetchResponse::PartitionData partition;
  partition.records = ByteChain(records);
  topic.partitions.push_back(partition);
  partition.partition_index = 1;
  topic.partitions.push_back(partition);
  response.responses.push_back(topic);
  return ScriptedBroker::reply(request, response);
}

env::Awaitable<void> records_are_shared(env::Environment& environment, env::Loop& loop) {
  const Slice records = Slice::take(Bytes(300'000, 0x5a));
  ScriptedBroker broker(environment, loop, {{1, 12}}, [&records](const Asked& request) {
    return two_partitions_of(request, records);
  });
  broker.start();
  ConnectionOptions options;
  options.pool_bytes = 4UL << 20;
  auto opened = co_await Connection::open(environment, loop, broker.endpoint(), options);
  Connection& connection = **opened;
  const std::uint8_t* first_slab = nullptr;
  for (int round = 0; round < 2; ++round) {
    wire::FetchRequest request;
    auto answer = co_await connection.call(std::move(request), ApiVersion(12));
    EXPECT_TRUE(answer);
    const auto& partitions = answer->responses.at(0).partitions;
    const Slice p0 = partitions.at(0).records->fragments().at(0).memory;
    const Slice p1 = partitions.at(1).records->fragments().at(0).memory;
    EXPECT_EQ(p0.size(), 300'000U);
    EXPECT_TRUE(std::equal(p0.span().begin(), p0.span().end(), records.span().begin()));
    EXPECT_EQ(p0.owner(), p1.owner()) << "both are slices of the one receive slab";
    // The slab of the first answer died with it and serves the second one.
    if (round == 1) {
      EXPECT_EQ(p0.data(), first_slab);
    }
    first_slab = p0.data();
  }
  connection.close();
  co_await broker.stop();
}

TEST_F(ConnectionTest, RecordsAreSlicesOfAReceiveSlabThatIsUsedAgain) {
  run(records_are_shared(environment(), loop()));
}

/// Opens a connection to a broker with this script, calls Metadata, and returns the error.
env::Awaitable<void> fails(env::Environment& environment, env::Loop& loop,
                           ScriptedBroker::Script script, ConnectionOptions options, Error* error,
                           std::string* peer) {
  ScriptedBroker broker(environment, loop, {{3, 9}}, std::move(script));
  broker.start();
  *peer = broker.endpoint().text();
  auto opened = co_await Connection::open(environment, loop, broker.endpoint(), options);
  Connection& connection = **opened;
  auto answer = co_await connection.call(metadata_request(), ApiVersion(9));
  EXPECT_FALSE(answer);
  *error = answer.error();
  EXPECT_FALSE(connection.is_open());
  auto again = co_await connection.call(metadata_request(), ApiVersion(9));
  EXPECT_EQ(again.error().message, error->message) << "the first error stays";
  co_await broker.stop();
}

struct BadAnswer {
  const char* what;
  ScriptedBroker::Script script;
  const char* message;
};

ScriptedBroker::Script raw(const char* hex, bool close = false) {
  return [hex, close](const Asked&) {
    Reply reply(ByteChain(Slice::take(from_hex(hex))));
    reply.close = close;
    return reply;
  };
}

TEST_F(ConnectionTest, ABadAnswerEndsTheConnectionWithAClearError) {
  const std::vector<BadAnswer> cases = {
      {"negative length", raw("ffffffff"), "frame length -1"},
      {"short length", raw("0000000301"), "frame length 3"},
      {"over the limit", raw("00100001"),
       "response of 1048577 bytes is above the limit of 1048576"},
      {"wrong correlation id", raw("000000050000006300"), "correlation id 99"},
      {"truncated body", raw("0000000700000002000000"), "(Metadata)"},
      {"closed", raw("", true), "the broker closed the connection"},
      {"closed inside a frame", raw("0000006400000002", true), "after 4 of 100 bytes"},
  };
  for (const BadAnswer& bad : cases) {
    Error error;
    std::string peer;
    ConnectionOptions options;
    options.max_response_bytes = 1'048'576;
    run(fails(environment(), loop(), bad.script, options, &error, &peer));
    EXPECT_THAT(error.message, HasSubstr(bad.message)) << bad.what;
    EXPECT_THAT(error.message, HasSubstr(peer + " (Metadata)")) << bad.what;
  }
}

TEST_F(ConnectionTest, ASilentBrokerRunsIntoTheDeadline) {
  Error error;
  std::string peer;
  ConnectionOptions options;
  options.request_timeout = std::chrono::milliseconds(30);
  run(fails(environment(), loop(), raw(""), options, &error, &peer));
  EXPECT_TRUE(is_connection_error(error));
  EXPECT_THAT(error.message, HasSubstr(peer));
}

env::Awaitable<void> nobody_listens(env::Environment& environment, env::Loop& loop) {
  const env::Endpoint any("127.0.0.1", 0);
  auto acceptor = environment.network.listen(loop, any, env::SocketOptions());
  const env::Endpoint gone = (*acceptor)->local();
  (*acceptor)->close();
  acceptor.value().reset();
  auto opened = co_await Connection::open(environment, loop, gone, ConnectionOptions());
  EXPECT_FALSE(opened);
  EXPECT_TRUE(is_connection_error(opened.error()));
  EXPECT_THAT(opened.error().message, HasSubstr(gone.text()));
}

TEST_F(ConnectionTest, NobodyListens) { run(nobody_listens(environment(), loop())); }

}  // namespace
}  // namespace kmirror::client
