// MirrorFetcherManager: the pool of MirrorFetcherThreads. A thread's key is fetcher id, source
// broker and mirror, so credentials and sessions of mirrors never mix. Owner: loop 0 calls every
// method, unless it says otherwise; threads live on all loops. Events reach the sink on loop 0.
// Invariants: a partition is assigned to at most one thread; the answers in work of all threads
// together stay within the memory budget.
// Sources: spec F, I; Kafka 4.4 AbstractFetcherManager; decisions section 2 (replica.* keys).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kmirror/base/metrics.h"
#include "kmirror/env/environment.h"
#include "kmirror/mirror/fetcher_thread.h"
#include "kmirror/storage/log_manager.h"

namespace kmirror::mirror {

struct FetcherKey {
  FetcherKey() = default;
  FetcherKey(std::string name, NodeId node, int id)
      : mirror(std::move(name)), broker(node), fetcher_id(id) {}
  std::string mirror;
  NodeId broker{-1};
  int fetcher_id = 0;
  friend auto operator<=>(const FetcherKey&, const FetcherKey&) = default;
};

class MirrorFetcherManager {
 public:
  class Impl;
  using Sink = UniqueFunction<void(const std::string& mirror, FetchEvent event)>;

  MirrorFetcherManager(env::Environment& environment, storage::LogManager& logs,
                       metrics::Registry& metrics, NodeId node_id, Sink sink);
  ~MirrorFetcherManager();  ///< after stop()
  MirrorFetcherManager(const MirrorFetcherManager&) = delete;
  MirrorFetcherManager& operator=(const MirrorFetcherManager&) = delete;

  /// mirror.num.replica.fetchers: threads per source broker and mirror. Holds for assignments made
  /// from now on.
  void set_fetcher_count(int count);
  /// Sets how the threads of a mirror talk to its source (mirror, source_broker, source and
  /// counters are filled in here). Threads that exist keep what they have: remove_mirror() first.
  void set_mirror(const std::string& mirror, FetcherOptions options);
  /// Stops all threads of a mirror; its partitions are let go of without events. `done` on loop 0
  /// when no append is under way.
  void remove_mirror(const std::string& mirror, UniqueFunction<void()> done);

  /// Assigns partitions to the threads for `broker` at `endpoint`. They must not be assigned to
  /// another broker's thread: unassign() first.
  void assign(const std::string& mirror, NodeId broker, const env::Endpoint& endpoint,
              std::vector<FetchAssignment> assignments);
  /// `done` on loop 0 when nothing more is appended for any of them. Unknown ones are ignored.
  void unassign(const std::string& mirror, const std::vector<TopicPartition>& partitions,
                UniqueFunction<void()> done);
  void set_own_epoch(const std::string& mirror, const TopicPartition& partition, LeaderEpoch epoch);
  /// Stops threads that have had no partition for `idle` or longer.
  void reap(std::chrono::milliseconds idle);

  [[nodiscard]] env::Awaitable<void> stop();
  [[nodiscard]] std::size_t thread_count() const;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace kmirror::mirror
