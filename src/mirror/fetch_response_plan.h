// plan_partition: what one partition's part of a fetch answer asks us to do. No I/O.
// Owner: any one task.
// Invariant: an answer counts only for the assignment and the position that asked for it (G52).
// Sources: KIP-320, KIP-595, KIP-951 (leader hints), Kafka 4.4 AbstractFetcherThread; spec F.11;
// cases G23, G24, G52, G56, G57, G58.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kmirror/model/error_code.h"
#include "kmirror/model/types.h"
#include "kmirror/wire/fetch_response.h"
#include "mirror/batch_check.h"

namespace kmirror::mirror {

/// Where a partition's fetching stands, as the request that is answered saw it.
struct AskedPosition {
  AskedPosition() = default;
  std::uint64_t assignment = 0;  ///< number of the assignment that asked
  Offset offset;
  LeaderEpoch current_leader_epoch = kNoLeaderEpoch;
};

/// Where it stands now.
struct FetchStatus {
  FetchStatus() = default;
  std::uint64_t assignment = 0;
  Offset next_offset;
  LeaderEpoch own_epoch = kNoLeaderEpoch;  ///< leader epoch of our partition
};

enum class FetchProblem {
  kNone,
  kCorrupt,           ///< of the batches, or as the source reports
  kOutOfRange,        ///< our position is not in the source's log
  kDiverged,          ///< the source has another history above `end_offset` of `epoch`
  kSourceEpochAhead,  ///< a batch of a newer leader than the one we asked
  kOwnEpochBehind,    ///< a batch of an epoch above our partition's
  kLeaderMoved,       ///< another leader, named if `leader` is set
  kStaleMetadata,     ///< the broker does not know topic or epoch (yet): look again
  kNotAuthorized,
  kBusy,   ///< passing: ask again after a pause
  kOther,  ///< an error we have no special answer to
};

struct PartitionPlan {
  PartitionPlan() = default;
  bool is_ours = false;    ///< false: a late answer; nothing in it counts
  CheckedBatches batches;  ///< what to append, perhaps nothing
  FetchProblem problem = FetchProblem::kNone;
  std::string message;  ///< of the problem
  LeaderEpoch epoch = kNoLeaderEpoch;
  Offset end_offset = kNoOffset;             ///< of kDiverged
  std::optional<NodeId> leader;              ///< of kLeaderMoved; with `epoch`
  Offset source_high_watermark = kNoOffset;  ///< -1: not said
  Offset source_log_start = kNoOffset;       ///< -1: not said
};

/// Decides about one partition. `records` of the answer are shared, not copied.
[[nodiscard]] PartitionPlan plan_partition(const wire::FetchResponse::PartitionData& answer,
                                           const AskedPosition& asked, const FetchStatus& status);

}  // namespace kmirror::mirror
