// The APIs this project knows: names, keys and versions.
// Which of them a server answers is the server's to say (it has a handler table of its own).
// Sources: proto-json/.
#pragma once

#include <span>
#include <string_view>

#include "kmirror/model/types.h"

namespace kmirror::wire {

struct ApiInfo {
  std::string_view name;  ///< Kafka's, without Request or Response
  ApiKey key;
  ApiVersion min_version;
  ApiVersion max_version;
  ApiVersion flexible_from;  ///< kNeverFlexible if no version is
  bool latest_unstable;      ///< the last version is not finished; brokers do not advertise it
  bool on_broker;            ///< Kafka answers it on broker listeners
  bool on_controller;        ///< and on controller listeners

  /// The newest version that brokers advertise.
  [[nodiscard]] constexpr ApiVersion stable_max() const {
    return latest_unstable ? ApiVersion(static_cast<std::int16_t>(max_version.get() - 1))
                           : max_version;
  }
  [[nodiscard]] constexpr bool has(ApiVersion version) const {
    return version >= min_version && version <= max_version;
  }
  [[nodiscard]] constexpr bool is_flexible(ApiVersion version) const {
    return version >= flexible_from;
  }
};

/// All of them, in order of their keys.
[[nodiscard]] std::span<const ApiInfo> all_apis();
/// Null for a key that is not in the table.
[[nodiscard]] const ApiInfo* find_api(ApiKey key);
/// By Kafka's name, such as "Fetch"; null if there is none.
[[nodiscard]] const ApiInfo* find_api(std::string_view name);
/// The name for logs and metrics; "Unknown" for a key that is not in the table.
[[nodiscard]] std::string_view api_name(ApiKey key);

}  // namespace kmirror::wire
