#include "kmirror/app/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "kmirror/metadata/config_def.h"

namespace kmirror::app {
namespace {

using ::testing::HasSubstr;

metadata::ConfigMap parse(std::string_view text) {
  Result<metadata::ConfigMap> values = parse_properties(text);
  EXPECT_TRUE(values) << (values ? "" : values.error().message);
  return values ? *values : metadata::ConfigMap();
}

/// The least that makes a BrokerConfig, and `more` lines.
Result<BrokerConfig> configure(const std::string& more) {
  return make_broker_config(parse("node.id=1\nlog.dirs=/d\n" + more));
}

std::string error_of(const std::string& more) {
  const Result<BrokerConfig> config = configure(more);
  return config ? "accepted" : config.error().message;
}

TEST(PropertiesTest, SeparatorsAndBlanks) {
  const metadata::ConfigMap values =
      parse("a=1\n  b : 2\nc 3\nd\t=\t4 5 \ne\nf = = g\r\n\n# no=1\n  ! no=2\nh:i=j");
  const metadata::ConfigMap expected = {{"a", "1"}, {"b", "2"},   {"c", "3"},  {"d", "4 5 "},
                                        {"e", ""},  {"f", "= g"}, {"h", "i=j"}};
  EXPECT_EQ(values, expected);
}

TEST(PropertiesTest, ContinuationsAndEscapes) {
  const metadata::ConfigMap values = parse(
      "list=a,\\\n    b,\\\n\tc\n"
      "path=C\\:\\\\dir\\tx\n"
      "odd=end\\\\\n"
      "key\\ with\\=blank=v\n"
      "euro=\\u20ac \\uD83D\\uDE00\n"
      "jaas=module required \\\n  user=\"a\";\n");
  EXPECT_EQ(values.at("list"), "a,b,c");
  EXPECT_EQ(values.at("path"), "C:\\dir\tx");
  EXPECT_EQ(values.at("odd"), "end\\");
  EXPECT_EQ(values.at("key with=blank"), "v");
  EXPECT_EQ(values.at("euro"), "\xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(values.at("jaas"), "module required user=\"a\";");
}

TEST(PropertiesTest, TheLastOfTwoWins) { EXPECT_EQ(parse("a=1\na=2").at("a"), "2"); }

TEST(PropertiesTest, ABrokenEscapeNamesItsLine) {
  const auto values = parse_properties("a=1\n\nb=\\u12x4\n");
  ASSERT_FALSE(values);
  EXPECT_THAT(values.error().message, HasSubstr("line 3"));
}

TEST(OverrideTest, ReplacesEverySpelling) {
  metadata::ConfigMap values = parse("broker.id=1\nlog.dirs=/a");
  ASSERT_TRUE(apply_override(values, "node.id=2"));
  ASSERT_TRUE(apply_override(values, "log.dirs=/b=c"));
  const metadata::ConfigMap expected = {{"node.id", "2"}, {"log.dirs", "/b=c"}};
  EXPECT_EQ(values, expected);
  EXPECT_FALSE(apply_override(values, "node.id"));
  EXPECT_FALSE(apply_override(values, "=x"));
}

TEST(BrokerConfigTest, LeastFile) {
  const Result<BrokerConfig> config = configure("");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->node_id, NodeId(1));
  EXPECT_EQ(config->log_dirs, std::vector<std::string>{"/d"});
  EXPECT_EQ(config->metadata_log_dir, "/d");
  ASSERT_EQ(config->listeners.size(), 1U);
  EXPECT_EQ(config->listeners[0].name, "PLAINTEXT");
  EXPECT_EQ(config->listeners[0].bind, env::Endpoint("", 9092));
  EXPECT_EQ(config->listeners[0].advertised, std::nullopt);
  EXPECT_EQ(config->http_listener, env::Endpoint("127.0.0.1", 9644));
  EXPECT_TRUE(config->flush_acks_all);
  EXPECT_EQ(config->logs.flush_interval_ms, 5000);
  EXPECT_EQ(config->integer("mirror.metadata.refresh.interval.ms"), 30'000);
  EXPECT_EQ(config->cluster_id, std::nullopt);
}

TEST(BrokerConfigTest, Listeners) {
  const Result<BrokerConfig> config = configure(
      "listeners=in://127.0.0.1:0,EXT://[::1]:9093\n"
      "advertised.listeners=EXT://mirror.example:9000\n"
      "listener.security.protocol.map=IN:PLAINTEXT,EXT:SASL_SSL\n");
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_EQ(config->listeners.size(), 2U);
  EXPECT_EQ(config->listeners[0].bind, env::Endpoint("127.0.0.1", 0));
  EXPECT_EQ(config->listeners[0].protocol, SecurityProtocol::kPlaintext);
  EXPECT_EQ(config->listeners[1].name, "EXT");
  EXPECT_EQ(config->listeners[1].bind, env::Endpoint("::1", 9093));
  EXPECT_EQ(config->listeners[1].protocol, SecurityProtocol::kSaslSsl);
  EXPECT_EQ(config->listeners[1].advertised, env::Endpoint("mirror.example", 9000));
}

TEST(BrokerConfigTest, ListenerErrorsSayWhatToDo) {
  EXPECT_THAT(error_of("listeners=EXT://:1"), HasSubstr("listener.security.protocol.map"));
  EXPECT_THAT(error_of("listeners=PLAINTEXT:9092"), HasSubstr("NAME://HOST:PORT"));
  EXPECT_THAT(error_of("listeners=PLAINTEXT://:x"), HasSubstr("port"));
  EXPECT_THAT(error_of("listeners=PLAINTEXT://::1:9092"), HasSubstr("square brackets"));
  EXPECT_THAT(error_of("listeners=PLAINTEXT://:1,PLAINTEXT://:2"), HasSubstr("twice"));
  EXPECT_THAT(error_of("listeners=PLAINTEXT://:1,SSL://:1"), HasSubstr("both want"));
  EXPECT_THAT(error_of("listeners="), HasSubstr("listeners is empty"));
  EXPECT_THAT(error_of("advertised.listeners=SSL://h:1"), HasSubstr("no listener SSL"));
  EXPECT_THAT(error_of("advertised.listeners=PLAINTEXT://0.0.0.0:1"), HasSubstr("name a host"));
  EXPECT_THAT(error_of("inter.broker.listener.name=X"), HasSubstr("no listener X"));
  EXPECT_THAT(error_of("listener.security.protocol.map=PLAINTEXT:CLEAR"),
              HasSubstr("'CLEAR' is no security protocol"));
}

TEST(BrokerConfigTest, ErrorsNameKeyValueAndRemedy) {
  EXPECT_THAT(error_of("num.io.thread=1"), HasSubstr("did you mean 'num.io.threads'?"));
  // Of two as near, the one of the same length.
  EXPECT_THAT(error_of("log.dirz=/x"), HasSubstr("did you mean 'log.dirs'?"));
  EXPECT_THAT(error_of("num.io.threads=many"),
              HasSubstr("bad value 'many' for 'num.io.threads'; allowed: 1 … 1024"));
  EXPECT_THAT(error_of("broker.id=2"), HasSubstr("'broker.id' and 'node.id' are the same"));
  EXPECT_THAT(error_of("cluster.id=abc"), HasSubstr("22 characters"));
  EXPECT_THAT(error_of("mirror.replication.throttled.rate=1"), HasSubstr("kafka-configs.sh"));
  const Result<BrokerConfig> no_id = make_broker_config(parse("log.dirs=/d"));
  EXPECT_THAT(no_id.error().message, HasSubstr("node.id is missing"));
  const Result<BrokerConfig> no_dir = make_broker_config(parse("node.id=1"));
  EXPECT_THAT(no_dir.error().message, HasSubstr("log.dirs is missing"));
  EXPECT_THAT(error_of("ssl.key.password=hunter2\nnode.idd=1"),
              ::testing::Not(HasSubstr("hunter2")));
}

/// The repository's folder: the nearest one above that holds config/server.properties' folder.
std::filesystem::path repository() {
  std::filesystem::path at = std::filesystem::current_path();
  while (!std::filesystem::exists(at / "cmake" / "KmirrorRoom.cmake")) {
    if (at == at.parent_path()) return {};
    at = at.parent_path();
  }
  return at;
}

// With KMIRROR_UPDATE=1 in the environment the file is written instead of compared.
TEST(ServerPropertiesTest, TheFileSaysWhatTheTableSays) {
  const std::filesystem::path root = repository();
  ASSERT_FALSE(root.empty()) << "run this test inside the repository";
  const std::filesystem::path path = root / "config" / "server.properties";
  if (std::getenv("KMIRROR_UPDATE") != nullptr) {
    std::ofstream(path, std::ios::binary) << render_server_properties();
  }
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), render_server_properties())
      << "run app_test with KMIRROR_UPDATE=1 to bring the file up to date";
  const Result<BrokerConfig> config = make_broker_config(parse(text.str()));
  EXPECT_TRUE(config) << (config ? "" : config.error().message);
}

TEST(ServerPropertiesTest, EveryKeyIsThere) {
  const std::string text = render_server_properties();
  for (const metadata::ConfigDef& def : metadata::broker_configs().all()) {
    if (def.hidden || def.update == metadata::ConfigUpdate::kDynamicOnly) continue;
    EXPECT_THAT(text, HasSubstr(def.name + "="));
  }
  // Uncommenting every default gives a file that is accepted (keys without a default left out).
  metadata::ConfigMap values = parse("node.id=1\nlog.dirs=/d");
  for (const metadata::ConfigDef& def : metadata::broker_configs().all()) {
    if (!def.default_value || def.update == metadata::ConfigUpdate::kDynamicOnly) continue;
    values.emplace(def.name, *def.default_value);
  }
  const Result<BrokerConfig> config = make_broker_config(values);
  EXPECT_TRUE(config) << (config ? "" : config.error().message);
}

}  // namespace
}  // namespace kmirror::app
