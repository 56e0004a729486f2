// What a leader checks in a batch before it stores it, and the header it gets.
// Owner: the log's loop; no state.
// Sources: Kafka 4.4 LogValidator, UnifiedLog.analyzeAndValidateRecords, KIP-937.
#pragma once

#include <vector>

#include "kmirror/bytes/byte_chain.h"
#include "kmirror/storage/partition_log.h"
#include "storage/batch_summary.h"

namespace kmirror::storage {

/// What validation found out about a batch.
struct ValidatedBatch {
  ValidatedBatch() = default;
  Slice bytes;  ///< as sent, or compressed anew
  std::int64_t max_timestamp_ms = -1;
  BatchSummary summary;
};

/// The checks that need no other batch and no log. `now_ms`: wall clock. Errors: see
/// PartitionLog::append_as_leader.
[[nodiscard]] Result<ValidatedBatch> validate_batch(const RecordBatchView& batch,
                                                    const LogConfig& config, AppendOrigin origin,
                                                    std::int64_t now_ms,
                                                    std::vector<RecordError>* record_errors);

/// The bytes to store: a header of its own with `base_offset`, `epoch` and the final times,
/// followed by the batch's records without a copy. `log_append_time_ms`: -1 under CreateTime.
[[nodiscard]] ByteChain stamp(const ValidatedBatch& batch, Offset base_offset, LeaderEpoch epoch,
                              std::int64_t log_append_time_ms);

}  // namespace kmirror::storage
