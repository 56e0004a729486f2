// Cases of the connection: versions nobody has, odd headers, order of answers, acks=0, bytes that
// are not Kafka, limits, and the end of the server.
#include <gtest/gtest.h>

#include "server_world.h"

#include "kmirror/wire/api_versions_request.h"
#include "kmirror/wire/api_versions_response.h"
#include "kmirror/wire/fetch_request.h"
#include "kmirror/wire/list_offsets_request.h"
#include "kmirror/wire/list_offsets_response.h"
#include "kmirror/wire/metadata_request.h"
#include "kmirror/wire/metadata_response.h"
#include "kmirror/wire/produce_request.h"
#include "support/batches.h"

namespace kmirror::server {
namespace {

constexpr std::string_view kMetadataNone = "0000000f000300010000000300017400000000";

constexpr std::int32_t kFirstCorrelation = 1'001;

// A Fetch of t1-0 at offset 0 that waits 1,500 ms for one byte.
wire::FetchRequest idle_fetch() {
  wire::FetchRequest request;
  request.max_wait_ms = 1'500;
  request.min_bytes = 1;
  auto& topic = request.topics.emplace_back();
  topic.topic = "t1";
  topic.partitions.emplace_back().partition_max_bytes = 65'536;
  return request;
}

Offset latest_offset(TestClient& client, const std::string& topic) {
  wire::ListOffsetsRequest request;
  auto& asked = request.topics.emplace_back();
  asked.name = topic;
  asked.partitions.emplace_back().timestamp = -1;
  const auto response = client.call<wire::ListOffsetsResponse>(request, 5);
  return response.topics.at(0).partitions.at(0).offset;
}

TEST(ConnectionCases, G01_api_versions_at_a_version_nobody_supports) {
  ServerWorld world;
  TestClient client(world);
  client.send_hex("0000000c001200630000000700017400");
  // Version 0: correlation id, error 35, then key 18 with its true range.
  EXPECT_EQ(client.receive_hex(), "00000007002300000001001200000005");
  wire::ApiVersionsRequest request;
  EXPECT_EQ(client.call<wire::ApiVersionsResponse>(request, 0).error_code, ErrorCode::NONE);
}

TEST(ConnectionCases, G02_unknown_tagged_fields_are_passed_over) {
  ServerWorld world;
  TestClient client(world);
  client.send_hex("0000001600120003000000090001740002740231010703616263");
  const auto frame = client.receive();
  ASSERT_TRUE(frame);
  EXPECT_EQ(correlation_of(frame), 9);
  // The error code follows the correlation id at once: no tags in this response's header.
  Reader reader(Slice::copy_of(ByteSpan(*frame).subspan(4)));
  const auto response = wire::ApiVersionsResponse::decode(reader, ApiVersion(3));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->error_code, ErrorCode::NONE);
  EXPECT_GT(response->api_keys.size(), 10U);
}

TEST(ConnectionCases, G02_a_tag_longer_than_the_frame_ends_the_connection) {
  ServerWorld world;
  TestClient client(world);
  client.send_hex("00000017001200030000000a00017400027402310107ffffffff07");
  EXPECT_EQ(client.receive_hex(), "closed");
  TestClient other(world);
  other.send_hex(kMetadataNone);
  EXPECT_EQ(correlation_of(other.receive()), 3);
}

TEST(ConnectionCases, G03_answers_keep_the_order_of_the_requests) {
  ServerWorld world;
  world.create_topic("t1", 1);
  TestClient client(world);
  const env::Instant before = world.world.clock().now();
  // One write: a Fetch of t1-0 at its end, 1,500 ms at most, 1 byte at least; then Metadata.
  const Bytes metadata = from_hex(kMetadataNone);
  client.request(idle_fetch(), 4, metadata);
  EXPECT_EQ(correlation_of(client.receive()), kFirstCorrelation);
  const auto waited = world.world.clock().now() - before;
  EXPECT_GE(waited, 1'500ms);
  EXPECT_LT(waited, 1'600ms);
  EXPECT_EQ(correlation_of(client.receive()), 3);
}

// Requests of every kind of path (at once, other loop, disk pool, parked), in one write that
// arrives in crumbs: the answers come in the order of the requests, whatever finishes first.
void send_a_mixture(ServerWorld& world, TestClient& client, int count) {
  wire::MetadataRequest metadata;
  metadata.topics.emplace();
  wire::ListOffsetsRequest by_time;
  by_time.topics.emplace_back().name = "t1";
  by_time.topics[0].partitions.emplace_back().timestamp = 5;
  wire::ProduceRequest produce;
  produce.acks = -1;
  produce.timeout_ms = 10'000;
  produce.topic_data.emplace_back().name = "t1";
  ByteChain frames;
  for (int i = 0; i < count; ++i) {
    switch (world.world.rng().below(4)) {
      case 0:
        client.queue(frames, metadata, 1);
        break;
      case 1:
        client.queue(frames, by_time, 5);
        break;
      case 2:
        produce.topic_data[0].partition_data.assign(1, {});
        produce.topic_data[0].partition_data[0].records =
            ByteChain(kmirror::testing::simple_batch(0));
        client.queue(frames, produce, 8);
        break;
      default:
        client.queue(frames, idle_fetch(), 4);
    }
  }
  client.send(*frames.flatten());
}

TEST(ConnectionCases, G03_answers_keep_the_order_whatever_finishes_first) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    ServerWorld world({}, seed);
    world.create_topic("t1", 1);
    world.world.network().set_fragmentation(7);
    TestClient client(world);
    send_a_mixture(world, client, 40);
    for (int i = 0; i < 40; ++i) {
      ASSERT_EQ(correlation_of(client.receive()), kFirstCorrelation + i) << "seed " << seed;
    }
  }
}

TEST(ConnectionCases, G04_acks_0_gets_no_answer) {
  ServerWorld world;
  world.create_topic("t1", 1);
  TestClient client(world);
  client.send_hex(
      "0000006c000000080000001f000174ffff0000000003e80000000100027431000000010000000000000045000000"
      "00"
      "0000000000000039ffffffff02965a94b10000000000000000018bcfe568000000018bcfe56800ffffffffffffff"
      "ff"
      "ffffffffffff000000010e00000001026100");
  client.send_hex(kMetadataNone);
  EXPECT_EQ(correlation_of(client.receive()), 3);
  EXPECT_EQ(latest_offset(client, "t1"), Offset(1));
}

TEST(ConnectionCases, an_acks_0_failure_ends_the_connection) {
  ServerWorld world([](ServerConfig& config) { config.auto_create_topics = false; });
  TestClient client(world);
  client.send_hex(
      "0000006c000000080000001f000174ffff0000000003e80000000100027431000000010000000000000045000000"
      "00"
      "0000000000000039ffffffff02965a94b10000000000000000018bcfe568000000018bcfe56800ffffffffffffff"
      "ff"
      "ffffffffffff000000010e00000001026100");
  EXPECT_EQ(client.receive_hex(), "closed");
}

TEST(ConnectionCases, G05_bytes_that_are_not_kafka_end_each_socket_at_once) {
  ServerWorld world;
  TestClient bystander(world);
  for (int i = 0; i < 100; ++i) {
    TestClient tls(world);
    tls.send_hex("1603010200010001fc0303");
    EXPECT_EQ(tls.receive_hex(1s), "closed");
    TestClient huge(world);
    huge.send_hex("7fffffff00");
    EXPECT_EQ(huge.receive_hex(1s), "closed");
  }
  bystander.send_hex(kMetadataNone);
  EXPECT_EQ(correlation_of(bystander.receive()), 3);
  EXPECT_EQ(world.broker->server->connection_count(), 1);
}

TEST(ConnectionCases, G90_features_and_software_names) {
  ServerWorld world;
  TestClient client(world);
  wire::ApiVersionsRequest request;
  request.client_software_name = "a";
  request.client_software_version = "1";
  const auto v3 = client.call<wire::ApiVersionsResponse>(request, 3);
  const auto v4 = client.call<wire::ApiVersionsResponse>(request, 4);
  for (const auto& feature : v3.supported_features) EXPECT_GT(feature.min_version, 0);
  EXPECT_GT(v4.supported_features.size(), v3.supported_features.size());
  for (const auto* response : {&v3, &v4}) {
    EXPECT_GE(response->finalized_features_epoch, 0);
    for (const auto& feature : response->finalized_features) {
      EXPECT_EQ(feature.min_version_level, feature.max_version_level);
    }
  }
  client.send_hex("0000001000120003000000010001740001023100");
  const auto frame = client.receive();
  ASSERT_TRUE(frame);
  EXPECT_EQ(to_hex(ByteSpan(*frame).subspan(4, 2)), "002a");
  EXPECT_EQ(client.call<wire::ApiVersionsResponse>(request, 3).error_code, ErrorCode::NONE);
}

TEST(ConnectionCases, api_versions_v5_finds_a_misrouted_connection) {
  ServerWorld world;
  TestClient client(world);
  wire::ApiVersionsRequest request;
  request.client_software_name = "a";
  request.client_software_version = "1";
  request.cluster_id = world.broker->engine->image()->cluster_id;
  request.node_id = NodeId(1);
  EXPECT_EQ(client.call<wire::ApiVersionsResponse>(request, 5).error_code, ErrorCode::NONE);
  request.node_id = NodeId(2);
  EXPECT_EQ(client.call<wire::ApiVersionsResponse>(request, 5).error_code,
            ErrorCode::REBOOTSTRAP_REQUIRED);
}

TEST(ConnectionCases, G91_protocol_versions_that_are_gone) {
  ServerWorld world;
  TestClient client(world);
  wire::ApiVersionsRequest request;
  const auto versions = client.call<wire::ApiVersionsResponse>(request, 0);
  std::optional<std::int16_t> produce_min;
  for (const auto& api : versions.api_keys) {
    if (api.api_key == 0) produce_min = api.min_version;
    EXPECT_NE(api.api_key, 71) << "GetTelemetrySubscriptions";
  }
  EXPECT_EQ(produce_min, 0);
  client.send_hex("000000170000000300000009000174ffff0001000003e800000000");
  EXPECT_EQ(client.receive_hex(), "000000090000000000000000");
  for (const char* gone :
       {"0000001500000000000000090001740001000003e800000000",
        "0000001500000001000000090001740001000003e800000000",
        "0000001500000002000000090001740001000003e800000000", "0000000b0001000300000009000174",
        "0000000b0002000000000009000174", "0000000b03e7000000000009000174"}) {
    TestClient old(world);
    old.send_hex(gone);
    EXPECT_EQ(old.receive_hex(1s), "closed") << gone;
  }
  client.send_hex(kMetadataNone);
  EXPECT_EQ(correlation_of(client.receive()), 3);
}

TEST(ConnectionCases, per_ip_limit_closes_and_total_limit_waits) {
  ServerWorld world([](ServerConfig& config) {
    config.max_connections = 2;
    config.max_connections_per_ip = 2;
  });
  auto first = std::make_unique<TestClient>(world);
  TestClient second(world);
  second.send_hex(kMetadataNone);
  EXPECT_EQ(correlation_of(second.receive()), 3);
  // The third is not accepted until the first goes.
  TestClient third(world);
  third.send_hex(kMetadataNone);
  EXPECT_EQ(third.receive_hex(5s), "late");
  first.reset();
  EXPECT_EQ(correlation_of(third.receive()), 3);
}

TEST(ConnectionCases, an_address_with_its_share_is_closed) {
  ServerWorld world([](ServerConfig& config) { config.max_connections_per_ip = 1; });
  TestClient first(world);
  first.send_hex(kMetadataNone);
  EXPECT_EQ(correlation_of(first.receive()), 3);
  TestClient second(world);
  EXPECT_EQ(second.receive_hex(1s), "closed");
  first.send_hex(kMetadataNone);
  EXPECT_EQ(correlation_of(first.receive()), 3);
}

TEST(ConnectionCases, idle_connections_end_after_their_time) {
  ServerWorld world([](ServerConfig& config) { config.connections_max_idle = 10s; });
  TestClient client(world);
  client.send_hex(kMetadataNone);
  EXPECT_EQ(correlation_of(client.receive()), 3);
  const env::Instant before = world.world.clock().now();
  EXPECT_EQ(client.receive_hex(), "closed");
  EXPECT_GE(world.world.clock().now() - before, 10s - 1s);
  EXPECT_LE(world.world.clock().now() - before, 13s);
}

TEST(ConnectionCases, requests_wait_for_memory_and_go_on_when_it_is_back) {
  // One parked Fetch holds all memory there is; a second connection's request waits for its end.
  ServerWorld world([](ServerConfig& config) { config.queued_max_request_bytes = 16; });
  world.create_topic("t1", 1);
  TestClient fetcher(world);
  fetcher.request(idle_fetch(), 4);
  world.world.run_for(100ms);
  TestClient other(world);
  const env::Instant before = world.world.clock().now();
  other.send_hex(kMetadataNone);
  EXPECT_EQ(correlation_of(other.receive()), 3);
  EXPECT_GE(world.world.clock().now() - before, 1'300ms);
  EXPECT_EQ(correlation_of(fetcher.receive()), kFirstCorrelation);
}

TEST(ConnectionCases, a_parked_fetch_is_answered_when_the_server_stops) {
  ServerWorld world;
  world.create_topic("t1", 1);
  TestClient client(world);
  client.request(idle_fetch(), 4);
  world.world.run_for(100ms);
  const env::Instant before = world.world.clock().now();
  world.stop();
  EXPECT_LT(world.world.clock().now() - before, 1s);
  EXPECT_EQ(correlation_of(client.receive()), kFirstCorrelation);
  EXPECT_EQ(client.receive_hex(), "closed");
}

TEST(ConnectionCases, a_peer_that_only_ends_its_sending_gets_its_answers) {
  ServerWorld world;
  TestClient client(world);
  client.send_hex(kMetadataNone);
  world.world.network().end_direction("client", "broker");
  EXPECT_EQ(correlation_of(client.receive()), 3);
  EXPECT_EQ(client.receive_hex(), "closed");
}

TEST(ConnectionCases, requests_are_counted_by_api_version_and_error) {
  ServerWorld world;
  TestClient client(world);
  client.send_hex(kMetadataNone);
  EXPECT_EQ(correlation_of(client.receive()), 3);
  double requests = 0;
  double errors = 0;
  for (const auto& sample : world.broker->metrics.snapshot()) {
    const metrics::Labels by_version = {{"request", "Metadata"}, {"version", "1"}};
    if (sample.name == "kafka_network_request_metrics_requests_total" &&
        sample.labels == by_version) {
      requests = sample.value;
    }
    if (sample.name == "kafka_network_request_metrics_errors_total") errors += sample.value;
  }
  EXPECT_EQ(requests, 1);
  EXPECT_EQ(errors, 1);  // NONE of the (only) top-level error code
}

}  // namespace
}  // namespace kmirror::server
