#include "kmirror/metadata/embedded_engine.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "kmirror/storage/partition_log.h"
#include "kmirror/wire/record_value.h"
#include "unit/metadata/engine_fixture.h"

namespace kmirror::metadata {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EmbeddedEngineTest : public ::testing::Test {
 protected:
  EngineWorld w_{1};
};

TEST_F(EmbeddedEngineTest, AnswersAndShowsWhatItDid) {
  w_.start();
  EXPECT_EQ(w_.create_topic("a", 3), ErrorCode::NONE);
  EXPECT_EQ(w_.create_topic("a", 3), ErrorCode::TOPIC_ALREADY_EXISTS);
  const auto image = w_.engine->image();
  EXPECT_EQ(image->topic("a")->partitions.size(), 3U);
  EXPECT_EQ(image->cluster_id, "AAAAAAAAAAAAAAAAAAAAAg");
  EXPECT_EQ(image->controller_id, NodeId(1));
  EXPECT_EQ(image->features.at("mirror.version").finalized, 1);
  EXPECT_EQ(image->brokers.at(NodeId(1))->listener("PLAINTEXT")->port, 9092);
}

TEST_F(EmbeddedEngineTest, ARestartGivesTheSameImage) {
  w_.start();
  w_.create_topic("a", 3);
  w_.create_topic("b");
  const std::string before = w_.text();
  w_.stop();
  ASSERT_EQ(w_.open(), "");
  EXPECT_EQ(w_.text(), before);
  w_.start();  // the registration is the same: no record
  EXPECT_EQ(w_.text(), before);
}

TEST_F(EmbeddedEngineTest, AnAnswerMeansDurable) {
  w_.start();
  ASSERT_EQ(w_.create_topic("a", 3), ErrorCode::NONE);
  const std::string before = w_.text();
  w_.crash(env::SimCrash::kPowerCutLosesAll);
  ASSERT_EQ(w_.open(), "");
  EXPECT_EQ(w_.text(), before);
}

TEST_F(EmbeddedEngineTest, ALostAnswerIsNoHalfTopic) {
  w_.start();
  w_.engine->create_topics(EngineWorld::create_request("a", 500), ApiVersion(7),
                           [](const wire::CreateTopicsResponse&) {});
  w_.crash(env::SimCrash::kPowerCut);
  ASSERT_EQ(w_.open(), "");
  const auto topic = w_.engine->image()->topic("a");
  EXPECT_TRUE(topic == nullptr || topic->partitions.size() == 500U);
}

TEST_F(EmbeddedEngineTest, WhatWasReplayedAfterAKillIsMadeDurable) {
  w_.start();
  w_.engine->create_topics(EngineWorld::create_request("a", 1), ApiVersion(7),
                           [](const wire::CreateTopicsResponse&) {});
  // The record is in the page cache, its sync still waits in the disk pool.
  w_.world.run_for(std::chrono::microseconds(10));
  w_.crash(env::SimCrash::kProcessDies);
  ASSERT_EQ(w_.open(), "");
  ASSERT_NE(w_.engine->image()->topic("a"), nullptr);
  const std::string shown = w_.text();
  w_.crash(env::SimCrash::kPowerCutLosesAll);
  ASSERT_EQ(w_.open(), "");
  EXPECT_EQ(w_.text(), shown);
}

TEST_F(EmbeddedEngineTest, ManyCommandsShareOneSync) {
  w_.start();
  int syncs = 0;
  w_.disk.observe([&](std::uint64_t, env::DiskOp op, const std::string& path) {
    if (op == env::DiskOp::kSync && path.find(".log") != std::string::npos) ++syncs;
  });
  int answers = 0;
  for (int i = 0; i < 200; ++i) {
    w_.engine->create_topics(EngineWorld::create_request(fmt::format("t{}", i), 1), ApiVersion(7),
                             [&](const wire::CreateTopicsResponse& response) {
                               EXPECT_EQ(response.topics[0].error_code, ErrorCode::NONE);
                               ++answers;
                             });
  }
  w_.run();
  EXPECT_EQ(answers, 200);
  EXPECT_LE(syncs, 3);  // the first alone, all others with the second
  EXPECT_EQ(w_.engine->image()->topics.size(), 200U);
}

class Recorder final : public MetadataListener {
 public:
  explicit Recorder(std::vector<std::string>& events) : events_(events) {}
  void on_metadata(const MetadataDelta& delta) override {
    std::string line = fmt::format("image {}", delta.before == nullptr ? "first" : "next");
    for (const std::string& name : delta.changed_topics) line += " +" + name;
    for (const auto& topic : delta.deleted_topics) line += " -" + topic->name;
    for (const ConfigResource& resource : delta.changed_configs) line += " =" + resource.name;
    events_.push_back(line);
  }

 private:
  std::vector<std::string>& events_;
};

TEST_F(EmbeddedEngineTest, ListenersSeeAChangeBeforeItsAnswer) {
  w_.start();
  w_.create_topic("old");
  std::vector<std::string> events;
  Recorder recorder(events);
  w_.engine->add_listener(recorder);
  w_.engine->create_topics(EngineWorld::create_request("a", 1), ApiVersion(7),
                           [&](const wire::CreateTopicsResponse&) {
                             events.push_back("answer");
                             EXPECT_NE(w_.engine->image()->topic("a"), nullptr);
                           });
  w_.run();
  wire::DeleteTopicsRequest remove;
  remove.topic_names = {"old"};
  w_.engine->delete_topics(remove, [](const wire::DeleteTopicsResponse&) {});
  w_.run();
  EXPECT_THAT(events,
              ElementsAre("image first +old", "image next +a", "answer", "image next -old"));
}

TEST_F(EmbeddedEngineTest, AnAnswerWithoutRecordsWaitsForWhatItRestsOn) {
  w_.start();
  std::vector<std::string> order;
  w_.engine->create_topics(
      EngineWorld::create_request("a", 1), ApiVersion(7),
      [&](const wire::CreateTopicsResponse& response) {
        order.push_back(fmt::format("first {}", response.topics[0].error_code));
      });
  w_.engine->create_topics(
      EngineWorld::create_request("a", 1), ApiVersion(7),
      [&](const wire::CreateTopicsResponse& response) {
        EXPECT_NE(w_.engine->image()->topic("a"), nullptr);
        order.push_back(fmt::format("second {}", response.topics[0].error_code));
      });
  w_.run();
  EXPECT_THAT(order, ElementsAre("first NONE", "second TOPIC_ALREADY_EXISTS"));
}

TEST_F(EmbeddedEngineTest, AFullDiskRefusesAndRecovers) {
  w_.start();
  w_.create_topic("a");
  const std::string before = w_.text();
  std::uint64_t used = 0;
  for (const std::string& path : w_.disk.all_files()) used += w_.disk.contents(path).size();
  w_.disk.set_capacity(used + 100);
  EXPECT_EQ(w_.create_topic("big", 1000), ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_EQ(w_.text(), before);
  w_.disk.set_capacity(1ULL << 40);
  EXPECT_EQ(w_.create_topic("big", 1000), ErrorCode::NONE);
  const std::string after = w_.text();
  w_.stop();
  ASSERT_EQ(w_.open(), "");
  EXPECT_EQ(w_.text(), after);
}

TEST_F(EmbeddedEngineTest, AFailedSyncEndsAllChanges) {
  w_.start();
  w_.create_topic("a");
  const std::string before = w_.text();
  w_.disk.add_fault(env::DiskFault(env::DiskOp::kSync, ".log", EIO));
  EXPECT_EQ(w_.create_topic("b"), ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_EQ(w_.create_topic("c"), ErrorCode::KAFKA_STORAGE_ERROR);  // never tried again
  EXPECT_EQ(w_.text(), before);
  w_.crash(env::SimCrash::kPowerCutLosesAll);
  ASSERT_EQ(w_.open(), "");
  EXPECT_NE(w_.engine->image()->topic("a"), nullptr);
}

TEST_F(EmbeddedEngineTest, TheQueueIsBounded) {
  w_.options.max_pending_commands = 3;
  w_.start();
  std::vector<ErrorCode> codes;
  for (int i = 0; i < 5; ++i) {
    w_.engine->create_topics(EngineWorld::create_request(fmt::format("t{}", i), 1), ApiVersion(7),
                             [&](const wire::CreateTopicsResponse& response) {
                               codes.push_back(response.topics[0].error_code);
                             });
  }
  w_.run();
  EXPECT_EQ(std::count(codes.begin(), codes.end(), ErrorCode::NONE), 3);
  EXPECT_EQ(std::count(codes.begin(), codes.end(), ErrorCode::REQUEST_TIMED_OUT), 2);
  EXPECT_EQ(w_.create_topic("later"), ErrorCode::NONE);
}

TEST_F(EmbeddedEngineTest, ShutDownFinishesWhatItTookAndRefusesTheRest) {
  w_.start();
  std::vector<std::string> order;
  w_.engine->create_topics(EngineWorld::create_request("a", 1), ApiVersion(7),
                           [&](const wire::CreateTopicsResponse& response) {
                             order.push_back(fmt::format("a {}", response.topics[0].error_code));
                           });
  w_.engine->shut_down([&](const Result<void>& result) {
    order.push_back(result ? "closed" : result.error().message);
  });
  w_.engine->create_topics(EngineWorld::create_request("b", 1), ApiVersion(7),
                           [&](const wire::CreateTopicsResponse& response) {
                             order.push_back(fmt::format("b {}", response.topics[0].error_code));
                           });
  w_.run();
  EXPECT_THAT(order, ElementsAre("b NOT_CONTROLLER", "a NONE", "closed"));
}

TEST_F(EmbeddedEngineTest, ProducerIdsSurviveARestart) {
  w_.start();
  const auto allocate = [&] {
    return w_.wait<Result<MetadataEngine::ProducerIdBlock>>(
        [&](Done<Result<MetadataEngine::ProducerIdBlock>> done) {
          w_.engine->allocate_producer_ids(std::move(done));
        });
  };
  EXPECT_EQ(allocate()->first, 0);
  w_.crash(env::SimCrash::kPowerCutLosesAll);
  w_.start();
  EXPECT_EQ(allocate()->first, 1000);
  const Result<void> raised = w_.wait<Result<void>>([&](Done<Result<void>> done) {
    w_.engine->raise_producer_ids(ProducerId(77'777), std::move(done));
  });
  EXPECT_TRUE(raised);
  EXPECT_EQ(allocate()->first, 77'778);
}

class SnapshotEngineTest : public EmbeddedEngineTest {
 protected:
  /// Opens the engine and creates `topics` topics of 3 partitions.
  void fill(int topics) {
    w_.options.snapshot_after_bytes = 4096;
    w_.start();
    create_many(topics, "topic");
  }
  void create_many(int topics, const std::string& prefix) {
    for (int i = 0; i < topics; ++i) {
      ASSERT_EQ(w_.create_topic(fmt::format("{}-{}", prefix, i), 3), ErrorCode::NONE);
    }
    w_.run();
  }
};

TEST_F(SnapshotEngineTest, SnapshotsReplaceHistory) {
  fill(100);
  EXPECT_EQ(w_.files_like(".checkpoint").size(), 1U);
  EXPECT_TRUE(w_.files_like(".part").empty());
  EXPECT_LE(w_.files_like("__cluster_metadata-0/").size(), 14U);
  EXPECT_EQ(w_.files_like("00000000000000000000.log").size(), 0U);
  const std::string before = w_.text();
  w_.crash(env::SimCrash::kPowerCutLosesAll);
  ASSERT_EQ(w_.open(), "");
  EXPECT_EQ(w_.text(), before);
  EXPECT_EQ(w_.create_topic("more"), ErrorCode::NONE);
}

TEST_F(SnapshotEngineTest, AMirrorsStateSurvivesASnapshot) {
  fill(1);
  wire::CreateClusterMirrorRequest create;
  create.mirror_name = "m";
  create.configs.emplace_back();
  create.configs[0].name = "bootstrap.servers";
  create.configs[0].value = "h:1";
  w_.engine->create_cluster_mirror(create, [](const wire::CreateClusterMirrorResponse&) {});
  wire::StartMirrorTopicsRequest start;
  start.mirror_name = "m";
  start.topics.emplace_back();
  start.topics[0].topic_name = "mirrored";
  start.topics[0].num_partitions = 2;
  w_.engine->start_mirror_topics(start, [](const wire::StartMirrorTopicsResponse&) {});
  AclImage acl;
  acl.resource_type = 2;
  acl.resource_name = "mirrored";
  acl.principal = "User:a";
  acl.host = "*";
  acl.operation = 3;
  acl.permission_type = 3;
  acl.owners = {"m"};
  w_.engine->add_acls({acl}, [](const Result<void>&) {});
  w_.run();
  const std::int64_t state_offset = w_.engine->image()->topic("mirrored")->last_state_offset;
  create_many(100, "more");
  const auto snapshots = w_.files_like(".checkpoint");
  ASSERT_EQ(snapshots.size(), 1U);
  const std::string before = w_.text();
  w_.stop();
  ASSERT_EQ(w_.open(), "");
  EXPECT_EQ(w_.text(), before);
  EXPECT_EQ(w_.engine->image()->topic("mirrored")->last_state_offset, state_offset);
}

TEST_F(SnapshotEngineTest, ADamagedSnapshotIsNamed) {
  fill(60);
  const std::string path = w_.files_like(".checkpoint").at(0);
  w_.stop();
  const Bytes rot = {0xFF, 0xFF};
  w_.disk.damage(path, 200, rot);
  const std::string error = w_.open();
  EXPECT_THAT(error, HasSubstr(path));
  EXPECT_THAT(error, HasSubstr("backup"));
}

TEST_F(SnapshotEngineTest, AMissingSnapshotIsNotMistakenForAFirstStart) {
  fill(60);
  const std::string path = w_.files_like(".checkpoint").at(0);
  w_.stop();
  ASSERT_TRUE(w_.process->environment().files.remove(path));
  EXPECT_THAT(w_.open(), HasSubstr("snapshot"));
}

TEST_F(SnapshotEngineTest, AFailedSnapshotIsTriedAgain) {
  env::DiskFault fault(env::DiskOp::kOpen, ".checkpoint", EIO);
  w_.disk.add_fault(fault);
  fill(100);
  EXPECT_EQ(w_.files_like(".checkpoint").size(), 1U);
  EXPECT_EQ(w_.create_topic("after"), ErrorCode::NONE);
}

TEST_F(EmbeddedEngineTest, AnUnknownRecordTypeIsNamed) {
  w_.start();
  w_.stop();
  // What a later release might have written.
  Writer writer;
  wire::encode_metadata_head(writer, ApiKey(4711), ApiVersion(3));
  const Slice value = writer.take_slice();
  storage::PartitionLog::Identity identity;
  identity.topic_partition = TopicPartition("__cluster_metadata", 0);
  identity.directory = "/d/__cluster_metadata-0";
  const auto log =
      storage::PartitionLog::open(w_.process->environment(), identity, storage::LogConfig(), {});
  ASSERT_TRUE(log) << log.error().message;
  RecordBatchBuilder builder{RecordBatchBuilder::Options()};
  builder.add(1, std::nullopt, Bytes(value.span().begin(), value.span().end()));
  ASSERT_TRUE((*log)->append_as_leader(builder.build(), LeaderEpoch(1),
                                       storage::AppendOrigin::kCoordinator));
  const std::string error = w_.open();
  EXPECT_THAT(error, HasSubstr("type 4711"));
  EXPECT_THAT(error, HasSubstr("newer release"));
}

}  // namespace
}  // namespace kmirror::metadata
