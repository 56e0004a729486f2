// The parts that the configuration tables are put together from, one function a file.
#pragma once

#include <string_view>
#include <vector>

#include "kmirror/metadata/config_def.h"

namespace kmirror::metadata {

[[nodiscard]] std::vector<ConfigDef> topic_keys();
[[nodiscard]] std::vector<ConfigDef> group_keys();
[[nodiscard]] std::vector<ConfigDef> mirror_keys();
/// Keys of a Kafka client's security; those that are sensible for a listener too.
[[nodiscard]] std::vector<ConfigDef> client_security_keys();

// Sections of the broker table, in file order.
[[nodiscard]] std::vector<ConfigDef> broker_basic_keys();
[[nodiscard]] std::vector<ConfigDef> broker_network_keys();
[[nodiscard]] std::vector<ConfigDef> broker_security_keys();
[[nodiscard]] std::vector<ConfigDef> broker_log_keys();
[[nodiscard]] std::vector<ConfigDef> broker_group_keys();
[[nodiscard]] std::vector<ConfigDef> broker_transaction_keys();
[[nodiscard]] std::vector<ConfigDef> broker_mirror_keys();

/// True for keys of a Kafka broker or controller that mean nothing to kmirrord.
[[nodiscard]] bool is_unused_kafka_key(std::string_view key);

inline constexpr auto kBoolean = ConfigType::kBoolean;
inline constexpr auto kString = ConfigType::kString;
inline constexpr auto kInt = ConfigType::kInt;
inline constexpr auto kShort = ConfigType::kShort;
inline constexpr auto kLong = ConfigType::kLong;
inline constexpr auto kDouble = ConfigType::kDouble;
inline constexpr auto kList = ConfigType::kList;
inline constexpr auto kClass = ConfigType::kClass;
inline constexpr auto kPassword = ConfigType::kPassword;
inline constexpr std::int64_t kMaxInt = 2'147'483'647;

/// Puts `section` on every key of `keys`.
[[nodiscard]] inline std::vector<ConfigDef> in_section(std::string_view section,
                                                       std::vector<ConfigDef> keys) {
  for (ConfigDef& key : keys) key.section = section;
  return keys;
}
inline void append(std::vector<ConfigDef>& to, std::vector<ConfigDef> more) {
  for (ConfigDef& key : more) to.push_back(std::move(key));
}

}  // namespace kmirror::metadata
