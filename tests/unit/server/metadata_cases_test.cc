// Cases of Metadata, FindCoordinator, DescribeCluster and DescribeTopicPartitions.
#include <gtest/gtest.h>

#include "server_world.h"

#include "kmirror/wire/describe_cluster_request.h"
#include "kmirror/wire/describe_cluster_response.h"
#include "kmirror/wire/find_coordinator_request.h"
#include "kmirror/wire/find_coordinator_response.h"
#include "kmirror/wire/metadata_request.h"
#include "kmirror/wire/metadata_response.h"
#include "server/handlers/cluster.h"

namespace kmirror::server {
namespace {

class MetadataCases : public ::testing::Test {
 protected:
  wire::MetadataResponse ask(std::optional<std::vector<std::string>> names, std::int16_t version,
                             bool may_create = false) {
    wire::MetadataRequest request;
    request.allow_auto_topic_creation = version < 4 || may_create;
    request.topics = std::nullopt;
    if (names) {
      request.topics.emplace();
      for (auto& name : *names) request.topics->emplace_back().name = name;
    }
    return client_.call<wire::MetadataResponse>(request, version);
  }

  ServerWorld world_;
  TestClient client_{world_};
};

TEST_F(MetadataCases, G10_all_topics_and_no_topics) {
  world_.create_topic("a", 2);
  world_.create_topic("b", 1);
  EXPECT_EQ(ask(std::vector<std::string>(), 0).topics.size(), 2U);
  EXPECT_EQ(ask(std::nullopt, 1).topics.size(), 2U);
  const auto none = ask(std::vector<std::string>(), 1);
  EXPECT_EQ(none.topics.size(), 0U);
  ASSERT_EQ(none.brokers.size(), 1U);
  EXPECT_EQ(none.brokers[0].node_id, NodeId(1));
  EXPECT_EQ(none.brokers[0].host, "broker");
  EXPECT_EQ(none.brokers[0].port, world_.endpoint().port);
  const auto newest = ask(std::nullopt, 13);
  ASSERT_EQ(newest.topics.size(), 2U);
  EXPECT_EQ(newest.cluster_id, world_.broker->engine->image()->cluster_id);
  EXPECT_EQ(newest.topics[0].partitions.size(), 2U);
  EXPECT_EQ(newest.topics[0].topic_id, world_.broker->engine->image()->topic("a")->id);
  EXPECT_EQ(newest.topics[0].partitions[1].leader_id, NodeId(1));
}

TEST_F(MetadataCases, G10_a_topic_that_may_not_be_created) {
  const auto response = ask(std::vector<std::string>{"nope"}, 4);
  ASSERT_EQ(response.topics.size(), 1U);
  EXPECT_EQ(response.topics[0].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(response.topics[0].partitions.size(), 0U);
  EXPECT_EQ(ask(std::nullopt, 4, true).topics.size(), 0U);
}

TEST_F(MetadataCases, a_topic_that_may_be_created_is_there_in_the_answer) {
  const auto response = ask(std::vector<std::string>{"new", "bad/name"}, 4, true);
  ASSERT_EQ(response.topics.size(), 2U);
  EXPECT_EQ(response.topics[0].error_code, ErrorCode::NONE);
  EXPECT_EQ(response.topics[0].partitions.size(), 1U);
  EXPECT_EQ(response.topics[1].error_code, ErrorCode::INVALID_TOPIC_EXCEPTION);
}

TEST_F(MetadataCases, by_topic_id_from_version_12) {
  world_.create_topic("a", 1);
  wire::MetadataRequest request;
  auto& known = request.topics.emplace().emplace_back();
  known.name = std::nullopt;
  known.topic_id = world_.broker->engine->image()->topic("a")->id;
  const Uuid unknown_id(std::array<std::uint8_t, 16>{1, 2, 3});
  auto& unknown = request.topics->emplace_back();
  unknown.name = std::nullopt;
  unknown.topic_id = unknown_id;
  const auto response = client_.call<wire::MetadataResponse>(request, 12);
  EXPECT_EQ(response.topics.at(0).name, "a");
  EXPECT_EQ(response.topics.at(1).error_code, ErrorCode::UNKNOWN_TOPIC_ID);
  EXPECT_EQ(response.topics.at(1).topic_id, unknown_id);
  EXPECT_FALSE(response.topics.at(1).name);
}

TEST_F(MetadataCases, G10_the_coordinator_is_a_broker_of_metadata) {
  wire::FindCoordinatorRequest old_form;
  old_form.key = "g";
  const auto v0 = client_.call<wire::FindCoordinatorResponse>(old_form, 0);
  const auto broker = ask(std::vector<std::string>(), 1).brokers.at(0);
  EXPECT_EQ(v0.error_code, ErrorCode::NONE);
  EXPECT_EQ(v0.node_id, broker.node_id);
  EXPECT_EQ(v0.host, broker.host);
  EXPECT_EQ(v0.port, broker.port);

  wire::FindCoordinatorRequest new_form;
  new_form.coordinator_keys = {"g", "h"};
  const auto v4 = client_.call<wire::FindCoordinatorResponse>(new_form, 4);
  ASSERT_EQ(v4.coordinators.size(), 2U);
  EXPECT_EQ(v4.coordinators[1].key, "h");
  EXPECT_EQ(v4.coordinators[1].node_id, broker.node_id);
  EXPECT_EQ(v4.coordinators[1].port, broker.port);
  new_form.key_type = 1;
  EXPECT_EQ(client_.call<wire::FindCoordinatorResponse>(new_form, 4).coordinators.at(0).error_code,
            ErrorCode::INVALID_REQUEST);
}

TEST_F(MetadataCases, describe_cluster) {
  wire::DescribeClusterRequest request;
  const auto response = client_.call<wire::DescribeClusterResponse>(request, 2);
  EXPECT_EQ(response.cluster_id, world_.broker->engine->image()->cluster_id);
  EXPECT_EQ(response.brokers.at(0).broker_id, NodeId(1));
  EXPECT_EQ(response.brokers.at(0).port, world_.endpoint().port);
  EXPECT_EQ(response.cluster_authorized_operations, INT32_MIN);
  request.endpoint_type = 2;
  EXPECT_EQ(client_.call<wire::DescribeClusterResponse>(request, 1).error_code,
            ErrorCode::MISMATCHED_ENDPOINT_TYPE);
}

// Two topics of three partitions, in an image alone.
class PagingCases : public ::testing::Test {
 protected:
  PagingCases() {
    for (const char* name : {"dtpa", "dtpb"}) {
      auto topic = std::make_shared<metadata::TopicImage>();
      topic->name = name;
      topic->partitions.resize(3);
      for (auto& partition : topic->partitions) partition.leader = NodeId(1);
      image_.topics[name] = topic;
    }
  }
  // "topic:partition,… " per topic, then "-> topic,partition" of the next page.
  std::string page(const std::vector<std::string>& topics, std::int32_t limit,
                   std::optional<std::pair<std::string, std::int32_t>> cursor = std::nullopt) {
    wire::DescribeTopicPartitionsRequest request;
    for (const auto& name : topics) request.topics.emplace_back().name = name;
    if (cursor) {
      request.cursor.emplace();
      request.cursor->topic_name = cursor->first;
      request.cursor->partition_index = cursor->second;
    }
    const auto response = describe_topic_partitions(image_, request, limit);
    std::string text;
    for (const auto& topic : response.topics) {
      text += fmt::format("{}{}:", text.empty() ? "" : " ", *topic.name);
      for (const auto& partition : topic.partitions) {
        text += fmt::format("{},", partition.partition_index);
      }
      if (topic.error_code != ErrorCode::NONE) text += fmt::format("{}", topic.error_code);
    }
    if (response.next_cursor) {
      text += fmt::format(" -> {},{}", response.next_cursor->topic_name,
                          response.next_cursor->partition_index);
    }
    return text;
  }
  const std::vector<std::string> both_ = {"dtpb", "dtpa"};
  metadata::MetadataImage image_;
};

TEST_F(PagingCases, G96_pages_follow_each_other_without_gap) {
  EXPECT_EQ(page(both_, 2), "dtpa:0,1, -> dtpa,2");
  EXPECT_EQ(page(both_, 2, {{"dtpa", 2}}), "dtpa:2, dtpb:0, -> dtpb,1");
  EXPECT_EQ(page(both_, 3), "dtpa:0,1,2, -> dtpb,0");
  EXPECT_EQ(page(both_, 2, {{"dtpa", 9}}), "dtpa: dtpb:0,1, -> dtpb,2");
  EXPECT_EQ(page(both_, 100), "dtpa:0,1,2, dtpb:0,1,2,");
  EXPECT_EQ(page({}, 100), "dtpa:0,1,2, dtpb:0,1,2,");
}

TEST_F(PagingCases, G96_bad_cursors_and_repeated_names) {
  EXPECT_EQ(page(both_, 2, {{"dtpa", -1}}), "dtpb:INVALID_REQUEST dtpa:INVALID_REQUEST");
  EXPECT_EQ(page(both_, 2, {{"dtpaa", 1}}), "dtpb:INVALID_REQUEST dtpa:INVALID_REQUEST");
  EXPECT_EQ(page({"dtpa", "dtpa"}, 100), "dtpa:0,1,2,");
  EXPECT_EQ(page({"nope", "dtpa"}, 100), "dtpa:0,1,2, nope:UNKNOWN_TOPIC_OR_PARTITION");
}

TEST(PagingRequests, G96_the_given_frame_and_a_limit_of_zero) {
  ServerWorld world;
  world.create_topic("dtpa", 3);
  world.create_topic("dtpb", 3);
  TestClient client(world);
  client.send_hex(
      "00000029004b000000000001000174000305647470620005647470610000000002010564747061000000020000");
  const auto frame = client.receive();
  ASSERT_TRUE(frame);
  Reader reader(Slice::copy_of(ByteSpan(*frame).subspan(5)));  // after correlation id and no tags
  const auto response = wire::DescribeTopicPartitionsResponse::decode(reader, ApiVersion(0));
  ASSERT_TRUE(response) << response.error().message;
  ASSERT_EQ(response->topics.size(), 2U);
  EXPECT_EQ(response->topics[0].partitions.size(), 1U);
  EXPECT_EQ(response->topics[1].partitions.size(), 1U);
  EXPECT_EQ(response->next_cursor->topic_name, "dtpb");
  EXPECT_EQ(response->next_cursor->partition_index, 1);
  wire::DescribeTopicPartitionsRequest request;
  request.response_partition_limit = 0;
  const auto least = client.call<wire::DescribeTopicPartitionsResponse>(request, 0);
  EXPECT_EQ(least.topics.at(0).partitions.size(), 1U);
}

}  // namespace
}  // namespace kmirror::server
