#include "kmirror/metadata/config_resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kmirror/model/error_code.h"

namespace kmirror::metadata {
namespace {

class ConfigResolverTest : public ::testing::Test {
 protected:
  void add_topic(const std::string& name) {
    auto topic = std::make_shared<TopicImage>();
    topic->name = name;
    image_.topics[name] = topic;
  }
  void set(ConfigResourceType type, const std::string& name, const std::string& key,
           const std::string& value) {
    const ConfigResource resource(type, name);
    auto next = std::make_shared<ConfigMap>(image_.config(resource));
    (*next)[key] = value;
    image_.configs[resource] = next;
  }
  ConfigResolver resolver() const { return {file_, NodeId(1)}; }
  ConfigEntry describe(ConfigResourceType type, const std::string& name, const std::string& key) {
    const auto entries =
        resolver().describe(image_, ConfigResource(type, name), std::vector<std::string>{key});
    EXPECT_TRUE(entries) << (entries ? "" : entries.error().message);
    EXPECT_EQ(entries->size(), 1U) << key;
    return entries->empty() ? ConfigEntry() : entries->front();
  }
  ErrorCode error_of(ConfigResourceType type, const std::string& name) {
    const auto entries = resolver().describe(image_, ConfigResource(type, name), std::nullopt);
    return entries ? ErrorCode::NONE : to_kafka_error(entries.error());
  }

  MetadataImage image_;
  ConfigMap file_;
};

std::string text(const ConfigEntry& entry) {
  std::string out;
  for (const ConfigSynonym& synonym : entry.synonyms) {
    out += fmt::format("{}{} {}/{}", out.empty() ? "" : ", ", synonym.name,
                       synonym.value.value_or("null"), static_cast<int>(synonym.source));
  }
  return out;
}

// G109.
TEST_F(ConfigResolverTest, DescribeShowsSourceSynonymsAndDefaults) {
  add_topic("t");
  file_["log.retention.ms"] = "-1";
  set(ConfigResourceType::kTopic, "t", "retention.ms", "1000");
  const ConfigEntry retention = describe(ConfigResourceType::kTopic, "t", "retention.ms");
  EXPECT_EQ(retention.value, "1000");
  EXPECT_EQ(retention.source, ConfigSource::kTopic);
  EXPECT_EQ(text(retention),
            "retention.ms 1000/1, log.retention.ms -1/4, log.retention.hours 168/5");
  EXPECT_EQ(retention.type, ConfigType::kLong);
  const ConfigEntry segment = describe(ConfigResourceType::kTopic, "t", "segment.bytes");
  EXPECT_EQ(segment.value, "1073741824");
  EXPECT_EQ(segment.source, ConfigSource::kDefault);
}

TEST_F(ConfigResolverTest, DescribeBrokerHidesSecretsAndMarksReadOnly) {
  file_["node.id"] = "1";
  file_["ssl.keystore.password"] = "hunter2";
  file_["listener.name.ext.ssl.key.password"] = "hunter3";
  const ConfigEntry secret = describe(ConfigResourceType::kBroker, "1", "ssl.keystore.password");
  EXPECT_EQ(secret.value, std::nullopt);
  EXPECT_TRUE(secret.sensitive);
  EXPECT_EQ(text(secret), "ssl.keystore.password null/4");
  const ConfigEntry prefixed =
      describe(ConfigResourceType::kBroker, "1", "listener.name.ext.ssl.key.password");
  EXPECT_EQ(prefixed.value, std::nullopt);
  EXPECT_TRUE(prefixed.sensitive);
  const ConfigEntry node = describe(ConfigResourceType::kBroker, "1", "node.id");
  EXPECT_TRUE(node.read_only);
  EXPECT_EQ(node.source, ConfigSource::kStaticBroker);
  EXPECT_FALSE(describe(ConfigResourceType::kBroker, "1", "log.retention.ms").read_only);
}

TEST_F(ConfigResolverTest, DescribeRefusesOtherBrokersAndUnknownThings) {
  EXPECT_EQ(error_of(ConfigResourceType::kBroker, "7"), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(error_of(ConfigResourceType::kBroker, "x"), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(error_of(ConfigResourceType::kBroker, ""), ErrorCode::NONE);
  EXPECT_EQ(error_of(ConfigResourceType::kTopic, "nope"), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(error_of(ConfigResourceType::kUnknown, "x"), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(error_of(ConfigResourceType::kClusterMirror, "m"), ErrorCode::RESOURCE_NOT_FOUND);
  EXPECT_EQ(error_of(ConfigResourceType::kGroup, "any"), ErrorCode::NONE);
}

// G51: null and [] mean all keys, one key gives one, an unknown key none and no error.
TEST_F(ConfigResolverTest, KeysSelect) {
  add_topic("t");
  const ConfigResource resource(ConfigResourceType::kTopic, "t");
  const std::size_t all = resolver().describe(image_, resource, std::nullopt)->size();
  EXPECT_GT(all, 30U);
  EXPECT_EQ(resolver().describe(image_, resource, std::vector<std::string>{})->size(), all);
  EXPECT_EQ(resolver().describe(image_, resource, std::vector<std::string>{"retention.ms"})->size(),
            1U);
  EXPECT_TRUE(resolver().describe(image_, resource, std::vector<std::string>{"nokey"})->empty());
}

TEST_F(ConfigResolverTest, DynamicValuesGoBeforeTheFile) {
  add_topic("t");
  file_["message.max.bytes"] = "100";
  EXPECT_EQ(resolver().topic_integer(image_, "t", "max.message.bytes"), 100);
  set(ConfigResourceType::kBroker, "", "message.max.bytes", "200");
  const ConfigEntry entry = describe(ConfigResourceType::kTopic, "t", "max.message.bytes");
  EXPECT_EQ(entry.source, ConfigSource::kDynamicDefaultBroker);
  EXPECT_EQ(entry.value, "200");
  set(ConfigResourceType::kBroker, "1", "message.max.bytes", "300");
  set(ConfigResourceType::kBroker, "2", "message.max.bytes", "999");
  EXPECT_EQ(resolver().topic_integer(image_, "t", "max.message.bytes"), 300);
  EXPECT_EQ(resolver().broker_integer(image_, "message.max.bytes"), 300);
  const auto defaults =
      resolver().describe(image_, ConfigResource(ConfigResourceType::kBroker, ""), std::nullopt);
  ASSERT_EQ(defaults->size(), 1U);
  EXPECT_EQ(defaults->front().value, "200");
}

TEST_F(ConfigResolverTest, HoursBecomeMilliseconds) {
  file_["log.retention.hours"] = "2";
  EXPECT_EQ(resolver().topic_integer(image_, "t", "retention.ms"), 7'200'000);
  file_["log.retention.minutes"] = "3";
  EXPECT_EQ(resolver().topic_integer(image_, "t", "retention.ms"), 180'000);
  file_["log.retention.minutes"] = "-1";
  EXPECT_EQ(resolver().topic_integer(image_, "t", "retention.ms"), -1);
}

TEST_F(ConfigResolverTest, GroupsAndMirrorsFallBackToTheBroker) {
  file_["group.consumer.session.timeout.ms"] = "50000";
  EXPECT_EQ(resolver().group_integer(image_, "g", "consumer.session.timeout.ms"), 50'000);
  set(ConfigResourceType::kGroup, "g", "consumer.session.timeout.ms", "46000");
  EXPECT_EQ(resolver().group_integer(image_, "g", "consumer.session.timeout.ms"), 46'000);

  set(ConfigResourceType::kClusterMirror, "m", "bootstrap.servers", "a:1");
  file_["request.timeout.ms"] = "7";
  EXPECT_EQ(resolver().mirror_integer(image_, "m", "request.timeout.ms"), 7);
  EXPECT_EQ(resolver().mirror_integer(image_, "m", "replica.fetch.wait.max.ms"), 1000);
  EXPECT_EQ(resolver().mirror_value(image_, "m", "topics.exclude"), "__.*");
  EXPECT_EQ(resolver().mirror_value(image_, "m", "sasl.jaas.config"), std::nullopt);
  const ConfigEntry bootstrap =
      describe(ConfigResourceType::kClusterMirror, "m", "bootstrap.servers");
  EXPECT_EQ(bootstrap.source, ConfigSource::kClusterMirror);
}

TEST_F(ConfigResolverTest, AStoredValueThatDoesNotParseCountsAsTheDefault) {
  set(ConfigResourceType::kTopic, "t", "retention.ms", "soon");
  EXPECT_EQ(resolver().topic_integer(image_, "t", "retention.ms"), 604'800'000);
}

TEST_F(ConfigResolverTest, MirrorNameShowsTheDesiredState) {
  auto topic = std::make_shared<TopicImage>();
  topic->name = "t";
  topic->mirror_name = "m";
  topic->desired_mirror_state = DesiredMirrorState::kStopped;
  image_.topics["t"] = topic;
  EXPECT_EQ(describe(ConfigResourceType::kTopic, "t", "mirror.name").value, "m.stopped");
}

TEST_F(ConfigResolverTest, LogConfigTakesEveryKey) {
  add_topic("t");
  const storage::LogConfig standard = resolver().log_config(image_, "t");
  EXPECT_EQ(standard, storage::LogConfig());
  const auto set_topic = [this](const char* key, const char* value) {
    set(ConfigResourceType::kTopic, "t", key, value);
  };
  set_topic("cleanup.policy", "compact");
  set_topic("segment.bytes", "2000000");
  set_topic("retention.ms", "5");
  set_topic("message.timestamp.type", "LogAppendTime");
  set_topic("compression.type", "zstd");
  const storage::LogConfig config = resolver().log_config(image_, "t");
  EXPECT_TRUE(config.cleanup_compact);
  EXPECT_FALSE(config.cleanup_delete);
  EXPECT_EQ(config.segment_bytes, 2'000'000);
  EXPECT_EQ(config.retention_ms, 5);
  EXPECT_EQ(config.timestamp_type, TimestampType::kLogAppendTime);
  EXPECT_EQ(config.compression_type, "zstd");
  EXPECT_FALSE(config.is_mirror);
  set_topic("internal.segment.bytes", "512");
  EXPECT_EQ(resolver().log_config(image_, "t").segment_bytes, 512);
}

}  // namespace
}  // namespace kmirror::metadata
