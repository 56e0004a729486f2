// MirrorBrokerConfig: what the mirror needs of the broker's configuration; each member names its
// key. A per-mirror override of the client keys comes from the mirror's own configuration. Sources:
// spec E.1, E.3; decisions section 2.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "kmirror/model/mirror_state.h"
#include "kmirror/model/types.h"

namespace kmirror::mirror {

/// Keys of the source client: broker values, or a mirror's own (replica.* in both).
struct SourceClientConfig {
  SourceClientConfig() = default;
  std::chrono::milliseconds request_timeout{30'000};   ///< request.timeout.ms
  std::chrono::milliseconds connect_timeout{10'000};   ///< socket.connection.setup.timeout.ms
  std::chrono::milliseconds fetch_wait_max{500};       ///< replica.fetch.wait.max.ms
  std::chrono::milliseconds fetch_backoff{1'000};      ///< replica.fetch.backoff.ms
  std::int32_t fetch_min_bytes = 1;                    ///< replica.fetch.min.bytes
  std::int32_t fetch_response_max_bytes = 10'485'760;  ///< replica.fetch.response.max.bytes
  std::int32_t fetch_max_bytes = 1'048'576;            ///< replica.fetch.max.bytes
  std::int32_t socket_receive_buffer_bytes = -1;       ///< replica.socket.receive.buffer.bytes
  friend bool operator==(const SourceClientConfig&, const SourceClientConfig&) = default;
};

struct MirrorBrokerConfig {
  MirrorBrokerConfig() = default;
  NodeId node_id{1};
  std::int32_t num_replica_fetchers = 1;  ///< mirror.num.replica.fetchers
  std::chrono::milliseconds metadata_refresh_interval{
      30'000};                               ///< mirror.metadata.refresh.interval.ms
  MirrorRetryPolicy retry;                   ///< mirror.failed.retry.*
  std::int32_t state_topic_partitions = 50;  ///< mirror.topic.num.partitions
  SourceClientConfig client;
  std::int64_t fetch_memory_bytes = 40'000'000;  ///< all answers in work together, all mirrors
};

}  // namespace kmirror::mirror
