#include "kmirror/metadata/config_def.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "kmirror/model/error_code.h"

namespace kmirror::metadata {
namespace {

using ::testing::HasSubstr;

const std::vector<const ConfigTable*> kTables = {&topic_configs(), &broker_configs(),
                                                 &mirror_configs(), &group_configs()};

Result<std::string> check(const ConfigTable& table, std::string_view key, std::string_view value) {
  const ConfigDef* def = table.find(key);
  if (def == nullptr) return table.unknown_key(key);
  return check_value(*def, value);
}

std::string message_of(const Result<std::string>& result) {
  return result ? "accepted: " + *result : result.error().message;
}

TEST(ConfigTableTest, EveryDefaultPassesItsOwnCheck) {
  for (const ConfigTable* table : kTables) {
    for (const ConfigDef& def : table->all()) {
      EXPECT_FALSE(def.doc.empty()) << def.name;
      // Empty lists of hosts and names stand for "not given"; they are required or optional
      // elsewhere.
      if (!def.default_value || def.check == ConfigCheck::kHostPorts) continue;
      const Result<std::string> stored = check_value(def, *def.default_value);
      ASSERT_TRUE(stored) << def.name << ": " << message_of(stored);
      EXPECT_EQ(*stored, *def.default_value) << def.name;
    }
  }
}

TEST(ConfigTableTest, FallbacksNameBrokerKeysWithTheSameDefault) {
  for (const ConfigTable* table : {&topic_configs(), &mirror_configs(), &group_configs()}) {
    for (const ConfigDef& def : table->all()) {
      if (def.fallbacks.empty()) continue;
      std::optional<std::string> standard;
      for (const ConfigFallback& fallback : def.fallbacks) {
        const ConfigDef* broker = broker_configs().find(fallback.broker_key);
        ASSERT_NE(broker, nullptr) << def.name << " → " << fallback.broker_key;
        if (standard || !broker->default_value) continue;
        standard =
            fallback.multiplier == 1
                ? *broker->default_value
                : std::to_string(*parse_integer(*broker->default_value) * fallback.multiplier);
      }
      EXPECT_EQ(standard, def.default_value) << def.name;
    }
  }
}

TEST(ConfigTableTest, SecretsAreSensitive) {
  for (const char* key : {"sasl.jaas.config", "ssl.keystore.password", "ssl.key.password",
                          "ssl.keystore.key", "ssl.truststore.password"}) {
    EXPECT_TRUE(mirror_configs().find(key)->is_sensitive()) << key;
    EXPECT_TRUE(broker_configs().find(key)->is_sensitive()) << key;
  }
  EXPECT_FALSE(mirror_configs().find("bootstrap.servers")->is_sensitive());
}

TEST(ConfigTableTest, AnUnknownKeyNamesTheNearest) {
  EXPECT_THAT(message_of(check(topic_configs(), "retention.mss", "1")),
              HasSubstr("did you mean 'retention.ms'?"));
  EXPECT_THAT(message_of(check(mirror_configs(), "mirror.topic.include", "x")),
              HasSubstr("did you mean 'mirror.topics.include'?"));
  EXPECT_THAT(message_of(check(broker_configs(), "listners", "x")),
              HasSubstr("did you mean 'listeners'?"));
  const Result<std::string> result = check(topic_configs(), "foo", "1");
  ASSERT_FALSE(result);
  EXPECT_EQ(to_kafka_error(result.error()), ErrorCode::INVALID_CONFIG);
}

TEST(ConfigTableTest, AKeyOfTheOtherScopeIsPointedOut) {
  EXPECT_THAT(message_of(check(broker_configs(), "retention.ms", "1")),
              HasSubstr("the broker key is 'log.retention.ms'"));
  EXPECT_THAT(message_of(check(topic_configs(), "log.retention.hours", "1")),
              HasSubstr("the topic key is 'retention.ms'"));
}

TEST(ConfigTableTest, AKafkaKeyWithoutUseHereIsCalledSo) {
  EXPECT_THAT(message_of(check(broker_configs(), "controller.quorum.voters", "1@h:9093")),
              HasSubstr("kmirrord has no use for it"));
  EXPECT_THAT(message_of(check(broker_configs(), "process.roles", "broker")),
              HasSubstr("kmirrord has no use for it"));
}

TEST(ConfigTableTest, ListenerPrefixesFindTheKeyBehindThem) {
  const ConfigTable& table = broker_configs();
  const ConfigDef* plain = table.find("ssl.keystore.location");
  EXPECT_EQ(table.find("listener.name.external.ssl.keystore.location"), plain);
  EXPECT_EQ(table.find("listener.name.external.scram-sha-256.sasl.jaas.config"),
            table.find("sasl.jaas.config"));
  EXPECT_EQ(table.find("listener.name.external.node.id"), nullptr);
  EXPECT_EQ(table.find("listener.name.external"), nullptr);
  EXPECT_EQ(table.find("listener.name.external.scram-sha-256.ssl.keystore.location"), nullptr);
  EXPECT_EQ(topic_configs().find("listener.name.x.retention.ms"), nullptr);
}

TEST(ConfigTableTest, SeedSpellingsArePrimary) {
  EXPECT_EQ(mirror_configs().canonical("topics.include"), "mirror.topics.include");
  EXPECT_EQ(mirror_configs().canonical("acls.include"), "mirror.acl.include");
  EXPECT_EQ(mirror_configs().canonical("topic.properties.exclude"),
            "mirror.topic.properties.exclude");
  EXPECT_EQ(mirror_configs().canonical("fetch.wait.max.ms"), "replica.fetch.wait.max.ms");
  EXPECT_EQ(broker_configs().canonical("mirror.state.topic.num.partitions"),
            "mirror.topic.num.partitions");
  EXPECT_EQ(broker_configs().canonical("broker.id"), "node.id");
}

TEST(CheckValueTest, NumbersKeepToTypeAndRange) {
  EXPECT_EQ(*check(topic_configs(), "retention.ms", " 1000 "), "1000");
  EXPECT_FALSE(check(topic_configs(), "retention.ms", "abc"));
  EXPECT_FALSE(check(topic_configs(), "retention.ms", "-2"));
  EXPECT_TRUE(check(topic_configs(), "retention.ms", "-1"));
  EXPECT_FALSE(check(topic_configs(), "segment.bytes", "10"));
  EXPECT_FALSE(check(topic_configs(), "segment.bytes", "2147483648"));  // above an int
  EXPECT_TRUE(check(topic_configs(), "segment.bytes", "2147483647"));
  EXPECT_FALSE(check(broker_configs(), "mirror.topic.replication.factor", "32768"));
  EXPECT_TRUE(check(topic_configs(), "compression.gzip.level", "-1"));
  EXPECT_FALSE(check(topic_configs(), "compression.gzip.level", "0"));
  EXPECT_TRUE(check(topic_configs(), "min.cleanable.dirty.ratio", "0.25"));
  EXPECT_FALSE(check(topic_configs(), "min.cleanable.dirty.ratio", "1.5"));
  EXPECT_FALSE(check(topic_configs(), "min.cleanable.dirty.ratio", "nan"));
  EXPECT_TRUE(check(topic_configs(), "retention.bytes", "-9223372036854775808"));
  EXPECT_FALSE(check(topic_configs(), "retention.bytes", "9223372036854775808"));
  EXPECT_FALSE(check(topic_configs(), "retention.ms", ""));
}

TEST(CheckValueTest, ListsLoseBlanksAndRepeats) {
  EXPECT_EQ(*check(topic_configs(), "cleanup.policy", "compact, delete"), "compact,delete");
  EXPECT_EQ(*check(topic_configs(), "cleanup.policy", "compact,compact"), "compact");
  EXPECT_EQ(*check(topic_configs(), "cleanup.policy", ""), "");
  EXPECT_FALSE(check(topic_configs(), "cleanup.policy", "compact,foo"));
  EXPECT_TRUE(check(topic_configs(), "mirror.replication.throttled.replicas", "*"));
  EXPECT_TRUE(check(topic_configs(), "mirror.replication.throttled.replicas", "0:1,12:3"));
  EXPECT_FALSE(check(topic_configs(), "mirror.replication.throttled.replicas", "0:1,*"));
  EXPECT_FALSE(check(topic_configs(), "mirror.replication.throttled.replicas", "0-1"));
}

TEST(CheckValueTest, WordsAndTruthValues) {
  EXPECT_EQ(*check(topic_configs(), "preallocate", "TRUE"), "true");
  EXPECT_FALSE(check(topic_configs(), "preallocate", "yes"));
  EXPECT_FALSE(check(topic_configs(), "compression.type", "brotli"));
  EXPECT_TRUE(check(mirror_configs(), "security.protocol", "sasl_ssl"));
  EXPECT_FALSE(check(mirror_configs(), "security.protocol", "FOO"));
  EXPECT_FALSE(check(topic_configs(), "remote.storage.enable", "true"));
  EXPECT_FALSE(check(mirror_configs(), "sasl.login.class", "com.example.MyLogin"));
}

TEST(CheckValueTest, BootstrapServersAreHostsWithPorts) {
  EXPECT_EQ(*check(mirror_configs(), "bootstrap.servers", "a:9092, [::1]:9093"),
            "a:9092,[::1]:9093");
  for (const char* bad : {"", "a", "a:", ":9092", "a:0", "a:65536", "::1:9092", "a:b"}) {
    EXPECT_FALSE(check(mirror_configs(), "bootstrap.servers", bad)) << bad;
  }
}

TEST(CheckValueTest, LimitsOfSingleAddresses) {
  EXPECT_EQ(*check(broker_configs(), "max.connections.per.ip.overrides", "10.0.0.1:5, ::1:7"),
            "10.0.0.1:5,::1:7");
  EXPECT_FALSE(check(broker_configs(), "max.connections.per.ip.overrides", "10.0.0.1"));
  EXPECT_FALSE(check(broker_configs(), "max.connections.per.ip.overrides", ":5"));
}

TEST(CheckValueTest, RegexListsMustCompile) {
  EXPECT_TRUE(check(mirror_configs(), "mirror.topics.include", "orders.*,[a-z]+"));
  const Result<std::string> bad = check(mirror_configs(), "mirror.topics.include", "ok,(");
  ASSERT_FALSE(bad);
  EXPECT_EQ(to_kafka_error(bad.error()), ErrorCode::INVALID_REGULAR_EXPRESSION);
  // Lookahead is Java's, not RE2's.
  EXPECT_FALSE(check(mirror_configs(), "mirror.groups.exclude", "(?!a)b"));
}

TEST(CheckValueTest, APasswordIsNeverInTheMessage) {
  ConfigDef secret("secret", ConfigType::kPassword, std::nullopt, "", "A test.");
  secret.one_of({"x"});
  const Result<std::string> bad = check_value(secret, "hunter2");
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, ::testing::Not(HasSubstr("hunter2")));
}

TEST(CheckOverridesTest, TwoSpellingsOfOneKeyAreAnError) {
  ConfigMap both;
  both["mirror.topics.include"] = "a";
  both["topics.include"] = "a";
  const Result<ConfigMap> checked = check_overrides(mirror_configs(), both);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("'mirror.topics.include' and 'topics.include'"));

  ConfigMap one;
  one["topics.include"] = "a , b";
  EXPECT_EQ(check_overrides(mirror_configs(), one)->at("mirror.topics.include"), "a,b");
}

TEST(CheckOverridesTest, ContradictingLagsAreAnError) {
  ConfigMap values;
  values["min.compaction.lag.ms"] = "10";
  values["max.compaction.lag.ms"] = "5";
  EXPECT_FALSE(check_overrides(topic_configs(), values));
  values["max.compaction.lag.ms"] = "10";
  EXPECT_TRUE(check_overrides(topic_configs(), values));
}

TEST(EditDistanceTest, CountsEditsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", "abc"), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("abc", "acb"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(ParseTest, IntegersAsJavaReadsThem) {
  EXPECT_EQ(parse_integer("+5"), 5);
  EXPECT_EQ(parse_integer("-5"), -5);
  EXPECT_EQ(parse_integer("+-5"), std::nullopt);
  EXPECT_EQ(parse_integer("5x"), std::nullopt);
  EXPECT_EQ(parse_integer("0x5"), std::nullopt);
  EXPECT_EQ(parse_real("1.7976931348623157E308"), 1.7976931348623157E308);
}

}  // namespace
}  // namespace kmirror::metadata
