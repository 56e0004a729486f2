// check_batches: which of the batches in a fetch answer may be appended, and why the rest may not.
// No I/O; record payloads are not opened.
// Owner: any one task.
// Invariant: what is returned as good is a run of whole batches whose CRC is right, whose offsets
// rise strictly from `expected` on, and whose leader epochs are neither above the one we asked with
// nor above our own partition's. Sources: Kafka 4.4 AbstractFetcherThread,
// UnifiedLog.appendAsFollower; KAFKA-18723; spec F.11; decisions 3.2, 3.3; cases G23, G24, G58.
#pragma once

#include <cstddef>
#include <string>

#include "kmirror/bytes/slice.h"
#include "kmirror/model/record_batch.h"
#include "kmirror/model/types.h"

namespace kmirror::mirror {

struct BatchCheckInput {
  BatchCheckInput() = default;
  Slice records;                             ///< of one partition in one answer
  Offset expected;                           ///< where our log ends
  LeaderEpoch asked_epoch = kNoLeaderEpoch;  ///< CurrentLeaderEpoch of the request; -1: no check
  LeaderEpoch own_epoch = kNoLeaderEpoch;    ///< leader epoch of our partition; -1: no check
};

enum class CheckStop {
  kNone,              ///< everything whole was good; a partial batch at the end is ignored
  kCorrupt,           ///< length, magic, CRC or offsets are wrong
  kSourceEpochAhead,  ///< the source's leader changed under our request
  kOwnEpochBehind,    ///< our partition's leader epoch must be raised first
};

struct CheckedBatches {
  CheckedBatches() = default;
  Slice good;
  std::size_t batch_count = 0;
  Offset next_offset;                       ///< log end once `good` is appended
  LeaderEpoch last_epoch = kNoLeaderEpoch;  ///< of the last good batch; -1 if there is none
  std::int64_t max_timestamp_ms = -1;
  CheckStop stop = CheckStop::kNone;
  LeaderEpoch stop_epoch = kNoLeaderEpoch;  ///< of the batch that stopped the check
  std::string reason;                       ///< of kCorrupt, names the offset
  /// Size of the first batch if not even that one arrived whole; 0 otherwise.
  std::size_t needed_bytes = 0;
};

[[nodiscard]] CheckedBatches check_batches(const BatchCheckInput& input);

}  // namespace kmirror::mirror
