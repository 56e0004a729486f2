// BrokerConfig: the configuration file of the daemon, parsed, checked and typed.
// Owner: start-up; immutable afterwards.
// Sources: java.util.Properties (file form); Kafka 4.4 KafkaConfig; metadata::broker_configs().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kmirror/base/log.h"
#include "kmirror/base/result.h"
#include "kmirror/env/file.h"
#include "kmirror/env/network.h"
#include "kmirror/metadata/image.h"
#include "kmirror/model/types.h"
#include "kmirror/storage/log_manager.h"

namespace kmirror::app {

enum class SecurityProtocol : std::int16_t {
  kPlaintext = 0,
  kSsl = 1,
  kSaslPlaintext = 2,
  kSaslSsl = 3,
};

struct ListenerConfig {
  ListenerConfig() = default;
  std::string name;  ///< upper case
  SecurityProtocol protocol = SecurityProtocol::kPlaintext;
  env::Endpoint bind;                       ///< an empty host is every address; port 0: any
  std::optional<env::Endpoint> advertised;  ///< nothing: what was bound, with this machine's name
};

struct BrokerConfig {
  BrokerConfig() = default;

  metadata::ConfigMap values;  ///< every key that was given, primary spellings, checked
  NodeId node_id{-1};
  std::optional<std::string> cluster_id;
  std::optional<std::string> rack;
  std::vector<std::string> log_dirs;
  std::string metadata_log_dir;  ///< never empty
  std::uint64_t metadata_snapshot_bytes = 0;
  std::int64_t metadata_segment_bytes = 0;
  std::vector<ListenerConfig> listeners;

  std::optional<env::Endpoint> http_listener;
  log::Level log_level = log::Level::kInfo;
  log::Format log_format = log::Format::kText;

  std::int32_t network_threads = 0;  ///< 0: one a core
  std::int32_t io_threads = 8;
  env::SocketOptions socket;
  std::int32_t request_max_bytes = 0;
  std::int32_t queued_max_requests = 0;
  std::int64_t queued_max_request_bytes = -1;
  std::int64_t connections_max_idle_ms = 0;
  std::int32_t max_connections = 0;
  std::int32_t max_connections_per_ip = 0;
  std::int32_t fetch_session_slots = 0;
  std::int32_t fetch_max_bytes = 0;
  bool flush_acks_all = true;
  storage::LogManagerConfig logs;

  /// A value in force at start: the file's, else the default; nullopt for null. Other rooms ask
  /// metadata::ConfigResolver, which also knows dynamic values.
  [[nodiscard]] std::optional<std::string> value(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key) const;
  [[nodiscard]] bool boolean(std::string_view key) const;
};

/// key=value pairs of a Java properties text, later ones winning: '#' and '!' comments, '=', ':' or
/// blanks between key and value, continuation lines, \t \n \r \f \uXXXX escapes. Error: a broken
/// escape, with its line number.
[[nodiscard]] Result<metadata::ConfigMap> parse_properties(std::string_view text);

/// Adds "key=value" to `values`, over what the file says (and over the key's other spellings).
/// Error: no '=' in it.
[[nodiscard]] Result<void> apply_override(metadata::ConfigMap& values, std::string_view override_);

/// Checks `values` and makes a BrokerConfig of them. Errors, one line naming key, value and remedy:
/// an unknown key, a bad value, two spellings of one key, a required key that is missing, a key
/// that can only be set dynamically, listeners that contradict each other.
[[nodiscard]] Result<BrokerConfig> make_broker_config(const metadata::ConfigMap& values);

/// The three above for a file and the --override arguments. Errors also: no such file, above 1 MiB.
[[nodiscard]] Result<BrokerConfig> load_broker_config(env::FileSystem& files,
                                                      const std::string& path,
                                                      const std::vector<std::string>& overrides);

/// config/server.properties as it should be: every broker key with meaning, unit, default and what
/// is legal, commented out except those a first start needs.
[[nodiscard]] std::string render_server_properties();

}  // namespace kmirror::app
