// BatchSummary: what the log's indexes, epochs and producers need to know of one batch, by value.
#pragma once

#include <cstdint>
#include <optional>

#include "kmirror/base/result.h"
#include "kmirror/model/batch_header.h"
#include "kmirror/model/record_batch.h"

namespace kmirror::storage {

struct BatchSummary {
  BatchSummary() = default;
  std::uint64_t position = 0;  ///< in the segment, or in what is being appended
  std::uint32_t size_bytes = 0;
  Offset base_offset;
  Offset last_offset;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  std::int64_t max_timestamp_ms = -1;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch = kNoProducerEpoch;
  std::int32_t base_sequence = -1;
  std::int32_t last_sequence = -1;
  bool transactional = false;
  bool control = false;
  /// Of the first record of a control batch; nothing if its key cannot be read.
  std::optional<ControlRecordType> control_type;
  std::int32_t coordinator_epoch = -1;  ///< of an ABORT or COMMIT marker
};

/// `head` passed check_batch_head(); `size_bytes` is what that returned. Control fields stay empty.
[[nodiscard]] BatchSummary summarize(ByteSpan head, std::size_t size_bytes);
/// Fills the control fields from a whole control batch. What cannot be read stays empty: a control
/// batch of unknown shape is stored and means nothing (decisions 3.27).
void add_control_fields(ByteSpan whole_batch, BatchSummary& summary);

}  // namespace kmirror::storage
