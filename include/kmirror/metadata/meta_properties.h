// meta.properties: whose log directory this is. One file in each log directory.
// Owner: start-up, before the loops run. Blocking.
// Sources: Kafka 4.4 MetaProperties (version 1), KIP-785, KIP-858; docs/formats/metadata.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/env/environment.h"
#include "kmirror/model/types.h"

namespace kmirror::metadata {

struct MetaProperties {
  MetaProperties() = default;
  std::string cluster_id;
  NodeId node_id{-1};
  Uuid directory_id;

  [[nodiscard]] std::string text() const;
  /// Error: a line that is no key=value, a version other than 1, a key missing or malformed; the
  /// text names the key.
  [[nodiscard]] static Result<MetaProperties> parse(std::string_view text);
};

/// What preparing the log directories found out.
struct LogDirectories {
  LogDirectories() = default;
  std::string cluster_id;
  std::vector<Uuid> directory_ids;  ///< in the order of the directories given
};

/// Makes each of `directories` if absent, reads its meta.properties, or writes one on the first
/// start (durable on return). The cluster id is `wanted_cluster_id`, else that of the directories
/// that have one, else random. Errors, naming directory and remedy: another node id, another
/// cluster id than wanted or than the other directories have, a broken meta.properties, and the
/// system's.
[[nodiscard]] Result<LogDirectories> prepare_log_directories(
    env::Environment& environment, const std::vector<std::string>& directories, NodeId node_id,
    const std::optional<std::string>& wanted_cluster_id);

}  // namespace kmirror::metadata
