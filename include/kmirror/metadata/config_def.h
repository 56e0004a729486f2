// ConfigDef and ConfigTable: every configuration key that kmirror knows, with type, default, check,
// unit and meaning; one table each for topics, brokers, mirrors and groups.
// Owner: any thread; the tables are built on first use and never change.
// Invariants: a key is in a table once; every default passes its own check.
// Sources: Kafka 4.4 TopicConfig, LogConfig, AbstractKafkaConfig, GroupConfig, AdminClientConfig
// (names, types, defaults, ranges); spec E; decisions sections 2 and 3.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/metadata/image.h"

namespace kmirror::metadata {

/// The codes of DescribeConfigs' ConfigType.
enum class ConfigType : std::int8_t {
  kUnknown = 0,
  kBoolean = 1,
  kString = 2,
  kInt = 3,
  kShort = 4,
  kLong = 5,
  kDouble = 6,
  kList = 7,
  kClass = 8,
  kPassword = 9,
};

enum class ConfigScope { kTopic, kBroker, kMirror, kGroup };

/// What a running daemon lets be altered. Topic, mirror and group keys are always kClusterWide.
enum class ConfigUpdate {
  kReadOnly,     ///< the file only
  kPerBroker,    ///< also BROKER with this node's id
  kClusterWide,  ///< also BROKER with an empty name, for all nodes
  kDynamicOnly,  ///< as kClusterWide, but refused in the file
};

/// A broker key that stands in where a topic, mirror or group has no value of its own. Its number
/// is multiplied by `multiplier` (log.retention.hours to retention.ms: 3,600,000).
struct ConfigFallback {
  ConfigFallback() = default;
  ConfigFallback(std::string key, std::int64_t times)
      : broker_key(std::move(key)), multiplier(times) {}
  std::string broker_key;
  std::int64_t multiplier = 1;
};

/// What a value must satisfy beyond its type.
enum class ConfigCheck {
  kNone,
  kChoices,            ///< the value, or every entry of a list, is one of `choices`
  kChoicesAnyCase,     ///< the same without regard to case
  kNotEmpty,           ///< a string or list with at least one entry
  kRegexList,          ///< every entry compiles with RE2
  kAclRules,           ///< every entry is a rule of TopicFilter's neighbour AclIncludeRules
  kThrottledReplicas,  ///< '*', or entries partition:broker
  kHostPorts,          ///< entries host:port, at least one
  kHostCounts,         ///< entries host:number
  kMirrorName,         ///< empty, or a mirror name with an optional ".paused" or ".stopped"
};

struct ConfigDef {
  ConfigDef() = default;
  ConfigDef(std::string key, ConfigType value_type, std::optional<std::string> standard,
            std::string value_unit, std::string meaning);

  // Builders, for the tables only; each returns *this.
  ConfigDef& range(std::int64_t low, std::int64_t high);
  ConfigDef& at_least(std::int64_t low);
  ConfigDef& between(double low, double high);
  ConfigDef& or_value(std::int64_t extra);
  ConfigDef& one_of(std::vector<std::string> values);
  ConfigDef& checked_by(ConfigCheck kind);
  ConfigDef& updatable(ConfigUpdate how);
  ConfigDef& falls_back_to(std::string broker_key, std::int64_t multiplier = 1);
  ConfigDef& also_spelled(std::string other);
  ConfigDef& per_listener();
  ConfigDef& hide();

  std::string name;  ///< the primary spelling
  ConfigType type = ConfigType::kUnknown;
  std::optional<std::string> default_value;  ///< nullopt: null, "not set"
  std::string unit;     ///< "ms", "bytes", …; empty for pure numbers and words
  std::string doc;      ///< what it does, one or two sentences
  std::string section;  ///< heading in config/server.properties
  ConfigUpdate update = ConfigUpdate::kReadOnly;
  ConfigCheck check = ConfigCheck::kNone;
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  double min_real = std::numeric_limits<double>::lowest();
  double max_real = std::numeric_limits<double>::max();
  std::optional<std::int64_t> extra_value;  ///< legal although outside min…max
  std::vector<std::string> choices;
  std::vector<ConfigFallback> fallbacks;  ///< first one set in the file or dynamically wins
  std::vector<std::string> aliases;       ///< other spellings; both at once is an error
  bool listener_prefix = false;           ///< listener.name.<listener>.<key> exists too
  bool hidden = false;                    ///< never listed by DescribeConfigs

  /// Passwords: never printed, logged or returned (decisions 3.17).
  [[nodiscard]] bool is_sensitive() const { return type == ConfigType::kPassword; }
  /// What is legal, in words: "0 … 2147483647", "one of: a, b".
  [[nodiscard]] std::string allowed() const;
};

class ConfigTable {
 public:
  ConfigTable(ConfigScope scope, std::vector<ConfigDef> keys);

  [[nodiscard]] ConfigScope scope() const { return scope_; }
  /// In the order of the table, which is that of config/server.properties.
  [[nodiscard]] const std::vector<ConfigDef>& all() const { return keys_; }
  /// The key with this primary name or alias; for brokers also "listener.name.x.<key>", for keys
  /// that may have that prefix. Null if there is none.
  [[nodiscard]] const ConfigDef* find(std::string_view key) const;
  /// The primary spelling of `key`, prefix kept: what maps of values are keyed by. `key` itself if
  /// it is unknown.
  [[nodiscard]] std::string canonical(std::string_view key) const;
  /// The known key with the smallest edit distance (first in name order on a tie).
  [[nodiscard]] const ConfigDef& nearest(std::string_view key) const;
  /// INVALID_CONFIG that names `key`, and the nearest key or why a Kafka key is not used here.
  [[nodiscard]] Error unknown_key(std::string_view key) const;

 private:
  ConfigScope scope_;
  std::vector<ConfigDef> keys_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
};

/// The four tables. Any thread.
[[nodiscard]] const ConfigTable& topic_configs();
[[nodiscard]] const ConfigTable& broker_configs();
[[nodiscard]] const ConfigTable& mirror_configs();
[[nodiscard]] const ConfigTable& group_configs();
[[nodiscard]] const ConfigTable& config_table(ConfigScope scope);

/// Checks `value` against type and check of `def`; returns it as it is stored: outer blanks cut,
/// blanks around list entries cut, repeated entries of a list dropped. Error: INVALID_CONFIG (or
/// INVALID_REGULAR_EXPRESSION for a regex list) that names key, value (not of passwords) and what
/// is legal.
[[nodiscard]] Result<std::string> check_value(const ConfigDef& def, std::string_view value);

/// Checks a whole set of overrides: unknown keys, every value, spellings given twice, and pairs
/// that contradict each other (min.compaction.lag.ms above max.compaction.lag.ms). Returns the set
/// under primary spellings. Errors: INVALID_CONFIG, INVALID_REGULAR_EXPRESSION.
[[nodiscard]] Result<ConfigMap> check_overrides(const ConfigTable& table,
                                                const ConfigMap& overrides);

/// The entries of a list value; none for "". Blanks around entries are cut.
[[nodiscard]] std::vector<std::string> split_list(std::string_view value);
[[nodiscard]] std::string join_list(const std::vector<std::string>& entries);

/// Typed readings of a checked value; nullopt if it is no such thing.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view value);
[[nodiscard]] std::optional<double> parse_real(std::string_view value);
[[nodiscard]] std::optional<bool> parse_boolean(std::string_view value);

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace kmirror::metadata
