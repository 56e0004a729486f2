// From checked keys to a BrokerConfig.
#include "kmirror/app/config.h"

#include <algorithm>

#include "kmirror/base/check.h"
#include "kmirror/metadata/config_def.h"
#include "kmirror/model/error_code.h"

namespace kmirror::app {
namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;

Error config_error(std::string text) {
  return kafka_error(ErrorCode::INVALID_CONFIG, std::move(text));
}

std::int32_t int32_of(const BrokerConfig& config, std::string_view key) {
  return static_cast<std::int32_t>(config.integer(key));
}

/// "host:port" or "[ipv6]:port"; port 0 … 65535.
Result<env::Endpoint> parse_endpoint(std::string_view key, std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const std::optional<std::int64_t> port = colon == std::string_view::npos
                                               ? std::nullopt
                                               : metadata::parse_integer(text.substr(colon + 1));
  if (!port || *port < 0 || *port > 65'535) {
    return config_error(
        fmt::format("{}: '{}' has no port between 0 and 65535; write HOST:PORT", key, text));
  }
  std::string_view host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return config_error(
        fmt::format("{}: put the IPv6 address of '{}' in square brackets", key, text));
  }
  return env::Endpoint(std::string(host), static_cast<std::uint16_t>(*port));
}

struct NamedEndpoint {
  NamedEndpoint() = default;
  std::string name;
  env::Endpoint at;
};

/// NAME://HOST:PORT entries.
Result<std::vector<NamedEndpoint>> parse_listeners(std::string_view key, std::string_view value) {
  std::vector<NamedEndpoint> found;
  for (const std::string& entry : metadata::split_list(value)) {
    const std::size_t colon = entry.find("://");
    if (colon == std::string::npos || colon == 0) {
      return config_error(fmt::format("{}: '{}' is not of the form NAME://HOST:PORT", key, entry));
    }
    NamedEndpoint endpoint;
    endpoint.name = entry.substr(0, colon);
    for (char& c : endpoint.name) {
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    KM_TRY(at, parse_endpoint(key, std::string_view(entry).substr(colon + 3)));
    endpoint.at = std::move(at);
    for (const NamedEndpoint& other : found) {
      if (other.name == endpoint.name) {
        return config_error(fmt::format("{}: listener name {} is there twice", key, other.name));
      }
    }
    found.push_back(std::move(endpoint));
  }
  return found;
}

Result<SecurityProtocol> parse_protocol(std::string_view word) {
  if (word == "PLAINTEXT") return SecurityProtocol::kPlaintext;
  if (word == "SSL") return SecurityProtocol::kSsl;
  if (word == "SASL_PLAINTEXT") return SecurityProtocol::kSaslPlaintext;
  if (word == "SASL_SSL") return SecurityProtocol::kSaslSsl;
  return config_error(fmt::format(
      "listener.security.protocol.map: '{}' is no security protocol; one of: PLAINTEXT, SSL, "
      "SASL_PLAINTEXT, SASL_SSL",
      word));
}

Result<SecurityProtocol> protocol_of(const BrokerConfig& config, const std::string& listener) {
  const std::string map = config.value("listener.security.protocol.map").value_or("");
  for (const std::string& entry : metadata::split_list(map)) {
    const std::size_t colon = entry.find(':');
    if (colon == std::string::npos) {
      return config_error(fmt::format(
          "listener.security.protocol.map: '{}' is not of the form NAME:PROTOCOL", entry));
    }
    if (entry.substr(0, colon) == listener) {
      return parse_protocol(std::string_view(entry).substr(colon + 1));
    }
  }
  return config_error(
      fmt::format("listeners: listener {} has no security protocol; add {}:PLAINTEXT (or SSL, "
                  "SASL_PLAINTEXT, SASL_SSL) to listener.security.protocol.map",
                  listener, listener));
}

Result<void> read_advertised(BrokerConfig& config) {
  const std::string value = config.value("advertised.listeners").value_or("");
  KM_TRY(advertised, parse_listeners("advertised.listeners", value));
  for (NamedEndpoint& endpoint : advertised) {
    const auto listener =
        std::find_if(config.listeners.begin(), config.listeners.end(),
                     [&](const ListenerConfig& l) { return l.name == endpoint.name; });
    if (listener == config.listeners.end()) {
      return config_error(
          fmt::format("advertised.listeners: there is no listener {} in listeners", endpoint.name));
    }
    if (endpoint.at.host.empty() || endpoint.at.host == "0.0.0.0" || endpoint.at.host == "::") {
      return config_error(fmt::format(
          "advertised.listeners: clients cannot connect to '{}'; name a host", endpoint.at.text()));
    }
    listener->advertised = std::move(endpoint.at);
  }
  return {};
}

Result<void> read_listeners(BrokerConfig& config) {
  const std::string value = config.value("listeners").value_or("");
  KM_TRY(endpoints, parse_listeners("listeners", value));
  if (endpoints.empty()) {
    return config_error("listeners is empty; for example listeners=PLAINTEXT://:9092");
  }
  for (NamedEndpoint& endpoint : endpoints) {
    for (const ListenerConfig& other : config.listeners) {
      if (endpoint.at.port != 0 && other.bind == endpoint.at) {
        return config_error(fmt::format("listeners: {} and {} both want {}", other.name,
                                        endpoint.name, endpoint.at.text()));
      }
    }
    ListenerConfig listener;
    KM_TRY(protocol, protocol_of(config, endpoint.name));
    listener.protocol = protocol;
    listener.name = std::move(endpoint.name);
    listener.bind = std::move(endpoint.at);
    config.listeners.push_back(std::move(listener));
  }
  const std::optional<std::string> inter_broker = config.value("inter.broker.listener.name");
  const bool is_known =
      !inter_broker ||
      std::any_of(config.listeners.begin(), config.listeners.end(),
                  [&](const ListenerConfig& l) { return l.name == *inter_broker; });
  if (!is_known) {
    return config_error(fmt::format(
        "inter.broker.listener.name: there is no listener {} in listeners", *inter_broker));
  }
  return read_advertised(config);
}

Result<void> read_identity(BrokerConfig& config) {
  if (!config.values.contains("node.id")) {
    return config_error("node.id is missing; give this node a number, for example node.id=1");
  }
  config.node_id = NodeId(int32_of(config, "node.id"));
  config.cluster_id = config.value("cluster.id");
  if (config.cluster_id && config.cluster_id->empty()) config.cluster_id.reset();
  if (config.cluster_id && !Uuid::parse(*config.cluster_id)) {
    return config_error(fmt::format(
        "cluster.id: '{}' is no id; 22 characters of URL-safe base64, or nothing for a random one",
        *config.cluster_id));
  }
  config.rack = config.value("broker.rack");
  config.log_dirs = metadata::split_list(config.value("log.dirs").value_or(""));
  if (config.log_dirs.empty()) {
    config.log_dirs = metadata::split_list(config.value("log.dir").value_or(""));
  }
  if (config.log_dirs.empty()) {
    return config_error("log.dirs is missing; for example log.dirs=/var/lib/kmirror");
  }
  config.metadata_log_dir = config.value("metadata.log.dir").value_or(config.log_dirs.front());
  config.metadata_snapshot_bytes =
      static_cast<std::uint64_t>(config.integer("metadata.log.max.record.bytes.between.snapshots"));
  config.metadata_segment_bytes = config.integer("metadata.log.segment.bytes");
  return {};
}

Result<void> read_operation(BrokerConfig& config) {
  const std::string http = config.value("http.listener").value_or("");
  if (!http.empty()) {
    KM_TRY(endpoint, parse_endpoint("http.listener", http));
    config.http_listener = std::move(endpoint);
  }
  const std::string level = config.value("logging.level").value_or("info");
  KM_CHECK(log::parse_level(level, config.log_level), "logging.level {}", level);
  config.log_format =
      config.value("logging.format") == "json" ? log::Format::kJson : log::Format::kText;
  return {};
}

void read_limits(BrokerConfig& config) {
  config.network_threads = int32_of(config, "num.network.threads");
  config.io_threads = int32_of(config, "num.io.threads");
  config.socket.send_buffer_bytes = int32_of(config, "socket.send.buffer.bytes");
  config.socket.receive_buffer_bytes = int32_of(config, "socket.receive.buffer.bytes");
  config.request_max_bytes = int32_of(config, "socket.request.max.bytes");
  config.queued_max_requests = int32_of(config, "queued.max.requests");
  config.queued_max_request_bytes = config.integer("queued.max.request.bytes");
  config.connections_max_idle_ms = config.integer("connections.max.idle.ms");
  config.max_connections = int32_of(config, "max.connections");
  config.max_connections_per_ip = int32_of(config, "max.connections.per.ip");
  config.fetch_session_slots = int32_of(config, "max.incremental.fetch.session.cache.slots");
  config.fetch_max_bytes = int32_of(config, "fetch.max.bytes");
  config.flush_acks_all = config.boolean("flush.acks.all");
  config.logs.log_dirs = config.log_dirs;
  config.logs.flush_interval_ms = config.integer("log.flush.interval.ms");
  config.logs.retention_check_interval_ms = config.integer("log.retention.check.interval.ms");
  config.logs.checkpoint_interval_ms =
      config.integer("replica.high.watermark.checkpoint.interval.ms");
  config.logs.producer_id_expiration_ms = config.integer("producer.id.expiration.ms");
  config.logs.cleaner_dedupe_buffer_bytes = config.integer("log.cleaner.dedupe.buffer.size");
  config.logs.cleaner_backoff_ms = config.integer("log.cleaner.backoff.ms");
}

}  // namespace

std::optional<std::string> BrokerConfig::value(std::string_view key) const {
  const auto found = values.find(key);
  if (found != values.end()) return found->second;
  const metadata::ConfigDef* def = metadata::broker_configs().find(key);
  return def == nullptr ? std::nullopt : def->default_value;
}

std::int64_t BrokerConfig::integer(std::string_view key) const {
  const std::optional<std::string> text = value(key);
  const std::optional<std::int64_t> number = text ? metadata::parse_integer(*text) : std::nullopt;
  KM_CHECK(number.has_value(), "{} has no number", key);
  return *number;
}

bool BrokerConfig::boolean(std::string_view key) const {
  const std::optional<std::string> text = value(key);
  const std::optional<bool> truth = text ? metadata::parse_boolean(*text) : std::nullopt;
  KM_CHECK(truth.has_value(), "{} is no truth value", key);
  return *truth;
}

Result<BrokerConfig> make_broker_config(const metadata::ConfigMap& values) {
  for (const auto& [key, value] : values) {
    const metadata::ConfigDef* def = metadata::broker_configs().find(key);
    if (def != nullptr && def->update == metadata::ConfigUpdate::kDynamicOnly) {
      return config_error(fmt::format(
          "{}={} cannot stand in the file; take it out and set it with kafka-configs.sh "
          "--entity-type brokers --alter",
          key, value));
    }
  }
  BrokerConfig config;
  KM_TRY(checked, metadata::check_overrides(metadata::broker_configs(), values));
  config.values = std::move(checked);
  KM_TRY_VOID(read_identity(config));
  KM_TRY_VOID(read_listeners(config));
  KM_TRY_VOID(read_operation(config));
  read_limits(config);
  return config;
}

Result<BrokerConfig> load_broker_config(env::FileSystem& files, const std::string& path,
                                        const std::vector<std::string>& overrides) {
  Result<std::string> text = files.read_text(path, kMaxFileBytes);
  if (!text) {
    return Error(text.error().code,
                 fmt::format("configuration file {}: {}; give the path of a readable properties "
                             "file of at most 1 MiB",
                             path, text.error().message));
  }
  Result<metadata::ConfigMap> values = parse_properties(*text);
  if (!values) {
    return config_error(fmt::format("configuration file {}: {}", path, values.error().message));
  }
  for (const std::string& override_ : overrides) {
    KM_TRY_VOID(apply_override(*values, override_));
  }
  Result<BrokerConfig> config = make_broker_config(*values);
  if (!config) {
    return config_error(fmt::format("configuration file {}: {}", path, config.error().message));
  }
  return config;
}

}  // namespace kmirror::app
