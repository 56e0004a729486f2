// TestBroker: engine, logs, groups and server of one broker without a mirror, in any environment.
// Owner: the test; on_loop_0() and on_loop() say where a call belongs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "kmirror/coordinator/group_coordinator.h"
#include "kmirror/env/async.h"
#include "kmirror/metadata/embedded_engine.h"
#include "kmirror/server/replica_manager.h"
#include "kmirror/server/server.h"
#include "kmirror/storage/log_manager.h"

namespace kmirror::server {

class TestBroker {
 public:
  using Adjust = std::function<void(ServerConfig&)>;
  using Done = UniqueFunction<void()>;

  /// Opens everything; blocking, before the loops run. `host`: where to listen, and what clients
  /// are told. `directory`: log and metadata directory.
  TestBroker(env::Environment& here, std::string host, const std::string& directory,
             const Adjust& adjust = {});
  ~TestBroker();  ///< after stop_2()
  TestBroker(const TestBroker&) = delete;
  TestBroker& operator=(const TestBroker&) = delete;

  /// Starts everything and listens. Loop 0.
  void start(Done done);
  /// Creates a topic through the engine and waits until its logs are there. Loop 0.
  void create_topic(const std::string& name, std::int32_t partitions,
                    const metadata::ConfigMap& configs, Done done);
  /// Ends the server, then groups and engine. On loop 0.
  [[nodiscard]] env::Awaitable<void> stop_1();
  /// Closes the logs. Blocking; after stop_1() ended.
  void stop_2();

  [[nodiscard]] env::Endpoint endpoint() const { return endpoint_; }

  metrics::Registry metrics;
  std::unique_ptr<metadata::EmbeddedEngine> engine;
  std::unique_ptr<storage::LogManager> logs;
  std::unique_ptr<coordinator::GroupCoordinator> groups;
  std::unique_ptr<ReplicaManager> replicas;
  std::unique_ptr<Server> server;

 private:
  void open(const std::string& directory);

  env::Environment& here_;
  std::string host_;
  env::Endpoint endpoint_;
};

}  // namespace kmirror::server
