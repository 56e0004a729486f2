// LoopShard: the server's part on one loop: its connections, timers and request metrics.
// Owner: its loop makes every call after the constructor; the destructor runs there too.
// Invariant: nothing of it is destroyed while one of its tasks runs.
// Sources: Kafka 4.4 SocketServer.Processor.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "kmirror/env/async.h"
#include "server/connection.h"
#include "server/timer_queue.h"

namespace kmirror::server {

class LoopShard {
 public:
  LoopShard(env::Loop& loop, env::Clock& clock, const ServerConfig& config, HandlerTable& handlers,
            MemoryPool& memory, metrics::Registry& registry);
  ~LoopShard();
  LoopShard(const LoopShard&) = delete;
  LoopShard& operator=(const LoopShard&) = delete;

  void start();
  /// Serves one connection; `ended` is called on this loop when both its tasks have ended.
  void adopt(std::unique_ptr<env::Stream> stream, std::shared_ptr<ConnectionInfo> info,
             ListenerSecurity* security, UniqueFunction<void()> ended);
  /// Lets connections send what is due until `drain_until`, closes them, ends all tasks; `done` is
  /// called on this loop when nothing runs any more.
  void stop(env::Instant drain_until, UniqueFunction<void()> done);
  void memory_returned() { scope_.memory_returned->set(); }

  [[nodiscard]] env::Loop& loop() { return scope_.loop; }
  [[nodiscard]] TimerQueue& timers() { return timers_; }

 private:
  env::Awaitable<void> serve(std::shared_ptr<Connection> connection, UniqueFunction<void()> ended);
  env::Awaitable<void> sweep_idle();
  env::Awaitable<void> drain(env::Instant until, UniqueFunction<void()> done);

  RequestMetrics metrics_;
  ConnectionScope scope_;
  TimerQueue timers_;
  std::set<std::shared_ptr<Connection>> connections_;
  env::AsyncEvent emptied_;
  env::TaskGroup tasks_;
  env::TaskGroup control_;
  bool stopping_ = false;
};

}  // namespace kmirror::server
