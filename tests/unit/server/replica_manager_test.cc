// ReplicaManager: logs follow the image: made, grown, reconfigured, removed, made anew, tried
// again.
#include "kmirror/server/replica_manager.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "server_world.h"

#include "support/batches.h"

namespace kmirror::server {
namespace {

class ReplicaManagerTest : public ::testing::Test {
 protected:
  // Deletes the topic and waits until its logs are gone.
  void remove(const std::string& name) {
    wire::DeleteTopicsRequest request;
    request.topics.emplace_back().name = name;
    world_.on_loop_0([&](UniqueFunction<void()> done) {
      world_.broker->engine->delete_topics(
          request,
          [this, done = std::move(done)](const wire::DeleteTopicsResponse& response) mutable {
            EXPECT_EQ(response.responses.at(0).error_code, ErrorCode::NONE);
            world_.broker->replicas->when_settled(std::move(done));
          });
    });
  }
  void grow(const std::string& name, std::int32_t count) {
    wire::CreatePartitionsRequest request;
    auto& topic = request.topics.emplace_back();
    topic.name = name;
    topic.count = count;
    topic.assignments = std::nullopt;
    world_.on_loop_0([&](UniqueFunction<void()> done) {
      world_.broker->engine->create_partitions(
          request, false,
          [this, done = std::move(done)](const wire::CreatePartitionsResponse& response) mutable {
            EXPECT_EQ(response.results.at(0).error_code, ErrorCode::NONE);
            world_.broker->replicas->when_settled(std::move(done));
          });
    });
  }
  void set(std::int8_t type, const std::string& name, const std::string& key,
           const std::string& value) {
    wire::IncrementalAlterConfigsRequest request;
    auto& resource = request.resources.emplace_back();
    resource.resource_type = type;
    resource.resource_name = name;
    auto& config = resource.configs.emplace_back();
    config.name = key;
    config.value = value;
    world_.on_loop_0([&](UniqueFunction<void()> done) {
      world_.broker->engine->incremental_alter_configs(
          request, false,
          [done = std::move(done)](const wire::IncrementalAlterConfigsResponse& response) mutable {
            EXPECT_EQ(response.responses.at(0).error_code, ErrorCode::NONE);
            done();
          });
    });
    world_.world.run_for(100ms);
  }
  [[nodiscard]] bool has_log(const std::string& name, std::int32_t partition) const {
    return world_.broker->logs->find(TopicPartition(name, partition)) != nullptr;
  }

  ServerWorld world_;
};

TEST_F(ReplicaManagerTest, partitions_get_logs_and_lose_them) {
  world_.create_topic("t", 2);
  EXPECT_TRUE(has_log("t", 0));
  EXPECT_TRUE(has_log("t", 1));
  EXPECT_FALSE(has_log("t", 2));
  grow("t", 3);
  EXPECT_TRUE(has_log("t", 2));
  remove("t");
  for (std::int32_t i = 0; i < 3; ++i) EXPECT_FALSE(has_log("t", i));
}

TEST_F(ReplicaManagerTest, a_topic_made_anew_starts_empty) {
  world_.create_topic("t", 1);
  world_.with_log("t", [](storage::PartitionLog& log) {
    EXPECT_TRUE(log.append_as_leader(kmirror::testing::simple_batch(0), LeaderEpoch(0),
                                     storage::AppendOrigin::kClient));
  });
  const Uuid old_id = world_.log("t")->topic_id();
  remove("t");
  world_.create_topic("t", 1);
  EXPECT_NE(world_.log("t")->topic_id(), old_id);
  EXPECT_EQ(world_.log("t")->log_end_offset(), Offset(0));
}

TEST_F(ReplicaManagerTest, settings_reach_the_logs) {
  world_.create_topic("t", 1);
  set(2, "t", "retention.ms", "1234");
  EXPECT_EQ(world_.log("t")->config()->retention_ms, 1'234);
  // A default of all brokers reaches the topics that have no value of their own.
  world_.create_topic("u", 1);
  set(4, "", "log.retention.ms", "5678");
  EXPECT_EQ(world_.log("t")->config()->retention_ms, 1'234);
  EXPECT_EQ(world_.log("u")->config()->retention_ms, 5'678);
}

TEST_F(ReplicaManagerTest, what_could_not_be_made_is_tried_again) {
  env::DiskFault fault(env::DiskOp::kOpen, "/data/broken-0", EMFILE);
  fault.count = -1;
  world_.disk.add_fault(fault);
  world_.create_topic("broken", 1);
  EXPECT_FALSE(has_log("broken", 0));
  EXPECT_EQ(world_.broker->replicas->failed_count(), 1);
  world_.disk.clear_faults();
  world_.create_topic("other", 1);
  EXPECT_TRUE(has_log("broken", 0));
  EXPECT_EQ(world_.broker->replicas->failed_count(), 0);
}

TEST_F(ReplicaManagerTest, expected_logs_are_those_of_this_node) {
  metadata::MetadataImage image;
  auto topic = std::make_shared<metadata::TopicImage>();
  topic->name = "t";
  topic->partitions.resize(2);
  topic->partitions[0].replicas = {NodeId(1)};
  topic->partitions[1].replicas = {NodeId(2)};
  image.topics["t"] = topic;
  const auto logs = ReplicaManager::expected_logs(
      image, NodeId(1), [](const metadata::MetadataImage&, const metadata::TopicImage&) {
        return storage::LogConfig();
      });
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_EQ(logs[0].topic_partition, TopicPartition("t", 0));
}

}  // namespace
}  // namespace kmirror::server
