// ConfigDef and ConfigTable: building the tables, finding a key, wording what is wrong with one.
#include "kmirror/metadata/config_def.h"

#include <algorithm>

#include "kmirror/base/check.h"
#include "kmirror/model/error_code.h"
#include "metadata/config_tables.h"

namespace kmirror::metadata {
namespace {

constexpr std::string_view kListenerPrefix = "listener.name.";

const char* scope_word(ConfigScope scope) {
  switch (scope) {
    case ConfigScope::kTopic:
      return "topic";
    case ConfigScope::kBroker:
      return "broker";
    case ConfigScope::kMirror:
      return "mirror";
    case ConfigScope::kGroup:
      return "group";
  }
  return "?";
}

/// "listener.name.<listener>." cut off, empty if `key` has no such prefix. A SASL mechanism may
/// follow the listener's name; then it is part of the prefix too.
std::string_view after_listener_prefix(std::string_view key) {
  if (!key.starts_with(kListenerPrefix)) return {};
  const std::size_t dot = key.find('.', kListenerPrefix.size());
  if (dot == std::string_view::npos || dot + 1 == key.size()) return {};
  return key.substr(dot + 1);
}

}  // namespace

ConfigDef::ConfigDef(std::string key, ConfigType value_type, std::optional<std::string> standard,
                     std::string value_unit, std::string meaning)
    : name(std::move(key)),
      type(value_type),
      default_value(std::move(standard)),
      unit(std::move(value_unit)),
      doc(std::move(meaning)) {}

ConfigDef& ConfigDef::range(std::int64_t low, std::int64_t high) {
  min = low;
  max = high;
  return *this;
}
ConfigDef& ConfigDef::at_least(std::int64_t low) {
  min = low;
  return *this;
}
ConfigDef& ConfigDef::between(double low, double high) {
  min_real = low;
  max_real = high;
  return *this;
}
ConfigDef& ConfigDef::or_value(std::int64_t extra) {
  extra_value = extra;
  return *this;
}
ConfigDef& ConfigDef::one_of(std::vector<std::string> values) {
  check = ConfigCheck::kChoices;
  choices = std::move(values);
  return *this;
}
ConfigDef& ConfigDef::checked_by(ConfigCheck kind) {
  check = kind;
  return *this;
}
ConfigDef& ConfigDef::updatable(ConfigUpdate how) {
  update = how;
  return *this;
}
ConfigDef& ConfigDef::falls_back_to(std::string broker_key, std::int64_t multiplier) {
  fallbacks.emplace_back(std::move(broker_key), multiplier);
  return *this;
}
ConfigDef& ConfigDef::also_spelled(std::string other) {
  aliases.push_back(std::move(other));
  return *this;
}
ConfigDef& ConfigDef::per_listener() {
  listener_prefix = true;
  return *this;
}
ConfigDef& ConfigDef::hide() {
  hidden = true;
  return *this;
}

std::string ConfigDef::allowed() const {
  const auto quoted_empty = [](const std::string& text) { return text.empty() ? "(empty)" : text; };
  if (check == ConfigCheck::kChoices || check == ConfigCheck::kChoicesAnyCase) {
    std::string words;
    for (const std::string& choice : choices) {
      words += (words.empty() ? "" : ", ") + quoted_empty(choice);
    }
    return (type == ConfigType::kList ? "any of: "
            : choices.size() == 1     ? "only: "
                                      : "one of: ") +
           words;
  }
  if (type == ConfigType::kBoolean) return "true or false";
  std::string extra = extra_value ? fmt::format(", or {}", *extra_value) : "";
  const bool is_integer =
      type == ConfigType::kInt || type == ConfigType::kLong || type == ConfigType::kShort;
  if (is_integer) {
    const std::int64_t top = type == ConfigType::kInt     ? 2'147'483'647
                             : type == ConfigType::kShort ? 32'767
                                                          : max;
    const std::int64_t high = std::min(max, top);
    const std::int64_t low = min == std::numeric_limits<std::int64_t>::min() ? -high - 1 : min;
    return fmt::format("{} … {}{}", low, high, extra);
  }
  if (type == ConfigType::kDouble) {
    if (max_real == std::numeric_limits<double>::max()) return "a number";
    return fmt::format("{} … {}", min_real, max_real);
  }
  switch (check) {
    case ConfigCheck::kNotEmpty:
      return "not empty";
    case ConfigCheck::kRegexList:
      return "regular expressions, separated by commas";
    case ConfigCheck::kAclRules:
      return "rules resourceType;resourceName;operation;permissionType;principal";
    case ConfigCheck::kThrottledReplicas:
      return "* or partition:broker pairs, separated by commas";
    case ConfigCheck::kHostPorts:
      return "host:port entries, separated by commas";
    case ConfigCheck::kHostCounts:
      return "address:number entries, separated by commas";
    case ConfigCheck::kMirrorName:
      return "a mirror name, with .paused or .stopped or without";
    default:
      return "text";
  }
}

ConfigTable::ConfigTable(ConfigScope scope, std::vector<ConfigDef> keys)
    : scope_(scope), keys_(std::move(keys)) {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const ConfigDef& def = keys_[i];
    KM_CHECK(by_name_.emplace(def.name, i).second, "{} twice", def.name);
    for (const std::string& alias : def.aliases) {
      KM_CHECK(by_name_.emplace(alias, i).second, "{} twice", alias);
    }
  }
}

const ConfigDef* ConfigTable::find(std::string_view key) const {
  const auto found = by_name_.find(key);
  if (found != by_name_.end()) return &keys_[found->second];
  if (scope_ != ConfigScope::kBroker) return nullptr;
  std::string_view rest = after_listener_prefix(key);
  while (!rest.empty()) {
    const auto inner = by_name_.find(rest);
    if (inner != by_name_.end()) {
      const ConfigDef& def = keys_[inner->second];
      return def.listener_prefix ? &def : nullptr;
    }
    // One more part may stand before the key: the mechanism, "scram-sha-256.sasl.jaas.config".
    const std::size_t dot = rest.find('.');
    if (dot == std::string_view::npos || rest.starts_with("sasl.")) return nullptr;
    rest = rest.substr(dot + 1);
    if (!rest.starts_with("sasl.")) return nullptr;
  }
  return nullptr;
}

std::string ConfigTable::canonical(std::string_view key) const {
  const auto found = by_name_.find(key);
  return found == by_name_.end() ? std::string(key) : keys_[found->second].name;
}

const ConfigDef& ConfigTable::nearest(std::string_view key) const {
  // Of two names as near, the one as long as what was typed: a letter is mistyped more often than
  // one is added.
  using Rank = std::pair<std::size_t, bool>;
  Rank best(std::numeric_limits<std::size_t>::max(), true);
  const ConfigDef* nearest = &keys_.front();
  for (const auto& [name, index] : by_name_) {
    if (keys_[index].hidden) continue;
    const Rank rank(edit_distance(key, name), name.size() != key.size());
    if (rank < best) {
      best = rank;
      nearest = &keys_[index];
    }
  }
  return *nearest;
}

Error ConfigTable::unknown_key(std::string_view key) const {
  std::string text = fmt::format("unknown {} configuration '{}'", scope_word(scope_), key);
  if (scope_ == ConfigScope::kBroker && is_unused_kafka_key(key)) {
    return kafka_error(ErrorCode::INVALID_CONFIG,
                       text + "; Kafka has it, kmirrord has no use for it: take it out");
  }
  // A topic key in the broker's file, or the other way round, is the usual mistake.
  if (scope_ == ConfigScope::kBroker) {
    const ConfigDef* topic = topic_configs().find(key);
    if (topic != nullptr && !topic->fallbacks.empty()) {
      return kafka_error(ErrorCode::INVALID_CONFIG,
                         fmt::format("{}; it is a topic's, the broker key is '{}'", text,
                                     topic->fallbacks.front().broker_key));
    }
  } else if (scope_ == ConfigScope::kTopic) {
    for (const ConfigDef& def : keys_) {
      for (const ConfigFallback& fallback : def.fallbacks) {
        if (fallback.broker_key != key) continue;
        return kafka_error(
            ErrorCode::INVALID_CONFIG,
            fmt::format("{}; it is a broker's, the topic key is '{}'", text, def.name));
      }
    }
  }
  return kafka_error(ErrorCode::INVALID_CONFIG,
                     fmt::format("{}; did you mean '{}'?", text, nearest(key).name));
}

const ConfigTable& topic_configs() {
  static const ConfigTable table(ConfigScope::kTopic, topic_keys());
  return table;
}

const ConfigTable& group_configs() {
  static const ConfigTable table(ConfigScope::kGroup, group_keys());
  return table;
}

const ConfigTable& mirror_configs() {
  static const ConfigTable table(ConfigScope::kMirror, mirror_keys());
  return table;
}

const ConfigTable& broker_configs() {
  static const ConfigTable table = [] {
    std::vector<ConfigDef> keys = broker_basic_keys();
    append(keys, broker_network_keys());
    append(keys, broker_mirror_keys());
    append(keys, broker_log_keys());
    append(keys, broker_group_keys());
    append(keys, broker_transaction_keys());
    append(keys, broker_security_keys());
    return ConfigTable(ConfigScope::kBroker, std::move(keys));
  }();
  return table;
}

const ConfigTable& config_table(ConfigScope scope) {
  switch (scope) {
    case ConfigScope::kTopic:
      return topic_configs();
    case ConfigScope::kBroker:
      return broker_configs();
    case ConfigScope::kMirror:
      return mirror_configs();
    case ConfigScope::kGroup:
      return group_configs();
  }
  KM_CHECK(false, "scope {}", static_cast<int>(scope));
  return topic_configs();
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows of the dynamic programme; two rows back for swaps of neighbours.
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace kmirror::metadata
