// Server: listeners, connections and the table of handlers: the Kafka protocol as clients see it.
// Owner: loop 0 calls every method, unless it says otherwise. Connections are spread over all
// loops. Invariants: requests of one connection start in order and are answered in order; the bytes
// of all requests in work stay below queued.max.request.bytes plus one request. Sources: Kafka 4.4
// SocketServer, KafkaApis, RequestChannel; house rules sections 3 and 4.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kmirror/base/metrics.h"
#include "kmirror/base/result.h"
#include "kmirror/env/environment.h"
#include "kmirror/metadata/config_resolver.h"
#include "kmirror/metadata/engine.h"
#include "kmirror/storage/log_manager.h"

namespace kmirror::coordinator {
class GroupCoordinator;
}
namespace kmirror::mirror {
class MirrorService;
}

namespace kmirror::server {

class ListenerSecurity;

struct ListenerConfig {
  ListenerConfig() = default;
  ListenerConfig(std::string listener_name, env::Endpoint bind_at)
      : name(std::move(listener_name)), bind(std::move(bind_at)) {}
  std::string
      name;  ///< upper case, e.g. PLAINTEXT; clients get the brokers' endpoints of this name
  env::Endpoint bind;                    ///< port 0: any free port
  ListenerSecurity* security = nullptr;  ///< null: plain bytes, no login. Must outlive the server
};

/// What the server needs of the broker's configuration; each member names its key.
struct ServerConfig {
  ServerConfig() = default;
  NodeId node_id{1};                                                        ///< node.id
  std::vector<ListenerConfig> listeners;                                    ///< listeners
  std::int32_t max_connections = std::numeric_limits<std::int32_t>::max();  ///< max.connections
  /// max.connections.per.ip
  std::int32_t max_connections_per_ip = std::numeric_limits<std::int32_t>::max();
  std::map<std::string, std::int32_t> max_connections_per_ip_overrides;  ///< by address
  std::chrono::milliseconds connections_max_idle{600'000};  ///< connections.max.idle.ms
  std::int32_t socket_request_max_bytes = 104'857'600;      ///< socket.request.max.bytes
  std::int64_t queued_max_request_bytes = 67'108'864;  ///< queued.max.request.bytes; -1: no limit
  std::int32_t max_requests_in_flight = 32;            ///< of one connection; beyond it is not read
  env::SocketOptions socket;  ///< socket.send.buffer.bytes, socket.receive.buffer.bytes
  std::int32_t fetch_max_bytes = 57'671'680;  ///< fetch.max.bytes
  std::int32_t max_fetch_sessions = 1'000;    ///< max.incremental.fetch.session.cache.slots
  std::chrono::milliseconds fetch_session_min_eviction{120'000};
  bool auto_create_topics = true;                         ///< auto.create.topics.enable
  bool flush_acks_all = true;                             ///< flush.acks.all (decisions 3.20)
  std::int32_t max_request_partition_size_limit = 2'000;  ///< max.request.partition.size.limit
};

/// What the handlers work on; all of it outlives the server. A null pointer switches the APIs that
/// need it off: they are not advertised.
struct ServerDeps {
  ServerDeps(metadata::MetadataEngine& engine, const metadata::ConfigResolver& resolver,
             storage::LogManager& log_manager, metrics::Registry& registry)
      : metadata(engine), configs(resolver), logs(log_manager), metrics(registry) {}
  metadata::MetadataEngine& metadata;
  const metadata::ConfigResolver& configs;
  storage::LogManager& logs;
  metrics::Registry& metrics;
  coordinator::GroupCoordinator* groups = nullptr;
  mirror::MirrorService* mirror = nullptr;
};

struct BoundListener {
  BoundListener() = default;
  std::string name;
  env::Endpoint endpoint;  ///< with the real port where 0 was asked for
};

class Server {
 public:
  Server(env::Environment& environment, ServerDeps deps, ServerConfig config);
  ~Server();  ///< after stop() has returned, or before listen()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Binds all listeners; nothing is accepted yet, so that the broker can register its real ports
  /// first. Once. Errors: address in use, …, naming listener, host and port; none stays bound then.
  [[nodiscard]] Result<void> listen();
  /// Where the listeners are, in the order of the configuration. After listen().
  [[nodiscard]] const std::vector<BoundListener>& bound() const;
  /// Starts to accept. Once, after listen().
  void start();
  /// Accepts no more and reads no further request, sends the answers that are due until
  /// `drain_until`, then closes every connection and waits for the tasks of all loops. Once; await
  /// it on loop 0.
  [[nodiscard]] env::Awaitable<void> stop(env::Instant drain_until);
  /// Open connections over all loops. Any thread.
  [[nodiscard]] std::int32_t connection_count() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kmirror::server
