// Cases of the admin and group APIs as the server answers them (G48, G51 and their neighbours).
#include <gtest/gtest.h>

#include "server_world.h"

#include "kmirror/wire/create_acls_request.h"
#include "kmirror/wire/create_acls_response.h"
#include "kmirror/wire/describe_acls_request.h"
#include "kmirror/wire/describe_acls_response.h"
#include "kmirror/wire/describe_configs_request.h"
#include "kmirror/wire/describe_configs_response.h"
#include "kmirror/wire/describe_groups_request.h"
#include "kmirror/wire/describe_groups_response.h"
#include "kmirror/wire/describe_log_dirs_request.h"
#include "kmirror/wire/describe_log_dirs_response.h"
#include "kmirror/wire/describe_producers_request.h"
#include "kmirror/wire/describe_producers_response.h"
#include "kmirror/wire/join_group_request.h"
#include "kmirror/wire/list_config_resources_request.h"
#include "kmirror/wire/list_config_resources_response.h"
#include "kmirror/wire/offset_commit_request.h"
#include "kmirror/wire/offset_commit_response.h"
#include "kmirror/wire/offset_fetch_request.h"
#include "kmirror/wire/offset_fetch_response.h"
#include "support/batches.h"

namespace kmirror::server {
namespace {

class AdminCases : public ::testing::Test {
 protected:
  // The answer to DescribeConfigs v1 of one resource: "error:number of keys".
  std::string describe(std::int8_t type, const std::string& name,
                       std::optional<std::vector<std::string>> keys) {
    wire::DescribeConfigsRequest request;
    auto& resource = request.resources.emplace_back();
    resource.resource_type = type;
    resource.resource_name = name;
    resource.configuration_keys = std::move(keys);
    const auto response = client_.call<wire::DescribeConfigsResponse>(request, 1);
    const auto& result = response.results.at(0);
    return fmt::format("{}:{}", result.error_code, result.configs.size());
  }
  ErrorCode commit(const std::string& topic, const std::string& metadata,
                   std::int32_t generation = -1, const std::string& member = "") {
    wire::OffsetCommitRequest request;
    request.group_id = "gs";
    request.generation_id_or_member_epoch = generation;
    request.member_id = member;
    auto& asked = request.topics.emplace_back();
    asked.name = topic;
    auto& partition = asked.partitions.emplace_back();
    partition.committed_offset = Offset(7);
    partition.committed_metadata = metadata;
    const auto response = client_.call<wire::OffsetCommitResponse>(request, 3);
    return response.topics.at(0).partitions.at(0).error_code;
  }

  ServerWorld world_;
  TestClient client_{world_};
};

TEST_F(AdminCases, G51_describe_configs_by_key_list) {
  world_.create_topic("t", 1);
  const std::string all = describe(2, "t", std::nullopt);
  EXPECT_EQ(all.substr(0, 5), "NONE:");
  EXPECT_GT(std::stoi(all.substr(5)), 20);
  EXPECT_EQ(describe(2, "t", std::vector<std::string>()), all);
  EXPECT_EQ(describe(2, "t", std::vector<std::string>{"retention.ms"}), "NONE:1");
  EXPECT_EQ(describe(2, "t", std::vector<std::string>{"nokey"}), "NONE:0");
  EXPECT_EQ(describe(2, "missing", std::nullopt), "UNKNOWN_TOPIC_OR_PARTITION:0");
  EXPECT_EQ(describe(0, "t", std::nullopt), "INVALID_REQUEST:0");
}

TEST_F(AdminCases, describe_configs_with_synonyms_and_documentation) {
  world_.create_topic("t", 1, {{"retention.ms", "1234"}});
  wire::DescribeConfigsRequest request;
  request.include_synonyms = true;
  request.include_documentation = true;
  auto& resource = request.resources.emplace_back();
  resource.resource_type = 2;
  resource.resource_name = "t";
  resource.configuration_keys = std::vector<std::string>{"retention.ms"};
  const auto response = client_.call<wire::DescribeConfigsResponse>(request, 4);
  const auto& line = response.results.at(0).configs.at(0);
  EXPECT_EQ(line.value, "1234");
  EXPECT_EQ(line.config_source, 1);
  EXPECT_FALSE(line.read_only);
  EXPECT_FALSE(line.is_sensitive);
  ASSERT_GE(line.synonyms.size(), 2U);
  EXPECT_EQ(line.synonyms[0].value, "1234");
  EXPECT_FALSE(line.documentation.value_or("").empty());
}

TEST_F(AdminCases, list_config_resources) {
  world_.create_topic("t", 1);
  wire::ListConfigResourcesRequest request;
  request.resource_types = {2};
  auto response = client_.call<wire::ListConfigResourcesResponse>(request, 1);
  ASSERT_EQ(response.config_resources.size(), 1U);
  EXPECT_EQ(response.config_resources[0].resource_name, "t");
  request.resource_types = {99};
  response = client_.call<wire::ListConfigResourcesResponse>(request, 1);
  EXPECT_EQ(response.error_code, ErrorCode::UNSUPPORTED_VERSION);
  EXPECT_TRUE(response.config_resources.empty());
}

TEST_F(AdminCases, describe_log_dirs) {
  world_.create_topic("t", 2);
  world_.with_log("t", [](storage::PartitionLog& log) {
    EXPECT_TRUE(log.append_as_leader(kmirror::testing::simple_batch(0), LeaderEpoch(0),
                                     storage::AppendOrigin::kClient));
  });
  wire::DescribeLogDirsRequest request;
  request.topics = std::nullopt;
  const auto response = client_.call<wire::DescribeLogDirsResponse>(request, 4);
  ASSERT_EQ(response.results.size(), 1U);
  const auto& dir = response.results[0];
  EXPECT_EQ(dir.log_dir, "/data");
  ASSERT_EQ(dir.topics.size(), 1U);
  ASSERT_EQ(dir.topics[0].partitions.size(), 2U);
  EXPECT_EQ(dir.topics[0].partitions[0].partition_size,
            static_cast<std::int64_t>(kmirror::testing::simple_batch(0).size()));
}

TEST_F(AdminCases, describe_producers) {
  world_.create_topic("t", 1);
  kmirror::testing::BatchSpec spec;
  spec.producer_id = 9;
  spec.producer_epoch = 2;
  spec.base_sequence = 4;
  spec.records.emplace_back("k", "v");
  world_.with_log("t", [&](storage::PartitionLog& log) {
    EXPECT_TRUE(log.append_as_leader(kmirror::testing::make_batch(spec), LeaderEpoch(0),
                                     storage::AppendOrigin::kClient));
  });
  wire::DescribeProducersRequest request;
  auto& topic = request.topics.emplace_back();
  topic.name = "t";
  topic.partition_indexes = {0, 1};
  const auto response = client_.call<wire::DescribeProducersResponse>(request, 0);
  const auto& partitions = response.topics.at(0).partitions;
  ASSERT_EQ(partitions.at(0).active_producers.size(), 1U);
  const auto& producer = partitions[0].active_producers[0];
  EXPECT_EQ(producer.producer_id, ProducerId(9));
  EXPECT_EQ(producer.producer_epoch, 2);
  EXPECT_EQ(producer.last_sequence, 4);
  EXPECT_EQ(producer.current_txn_start_offset, kNoOffset);
  EXPECT_EQ(partitions.at(1).error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}

TEST_F(AdminCases, acls_without_an_authorizer) {
  wire::DescribeAclsRequest describe;
  describe.resource_type_filter = 1;
  describe.operation = 1;
  describe.permission_type = 1;
  EXPECT_EQ(client_.call<wire::DescribeAclsResponse>(describe, 3).error_code,
            ErrorCode::SECURITY_DISABLED);
  wire::CreateAclsRequest create;
  create.creations.resize(2);
  const auto response = client_.call<wire::CreateAclsResponse>(create, 3);
  ASSERT_EQ(response.results.size(), 2U);
  EXPECT_EQ(response.results[1].error_code, ErrorCode::SECURITY_DISABLED);
}

TEST_F(AdminCases, a_waiting_join_does_not_hold_up_the_end_of_the_server) {
  world_.on_loop_0([&](UniqueFunction<void()> done) {
    world_.broker->groups->ensure_topic(world_.process.loop(),
                                        [done = std::move(done)](const Result<void>& made) mutable {
                                          EXPECT_TRUE(made);
                                          done();
                                        });
  });
  wire::JoinGroupRequest join;
  join.group_id = "g";
  join.session_timeout_ms = 30'000;
  join.rebalance_timeout_ms = 60'000;
  join.protocol_type = "consumer";
  join.protocols.emplace_back().name = "range";
  client_.request(join, 3);  // waits group.initial.rebalance.delay.ms, 3 s, for others
  world_.world.run_for(100ms);
  const env::Instant before = world_.world.clock().now();
  world_.stop();
  EXPECT_LT(world_.world.clock().now() - before, 1s);
  EXPECT_EQ(client_.receive_hex(), "closed");
}

TEST_F(AdminCases, G48_offsets_of_a_group_without_members) {
  world_.create_topic("t", 2);
  world_.on_loop_0([&](UniqueFunction<void()> done) {
    world_.broker->groups->ensure_topic(world_.process.loop(),
                                        [done = std::move(done)](const Result<void>& made) mutable {
                                          EXPECT_TRUE(made);
                                          done();
                                        });
  });
  EXPECT_EQ(commit("t", "m"), ErrorCode::NONE);
  EXPECT_EQ(commit("missing", "m"), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(commit("t", std::string(5'000, 'x')), ErrorCode::OFFSET_METADATA_TOO_LARGE);
  EXPECT_EQ(commit("t", "m", 3, "m"), ErrorCode::UNKNOWN_MEMBER_ID);

  wire::OffsetFetchRequest fetch;
  fetch.group_id = "gs";
  auto& asked = fetch.topics.emplace().emplace_back();
  asked.name = "t";
  asked.partition_indexes = {0, 1};
  const auto some = client_.call<wire::OffsetFetchResponse>(fetch, 5);
  const auto& partitions = some.topics.at(0).partitions;
  EXPECT_EQ(partitions.at(0).committed_offset, Offset(7));
  EXPECT_EQ(partitions.at(0).metadata, "m");
  EXPECT_EQ(partitions.at(1).committed_offset, kNoOffset);
  EXPECT_EQ(partitions.at(1).committed_leader_epoch, kNoLeaderEpoch);
  EXPECT_EQ(partitions.at(1).metadata, "");
  EXPECT_EQ(partitions.at(1).error_code, ErrorCode::NONE);
  fetch.topics = std::nullopt;
  EXPECT_EQ(client_.call<wire::OffsetFetchResponse>(fetch, 5).topics.size(), 1U);
  fetch.group_id = "unknown";
  EXPECT_EQ(client_.call<wire::OffsetFetchResponse>(fetch, 5).topics.size(), 0U);

  wire::DescribeGroupsRequest describe;
  describe.groups = {"unknown", "gs"};
  const auto v5 = client_.call<wire::DescribeGroupsResponse>(describe, 5);
  EXPECT_EQ(v5.groups.at(0).group_state, "Dead");
  EXPECT_EQ(v5.groups.at(0).error_code, ErrorCode::NONE);
  EXPECT_EQ(v5.groups.at(1).group_state, "Empty");
  const auto v6 = client_.call<wire::DescribeGroupsResponse>(describe, 6);
  EXPECT_EQ(v6.groups.at(0).error_code, ErrorCode::GROUP_ID_NOT_FOUND);
  EXPECT_TRUE(v6.groups.at(0).error_message);
}

}  // namespace
}  // namespace kmirror::server
