// What a leader knows about epochs: the log's own epochs, and the leader's present one from the log
// end on, even before its first batch. Owner: any thread. Invariant: a mirror's leader epoch is
// ahead of its batches; a client that was told it (by ListOffsets) and asks for it later must not
// be told that its log was cut. Sources: KIP-320; Kafka 4.4 LeaderEpochFileCache.endOffsetFor,
// Partition.fetchOffsetForTimestamp.
#pragma once

#include "kmirror/storage/partition_log.h"

namespace kmirror::server {

/// The greatest epoch <= `epoch` and where it ends; (-1, -1) for -1 and for epochs to come.
[[nodiscard]] storage::EpochAndEndOffset end_offset_for_epoch(const storage::PartitionLog& log,
                                                              LeaderEpoch leader_epoch,
                                                              LeaderEpoch epoch);
/// The epoch that the record at `offset` has, or will have if it is the next one. -1: not known.
[[nodiscard]] LeaderEpoch epoch_at(const storage::PartitionLog& log, LeaderEpoch leader_epoch,
                                   Offset offset);

}  // namespace kmirror::server
