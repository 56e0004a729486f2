// Which thread has which partition, and posts between loop 0 and the threads' loops.
// Owner: loop 0.
#include "kmirror/mirror/fetcher_manager.h"

#include <algorithm>
#include <set>

#include "kmirror/env/async.h"

namespace kmirror::mirror {
namespace {

/// Answers in work, of all threads together; two a thread at most.
constexpr std::int64_t kMemoryBudgetBytes = 40'000'000;
constexpr std::int64_t kSmallestAnswerBytes = 1'048'576;

}  // namespace

class MirrorFetcherManager::Impl {
 public:
  /// One thread as loop 0 sees it. `fetcher` belongs to `loop`.
  struct Thread {
    explicit Thread(env::Loop& owner) : loop(owner) {}
    env::Loop& loop;
    std::unique_ptr<MirrorFetcherThread> fetcher;
    std::set<TopicPartition> partitions;
    env::Instant idle_since;
    env::Endpoint endpoint;
  };
  using ThreadPtr = std::shared_ptr<Thread>;

  Impl(env::Environment& environment, storage::LogManager& logs, metrics::Registry& metrics,
       NodeId node_id, Sink sink)
      : environment_(environment),
        loop_(*environment.loops[0]),
        logs_(logs),
        metrics_(metrics),
        node_id_(node_id),
        sink_(std::move(sink)) {
    for (env::Loop* loop : environment.loops) {
      stoppers_.push_back(std::make_unique<env::TaskGroup>(*loop));
    }
  }

  void set_fetcher_count(int count) { fetcher_count_ = std::max(1, count); }
  void set_mirror(const std::string& mirror, FetcherOptions options) {
    options_[mirror] = std::move(options);
  }
  void remove_mirror(const std::string& mirror, UniqueFunction<void()> done);
  void assign(const std::string& mirror, NodeId broker, const env::Endpoint& endpoint,
              std::vector<FetchAssignment> assignments);
  void unassign(const std::string& mirror, const std::vector<TopicPartition>& partitions,
                UniqueFunction<void()> done);
  void set_own_epoch(const std::string& mirror, const TopicPartition& partition, LeaderEpoch epoch);
  void reap(std::chrono::milliseconds idle);
  env::Awaitable<void> stop();
  [[nodiscard]] std::size_t thread_count() const { return threads_.size(); }

 private:
  using Place = std::pair<std::string, TopicPartition>;
  struct Holder {
    Holder() = default;
    FetcherKey key;
    std::uint64_t number = 0;  ///< of the assignment
  };

  ThreadPtr thread_for(const FetcherKey& key, const env::Endpoint& endpoint);
  ThreadPtr make_thread(const FetcherKey& key, const env::Endpoint& endpoint);
  FetcherCounters counters_for(const FetcherKey& key, const env::Endpoint& endpoint);
  [[nodiscard]] int fetcher_id_of(const FetchAssignment& assignment) const;
  [[nodiscard]] env::Loop& loop_for(const FetcherKey& key) const;
  void share_memory();
  void retire(ThreadPtr thread, UniqueFunction<void()> done);
  void abandon(const FetcherKey& key, const ThreadPtr& thread);
  void take_event(const FetcherKey& key, FetchEvent event);
  /// A function that runs `done` on loop 0 when it was called `count` times, from any loop.
  [[nodiscard]] std::shared_ptr<UniqueFunction<void()>> countdown(std::size_t count,
                                                                  UniqueFunction<void()> done);

  env::Environment& environment_;
  env::Loop& loop_;
  storage::LogManager& logs_;
  metrics::Registry& metrics_;
  NodeId node_id_;
  Sink sink_;
  std::vector<std::unique_ptr<env::TaskGroup>> stoppers_;  ///< by loop: tasks that stop threads
  std::map<std::string, FetcherOptions> options_;
  std::map<FetcherKey, ThreadPtr> threads_;
  std::map<Place, Holder> places_;
  int fetcher_count_ = 1;
};

using Impl = MirrorFetcherManager::Impl;

std::shared_ptr<UniqueFunction<void()>> Impl::countdown(std::size_t count,
                                                        UniqueFunction<void()> done) {
  auto left = std::make_shared<std::size_t>(count);
  auto then = std::make_shared<UniqueFunction<void()>>(std::move(done));
  if (count == 0) loop_.post([then] { (*then)(); });
  return std::make_shared<UniqueFunction<void()>>([this, left, then] {
    loop_.post([left, then] {
      if (--*left == 0) (*then)();
    });
  });
}

/// With several threads a broker, a thread fetches what its own loop owns: no hop between loops.
int Impl::fetcher_id_of(const FetchAssignment& assignment) const {
  const std::size_t owner = logs_.loop_of(*assignment.log).index();
  return static_cast<int>(owner % static_cast<std::size_t>(fetcher_count_));
}

env::Loop& Impl::loop_for(const FetcherKey& key) const {
  const std::size_t loops = environment_.loops.size();
  if (fetcher_count_ > 1)
    return *environment_.loops[static_cast<std::size_t>(key.fetcher_id) % loops];
  // Spread over the loops, away from loop 0 first: that one also has metadata and listeners.
  const auto spread = static_cast<std::size_t>(
      partition_for_hash(java_hash_code(key.mirror) + key.broker.get(), 1 << 16));
  return *environment_.loops[loops - 1 - spread % loops];
}

void Impl::assign(const std::string& mirror, NodeId broker, const env::Endpoint& endpoint,
                  std::vector<FetchAssignment> assignments) {
  std::map<FetcherKey, std::vector<FetchAssignment>> by_key;
  for (FetchAssignment& assignment : assignments) {
    const FetcherKey key(mirror, broker, fetcher_id_of(assignment));
    Holder& holder = places_[Place(mirror, assignment.topic_partition)];
    holder.key = key;
    holder.number = assignment.number;
    by_key[key].push_back(std::move(assignment));
  }
  for (auto& [key, group] : by_key) {
    const ThreadPtr thread = thread_for(key, endpoint);
    for (const FetchAssignment& assignment : group) {
      thread->partitions.insert(assignment.topic_partition);
    }
    thread->loop.post([thread, taken = std::move(group)]() mutable {
      thread->fetcher->assign(std::move(taken));
    });
  }
}

void Impl::unassign(const std::string& mirror, const std::vector<TopicPartition>& partitions,
                    UniqueFunction<void()> done) {
  std::map<FetcherKey, std::vector<TopicPartition>> by_key;
  for (const TopicPartition& partition : partitions) {
    const auto place = places_.find(Place(mirror, partition));
    if (place == places_.end()) continue;
    by_key[place->second.key].push_back(partition);
    places_.erase(place);
  }
  const auto one_done = countdown(by_key.size(), std::move(done));
  for (auto& [key, group] : by_key) {
    const ThreadPtr thread = threads_.at(key);
    for (const TopicPartition& partition : group) thread->partitions.erase(partition);
    if (thread->partitions.empty()) thread->idle_since = environment_.clock.now();
    thread->loop.post([thread, taken = std::move(group), one_done]() mutable {
      thread->fetcher->unassign(taken, [one_done] { (*one_done)(); });
    });
  }
}

void Impl::set_own_epoch(const std::string& mirror, const TopicPartition& partition,
                         LeaderEpoch epoch) {
  const auto place = places_.find(Place(mirror, partition));
  if (place == places_.end()) return;
  const ThreadPtr thread = threads_.at(place->second.key);
  thread->loop.post(
      [thread, partition, epoch] { thread->fetcher->set_own_epoch(partition, epoch); });
}

Impl::ThreadPtr Impl::thread_for(const FetcherKey& key, const env::Endpoint& endpoint) {
  const auto found = threads_.find(key);
  if (found != threads_.end() && found->second->endpoint == endpoint) return found->second;
  if (found != threads_.end()) {
    // The broker has another address now: what the old thread still has fails over by itself.
    abandon(key, found->second);
    threads_.erase(key);
  }
  ThreadPtr thread = make_thread(key, endpoint);
  threads_[key] = thread;
  share_memory();
  return thread;
}

Impl::ThreadPtr Impl::make_thread(const FetcherKey& key, const env::Endpoint& endpoint) {
  FetcherOptions options = options_[key.mirror];
  options.mirror = key.mirror;
  options.source_broker = key.broker;
  options.source = endpoint;
  options.connection.client_id =
      fmt::format("kmirror-{}-{}-{}", node_id_, key.mirror, key.fetcher_id);
  options.connection.pool_bytes = static_cast<std::size_t>(3 * options.response_max_bytes);
  options.counters = counters_for(key, endpoint);
  auto thread = std::make_shared<Thread>(loop_for(key));
  thread->endpoint = endpoint;
  thread->idle_since = environment_.clock.now();
  auto sink = [this, key](FetchEvent event) {
    loop_.post(
        [this, key, event = std::move(event)]() mutable { take_event(key, std::move(event)); });
  };
  thread->fetcher = std::make_unique<MirrorFetcherThread>(environment_, thread->loop, logs_,
                                                          std::move(options), std::move(sink));
  thread->loop.post([thread] { thread->fetcher->start(); });
  return thread;
}

FetcherCounters Impl::counters_for(const FetcherKey& key, const env::Endpoint& endpoint) {
  const std::string client =
      fmt::format("MirrorFetcherThread-{}-{}-{}", key.fetcher_id, key.broker, key.mirror);
  const metrics::Labels labels = {{"client_id", client},
                                  {"mirror_name", key.mirror},
                                  {"broker_host", endpoint.host},
                                  {"broker_port", fmt::format("{}", endpoint.port)}};
  const auto counter = [&](std::string_view name, std::string_view help) {
    return &metrics_.counter(name, help, labels);
  };
  FetcherCounters counters;
  counters.record_bytes =
      counter("kmirror_fetcher_stats_bytes_total", "Bytes of batches appended.");
  counters.connection.requests =
      counter("kmirror_fetcher_stats_requests_total", "Requests sent to the source broker.");
  counters.batches = counter("kmirror_fetcher_stats_batches_total", "Batches appended.");
  counters.connection.connections =
      counter("kmirror_mirror_connection_creation_total", "Connections opened to the broker.");
  counters.connect_failures =
      counter("kmirror_mirror_connection_failures_total", "Connections that failed or broke.");
  counters.connection.responses =
      counter("kmirror_mirror_connection_responses_total", "Answers received.");
  counters.connection.bytes_sent =
      counter("kmirror_mirror_connection_outgoing_bytes_total", "Bytes sent.");
  counters.connection.bytes_received =
      counter("kmirror_mirror_connection_incoming_bytes_total", "Bytes received.");
  counters.throttle_ms = &metrics_.gauge("kmirror_fetcher_throttle_ms",
                                         "Throttle time of the source's last answer.", labels);
  return counters;
}

/// The budget is shared by the threads there are; each may have two answers in memory.
void Impl::share_memory() {
  if (threads_.empty()) return;
  const std::int64_t share = kMemoryBudgetBytes / (2 * static_cast<std::int64_t>(threads_.size()));
  for (const auto& [key, thread] : threads_) {
    const std::int64_t wanted = options_[key.mirror].response_max_bytes;
    const auto bytes =
        static_cast<std::int32_t>(std::min(wanted, std::max(share, kSmallestAnswerBytes)));
    const ThreadPtr of = thread;
    of->loop.post([of, bytes] { of->fetcher->set_response_max_bytes(bytes); });
  }
}

namespace {

/// On the thread's loop. `home` learns of it when the fetcher is gone.
env::Awaitable<void> stop_fetcher(std::shared_ptr<Impl::Thread> thread, env::Loop* home,
                                  std::shared_ptr<UniqueFunction<void()>> done) {
  co_await thread->fetcher->stop();
  thread->fetcher.reset();
  home->post([done] { (*done)(); });
}

}  // namespace

/// Stops a thread on its own loop and destroys it there; `done` on loop 0.
void Impl::retire(ThreadPtr thread, UniqueFunction<void()> done) {
  auto then = std::make_shared<UniqueFunction<void()>>(std::move(done));
  env::TaskGroup* group = stoppers_[thread->loop.index()].get();
  env::Loop& loop = thread->loop;
  loop.post([thread = std::move(thread), then, group, home = &loop_]() mutable {
    group->spawn("stop mirror fetcher", stop_fetcher(std::move(thread), home, then));
  });
}

void Impl::remove_mirror(const std::string& mirror, UniqueFunction<void()> done) {
  std::vector<ThreadPtr> gone;
  for (auto it = threads_.begin(); it != threads_.end();) {
    if (it->first.mirror != mirror) {
      ++it;
      continue;
    }
    gone.push_back(it->second);
    for (const TopicPartition& partition : it->second->partitions) {
      places_.erase(Place(mirror, partition));
    }
    it->second->partitions.clear();
    it = threads_.erase(it);
  }
  const auto one_done = countdown(gone.size(), std::move(done));
  for (ThreadPtr& thread : gone) retire(std::move(thread), [one_done] { (*one_done)(); });
  share_memory();
}

/// What the thread has is handed back as in need of metadata, once nothing more is appended.
void Impl::abandon(const FetcherKey& key, const ThreadPtr& thread) {
  std::vector<FetchEvent> events;
  for (const TopicPartition& partition : thread->partitions) {
    const auto place = places_.find(Place(key.mirror, partition));
    if (place == places_.end() || place->second.key != key) continue;
    FetchEvent event;
    event.kind = FetchEvent::Kind::kStaleMetadata;
    event.topic_partition = partition;
    event.number = place->second.number;
    event.message = "the broker has another address now";
    events.push_back(std::move(event));
  }
  retire(thread, [this, key, events = std::move(events)]() mutable {
    for (FetchEvent& event : events) take_event(key, std::move(event));
  });
}

void Impl::reap(std::chrono::milliseconds idle) {
  const env::Instant now = environment_.clock.now();
  for (auto it = threads_.begin(); it != threads_.end();) {
    const ThreadPtr thread = it->second;
    const bool is_idle = thread->partitions.empty() && now - thread->idle_since >= idle;
    if (!is_idle) {
      ++it;
      continue;
    }
    it = threads_.erase(it);
    retire(thread, [] {});
  }
  share_memory();
}

void Impl::take_event(const FetcherKey& key, FetchEvent event) {
  const auto place = places_.find(Place(key.mirror, event.topic_partition));
  if (event.ends_assignment() && place != places_.end() && place->second.number == event.number) {
    const auto thread = threads_.find(key);
    if (thread != threads_.end()) {
      thread->second->partitions.erase(event.topic_partition);
      if (thread->second->partitions.empty()) {
        thread->second->idle_since = environment_.clock.now();
      }
    }
    places_.erase(place);
  }
  sink_(key.mirror, std::move(event));
}

env::Awaitable<void> Impl::stop() {
  env::Completion<bool> all;
  const auto one_done = countdown(threads_.size(), [all] { all.complete(true); });
  for (const auto& [key, thread] : std::exchange(threads_, {})) {
    retire(thread, [one_done] { (*one_done)(); });
  }
  auto stopped = co_await all.wait();
  static_cast<void>(stopped);
  // The tasks that stopped them may still be on their last step.
  for (std::size_t i = 0; i < stoppers_.size(); ++i) {
    env::TaskGroup* group = stoppers_[i].get();
    env::Loop& loop = *environment_.loops[i];
    for (;;) {
      UniqueFunction<std::size_t()> size = [group] { return group->size(); };
      const std::size_t left = co_await env::call_on<std::size_t>(loop, std::move(size));
      if (left == 0) break;
    }
  }
}

MirrorFetcherManager::MirrorFetcherManager(env::Environment& environment, storage::LogManager& logs,
                                           metrics::Registry& metrics, NodeId node_id, Sink sink)
    : impl_(std::make_unique<Impl>(environment, logs, metrics, node_id, std::move(sink))) {}
MirrorFetcherManager::~MirrorFetcherManager() = default;
void MirrorFetcherManager::set_fetcher_count(int count) { impl_->set_fetcher_count(count); }
void MirrorFetcherManager::set_mirror(const std::string& mirror, FetcherOptions options) {
  impl_->set_mirror(mirror, std::move(options));
}
void MirrorFetcherManager::remove_mirror(const std::string& mirror, UniqueFunction<void()> done) {
  impl_->remove_mirror(mirror, std::move(done));
}
void MirrorFetcherManager::assign(const std::string& mirror, NodeId broker,
                                  const env::Endpoint& endpoint,
                                  std::vector<FetchAssignment> assignments) {
  impl_->assign(mirror, broker, endpoint, std::move(assignments));
}
void MirrorFetcherManager::unassign(const std::string& mirror,
                                    const std::vector<TopicPartition>& partitions,
                                    UniqueFunction<void()> done) {
  impl_->unassign(mirror, partitions, std::move(done));
}
void MirrorFetcherManager::set_own_epoch(const std::string& mirror, const TopicPartition& partition,
                                         LeaderEpoch epoch) {
  impl_->set_own_epoch(mirror, partition, epoch);
}
void MirrorFetcherManager::reap(std::chrono::milliseconds idle) { impl_->reap(idle); }
env::Awaitable<void> MirrorFetcherManager::stop() { co_await impl_->stop(); }
std::size_t MirrorFetcherManager::thread_count() const { return impl_->thread_count(); }

}  // namespace kmirror::mirror
