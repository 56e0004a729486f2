// MirrorFetcherThread: one connection and one fetch session to one source broker for one mirror.
// The name is the KIP's; here it is a task on a loop. It fetches what it is assigned, checks the
// batches, and hands them to the loops that own the logs, one post per answer and loop; the next
// request is on its way while the last answer is appended. At most two answers are in memory.
// Owner: one loop calls every method and runs the task. Events go to the sink on that loop.
// Invariants: a partition with a problem is let go of, with one event, after its good batches are
// appended; its neighbours go on. Nothing is appended for a partition after unassign() says done.
// Sources: spec F.11, B.3; decisions 3.2, 3.4, 3.9, 3.10; KIP-227, KIP-320; Kafka 4.4
// AbstractFetcherThread; cases G22-G28, G52-G58, G64, G71.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kmirror/base/metrics.h"
#include "kmirror/base/unique_function.h"
#include "kmirror/client/connection.h"
#include "kmirror/env/environment.h"
#include "kmirror/model/mirror_state.h"
#include "kmirror/model/types.h"
#include "kmirror/storage/log_manager.h"

namespace kmirror::mirror {

/// What is known of a partition's way; written where it happens, read by any thread.
struct PartitionProgress {
  std::atomic<std::int64_t> source_high_watermark{-1};  ///< -1: not known yet
  std::atomic<std::int64_t> last_fetch_ms{-1};          ///< wall clock of the last good answer
  std::atomic<std::int64_t> caught_up_ms{-1};           ///< wall clock when nothing was missing
  std::atomic<std::uint64_t> gap_records{0};            ///< records the source dropped before us
};

/// One partition to fetch. Immutable but for own_epoch (see set_own_epoch).
struct FetchAssignment {
  FetchAssignment() = default;
  TopicPartition topic_partition;
  Uuid source_topic_id;                       ///< zero if the source has none
  LeaderEpoch source_epoch = kNoLeaderEpoch;  ///< of the source's leader; -1: not known
  LeaderEpoch own_epoch = kNoLeaderEpoch;     ///< leader epoch of our partition
  std::shared_ptr<storage::PartitionLog> log;
  std::shared_ptr<PartitionProgress> progress;
  std::uint64_t number = 0;   ///< given by the manager, never used twice; comes back in events
  bool may_truncate = false;  ///< mirror.support.unclean.leader.election
  bool fail_at_gap = false;   ///< mirror.gap.policy is "fail"
};

struct FetchEvent {
  enum class Kind {
    kProgress,        ///< first good answer of this assignment: bytes stored, or none to store
    kFailed,          ///< `failure`, `message`
    kOwnEpochBehind,  ///< raise our leader epoch above `epoch` first
    kLeaderMoved,     ///< to `leader` with `epoch`
    kStaleMetadata,   ///< ask for metadata; `epoch`: what it should have at least, or -1
    kTruncate,        ///< the source cut its log: cut ours to `offset` (may_truncate is set)
    kGap,             ///< records `offset` … `to` were gone; fetching goes on behind them
    kConnectionLost,  ///< once per outage, for one of the partitions; the fetcher goes on trying
  };
  FetchEvent() = default;
  FetchEvent(Kind k, const FetchAssignment& of)
      : kind(k), topic_partition(of.topic_partition), number(of.number) {}
  /// False for what does not end the assignment.
  [[nodiscard]] bool ends_assignment() const {
    return kind != Kind::kProgress && kind != Kind::kGap && kind != Kind::kConnectionLost;
  }
  Kind kind = Kind::kProgress;
  TopicPartition topic_partition;
  std::uint64_t number = 0;
  MirrorFailure failure = MirrorFailure::kRetriable;
  std::string message;
  LeaderEpoch epoch = kNoLeaderEpoch;
  NodeId leader{-1};
  Offset offset = kNoOffset;
  Offset to = kNoOffset;
  std::map<NodeId, env::Endpoint> brokers;  ///< addresses that came with a leader hint
};

struct FetcherCounters {
  FetcherCounters() = default;
  client::ConnectionCounters connection;
  metrics::Counter* record_bytes = nullptr;  ///< bytes of batches appended
  metrics::Counter* batches = nullptr;       ///< batches appended
  metrics::Counter* connect_failures = nullptr;
  metrics::Gauge* throttle_ms = nullptr;  ///< of the last answer
};

struct FetcherOptions {
  FetcherOptions() = default;
  std::string mirror;
  NodeId source_broker{-1};
  env::Endpoint source;
  std::string source_cluster_id;  ///< empty: not checked
  client::ConnectionOptions connection;
  std::chrono::milliseconds fetch_wait_max{500};
  std::chrono::milliseconds fetch_backoff{1'000};
  std::chrono::milliseconds answer_timeout{30'000};  ///< beyond fetch_wait_max
  std::int32_t fetch_min_bytes = 1;
  std::int32_t response_max_bytes = 10'485'760;
  std::int32_t partition_max_bytes = 1'048'576;
  /// So long a broker may be out of reach before its partitions fail.
  std::chrono::milliseconds unreachable_grace{30'000};
  FetcherCounters counters;
};

class MirrorFetcherThread {
 public:
  class Impl;
  using Sink = UniqueFunction<void(FetchEvent)>;

  MirrorFetcherThread(env::Environment& environment, env::Loop& loop, storage::LogManager& logs,
                      FetcherOptions options, Sink sink);
  ~MirrorFetcherThread();  ///< after stop() has returned, or before start()
  MirrorFetcherThread(const MirrorFetcherThread&) = delete;
  MirrorFetcherThread& operator=(const MirrorFetcherThread&) = delete;

  void start();
  /// Ends the task: waits for the answer under way (at most fetch_wait_max and a little), closes
  /// the session at the broker, waits for appends. Partitions are let go of without events.
  [[nodiscard]] env::Awaitable<void> stop();

  /// Takes partitions up at their log's end, after a check that our log and the source's agree.
  /// A partition that is assigned already gets the new assignment.
  void assign(std::vector<FetchAssignment> assignments);
  /// Lets go of partitions; `done` runs on the loop when none of them has an append under way.
  void unassign(const std::vector<TopicPartition>& partitions, UniqueFunction<void()> done);
  /// Our partition's leader epoch was raised.
  void set_own_epoch(const TopicPartition& partition, LeaderEpoch epoch);
  /// New sizes (the memory of all fetchers is shared out anew when their number changes).
  void set_response_max_bytes(std::int32_t bytes);

  [[nodiscard]] std::size_t partition_count() const;
  [[nodiscard]] bool is_connected() const;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace kmirror::mirror
