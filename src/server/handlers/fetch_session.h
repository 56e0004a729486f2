// FetchSession and FetchSessionCache: the partitions a client fetches again and again, so that it
// names only what changed and is told only what changed (KIP-227).
// Owner: one loop. A session's id modulo the number of loops is the index of its loop.
// Invariants: ids are positive; a session's epoch is the next one it accepts; partitions keep their
// order, and those that gave data go to its end, so that none is starved by the response's limit.
// Sources: KIP-227; Kafka 4.4 FetchSession, FetchSessionCache.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "kmirror/base/metrics.h"
#include "kmirror/env/clock.h"
#include "kmirror/storage/partition_log.h"
#include "kmirror/wire/fetch_request.h"
#include "server/handlers/partition_finder.h"

namespace kmirror::server {

/// One partition of a fetch: what the client wants of it, and what it was last told.
struct FetchPartition {
  FetchPartition() = default;
  TopicKey topic;
  std::int32_t partition = 0;
  // Wanted.
  Offset fetch_offset;
  std::int32_t max_bytes = 0;
  LeaderEpoch current_leader_epoch = kNoLeaderEpoch;
  LeaderEpoch last_fetched_epoch = kNoLeaderEpoch;
  // Last told; -1: nothing, so the next answer names it in any case.
  Offset told_high_watermark = kNoOffset;
  Offset told_log_start = kNoOffset;
  // Found for the image at `found_at`.
  FoundPartition found;
  std::int64_t found_at = -2;
};
using FetchPartitionPtr = std::shared_ptr<FetchPartition>;

struct FetchPartitionKey {
  FetchPartitionKey(const TopicKey& t, std::int32_t p) : topic(t), partition(p) {}
  TopicKey topic;
  std::int32_t partition;
  friend bool operator==(const FetchPartitionKey&, const FetchPartitionKey&) = default;
  struct Hash {
    std::size_t operator()(const FetchPartitionKey& key) const;
  };
};

/// An ordered set of partitions, each once; a later mention replaces the wishes of an earlier one.
class FetchPartitionList {
 public:
  FetchPartitionList() = default;
  FetchPartitionList(FetchPartitionList&&) = default;  // no copies: the index points into the list
  FetchPartitionList& operator=(FetchPartitionList&&) = default;

  /// Adds or updates the partitions that `request` names and drops those it forgets.
  void update(const wire::FetchRequest& request, bool by_id);
  void move_to_end(const FetchPartition& partition);
  [[nodiscard]] std::vector<FetchPartitionPtr> in_order() const;
  [[nodiscard]] std::size_t size() const { return index_.size(); }

 private:
  using Order = std::list<FetchPartitionPtr>;
  Order order_;
  std::unordered_map<FetchPartitionKey, Order::iterator, FetchPartitionKey::Hash> index_;
};

struct FetchSession {
  FetchSession() = default;
  std::int32_t id = 0;
  std::int32_t epoch = 1;  ///< the next one
  bool by_id = false;      ///< topics are named by id
  env::Instant last_used;
  FetchPartitionList partitions;
};

class FetchSessionCache {
 public:
  /// `slots`: sessions this loop may keep. One that was not used for `min_eviction` may be
  /// replaced. `kept` counts the sessions of all loops.
  FetchSessionCache(std::size_t slots, env::Duration min_eviction, env::Rng& rng,
                    metrics::Gauge& kept, std::size_t loop_index, std::size_t loop_count);

  /// Keeps a new session of these partitions, replacing the one unused longest if there is no room
  /// and that one is old enough. Null if there is no room: the client then goes on without.
  std::shared_ptr<FetchSession> create(FetchPartitionList partitions, bool by_id, env::Instant now);
  /// Null if there is none.
  [[nodiscard]] std::shared_ptr<FetchSession> find(std::int32_t id) const;
  void remove(std::int32_t id);
  [[nodiscard]] std::size_t size() const { return sessions_.size(); }

  /// The epoch after `epoch`: 1 follows the greatest.
  [[nodiscard]] static std::int32_t next_epoch(std::int32_t epoch);

 private:
  [[nodiscard]] std::int32_t new_id();
  [[nodiscard]] bool make_room(env::Instant now);

  std::size_t slots_;
  env::Duration min_eviction_;
  env::Rng& rng_;
  metrics::Gauge& kept_;
  std::size_t loop_index_;
  std::size_t loop_count_;
  std::map<std::int32_t, std::shared_ptr<FetchSession>> sessions_;
};

}  // namespace kmirror::server
