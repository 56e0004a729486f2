// PartitionFetch: where the fetching of one assigned partition stands.
// Owner: the fetcher's loop; `revoked` and `assignment.log` are also read by the loop that appends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "kmirror/base/unique_function.h"
#include "kmirror/env/clock.h"
#include "kmirror/mirror/fetcher_thread.h"
#include "kmirror/storage/partition_log.h"

namespace kmirror::mirror {

struct PartitionFetch {
  enum class Phase {
    kNew,         ///< our log is to be compared with the source's
    kFetching,    ///< in the session
    kOutOfRange,  ///< the source's range is to be asked for
    kDiverged,    ///< the point of divergence is to be searched
    kDelayed,     ///< out of the session until `delayed_until`
    kLetGo,       ///< no longer assigned; appends may be under way
  };
  explicit PartitionFetch(FetchAssignment a) : assignment(std::move(a)) {}

  FetchAssignment assignment;
  Phase phase = Phase::kNew;
  Offset next_offset;  ///< where our log ends once all appends under way are done
  LeaderEpoch last_epoch = kNoLeaderEpoch;
  Offset asked_offset = kNoOffset;  ///< what the broker was told last
  std::int32_t max_bytes = 0;       ///< 0: the fetcher's own
  int short_answers = 0;            ///< answers in a row without one whole batch
  env::Instant delayed_until;
  storage::EpochAndEndOffset diverging;  ///< of kDiverged, as the answer had it
  bool has_progress = false;
  int appends_under_way = 0;
  UniqueFunction<void()> on_idle;  ///< once, when no append is under way
  std::atomic<bool> revoked{false};
};

/// Runs `then` now if no append is under way, else after the last one.
inline void when_idle(PartitionFetch& fetch, UniqueFunction<void()> then) {
  if (fetch.appends_under_way == 0) {
    then();
    return;
  }
  fetch.on_idle = [first = std::move(fetch.on_idle), then = std::move(then)]() mutable {
    if (first) first();
    then();
  };
}

}  // namespace kmirror::mirror
