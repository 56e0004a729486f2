// Values of configuration keys: parsing, checking, and the form they are stored in.
// Sources: Kafka 4.4 ConfigDef.parseType and its validators; KIP-1161 for repeated list entries.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "kmirror/metadata/config_def.h"
#include "kmirror/metadata/names.h"
#include "kmirror/metadata/topic_filter.h"
#include "kmirror/model/error_code.h"

namespace kmirror::metadata {
namespace {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\f";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_word(std::string_view a, std::string_view b, bool any_case) {
  if (!any_case) return a == b;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

Error bad_value(const ConfigDef& def, std::string_view value) {
  if (def.is_sensitive()) {
    return kafka_error(ErrorCode::INVALID_CONFIG,
                       fmt::format("bad value for '{}'; allowed: {}", def.name, def.allowed()));
  }
  return kafka_error(ErrorCode::INVALID_CONFIG, fmt::format("bad value '{}' for '{}'; allowed: {}",
                                                            value, def.name, def.allowed()));
}

bool is_choice(const ConfigDef& def, std::string_view word) {
  const bool any_case = def.check == ConfigCheck::kChoicesAnyCase;
  return std::any_of(def.choices.begin(), def.choices.end(),
                     [&](const std::string& choice) { return same_word(choice, word, any_case); });
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 10 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// "*", or entries partition:broker.
bool is_throttled_replicas(const std::vector<std::string>& entries) {
  if (entries.size() == 1 && entries.front() == "*") return true;
  return std::all_of(entries.begin(), entries.end(), [](std::string_view entry) {
    const std::size_t colon = entry.find(':');
    return colon != std::string_view::npos && is_number(entry.substr(0, colon)) &&
           is_number(entry.substr(colon + 1));
  });
}

/// host:port, or [ipv6]:port, with port 1 … 65535.
bool is_host_port(std::string_view entry) {
  const std::size_t colon = entry.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view host = entry.substr(0, colon);
  const bool bracketed = host.front() == '[' && host.back() == ']' && host.size() > 2;
  if (!bracketed && host.find(':') != std::string_view::npos) return false;
  const std::string_view port = entry.substr(colon + 1);
  if (!is_number(port)) return false;
  const std::optional<std::int64_t> number = parse_integer(port);
  return number && *number >= 1 && *number <= 65'535;
}

/// host:number with a number of at most nine digits.
bool is_host_count(std::string_view entry) {
  const std::size_t colon = entry.rfind(':');
  return colon != std::string_view::npos && colon > 0 && is_number(entry.substr(colon + 1));
}

bool is_integer_type(ConfigType type) {
  return type == ConfigType::kInt || type == ConfigType::kShort || type == ConfigType::kLong;
}

Result<std::string> check_number(const ConfigDef& def, std::string_view value) {
  if (def.type == ConfigType::kDouble) {
    const std::optional<double> real = parse_real(value);
    if (!real || *real < def.min_real || *real > def.max_real) return bad_value(def, value);
    return std::string(value);
  }
  const std::optional<std::int64_t> number = parse_integer(value);
  if (!number) return bad_value(def, value);
  if (def.extra_value && *number == *def.extra_value) return std::string(value);
  const std::int64_t limit = def.type == ConfigType::kInt     ? 2'147'483'647
                             : def.type == ConfigType::kShort ? 32'767
                                                              : def.max;
  const std::int64_t lowest =
      def.type == ConfigType::kLong ? def.min : std::max(def.min, -limit - 1);
  if (*number < lowest || *number > std::min(def.max, limit)) return bad_value(def, value);
  return std::string(value);
}

/// Lists: each entry once, in the order given; then the check of the key.
Result<std::string> check_list(const ConfigDef& def, std::string_view value) {
  std::vector<std::string> entries;
  for (std::string& entry : split_list(value)) {
    const bool repeated = std::find(entries.begin(), entries.end(), entry) != entries.end();
    if (!repeated) entries.push_back(std::move(entry));
  }
  const auto all = [&entries](auto good) {
    return std::all_of(entries.begin(), entries.end(), good);
  };
  switch (def.check) {
    case ConfigCheck::kChoices:
    case ConfigCheck::kChoicesAnyCase:
      if (!all([&](const std::string& entry) { return is_choice(def, entry); })) {
        return bad_value(def, value);
      }
      break;
    case ConfigCheck::kNotEmpty:
      if (entries.empty()) return bad_value(def, value);
      break;
    case ConfigCheck::kRegexList:
      KM_TRY_VOID(RegexList::of(entries));
      break;
    case ConfigCheck::kAclRules:
      KM_TRY_VOID(AclIncludeRules::parse(value));
      break;
    case ConfigCheck::kThrottledReplicas:
      if (!is_throttled_replicas(entries)) return bad_value(def, value);
      break;
    case ConfigCheck::kHostPorts:
      if (entries.empty() || !all(is_host_port)) return bad_value(def, value);
      break;
    case ConfigCheck::kHostCounts:
      if (!all(is_host_count)) return bad_value(def, value);
      break;
    case ConfigCheck::kNone:
    case ConfigCheck::kMirrorName:
      break;
  }
  return join_list(entries);
}

Result<std::string> check_text(const ConfigDef& def, std::string_view value) {
  const bool choices =
      def.check == ConfigCheck::kChoices || def.check == ConfigCheck::kChoicesAnyCase;
  if (choices && !is_choice(def, value)) return bad_value(def, value);
  if (def.check == ConfigCheck::kNotEmpty && value.empty()) return bad_value(def, value);
  if (def.check == ConfigCheck::kMirrorName && !value.empty()) {
    KM_TRY_VOID(MirrorNameForm::parse(value));
  }
  return std::string(value);
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view value) {
  value = trim(value);
  // Java's parser takes a plus sign, from_chars does not.
  if (value.size() > 1 && value.front() == '+' && value[1] != '-') value.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  return number;
}

std::optional<double> parse_real(std::string_view value) {
  value = trim(value);
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(number)) {
    return std::nullopt;
  }
  return number;
}

std::optional<bool> parse_boolean(std::string_view value) {
  value = trim(value);
  if (same_word(value, "true", true)) return true;
  if (same_word(value, "false", true)) return false;
  return std::nullopt;
}

std::vector<std::string> split_list(std::string_view value) {
  std::vector<std::string> entries;
  value = trim(value);
  while (!value.empty()) {
    const std::size_t comma = value.find(',');
    const std::string_view entry = trim(value.substr(0, comma));
    if (!entry.empty()) entries.emplace_back(entry);
    if (comma == std::string_view::npos) break;
    value.remove_prefix(comma + 1);
  }
  return entries;
}

std::string join_list(const std::vector<std::string>& entries) {
  std::string text;
  for (const std::string& entry : entries) {
    if (!text.empty()) text += ',';
    text += entry;
  }
  return text;
}

Result<std::string> check_value(const ConfigDef& def, std::string_view value) {
  // Blanks at the ends belong to a password.
  if (def.type == ConfigType::kPassword) return check_text(def, value);
  value = trim(value);
  if (def.type == ConfigType::kDouble || is_integer_type(def.type)) {
    return check_number(def, value);
  }
  if (def.type == ConfigType::kList) return check_list(def, value);
  if (def.type == ConfigType::kBoolean) {
    const std::optional<bool> truth = parse_boolean(value);
    if (!truth) return bad_value(def, value);
    return check_text(def, *truth ? "true" : "false");
  }
  return check_text(def, value);
}

namespace {

/// Pairs of keys whose values contradict each other.
Result<void> check_pairs(const ConfigMap& values) {
  const auto number = [&values](std::string_view key) -> std::optional<std::int64_t> {
    const auto found = values.find(key);
    return found == values.end() ? std::nullopt : parse_integer(found->second);
  };
  const auto least = number("min.compaction.lag.ms");
  const auto most = number("max.compaction.lag.ms");
  if (least && most && *least > *most) {
    return kafka_error(ErrorCode::INVALID_CONFIG,
                       fmt::format("min.compaction.lag.ms ({}) is above max.compaction.lag.ms ({})",
                                   *least, *most));
  }
  const auto kept = number("retention.ms");
  const auto kept_local = number("local.retention.ms");
  if (kept && kept_local && *kept >= 0 && (*kept_local > *kept || *kept_local == -1)) {
    return kafka_error(
        ErrorCode::INVALID_CONFIG,
        fmt::format("local.retention.ms ({}) is above retention.ms ({})", *kept_local, *kept));
  }
  return {};
}

}  // namespace

Result<ConfigMap> check_overrides(const ConfigTable& table, const ConfigMap& overrides) {
  ConfigMap checked;
  std::map<std::string, std::string> spelling;  // primary name → the spelling that gave it
  for (const auto& [key, value] : overrides) {
    const ConfigDef* def = table.find(key);
    if (def == nullptr) return table.unknown_key(key);
    KM_TRY(stored, check_value(*def, value));
    const std::string name = table.canonical(key);
    const auto [first, is_new] = spelling.emplace(name, key);
    if (!is_new) {
      return kafka_error(ErrorCode::INVALID_CONFIG,
                         fmt::format("'{}' and '{}' are the same configuration; give one of them",
                                     first->second, key));
    }
    checked.emplace(name, std::move(stored));
  }
  KM_TRY_VOID(check_pairs(checked));
  return checked;
}

}  // namespace kmirror::metadata
