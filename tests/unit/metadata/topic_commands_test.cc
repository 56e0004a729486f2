#include <gmock/gmock.h>

#include "unit/metadata/command_fixture.h"

namespace kmirror::metadata {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TopicCommandTest : public CommandTest {
 protected:
  using Topic = wire::CreateTopicsRequest::CreatableTopic;
  static Topic topic(std::string name, std::int32_t partitions, std::int16_t replicas) {
    Topic topic;
    topic.name = std::move(name);
    topic.num_partitions = partitions;
    topic.replication_factor = replicas;
    return topic;
  }
  static wire::CreateTopicsRequest::CreatableReplicaAssignment assign(std::int32_t partition,
                                                                      std::vector<NodeId> brokers) {
    wire::CreateTopicsRequest::CreatableReplicaAssignment assignment;
    assignment.partition_index = partition;
    assignment.broker_ids = std::move(brokers);
    return assignment;
  }
  wire::CreateTopicsResponse::CreatableTopicResult create(Topic wanted,
                                                          bool validate_only = false) {
    wire::CreateTopicsRequest request;
    request.topics.push_back(std::move(wanted));
    request.validate_only = validate_only;
    return run_request(request).topics.at(0);
  }
  ErrorCode create_assigned(
      std::vector<wire::CreateTopicsRequest::CreatableReplicaAssignment> given) {
    Topic wanted = topic("assigned", -1, -1);
    wanted.assignments = std::move(given);
    return create(std::move(wanted), true).error_code;
  }
};

// G51, the part of CreateTopics.
TEST_F(TopicCommandTest, CreateTopicsAnswersAsKafka) {
  EXPECT_EQ(create(topic("a", -1, -1)).error_code, ErrorCode::NONE);
  EXPECT_EQ(image().topic("a")->partitions.size(), 1U);
  EXPECT_EQ(create(topic("v", 1, 1), true).error_code, ErrorCode::NONE);
  EXPECT_EQ(image().topic("v"), nullptr);
  EXPECT_EQ(create(topic("v", 1, 1)).error_code, ErrorCode::NONE);
  Topic both = topic("c", 2, 1);
  both.assignments = {assign(0, {NodeId(1)})};
  EXPECT_EQ(create(both).error_code, ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(create(topic("a", 1, 1)).error_code, ErrorCode::TOPIC_ALREADY_EXISTS);
  EXPECT_EQ(create(topic("r", 1, 3)).error_code, ErrorCode::INVALID_REPLICATION_FACTOR);
  EXPECT_EQ(create(topic("z", 0, 1)).error_code, ErrorCode::INVALID_PARTITIONS);
  for (const std::string& bad :
       {std::string("a/b"), std::string(".."), std::string(), std::string(250, 'x')}) {
    EXPECT_EQ(create(topic(bad, 1, 1)).error_code, ErrorCode::INVALID_TOPIC_EXCEPTION) << bad;
  }
  EXPECT_EQ(create(topic("a.b", 1, 1)).error_code, ErrorCode::NONE);
  EXPECT_EQ(create(topic("a_b", 1, 1)).error_code, ErrorCode::INVALID_TOPIC_EXCEPTION);
}

TEST_F(TopicCommandTest, AnswersCarryIdCountsAndConfigs) {
  Topic wanted = topic("a", 3, -1);
  wanted.configs.emplace_back();
  wanted.configs[0].name = "retention.ms";
  wanted.configs[0].value = "1000";
  const auto result = create(wanted);
  EXPECT_EQ(result.topic_id, image().topic("a")->id);
  EXPECT_FALSE(result.topic_id.is_zero());
  EXPECT_EQ(result.num_partitions, 3);
  EXPECT_EQ(result.replication_factor, 1);
  EXPECT_EQ(result.error_message, std::nullopt);
  bool seen = false;
  for (const auto& config : *result.configs) {
    if (config.name != "retention.ms") continue;
    seen = true;
    EXPECT_EQ(config.value, "1000");
    EXPECT_EQ(config.config_source, 1);
  }
  EXPECT_TRUE(seen);
  EXPECT_EQ(override_of(ConfigResourceType::kTopic, "a", "retention.ms"), "1000");
}

TEST_F(TopicCommandTest, NewPartitionsAreLedByThisNode) {
  ASSERT_EQ(create_topic("a", 2), ErrorCode::NONE);
  const PartitionImage* partition = image().partition("a", 1);
  ASSERT_NE(partition, nullptr);
  EXPECT_EQ(partition->leader, NodeId(1));
  EXPECT_EQ(partition->leader_epoch, LeaderEpoch(0));
  EXPECT_THAT(partition->replicas, ElementsAre(NodeId(1)));
  EXPECT_THAT(partition->isr, ElementsAre(NodeId(1)));
  EXPECT_EQ(image().partition("a", 2), nullptr);
}

TEST_F(TopicCommandTest, BadConfigsCreateNothing) {
  EXPECT_EQ(create_topic("a", 1, {{"retention.ms", "soon"}}), ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(create_topic("a", 1, {{"foo", "1"}}), ErrorCode::INVALID_CONFIG);
  Topic null_value = topic("a", 1, 1);
  null_value.configs.emplace_back();
  null_value.configs[0].name = "retention.ms";
  null_value.configs[0].value.reset();
  EXPECT_EQ(create(null_value).error_code, ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(image().topic("a"), nullptr);
  EXPECT_EQ(last_record_count_, 0U);
}

TEST_F(TopicCommandTest, OneRequestManyTopics) {
  wire::CreateTopicsRequest request;
  request.topics = {topic("x.y", 1, 1), topic("x_y", 1, 1), topic("d", 1, 1), topic("d", 2, 1),
                    topic("__cluster_metadata", 1, 1)};
  const auto response = run_request(request);
  ASSERT_EQ(response.topics.size(), 4U);
  EXPECT_EQ(response.topics[0].error_code, ErrorCode::NONE);
  EXPECT_EQ(response.topics[1].error_code, ErrorCode::INVALID_TOPIC_EXCEPTION);
  EXPECT_EQ(response.topics[2].error_code, ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(response.topics[3].error_code, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
  EXPECT_EQ(image().topic("d"), nullptr);
}

TEST_F(TopicCommandTest, Assignments) {
  const NodeId me(1);
  EXPECT_EQ(create_assigned({assign(0, {me}), assign(1, {me})}), ErrorCode::NONE);
  EXPECT_EQ(create_assigned({assign(1, {me})}), ErrorCode::INVALID_REPLICA_ASSIGNMENT);
  EXPECT_EQ(create_assigned({assign(0, {me}), assign(0, {me})}),
            ErrorCode::INVALID_REPLICA_ASSIGNMENT);
  EXPECT_EQ(create_assigned({assign(0, {me}), assign(2, {me})}),
            ErrorCode::INVALID_REPLICA_ASSIGNMENT);
  EXPECT_EQ(create_assigned({assign(0, {NodeId(9)})}), ErrorCode::INVALID_REPLICA_ASSIGNMENT);
  EXPECT_EQ(create_assigned({assign(0, {})}), ErrorCode::INVALID_REPLICA_ASSIGNMENT);
  EXPECT_EQ(create_assigned({assign(0, {me, me})}), ErrorCode::INVALID_REPLICA_ASSIGNMENT);
}

TEST_F(TopicCommandTest, TooManyPartitionsAreRefused) {
  services_.max_records = 100;
  EXPECT_EQ(create(topic("a", 200, 1)).error_code, ErrorCode::POLICY_VIOLATION);
  EXPECT_EQ(create(topic("a", 50, 1)).error_code, ErrorCode::NONE);
}

TEST_F(TopicCommandTest, ATopicCanHaveTheSourcesId) {
  Topic wanted = topic("a", 1, 1);
  wanted.mirror_info.emplace();
  const Uuid id = rng_.uuid();
  wanted.mirror_info->topic_id = id;
  EXPECT_EQ(create(wanted).error_code, ErrorCode::NONE);
  EXPECT_EQ(image().topic(id)->name, "a");
  wanted.name = "b";
  EXPECT_EQ(create(wanted).error_code, ErrorCode::TOPIC_ALREADY_EXISTS);
  Topic unknown_mirror = topic("c", 1, 1);
  unknown_mirror.mirror_info.emplace();
  unknown_mirror.mirror_info->mirror_name = "m";
  EXPECT_EQ(create(unknown_mirror).error_code, ErrorCode::INVALID_REQUEST);
  create_mirror("m");
  EXPECT_EQ(create(unknown_mirror).error_code, ErrorCode::NONE);
  EXPECT_EQ(image().topic("c")->mirror_name, "m");
  EXPECT_EQ(state_of("c"), DesiredMirrorState::kMirroring);
}

TEST_F(TopicCommandTest, MirrorNameAtCreation) {
  EXPECT_EQ(create_topic("t", 1, {{"mirror.name", "m"}}), ErrorCode::INVALID_REQUEST);
  create_mirror("m");
  EXPECT_EQ(create_topic("t", 1, {{"mirror.name", "m.paused"}}), ErrorCode::NONE);
  EXPECT_EQ(state_of("t"), DesiredMirrorState::kPaused);
  EXPECT_EQ(override_of(ConfigResourceType::kTopic, "t", "mirror.name"), std::nullopt);
}

class DeleteTopicsTest : public TopicCommandTest {
 protected:
  using State = wire::DeleteTopicsRequest::DeleteTopicState;
  static State by_name(std::string name) {
    State state;
    state.name = std::move(name);
    return state;
  }
  static State by_id(Uuid id) {
    State state;
    state.topic_id = id;
    return state;
  }
  std::vector<ErrorCode> remove(std::vector<State> states) {
    wire::DeleteTopicsRequest request;
    request.topics = std::move(states);
    std::vector<ErrorCode> codes;
    for (const auto& result : run_request(request).responses) codes.push_back(result.error_code);
    return codes;
  }
};

TEST_F(DeleteTopicsTest, ByNameAndById) {
  create_topic("a", 1, {{"retention.ms", "1"}});
  create_topic("b");
  const Uuid id = image().topic("b")->id;
  EXPECT_THAT(remove({by_name("a"), by_id(id), by_name("nope"), by_id(rng_.uuid()), State()}),
              ElementsAre(ErrorCode::NONE, ErrorCode::NONE, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                          ErrorCode::UNKNOWN_TOPIC_ID, ErrorCode::INVALID_REQUEST));
  EXPECT_EQ(image().topic("a"), nullptr);
  EXPECT_EQ(image().topic(id), nullptr);
  EXPECT_EQ(override_of(ConfigResourceType::kTopic, "a", "retention.ms"), std::nullopt);
}

TEST_F(DeleteTopicsTest, RepeatsAndBothFormsAreRefused) {
  create_topic("a");
  EXPECT_THAT(remove({by_name("a"), by_name("a")}), ElementsAre(ErrorCode::INVALID_REQUEST));
  State both = by_name("a");
  both.topic_id = image().topic("a")->id;
  EXPECT_THAT(remove({both}), ElementsAre(ErrorCode::INVALID_REQUEST));
  EXPECT_NE(image().topic("a"), nullptr);
}

TEST_F(DeleteTopicsTest, OldVersionsNameTopics) {
  create_topic("a");
  wire::DeleteTopicsRequest request;
  request.topic_names = {"a", "nope"};
  const auto response = run_request(request);
  EXPECT_EQ(response.responses.at(0).error_code, ErrorCode::NONE);
  EXPECT_EQ(response.responses.at(1).error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}

TEST_F(DeleteTopicsTest, AMirrorTopicGoesOnlyOnceStoppedAndLeavesAMark) {
  create_mirror("m");
  ASSERT_EQ(start("m", "t"), ErrorCode::NONE);
  create_topic("plain");
  EXPECT_THAT(remove({by_name("t"), by_name("plain")}),
              ElementsAre(ErrorCode::POLICY_VIOLATION, ErrorCode::NONE));
  ASSERT_EQ(stop("m", "t"), ErrorCode::NONE);
  EXPECT_EQ(delete_topic("t"), ErrorCode::POLICY_VIOLATION);  // not yet stopped in fact
  stopped_.insert("t");
  EXPECT_EQ(delete_topic("t"), ErrorCode::NONE);
  EXPECT_THAT(image().deleted_here.at("m"), ElementsAre("t"));
  ASSERT_EQ(start("m", "t"), ErrorCode::NONE);
  EXPECT_TRUE(image().deleted_here.empty());
}

TEST_F(DeleteTopicsTest, TheStateOfMirrorsCannotBeDeleted) {
  create_mirror("m");
  EXPECT_EQ(delete_topic("__mirror_state"), ErrorCode::POLICY_VIOLATION);
}

class NoDeletionTest : public DeleteTopicsTest {
 protected:
  NoDeletionTest() { file_["delete.topic.enable"] = "false"; }
  ConfigMap file_;
};
TEST_F(NoDeletionTest, DeleteTopicEnable) {
  create_topic("a");
  const ConfigResolver resolver(file_, NodeId(1));
  const CommandServices services(resolver, rng_);
  Command command(tip_, services);
  wire::DeleteTopicsRequest request;
  request.topics = {by_name("a")};
  EXPECT_EQ(evaluate(command, request).responses.at(0).error_code,
            ErrorCode::TOPIC_DELETION_DISABLED);
}

class CreatePartitionsTest : public TopicCommandTest {
 protected:
  ErrorCode grow(std::int32_t count, std::optional<std::vector<std::vector<std::int32_t>>> assigned,
                 bool validate_only = false, const std::string& name = "res",
                 bool is_sync = false) {
    wire::CreatePartitionsRequest request;
    wire::CreatePartitionsRequest::CreatePartitionsTopic wanted;
    wanted.name = name;
    wanted.count = count;
    wanted.assignments.reset();
    if (assigned) {
      wanted.assignments.emplace();
      for (const auto& brokers : *assigned) {
        wanted.assignments->emplace_back();
        for (const std::int32_t id : brokers) {
          wanted.assignments->back().broker_ids.push_back(NodeId(id));
        }
      }
    }
    request.topics.push_back(std::move(wanted));
    request.validate_only = validate_only;
    const auto response = run([&](Command& c) { return evaluate(c, request, is_sync); });
    message_ = response.results.at(0).error_message.value_or("");
    return response.results.at(0).error_code;
  }
  std::size_t size() const { return image().topic("res")->partitions.size(); }
  std::string message_;
};

// G107.
TEST_F(CreatePartitionsTest, AnswersAsKafka) {
  using Assigned = std::vector<std::vector<std::int32_t>>;
  create_topic("res", 3);
  const Uuid id = image().topic("res")->id;
  for (const std::int32_t count : {3, 2, 0, -1}) {
    EXPECT_EQ(grow(count, std::nullopt), ErrorCode::INVALID_PARTITIONS) << count;
  }
  EXPECT_EQ(grow(4, std::nullopt, false, "nope"), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(grow(5, std::nullopt, true), ErrorCode::NONE);
  EXPECT_EQ(size(), 3U);
  EXPECT_EQ(grow(5, Assigned{{1}}), ErrorCode::INVALID_REPLICA_ASSIGNMENT);
  EXPECT_EQ(grow(4, Assigned{{9}}), ErrorCode::INVALID_REPLICA_ASSIGNMENT);
  EXPECT_EQ(grow(4, Assigned{{}}), ErrorCode::INVALID_REPLICA_ASSIGNMENT);
  EXPECT_EQ(grow(4, Assigned{{1, 1}}), ErrorCode::INVALID_REPLICA_ASSIGNMENT);
  wire::CreatePartitionsRequest twice;
  twice.topics.resize(2);
  for (auto& wanted : twice.topics) {
    wanted.name = "res";
    wanted.count = 4;
    wanted.assignments.reset();
  }
  const auto answer = run([&](Command& c) { return evaluate(c, twice, false); });
  ASSERT_EQ(answer.results.size(), 1U);
  EXPECT_EQ(answer.results[0].error_code, ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(grow(4, Assigned{{1}}), ErrorCode::NONE);
  EXPECT_EQ(size(), 4U);
  EXPECT_EQ(image().topic("res")->id, id);
}

TEST_F(CreatePartitionsTest, OnlyTheSyncGrowsAMirrorTopic) {
  create_mirror("m");
  ASSERT_EQ(start("m", "res"), ErrorCode::NONE);
  EXPECT_EQ(grow(5, std::nullopt), ErrorCode::POLICY_VIOLATION);
  EXPECT_THAT(message_, HasSubstr("topic res is a read-only mirror of m"));
  EXPECT_EQ(grow(5, std::nullopt, false, "res", true), ErrorCode::NONE);
  EXPECT_EQ(size(), 5U);
  stop("m", "res");
  stopped_.insert("res");
  EXPECT_EQ(grow(6, std::nullopt), ErrorCode::NONE);
}

TEST_F(TopicCommandTest, BumpLeaderEpochsGoesAboveTheMinimum) {
  create_topic("a", 3);
  wire::BumpLeaderEpochsRequest request;
  request.topics.resize(2);
  request.topics[0].topic_name = "a";
  request.topics[0].partitions.resize(3);
  request.topics[0].partitions[0].min_leader_epoch = LeaderEpoch(17);
  request.topics[0].partitions[1].partition_index = 1;
  request.topics[0].partitions[1].min_leader_epoch = LeaderEpoch(-1);
  request.topics[0].partitions[2].partition_index = 7;
  request.topics[1].topic_name = "nope";
  request.topics[1].partitions.resize(1);
  const auto response = run_request(request);
  EXPECT_EQ(last_record_count_, 1U);
  EXPECT_EQ(image().partition("a", 0)->leader_epoch, LeaderEpoch(18));
  EXPECT_EQ(image().partition("a", 0)->partition_epoch, 1);
  EXPECT_EQ(image().partition("a", 1)->leader_epoch, LeaderEpoch(0));
  EXPECT_EQ(response.topics[0].partitions[0].error_code, ErrorCode::NONE);
  EXPECT_EQ(response.topics[0].partitions[2].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(response.topics[1].partitions[0].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  run_request(request);
  EXPECT_EQ(last_record_count_, 0U);  // already above
  request.topics[0].partitions[0].min_leader_epoch = LeaderEpoch(2'147'483'647);
  EXPECT_EQ(run_request(request).topics[0].partitions[0].error_code, ErrorCode::INVALID_REQUEST);
}

TEST_F(TopicCommandTest, InternalTopicsAreMadeOnce) {
  const auto make = [this] {
    return run([](Command& c) { return create_internal_topic(c, "__consumer_offsets", 50, {}); });
  };
  EXPECT_TRUE(make());
  EXPECT_EQ(image().topic("__consumer_offsets")->partitions.size(), 50U);
  EXPECT_EQ(override_of(ConfigResourceType::kTopic, "__consumer_offsets", "cleanup.policy"),
            "compact");
  EXPECT_TRUE(make());
  EXPECT_EQ(last_record_count_, 0U);
}

TEST_F(TopicCommandTest, ProducerIdsAreNeverGivenOutTwice) {
  const auto allocate = [this] { return run([](Command& c) { return allocate_producer_ids(c); }); };
  const auto raise = [this](std::int64_t seen) {
    return run([&](Command& c) { return raise_producer_ids(c, ProducerId(seen)); });
  };
  EXPECT_EQ(allocate()->first, 0);
  EXPECT_EQ(allocate()->first, 1000);
  EXPECT_EQ(allocate()->length, 1000);
  EXPECT_TRUE(raise(-1));
  EXPECT_TRUE(raise(2999));
  EXPECT_EQ(last_record_count_, 0U);
  EXPECT_TRUE(raise(3000));
  EXPECT_EQ(allocate()->first, 3001);
  EXPECT_FALSE(raise(std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(allocate()->first, 4001);
}

TEST_F(TopicCommandTest, RegistrationIsWrittenOnlyWhenItChanges) {
  ListenerEndpoint listener = image().brokers.at(NodeId(1))->listeners.at(0);
  const auto enrol = [&] {
    return run([&](Command& c) { return register_broker(c, {listener}, std::nullopt, {}); });
  };
  EXPECT_TRUE(enrol());
  EXPECT_EQ(last_record_count_, 0U);
  listener.port = 1;
  EXPECT_TRUE(enrol());
  EXPECT_EQ(last_record_count_, 1U);
  EXPECT_EQ(image().brokers.at(NodeId(1))->listeners.at(0).port, 1);
  EXPECT_EQ(image().brokers.at(NodeId(1))->broker_epoch, image().offset);
}

}  // namespace
}  // namespace kmirror::metadata
