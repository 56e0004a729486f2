#include "server/loop_shard.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace kmirror::server {
namespace {

constexpr std::chrono::milliseconds kLongestSweep{30'000};
constexpr std::chrono::milliseconds kShortestSweep{20};

// Set when one task of a pair has ended, so that the other can be waited for.
struct Half {
  explicit Half(env::Loop& loop) : ended(loop) {}
  env::AsyncEvent ended;
};

env::Awaitable<void> write_half(std::shared_ptr<Connection> connection,
                                std::shared_ptr<Half> half) {
  co_await Connection::write_task(connection);
  half->ended.set();
}

}  // namespace

LoopShard::LoopShard(env::Loop& loop, env::Clock& clock, const ServerConfig& config,
                     HandlerTable& handlers, MemoryPool& memory, metrics::Registry& registry)
    : metrics_(registry),
      scope_(loop, clock, config, handlers, memory, metrics_),
      timers_(loop, clock),
      emptied_(loop),
      tasks_(loop),
      control_(loop) {
  scope_.memory_returned = std::make_unique<env::AsyncEvent>(loop);
}

LoopShard::~LoopShard() = default;

void LoopShard::start() {
  tasks_.spawn("server timers", timers_.run());
  tasks_.spawn("server idle sweep", sweep_idle());
}

void LoopShard::adopt(std::unique_ptr<env::Stream> stream, std::shared_ptr<ConnectionInfo> info,
                      ListenerSecurity* security, UniqueFunction<void()> ended) {
  if (stopping_) {
    stream->close();
    return ended();
  }
  auto connection =
      std::make_shared<Connection>(scope_, std::move(stream), std::move(info), security);
  connections_.insert(connection);
  tasks_.spawn("server connection", serve(std::move(connection), std::move(ended)));
}

env::Awaitable<void> LoopShard::serve(std::shared_ptr<Connection> connection,
                                      UniqueFunction<void()> ended) {
  auto half = std::make_shared<Half>(scope_.loop);
  tasks_.spawn("server writer", write_half(connection, half));
  co_await Connection::read_task(connection);
  // The writer ends by itself once the reader has: bounded by the answers that are due.
  while (!half->ended.is_set()) {
    co_await half->ended.wait();
    const bool cancelled = co_await env::task_cancelled();
    if (cancelled) break;
  }
  connection->close();
  connections_.erase(connection);
  ended();
  if (connections_.empty()) emptied_.set();
}

env::Awaitable<void> LoopShard::sweep_idle() {
  const auto idle = scope_.config.connections_max_idle;
  const auto pause = std::clamp(idle / 4, kShortestSweep, kLongestSweep);
  while (!stopping_) {
    co_await env::pause_for(scope_.clock, pause);
    const bool cancelled = co_await env::task_cancelled();
    if (cancelled) break;
    const env::Instant before = scope_.clock.now() - idle;
    const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
    for (const auto& connection : all) (void)connection->close_if_idle_since(before);
  }
}

void LoopShard::stop(env::Instant drain_until, UniqueFunction<void()> done) {
  stopping_ = true;
  const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->finish();
  control_.spawn("server stop", drain(drain_until, std::move(done)));
}

env::Awaitable<void> LoopShard::drain(env::Instant until, UniqueFunction<void()> done) {
  emptied_.reset();
  if (!connections_.empty()) {
    (void)co_await emptied_.wait_until(scope_.clock, until);
  }
  for (const auto& connection : connections_) connection->close();
  timers_.stop();
  tasks_.cancel();
  co_await tasks_.join();
  done();
}

}  // namespace kmirror::server
