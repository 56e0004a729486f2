// Which topics are mirrored: patterns, growth, marks; pause, stop and what describe shows.
// Cases G30, G36, G69, G70 (in small); spec K 1-11, 20, 25, 27.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kmirror/wire/add_topics_to_mirror_request.h"
#include "kmirror/wire/add_topics_to_mirror_response.h"
#include "kmirror/wire/create_cluster_mirror_request.h"
#include "kmirror/wire/create_cluster_mirror_response.h"
#include "kmirror/wire/create_mirror_request.h"
#include "kmirror/wire/create_mirror_response.h"
#include "kmirror/wire/create_partitions_request.h"
#include "kmirror/wire/create_partitions_response.h"
#include "kmirror/wire/delete_cluster_mirror_request.h"
#include "kmirror/wire/delete_cluster_mirror_response.h"
#include "kmirror/wire/describe_mirrors_request.h"
#include "kmirror/wire/describe_mirrors_response.h"
#include "kmirror/wire/last_mirrored_offsets_request.h"
#include "kmirror/wire/last_mirrored_offsets_response.h"
#include "kmirror/wire/list_cluster_mirrors_request.h"
#include "kmirror/wire/list_cluster_mirrors_response.h"
#include "kmirror/wire/list_mirrors_request.h"
#include "kmirror/wire/list_mirrors_response.h"
#include "kmirror/wire/read_mirror_states_request.h"
#include "kmirror/wire/read_mirror_states_response.h"
#include "kmirror/wire/remove_topics_from_mirror_request.h"
#include "kmirror/wire/remove_topics_from_mirror_response.h"
#include "kmirror/wire/start_mirror_topics_request.h"
#include "kmirror/wire/start_mirror_topics_response.h"
#include "kmirror/wire/stop_mirror_topics_request.h"
#include "kmirror/wire/stop_mirror_topics_response.h"
#include "unit/mirror/batches.h"
#include "unit/mirror/mirror_site.h"

namespace kmirror::mirror {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const TopicPartition kA0("a", 0);
const TopicPartition kB0("b", 0);

class MirrorTopicsTest : public ::testing::Test {
 protected:
  void make_topics(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      site_.source.create_topic(name, 1);
      site_.source.produce(TopicPartition(name, 0), 10);
    }
  }
  [[nodiscard]] bool has(const std::string& topic) {
    return site_.engine->image()->topic(topic) != nullptr;
  }
  MirrorSite site_;
};

// Patterns at create; exclude beats include; "__.*" is excluded by itself.
TEST_F(MirrorTopicsTest, PatternsFindTopicsByThemselves) {
  make_topics({"app-1", "app-2", "app-secret", "other", "__internal"});
  site_.start();
  site_.create_mirror(
      {{"mirror.topics.include", "app-.*,__.*"}, {"mirror.topics.exclude", "__.*,.*-secret"}});
  ASSERT_TRUE(site_.catches_up(TopicPartition("app-1", 0), 10));
  ASSERT_TRUE(site_.catches_up(TopicPartition("app-2", 0), 10));
  make_topics({"app-3"});
  ASSERT_TRUE(site_.catches_up(TopicPartition("app-3", 0), 10, seconds(40)));
  EXPECT_FALSE(has("app-secret"));
  EXPECT_FALSE(has("other"));
  EXPECT_FALSE(has("__internal"));
}

// A pattern in Start is resolved at once and remembered; a name that is not there yet as well.
TEST_F(MirrorTopicsTest, StartTakesPatternsAndNamesThatComeLater) {
  make_topics({"app-1", "other"});
  site_.start();
  site_.create_mirror();
  wire::StartMirrorTopicsRequest request;
  request.mirror_name = "m";
  request.include_patterns = {"app-.*"};
  request.topics.emplace_back().topic_name = "later";
  const auto response = site_.call(&MirrorService::start_mirror_topics, std::move(request));
  EXPECT_EQ(response.error_code, ErrorCode::NONE) << response.error_message.value_or("");
  ASSERT_TRUE(site_.catches_up(TopicPartition("app-1", 0), 10));
  EXPECT_FALSE(has("later"));
  make_topics({"app-2", "later"});
  ASSERT_TRUE(site_.catches_up(TopicPartition("app-2", 0), 10, seconds(40)));
  ASSERT_TRUE(site_.catches_up(TopicPartition("later", 0), 10, seconds(40)));
  EXPECT_FALSE(has("other"));
}

// G36: two partitions become five at the source.
TEST_F(MirrorTopicsTest, PartitionsGrowWithTheSource) {
  site_.source.create_topic("a", 2);
  site_.start();
  site_.create_mirror();
  ASSERT_EQ(site_.start_topics({"a"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.reaches(TopicPartition("a", 1), "MIRRORING"));
  site_.source.add_partitions("a", 5);
  const TopicPartition a4("a", 4);
  site_.source.produce(a4, 7);
  ASSERT_TRUE(site_.catches_up(a4, 7, seconds(35)));
  EXPECT_EQ(site_.bytes_of(a4), site_.source_bytes_of(a4));
  EXPECT_EQ(site_.engine->image()->topic("a")->partitions.size(), 5U);
  EXPECT_EQ(site_.engine->image()->topic("a")->id, site_.source.topic("a").id);
  // A local change of a mirrored topic is refused.
  wire::CreatePartitionsRequest request;
  auto& grow = request.topics.emplace_back();
  grow.name = "a";
  grow.count = 6;
  grow.assignments.reset();
  std::optional<wire::CreatePartitionsResponse> got;
  site_.engine->create_partitions(
      std::move(request), false,
      [&got](wire::CreatePartitionsResponse response) { got = std::move(response); });
  ASSERT_TRUE(site_.world.run_until([&] { return got.has_value(); }, seconds(10)));
  EXPECT_EQ(got->results.at(0).error_code, ErrorCode::POLICY_VIOLATION);
}

// G30: one batch of 200 KB, limits of 1000 bytes on both sides.
TEST_F(MirrorTopicsTest, ABatchAboveEveryLimitIsMirrored) {
  site_.source.create_topic("a", 1);
  site_.source.append(kA0, Slice::take(batch(0, 0, 0, std::string(200'000, 'x'))));
  site_.source.append(kA0, Slice::take(batch(1, 1, 0, std::string(200'000, 'y'))));
  site_.start();
  site_.create_mirror(
      {{"replica.fetch.max.bytes", "1000"}, {"replica.fetch.response.max.bytes", "1000"}});
  ASSERT_EQ(site_.start_topics({"a"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.catches_up(kA0, 2));
  EXPECT_EQ(site_.bytes_of(kA0), site_.source_bytes_of(kA0));
  EXPECT_TRUE(site_.reaches(kA0, "MIRRORING"));
}

TEST_F(MirrorTopicsTest, APausedTopicStandsStill) {
  make_topics({"a"});
  site_.start();
  site_.create_mirror();
  ASSERT_EQ(site_.start_topics({"a"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.catches_up(kA0, 10));
  EXPECT_EQ(site_.resume_topics({"a"}), ErrorCode::NONE) << "it runs already";
  EXPECT_EQ(site_.start_topics({"a"}), ErrorCode::INVALID_CLUSTER_MIRROR_STATE);
  EXPECT_EQ(site_.pause_topics({"a"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.reaches(kA0, "PAUSED"));
  EXPECT_FALSE(site_.service->is_writable("a", 0));
  site_.source.produce(kA0, 5);
  site_.world.run_for(seconds(60));
  EXPECT_EQ(site_.end_of(kA0), 10);
  EXPECT_EQ(site_.describe(kA0).source_offset, -1);
  EXPECT_EQ(site_.resume_topics({"a"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.catches_up(kA0, 15));
}

/// A batch of an open transaction of producer 1000, as in G60.
Slice open_transaction(std::int64_t offset) {
  RecordBatchBuilder::Options options;
  options.base_offset = Offset(offset);
  options.partition_leader_epoch = LeaderEpoch{0};
  options.producer_id = ProducerId{1'000};
  options.producer_epoch = ProducerEpoch{4};
  options.base_sequence = 0;
  options.transactional = true;
  RecordBatchBuilder builder(options);
  builder.add(1'700'000'000'000, std::nullopt, Bytes{'v'});
  return builder.build();
}

TEST_F(MirrorTopicsTest, StopRecordsThePositionAbortsAndOpensTheTopic) {
  make_topics({"a"});
  site_.source.append(kA0, open_transaction(10));
  site_.start();
  site_.create_mirror();
  ASSERT_EQ(site_.start_topics({"a"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.catches_up(kA0, 11));
  ASSERT_TRUE(site_.reaches(kA0, "MIRRORING"));
  std::vector<std::string> told;
  const LeaderEpoch epoch_before = site_.engine->image()->partition("a", 0)->leader_epoch;
  EXPECT_EQ(site_.stop_topics({"a"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.reaches(kA0, "STOPPED", seconds(10)));
  const Described shown = site_.describe(kA0);
  EXPECT_EQ(shown.last_mirror_epoch, 0);
  EXPECT_EQ(shown.last_mirror_offset, 11);
  EXPECT_EQ(site_.end_of(kA0), 13) << "one abort marker, one reset record";
  EXPECT_EQ(site_.log(kA0)->last_stable_offset(), Offset(13));
  EXPECT_TRUE(site_.log(kA0)->open_transactions().empty());
  EXPECT_TRUE(site_.log(kA0)->active_producers().empty()) << "the reset drops producer state";
  EXPECT_GT(site_.log(kA0)->latest_epoch(), epoch_before);
  EXPECT_TRUE(site_.service->is_writable("a", 0));
  EXPECT_TRUE(site_.service->is_writable("a"));
  EXPECT_GT(site_.engine->image()->next_producer_id, 1'000);
  // The same again: nothing happens.
  EXPECT_EQ(site_.stop_topics({"a"}), ErrorCode::NONE);
  site_.world.run_for(seconds(5));
  EXPECT_EQ(site_.end_of(kA0), 13);
  // Started again: our own tail goes, the source's records come.
  site_.source.produce(kA0, 4);
  EXPECT_EQ(site_.start_topics({"a"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.catches_up(kA0, 15));
  EXPECT_EQ(site_.bytes_of(kA0), site_.source_bytes_of(kA0));
  EXPECT_FALSE(site_.service->is_writable("a", 0));
}

// G69: every state there is, and the source is dead.
TEST_F(MirrorTopicsTest, StopIsLegalFromEveryStateWithoutTheSource) {
  site_.broker_file["mirror.failed.retry.max.attempts"] = "1";
  make_topics({"a", "b", "c", "d", "e"});
  site_.start();
  site_.create_mirror();
  ASSERT_EQ(site_.start_topics({"a", "b", "c", "e"}), ErrorCode::NONE);
  for (const char* topic : {"a", "b", "c", "e"}) {
    ASSERT_TRUE(site_.catches_up(TopicPartition(topic, 0), 10));
    ASSERT_TRUE(site_.reaches(TopicPartition(topic, 0), "MIRRORING"));
  }
  EXPECT_EQ(site_.pause_topics({"b"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.reaches(kB0, "PAUSED"));
  EXPECT_EQ(site_.stop_topics({"e"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.reaches(TopicPartition("e", 0), "STOPPED"));
  site_.source.fetch.hook = [&](const auto& exchange) {
    for (auto& topic : exchange->response.responses) {
      for (auto& partition : topic.partitions) {
        const bool is_c = topic.topic_id == site_.source.topic("c").id || topic.topic == "c";
        if (is_c) partition.error_code = ErrorCode::UNKNOWN_SERVER_ERROR;
      }
    }
  };
  const testing::Unhook unhook(site_.source);
  site_.source.produce(TopicPartition("c", 0), 1);
  ASSERT_TRUE(site_.reaches(TopicPartition("c", 0), "FAILED"));
  site_.source.stop_node(kSourceOne);
  site_.source.stop_node(kSourceTwo);
  // d is started while nobody answers: LOG_ALIGNMENT or FAILED, by where the refresh stands.
  wire::StartMirrorTopicsRequest start;
  start.mirror_name = "m";
  auto& topic = start.topics.emplace_back();
  topic.topic_name = "d";
  topic.topic_id = site_.source.topic("d").id;
  topic.num_partitions = 1;
  EXPECT_EQ(site_.call(&MirrorService::start_mirror_topics, std::move(start)).error_code,
            ErrorCode::NONE);
  wire::StopMirrorTopicsRequest stop;
  stop.mirror_name = "m";
  for (const char* name : {"a", "b", "c", "d", "e", "ghost"}) {
    stop.topics.emplace_back().topic_name = name;
  }
  const auto response =
      site_.call(&MirrorService::stop_mirror_topics, wire::StopMirrorTopicsRequest(stop));
  EXPECT_EQ(response.error_code, ErrorCode::NONE);
  for (const auto& result : response.topics) {
    const bool is_ghost = result.topic_name == "ghost";
    EXPECT_EQ(result.error_code, is_ghost ? ErrorCode::UNKNOWN_TOPIC_OR_PARTITION : ErrorCode::NONE)
        << result.topic_name;
  }
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    EXPECT_TRUE(site_.reaches(TopicPartition(name, 0), "STOPPED", seconds(10))) << name;
    EXPECT_TRUE(site_.service->is_writable(name)) << name;
  }
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_EQ(site_.describe(TopicPartition(name, 0)).last_mirror_offset, 10) << name;
  }
  const std::int64_t offset = site_.engine->image()->offset;
  const auto again = site_.call(&MirrorService::stop_mirror_topics, std::move(stop));
  site_.world.run_for(seconds(5));
  EXPECT_EQ(again.error_code, ErrorCode::NONE);
  EXPECT_EQ(site_.engine->image()->offset, offset) << "no new record, no epoch bump";
  EXPECT_EQ(site_.end_of(kA0), 11);
}

// G70 in small: a crash in the middle of a stop of many partitions.
TEST_F(MirrorTopicsTest, AStopGoesOnAfterACrash) {
  site_.source.create_topic("a", 40);
  for (std::int32_t i = 0; i < 40; ++i) {
    site_.source.produce(TopicPartition("a", i), 10);
    site_.source.append(TopicPartition("a", i), open_transaction(10));
  }
  site_.start();
  site_.create_mirror();
  ASSERT_EQ(site_.start_topics({"a"}), ErrorCode::NONE);
  for (std::int32_t i = 0; i < 40; ++i) {
    ASSERT_TRUE(site_.catches_up(TopicPartition("a", i), 11));
    ASSERT_TRUE(site_.reaches(TopicPartition("a", i), "MIRRORING"));
  }
  EXPECT_EQ(site_.stop_topics({"a"}), ErrorCode::NONE);
  const auto marked = [&] {
    int count = 0;
    for (std::int32_t i = 0; i < 40; ++i)
      count += site_.end_of(TopicPartition("a", i)) > 11 ? 1 : 0;
    return count;
  };
  ASSERT_TRUE(site_.world.run_until([&] { return marked() >= 15; }, seconds(30)));
  EXPECT_LT(marked(), 40);
  site_.source.stop_node(kSourceOne);
  site_.source.stop_node(kSourceTwo);
  site_.crash(env::SimCrash::kProcessDies);
  site_.start();
  for (std::int32_t i = 0; i < 40; ++i) {
    const TopicPartition where("a", i);
    ASSERT_TRUE(site_.reaches(where, "STOPPED", seconds(30))) << i;
    EXPECT_EQ(site_.end_of(where), 13) << "no second marker, no second reset record: " << i;
    EXPECT_EQ(site_.describe(where).last_mirror_offset, 11) << i;
  }
}

TEST_F(MirrorTopicsTest, AMirrorIsDeletedWhenAllIsStopped) {
  make_topics({"a"});
  site_.start();
  site_.create_mirror();
  ASSERT_EQ(site_.start_topics({"a"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.catches_up(kA0, 10));
  wire::DeleteClusterMirrorRequest request;
  request.mirror_name = "m";
  EXPECT_NE(
      site_.call(&MirrorService::delete_cluster_mirror, wire::DeleteClusterMirrorRequest(request))
          .error_code,
      ErrorCode::NONE);
  EXPECT_EQ(site_.stop_topics({"a"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.reaches(kA0, "STOPPED"));
  const auto done = site_.call(&MirrorService::delete_cluster_mirror, std::move(request));
  EXPECT_EQ(done.error_code, ErrorCode::NONE) << done.error_message.value_or("");
  EXPECT_TRUE(has("a"));
  EXPECT_TRUE(site_.service->is_writable("a", 0));
  const auto list =
      site_.call(&MirrorService::list_cluster_mirrors, wire::ListClusterMirrorsRequest());
  EXPECT_TRUE(list.mirrors.empty());
  site_.world.run_for(seconds(70));
}

// Decisions 3.15: a mirror of ourselves is refused.
TEST_F(MirrorTopicsTest, AMirrorOfThisClusterItselfIsRefused) {
  site_.source.set_cluster_id("mirror-cluster-id-0001");
  site_.start();
  wire::CreateClusterMirrorRequest request;
  request.mirror_name = "m";
  auto& config = request.configs.emplace_back();
  config.name = "bootstrap.servers";
  config.value = site_.source.bootstrap();
  const auto response = site_.call(&MirrorService::create_cluster_mirror, std::move(request));
  EXPECT_EQ(response.error_code, ErrorCode::INVALID_REQUEST);
  EXPECT_THAT(response.error_message.value_or(""), HasSubstr("this cluster itself"));
}

TEST_F(MirrorTopicsTest, AMirrorOfASourceThatIsAwayIsCreatedAndLearnsItsClusterLater) {
  make_topics({"a"});
  site_.start();
  site_.source.stop_node(kSourceOne);
  site_.source.stop_node(kSourceTwo);
  site_.create_mirror();
  EXPECT_EQ(site_.start_topics({"a"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.source.start_node(kSourceOne));
  ASSERT_TRUE(site_.source.start_node(kSourceTwo));
  ASSERT_TRUE(site_.catches_up(kA0, 10, seconds(60)));
  const auto list =
      site_.call(&MirrorService::list_cluster_mirrors, wire::ListClusterMirrorsRequest());
  ASSERT_EQ(list.mirrors.size(), 1U);
  EXPECT_EQ(list.mirrors[0].source_cluster_id, site_.source.cluster_id());
}

// Spec A.10: the source mirrors the topic from this cluster.
TEST_F(MirrorTopicsTest, AMirrorLoopIsDetected) {
  make_topics({"a", "b"});
  site_.source.describe_cluster_mirrors.is_on = true;
  auto& mirror = site_.source.mirrors.emplace_back();
  mirror.mirror_name = "back";
  mirror.source_cluster_id = "mirror-cluster-id-0001";
  auto& topic = mirror.topics.emplace_back();
  topic.topic_name = "a";
  topic.partitions.emplace_back().state_value = "MIRRORING";
  site_.start();
  site_.create_mirror();
  ASSERT_EQ(site_.start_topics({"a", "b"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.catches_up(kB0, 10));
  ASSERT_TRUE(site_.reaches(kA0, "FAILED"));
  EXPECT_THAT(site_.describe(kA0).error, HasSubstr("Detected mirror loop for mirror m"));
  EXPECT_EQ(site_.end_of(kA0), 0);
}

TEST_F(MirrorTopicsTest, TheSeedGenerationIsAnsweredByTheSameEngine) {
  make_topics({"a"});
  site_.start();
  wire::CreateMirrorRequest create;
  create.mirror_name = "m";
  auto& config = create.config.emplace_back();
  config.name = "bootstrap.servers";
  config.value = site_.source.bootstrap();
  EXPECT_EQ(site_.call(&MirrorService::create_mirror, std::move(create)).error_code,
            ErrorCode::NONE);
  wire::AddTopicsToMirrorRequest add;
  auto& wanted = add.topics.emplace_back();
  wanted.topic_name = "a";
  wanted.topic_id = site_.source.topic("a").id;
  wanted.mirror_name = "m";
  const auto added =
      site_.call(&MirrorService::add_topics_to_mirror, wire::AddTopicsToMirrorRequest(add));
  EXPECT_EQ(added.error_code, ErrorCode::NONE);
  ASSERT_EQ(added.topics.size(), 1U);
  EXPECT_EQ(added.topics[0].name, "a");
  ASSERT_TRUE(site_.catches_up(kA0, 10));
  ASSERT_TRUE(site_.reaches(kA0, "MIRRORING"));
  site_.world.run_for(seconds(2));
  EXPECT_EQ(site_.call(&MirrorService::add_topics_to_mirror, std::move(add)).error_code,
            ErrorCode::INVALID_REQUEST);
  wire::DescribeMirrorsRequest describe;
  const auto shown = site_.call(&MirrorService::describe_mirrors, std::move(describe));
  const auto& row = shown.mirrors.at(0).topics.at(0).partitions.at(0);
  EXPECT_EQ(row.state, "MIRRORING");
  EXPECT_EQ(row.source_offset, Offset(10));
  EXPECT_EQ(row.destination_offset, Offset(10));
  EXPECT_EQ(row.lag, 0);
  const auto listed = site_.call(&MirrorService::list_mirrors, wire::ListMirrorsRequest());
  EXPECT_EQ(listed.mirrors.at(0).topic_count, 1);
  wire::ReadMirrorStatesRequest read;
  read.mirror_name = "m";
  auto& topic = read.topics.emplace_back();
  topic.topic_name = "a";
  topic.partitions.emplace_back();
  std::optional<wire::ReadMirrorStatesResponse> states;
  site_.service->read_mirror_states(
      std::move(read), ApiVersion(0),
      [&](wire::ReadMirrorStatesResponse r) { states = std::move(r); });
  ASSERT_TRUE(site_.world.run_until([&] { return states.has_value(); }, seconds(10)));
  EXPECT_EQ(states->topics.at(0).partitions.at(0).state, 1) << "MIRRORING in the seed's codes";
  wire::RemoveTopicsFromMirrorRequest remove;
  remove.topics.emplace_back().topic_name = "a";
  EXPECT_EQ(site_.call(&MirrorService::remove_topics_from_mirror, std::move(remove)).error_code,
            ErrorCode::NONE);
  ASSERT_TRUE(site_.reaches(kA0, "STOPPED"));
  wire::LastMirroredOffsetsRequest last;
  last.mirror_name = "m";
  for (const char* name : {"a", "zz"}) {
    auto& entry = last.topics.emplace_back();
    entry.name = name;
    entry.partitions.emplace_back();
  }
  const auto offsets = site_.call(&MirrorService::last_mirrored_offsets, std::move(last));
  EXPECT_EQ(offsets.topics.at(0).partitions.at(0).last_mirrored_offset, Offset(10));
  EXPECT_EQ(offsets.topics.at(1).partitions.at(0).last_mirrored_offset, Offset(0));
}

}  // namespace
}  // namespace kmirror::mirror
