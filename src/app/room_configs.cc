#include "app/room_configs.h"

#include <algorithm>

#include "kmirror/metadata/config_def.h"

namespace kmirror::app {
namespace {

std::int32_t int32_of(const BrokerConfig& config, std::string_view key) {
  return static_cast<std::int32_t>(config.integer(key));
}

std::chrono::milliseconds ms_of(const BrokerConfig& config, std::string_view key) {
  return std::chrono::milliseconds(config.integer(key));
}

MirrorRetryPolicy retry_policy(const BrokerConfig& config) {
  MirrorRetryPolicy policy;
  policy.initial_backoff = ms_of(config, "mirror.failed.retry.initial.backoff.ms");
  policy.max_backoff = ms_of(config, "mirror.failed.retry.max.backoff.ms");
  policy.max_attempts =
      static_cast<std::int16_t>(config.integer("mirror.failed.retry.max.attempts"));
  return policy;
}

}  // namespace

server::ServerConfig server_config(const BrokerConfig& config) {
  server::ServerConfig out;
  out.node_id = config.node_id;
  for (const ListenerConfig& listener : config.listeners) {
    out.listeners.emplace_back(listener.name, listener.bind);
  }
  out.max_connections = config.max_connections;
  out.max_connections_per_ip = config.max_connections_per_ip;
  for (const std::string& entry :
       metadata::split_list(config.value("max.connections.per.ip.overrides").value_or(""))) {
    const std::size_t colon = entry.rfind(':');
    const auto limit = metadata::parse_integer(std::string_view(entry).substr(colon + 1));
    out.max_connections_per_ip_overrides[entry.substr(0, colon)] =
        static_cast<std::int32_t>(limit.value_or(0));
  }
  out.max_request_partition_size_limit = int32_of(config, "max.request.partition.size.limit");
  out.connections_max_idle = std::chrono::milliseconds(config.connections_max_idle_ms);
  out.socket_request_max_bytes = config.request_max_bytes;
  out.queued_max_request_bytes = config.queued_max_request_bytes;
  out.socket = config.socket;
  out.fetch_max_bytes = config.fetch_max_bytes;
  out.max_fetch_sessions = config.fetch_session_slots;
  out.auto_create_topics = config.boolean("auto.create.topics.enable");
  out.flush_acks_all = config.flush_acks_all;
  return out;
}

coordinator::GroupCoordinatorConfig group_config(const BrokerConfig& config) {
  coordinator::GroupCoordinatorConfig out;
  out.offsets_topic_num_partitions = int32_of(config, "offsets.topic.num.partitions");
  out.offsets_topic_segment_bytes = config.integer("offsets.topic.segment.bytes");
  out.offset_metadata_max_bytes = int32_of(config, "offset.metadata.max.bytes");
  out.offsets_retention_ms = config.integer("offsets.retention.minutes") * 60'000;
  out.offsets_retention_check_interval_ms = config.integer("offsets.retention.check.interval.ms");
  out.group_initial_rebalance_delay_ms = config.integer("group.initial.rebalance.delay.ms");
  out.group_min_session_timeout_ms = config.integer("group.min.session.timeout.ms");
  out.group_max_session_timeout_ms = config.integer("group.max.session.timeout.ms");
  out.group_max_size = int32_of(config, "group.max.size");
  out.flush = config.flush_acks_all;
  return out;
}

coordinator::ClusterMirrorCoordinatorConfig mirror_state_config(const BrokerConfig& config) {
  coordinator::ClusterMirrorCoordinatorConfig out;
  out.topic_num_partitions = int32_of(config, "mirror.topic.num.partitions");
  out.retry = retry_policy(config);
  return out;
}

}  // namespace kmirror::app
