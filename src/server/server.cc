#include "kmirror/server/server.h"

#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "kmirror/base/check.h"
#include "kmirror/base/log.h"
#include "kmirror/env/async.h"
#include "server/connection_quota.h"
#include "server/handlers/mirrors.h"
#include "server/handlers/table.h"
#include "server/loop_shard.h"

namespace kmirror::server {
namespace {

constexpr std::chrono::milliseconds kAcceptPause{100};  // after EMFILE and its like

}  // namespace

class Server::Impl {
 public:
  Impl(env::Environment& environment, const ServerDeps& deps, ServerConfig config)
      : environment_(environment),
        config_(std::move(config)),
        connections_(deps.metrics.gauge("kafka_server_socket_server_connections",
                                        "Open client connections")),
        refused_(deps.metrics.counter("kafka_server_socket_server_connections_refused_total",
                                      "Connections closed for max.connections.per.ip")),
        quota_(config_.max_connections, config_.max_connections_per_ip,
               config_.max_connections_per_ip_overrides),
        memory_(config_.queued_max_request_bytes, [this] { wake_memory_waiters(); }),
        slot_free_(*environment.loops[0]),
        shards_stopped_(*environment.loops[0]),
        acceptors_tasks_(*environment.loops[0]) {
    for (env::Loop* loop : environment.loops) {
      shards_.push_back(std::make_shared<LoopShard>(*loop, environment.clock, config_, handlers_,
                                                    memory_, deps.metrics));
    }
    HandlerServices services(environment, deps, config_);
    services.timers = timers();
    services.guard = write_guard(deps.mirror);
    add_handlers(handlers_, services);
  }

  Result<void> listen();
  void start();
  env::Awaitable<void> stop(env::Instant drain_until);

  env::Environment& environment_;
  const ServerConfig config_;
  std::vector<BoundListener> bound_;
  std::atomic<std::int32_t> open_{0};

 private:
  std::vector<TimerQueue*> timers() {
    std::vector<TimerQueue*> all;
    for (const auto& shard : shards_) all.push_back(&shard->timers());
    return all;
  }
  void wake_memory_waiters();
  env::Awaitable<void> accept_from(std::size_t listener);
  env::Awaitable<void> wait_for_slot();
  void hand_over(std::unique_ptr<env::Stream> stream, std::shared_ptr<LoopShard> shard,
                 const ListenerConfig& listener);
  void connection_ended(const std::string& ip);

  metrics::Gauge& connections_;
  metrics::Counter& refused_;
  ConnectionQuota quota_;
  MemoryPool memory_;
  HandlerTable handlers_;
  std::vector<std::shared_ptr<LoopShard>> shards_;  // emptied on loop 0, each destroyed on its loop
  std::vector<std::unique_ptr<env::Acceptor>> acceptors_;
  env::AsyncEvent slot_free_;
  env::AsyncEvent shards_stopped_;
  env::TaskGroup acceptors_tasks_;
  std::size_t next_shard_ = 0;
  std::size_t shards_running_ = 0;
  bool stopping_ = false;
};

Result<void> Server::Impl::listen() {
  for (const auto& listener : config_.listeners) {
    auto acceptor =
        environment_.network.listen(*environment_.loops[0], listener.bind, config_.socket);
    if (!acceptor) {
      acceptors_.clear();
      bound_.clear();
      return Error(acceptor.error().code,
                   fmt::format("listener {}: {}", listener.name, acceptor.error().message));
    }
    BoundListener bound;
    bound.name = listener.name;
    bound.endpoint = (*acceptor)->local();
    bound_.push_back(bound);
    acceptors_.push_back(std::move(*acceptor));
    KM_LOG(kInfo, "server.listening", "{} at {}", listener.name, bound.endpoint.text());
  }
  return {};
}

void Server::Impl::start() {
  for (const auto& shard : shards_) {
    shard->loop().post([shard] { shard->start(); });
  }
  for (std::size_t i = 0; i < acceptors_.size(); ++i) {
    acceptors_tasks_.spawn("server accept", accept_from(i));
  }
}

void Server::Impl::wake_memory_waiters() {
  for (const auto& shard : shards_) {
    shard->loop().post([weak = std::weak_ptr(shard)] {
      if (auto alive = weak.lock()) alive->memory_returned();
    });
  }
}

env::Awaitable<void> Server::Impl::wait_for_slot() {
  while (quota_.is_full() && !stopping_) {
    slot_free_.reset();
    co_await slot_free_.wait();  // bounded by connections.max.idle.ms of those that have the slots
    const bool cancelled = co_await env::task_cancelled();
    if (cancelled) break;
  }
}

env::Awaitable<void> Server::Impl::accept_from(std::size_t listener) {
  bool failing = false;
  while (!stopping_) {
    co_await wait_for_slot();
    if (stopping_) break;
    std::shared_ptr<LoopShard> shard = shards_[next_shard_++ % shards_.size()];
    auto accepted = co_await acceptors_[listener]->accept(shard->loop());
    if (stopping_) break;
    if (!accepted) {
      if (!failing) {
        KM_LOG(kError, "server.accept_failed", "listener {}: {}; trying again",
               config_.listeners[listener].name, accepted.error().message);
      }
      failing = true;
      co_await env::pause_for(environment_.clock, kAcceptPause);
      const bool cancelled = co_await env::task_cancelled();
      if (cancelled) break;
      continue;
    }
    failing = false;
    hand_over(std::move(*accepted), std::move(shard), config_.listeners[listener]);
  }
}

void Server::Impl::hand_over(std::unique_ptr<env::Stream> stream, std::shared_ptr<LoopShard> shard,
                             const ListenerConfig& listener) {
  auto info = std::make_shared<ConnectionInfo>();
  info->listener = listener.name;
  info->peer = stream->peer();
  info->local = stream->local();
  const std::string ip = info->peer.host;
  if (!quota_.try_add(ip)) {
    refused_.add();
    KM_LOG(kWarn, "server.connection_refused", "{} has max.connections.per.ip already", ip);
    env::Loop& loop = shard->loop();
    loop.post([stream = std::move(stream)] { stream->close(); });
    return;
  }
  connections_.set(open_.fetch_add(1) + 1);
  env::Loop* first = environment_.loops[0];
  auto ended = [this, first, ip] { first->post([this, ip] { connection_ended(ip); }); };
  env::Loop& loop = shard->loop();
  loop.post([shard = std::move(shard), stream = std::move(stream), info = std::move(info),
             security = listener.security, ended = std::move(ended)]() mutable {
    shard->adopt(std::move(stream), std::move(info), security, std::move(ended));
  });
}

void Server::Impl::connection_ended(const std::string& ip) {
  quota_.remove(ip);
  connections_.set(open_.fetch_sub(1) - 1);
  slot_free_.set();
}

env::Awaitable<void> Server::Impl::stop(env::Instant drain_until) {
  stopping_ = true;
  for (const auto& acceptor : acceptors_) acceptor->close();
  slot_free_.set();
  acceptors_tasks_.cancel();
  co_await acceptors_tasks_.join();
  acceptors_.clear();

  shards_running_ = shards_.size();
  for (const auto& shard : shards_) {
    shard->loop().post([this, shard, drain_until] {
      shard->stop(drain_until, [this] {
        environment_.loops[0]->post([this] {
          if (--shards_running_ == 0) shards_stopped_.set();
        });
      });
    });
  }
  co_await shards_stopped_.wait();  // bounded by drain_until and the tasks' ends
  // Each shard goes on its own loop, behind the last pieces of its tasks. connection_ended() of the
  // last connections was posted to this loop before the shard reported.
  while (!shards_.empty()) {
    std::shared_ptr<LoopShard> shard = std::move(shards_.back());
    shards_.pop_back();
    env::Loop& loop = shard->loop();
    UniqueFunction<bool()> destroy = [held = std::move(shard)]() mutable {
      held.reset();
      return true;
    };
    (void)co_await env::call_on<bool>(loop, std::move(destroy));
  }
}

Server::Server(env::Environment& environment, ServerDeps deps, ServerConfig config)
    : impl_(std::make_unique<Impl>(environment, deps, std::move(config))) {}
Server::~Server() = default;

Result<void> Server::listen() { return impl_->listen(); }
const std::vector<BoundListener>& Server::bound() const { return impl_->bound_; }
void Server::start() { impl_->start(); }
env::Awaitable<void> Server::stop(env::Instant drain_until) { return impl_->stop(drain_until); }
std::int32_t Server::connection_count() const { return impl_->open_.load(); }

}  // namespace kmirror::server
