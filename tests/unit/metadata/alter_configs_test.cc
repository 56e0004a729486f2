#include <gmock/gmock.h>

#include "unit/metadata/command_fixture.h"

namespace kmirror::metadata {
namespace {

using ::testing::HasSubstr;

constexpr auto kTopicType = ConfigResourceType::kTopic;
constexpr auto kBrokerType = ConfigResourceType::kBroker;
constexpr auto kMirrorType = ConfigResourceType::kClusterMirror;

class AlterConfigsTest : public CommandTest {
 protected:
  AlterConfigsTest() { create_topic("cfg", 1, {{"retention.ms", "1000"}}); }

  ErrorCode one(const std::string& key, std::int8_t operation, std::optional<std::string> value,
                bool validate_only = false) {
    return alter(kTopicType, "cfg", {Entry{key, operation, std::move(value)}}, validate_only);
  }
  std::optional<std::string> value(const std::string& key) {
    return override_of(kTopicType, "cfg", key);
  }
  ErrorCode replace(ConfigResourceType type, const std::string& name, const ConfigMap& configs) {
    wire::AlterConfigsRequest request;
    wire::AlterConfigsRequest::AlterConfigsResource resource;
    resource.resource_type = static_cast<std::int8_t>(type);
    resource.resource_name = name;
    for (const auto& [key, text] : configs) {
      resource.configs.emplace_back();
      resource.configs.back().name = key;
      resource.configs.back().value = text;
    }
    request.resources.push_back(std::move(resource));
    return run_request(request).responses.at(0).error_code;
  }
};

enum : std::int8_t { kSet = 0, kDelete = 1, kAppend = 2, kSubtract = 3 };

// G108, in the order of the case.
TEST_F(AlterConfigsTest, ListsAndBadValues) {
  EXPECT_EQ(one("cleanup.policy", kSubtract, "delete"), ErrorCode::NONE);
  EXPECT_EQ(value("cleanup.policy"), "");
  EXPECT_EQ(one("cleanup.policy", kAppend, "compact"), ErrorCode::NONE);
  EXPECT_EQ(one("cleanup.policy", kAppend, "compact"), ErrorCode::NONE);
  EXPECT_EQ(value("cleanup.policy"), "compact");
  EXPECT_EQ(one("cleanup.policy", kSubtract, "foo"), ErrorCode::NONE);
  EXPECT_EQ(value("cleanup.policy"), "compact");
  EXPECT_EQ(one("cleanup.policy", kSet, "compact, delete"), ErrorCode::NONE);
  EXPECT_EQ(value("cleanup.policy"), "compact,delete");
  EXPECT_EQ(one("retention.ms", kSet, "abc"), ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(one("foo", kSet, "1"), ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(one("retention.ms", kAppend, "1"), ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(one("retention.ms", kSet, std::nullopt), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(one("segment.ms", kDelete, std::nullopt), ErrorCode::NONE);
  EXPECT_EQ(one("cleanup.policy", kSet, "compact,foo"), ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(one("segment.bytes", kSet, "10"), ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(one("retention.ms", kSet, "5", true), ErrorCode::NONE);
  EXPECT_EQ(value("retention.ms"), "1000");
  EXPECT_EQ(alter(kTopicType, "nope", {Entry{"retention.ms", kSet, "5"}}),
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(alter(kBrokerType, "1", {Entry{"node.id", kSet, "5"}}), ErrorCode::INVALID_REQUEST);
}

// G51, the part of configurations.
TEST_F(AlterConfigsTest, AppendToAnUnsetListStartsFromWhatIsInForce) {
  EXPECT_EQ(one("cleanup.policy", kAppend, "compact"), ErrorCode::NONE);
  EXPECT_EQ(value("cleanup.policy"), "delete,compact");
  EXPECT_EQ(alter(kTopicType, "cfg",
                  {Entry{"retention.ms", kSet, "1"}, Entry{"retention.ms", kSet, "2"}}),
            ErrorCode::INVALID_REQUEST);
}

TEST_F(AlterConfigsTest, AlterConfigsDropsWhatItDoesNotName) {
  one("segment.ms", kSet, "77");
  EXPECT_EQ(replace(kTopicType, "cfg", {{"segment.ms", "78"}}), ErrorCode::NONE);
  EXPECT_EQ(value("segment.ms"), "78");
  EXPECT_EQ(value("retention.ms"), std::nullopt);
  EXPECT_EQ(replace(kTopicType, "cfg", {{"foo", "78"}}), ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(replace(kTopicType, "nope", {}), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(value("segment.ms"), "78");
}

TEST_F(AlterConfigsTest, ARefusedEntryChangesNothingOfItsResource) {
  EXPECT_EQ(alter(kTopicType, "cfg",
                  {Entry{"segment.ms", kSet, "5"}, Entry{"retention.ms", kSet, "abc"}}),
            ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(value("segment.ms"), std::nullopt);
  EXPECT_EQ(last_record_count_, 0U);
}

TEST_F(AlterConfigsTest, ResourcesStandEachForItself) {
  create_topic("other");
  wire::IncrementalAlterConfigsRequest request;
  for (const char* name : {"cfg", "nope", "other"}) {
    request.resources.emplace_back();
    request.resources.back().resource_type = 2;
    request.resources.back().resource_name = name;
    request.resources.back().configs.emplace_back();
    request.resources.back().configs[0].name = "retention.ms";
    request.resources.back().configs[0].value = "7";
  }
  const auto answer = run_request(request);
  EXPECT_EQ(answer.responses[0].error_code, ErrorCode::NONE);
  EXPECT_EQ(answer.responses[0].error_message, std::nullopt);
  EXPECT_EQ(answer.responses[1].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(answer.responses[2].error_code, ErrorCode::NONE);
  EXPECT_EQ(last_record_count_, 2U);
  request.resources[1].resource_name = "cfg";
  const auto twice = run_request(request);
  ASSERT_EQ(twice.responses.size(), 2U);
  EXPECT_EQ(twice.responses[0].error_code, ErrorCode::INVALID_REQUEST);
}

TEST_F(AlterConfigsTest, TheSameValueWritesNoRecord) {
  EXPECT_EQ(one("retention.ms", kSet, "1000"), ErrorCode::NONE);
  EXPECT_EQ(last_record_count_, 0U);
}

TEST_F(AlterConfigsTest, Brokers) {
  EXPECT_EQ(alter(kBrokerType, "1", {Entry{"log.retention.ms", kSet, "9"}}), ErrorCode::NONE);
  EXPECT_EQ(alter(kBrokerType, "", {Entry{"mirror.replication.throttled.rate", kSet, "9"}}),
            ErrorCode::NONE);
  EXPECT_EQ(override_of(kBrokerType, "", "mirror.replication.throttled.rate"), "9");
  EXPECT_EQ(alter(kBrokerType, "", {Entry{"log.retentionms", kSet, "9"}}),
            ErrorCode::INVALID_CONFIG);
  EXPECT_THAT(last_message_, HasSubstr("log.retention.ms"));
  EXPECT_EQ(alter(kBrokerType, "7", {Entry{"log.retention.ms", kSet, "9"}}),
            ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(alter(kBrokerType, "x", {Entry{"log.retention.ms", kSet, "9"}}),
            ErrorCode::INVALID_REQUEST);
}

TEST_F(AlterConfigsTest, GroupsAndTypesThatCannotBeAltered) {
  EXPECT_EQ(
      alter(ConfigResourceType::kGroup, "g", {Entry{"consumer.session.timeout.ms", kSet, "50000"}}),
      ErrorCode::NONE);
  EXPECT_EQ(alter(ConfigResourceType::kGroup, "g", {Entry{"session.timeout", kSet, "1"}}),
            ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(alter(ConfigResourceType::kGroup, "", {Entry{"share.isolation.level", kSet, "x"}}),
            ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(alter(ConfigResourceType::kUnknown, "g", {}), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(alter(ConfigResourceType::kClientMetrics, "g", {}), ErrorCode::INVALID_REQUEST);
}

TEST_F(AlterConfigsTest, UnknownOperation) {
  EXPECT_EQ(one("retention.ms", 4, "1"), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(one("retention.ms", -1, "1"), ErrorCode::INVALID_REQUEST);
}

// G72, the part of bad values.
TEST_F(AlterConfigsTest, Mirrors) {
  EXPECT_EQ(alter(kMirrorType, "m", {Entry{"mirror.groups.include", kSet, "a"}}),
            ErrorCode::RESOURCE_NOT_FOUND);
  create_mirror("m");
  EXPECT_EQ(alter(kMirrorType, "m", {Entry{"mirror.groups.includes", kSet, "a"}}),
            ErrorCode::INVALID_CONFIG);
  EXPECT_THAT(last_message_, HasSubstr("did you mean 'mirror.groups.include'?"));
  EXPECT_EQ(alter(kMirrorType, "m", {Entry{"security.protocol", kSet, "FOO"}}),
            ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(alter(kMirrorType, "m", {Entry{"mirror.topics.include", kAppend, "("}}),
            ErrorCode::INVALID_REGULAR_EXPRESSION);
  EXPECT_EQ(alter(kMirrorType, "m", {Entry{"bootstrap.servers", kDelete, std::nullopt}}),
            ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(alter(kMirrorType, "m", {Entry{"bootstrap.servers", kSet, "dead.invalid:1,h:2"}}),
            ErrorCode::NONE);
  EXPECT_EQ(in_force("m", "bootstrap.servers"), "dead.invalid:1,h:2");
}

TEST_F(AlterConfigsTest, TheLaterSpellingIsTheSameKey) {
  create_mirror("m", {{"topics.include", "a"}});
  EXPECT_EQ(override_of(kMirrorType, "m", "mirror.topics.include"), "a");
  EXPECT_EQ(alter(kMirrorType, "m", {Entry{"topics.include", kAppend, "b"}}), ErrorCode::NONE);
  EXPECT_EQ(in_force("m", "mirror.topics.include"), "a,b");
  for (const bool late_first : {true, false}) {
    std::vector<Entry> both = {Entry{"topics.include", kSet, "c"},
                               Entry{"mirror.topics.include", kSet, "c"}};
    if (late_first) std::swap(both[0], both[1]);
    EXPECT_EQ(alter(kMirrorType, "m", both), ErrorCode::INVALID_CONFIG);
    EXPECT_THAT(last_message_, HasSubstr("the same configuration"));
  }
}

TEST_F(AlterConfigsTest, MirrorNameStartsPausesAndStops) {
  const auto name = [this](const std::string& value) { return one("mirror.name", kSet, value); };
  EXPECT_EQ(name("m"), ErrorCode::INVALID_REQUEST);  // no such mirror
  create_mirror("m");
  create_mirror("n");
  EXPECT_EQ(name("m.paused"), ErrorCode::INVALID_REQUEST);  // not mirrored yet
  EXPECT_EQ(name("m"), ErrorCode::NONE);
  EXPECT_EQ(state_of("cfg"), DesiredMirrorState::kMirroring);
  EXPECT_EQ(value("mirror.name"), std::nullopt);
  EXPECT_EQ(name("n"), ErrorCode::INVALID_REQUEST);  // belongs to m
  EXPECT_EQ(name("m.paused"), ErrorCode::NONE);
  EXPECT_EQ(state_of("cfg"), DesiredMirrorState::kPaused);
  EXPECT_EQ(name("m.paused"), ErrorCode::NONE);
  EXPECT_EQ(last_record_count_, 0U);
  EXPECT_EQ(name("m"), ErrorCode::NONE);  // resumed
  EXPECT_EQ(name(""), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(one("mirror.name", kDelete, std::nullopt), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(name("m.stopped"), ErrorCode::NONE);
  EXPECT_EQ(state_of("cfg"), DesiredMirrorState::kStopped);
  EXPECT_EQ(name("m.paused"), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(name("m"), ErrorCode::INVALID_REQUEST);  // still being stopped
  stopped_.insert("cfg");
  EXPECT_EQ(name("n"), ErrorCode::NONE);  // taken over
  EXPECT_EQ(image().topic("cfg")->mirror_name, "n");
  EXPECT_EQ(one("mirror.name", kAppend, "x"), ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(name("a/b"), ErrorCode::INVALID_CONFIG);
}

TEST_F(AlterConfigsTest, InternalTopicsCannotBeMirrored) {
  create_mirror("m");
  EXPECT_EQ(alter(kTopicType, "__mirror_state", {Entry{"mirror.name", kSet, "m"}}),
            ErrorCode::INVALID_REQUEST);
}

TEST_F(AlterConfigsTest, AlterConfigsKeepsTheMirrorName) {
  create_mirror("m");
  one("mirror.name", kSet, "m");
  EXPECT_EQ(replace(kTopicType, "cfg", {{"mirror.name", "m"}, {"segment.ms", "5"}}),
            ErrorCode::NONE);
  EXPECT_EQ(replace(kTopicType, "cfg", {{"segment.ms", "6"}}), ErrorCode::NONE);
  EXPECT_EQ(state_of("cfg"), DesiredMirrorState::kMirroring);
  EXPECT_EQ(replace(kTopicType, "cfg", {{"mirror.name", "m.stopped"}}), ErrorCode::NONE);
  EXPECT_EQ(state_of("cfg"), DesiredMirrorState::kStopped);
}

TEST_F(AlterConfigsTest, TheSystemSetsTheSourcesClusterId) {
  create_mirror("m");
  const auto set = [this](std::optional<std::string> id) {
    return run([&](Command& c) { return set_mirror_configs(c, "m", {{"source.cluster.id", id}}); });
  };
  EXPECT_TRUE(set("abc"));
  EXPECT_EQ(in_force("m", "source.cluster.id"), "abc");
  EXPECT_TRUE(set("abc"));
  EXPECT_EQ(last_record_count_, 0U);
  EXPECT_TRUE(set(std::nullopt));
  EXPECT_EQ(override_of(kMirrorType, "m", "source.cluster.id"), std::nullopt);
  EXPECT_FALSE(run([](Command& c) { return set_mirror_configs(c, "x", {}); }));
}

}  // namespace
}  // namespace kmirror::metadata
