// Broker: one kmirrord put together: metadata, logs, coordinators, mirror, server, HTTP port; what
// is started in which order, and stopped in the reverse one. Owner: main() starts and stops it;
// everything in between runs on the loops. Sources: Kafka 4.4 BrokerServer, KafkaRaftServer (order
// of start and stop); house rules section 4.
#pragma once

#include <memory>

#include "kmirror/app/config.h"
#include "kmirror/base/result.h"
#include "kmirror/env/environment.h"

namespace kmirror::app {

class Broker {
 public:
  /// `environment` must be running and outlive the broker.
  Broker(env::Environment& environment, BrokerConfig config);
  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  /// Opens everything and serves. Await it on loop 0, once. When it returns without an error
  /// clients are served. Errors: the first thing that could not be opened, named with its remedy;
  /// what was opened before it is closed again by stop().
  [[nodiscard]] env::Awaitable<Result<void>> start();
  /// Ends clients' work, then fetchers, coordinators and logs, and leaves the clean-shutdown mark.
  /// Bounded: answers under way get 5 s. Await it on loop 0, once, also after a failed start.
  [[nodiscard]] env::Awaitable<Result<void>> stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kmirror::app
