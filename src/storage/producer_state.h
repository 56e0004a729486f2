// ProducerState: for each producer id its epoch, its last five batches and its open transaction.
// Owner: the log's loop. Invariants: `ongoing` holds exactly the producers with a first offset;
// updating takes constant time a batch.
// Sources: Kafka 4.4 ProducerStateManager, ProducerStateEntry, ProducerAppendInfo; KIP-98, KIP-890;
// decisions 3.14, 3.27.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/storage/partition_log.h"
#include "storage/batch_summary.h"
#include "storage/segment_indexes.h"

namespace kmirror::storage {

/// What is remembered of a batch to know its repeat again.
struct BatchMemory {
  BatchMemory() = default;
  std::int32_t last_sequence = -1;
  std::int32_t offset_delta = 0;
  Offset last_offset = kNoOffset;
  std::int64_t timestamp_ms = -1;
  [[nodiscard]] std::int32_t first_sequence() const;
  [[nodiscard]] Offset first_offset() const { return last_offset - offset_delta; }
};

class ProducerEntry {
 public:
  static constexpr std::size_t kWindow = 5;
  ProducerEpoch epoch = kNoProducerEpoch;
  std::int32_t coordinator_epoch = -1;
  std::int64_t last_timestamp_ms = -1;
  Offset transaction_first_offset = kNoOffset;

  [[nodiscard]] bool has_batches() const { return count_ > 0; }
  [[nodiscard]] const BatchMemory& last_batch() const { return batches_[newest_]; }
  [[nodiscard]] std::int32_t last_sequence() const {
    return count_ > 0 ? last_batch().last_sequence : -1;
  }
  [[nodiscard]] const BatchMemory* find(std::int32_t first_sequence,
                                        std::int32_t last_sequence) const;
  void add(const BatchMemory& batch);
  void forget_batches() { count_ = 0; }
  /// A new epoch forgets the batches of the old one.
  void use_epoch(ProducerEpoch next);

 private:
  std::array<BatchMemory, kWindow> batches_;
  std::uint8_t count_ = 0;
  std::uint8_t newest_ = 0;
};

class ProducerState {
 public:
  /// Follows one batch that is in the log now, without judging it. Returns the entry for the
  /// transaction index if the batch is an ABORT marker that ended an open transaction.
  std::optional<AbortedEntry> apply(const BatchSummary& batch);

  /// The remembered batch that `batch` repeats, or null.
  [[nodiscard]] const BatchMemory* find_duplicate(const BatchSummary& batch) const;
  /// Whether the leader may append `batch` (with a producer id). Errors: INVALID_PRODUCER_EPOCH,
  /// OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE, TRANSACTION_COORDINATOR_FENCED.
  [[nodiscard]] Result<void> check(const BatchSummary& batch, AppendOrigin origin) const;

  /// The first offset of the oldest open transaction.
  [[nodiscard]] std::optional<Offset> first_unstable_offset() const;
  [[nodiscard]] std::vector<ActiveProducer> producers() const;          ///< by producer id
  [[nodiscard]] std::vector<ActiveProducer> open_transactions() const;  ///< by first offset
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  /// The greatest id that was ever applied; clear() keeps it.
  [[nodiscard]] ProducerId max_id() const { return max_id_; }

  void expire(std::int64_t now_ms, std::int64_t expiry_ms);
  void clear();
  /// What a MIRROR_PID_RESET does: sequences and epochs go, open transactions stay.
  void reset();

  /// A snapshot file's content, and back. Errors (kBadValue): version, CRC, length.
  [[nodiscard]] Bytes encode_snapshot() const;
  [[nodiscard]] Result<void> load_snapshot(ByteSpan bytes);

 private:
  [[nodiscard]] Result<void> check_sequence(const ProducerEntry* entry,
                                            const BatchSummary& batch) const;
  std::optional<AbortedEntry> apply_marker(const BatchSummary& batch);
  void set_transaction(ProducerId id, ProducerEntry& entry, Offset first_offset);

  std::unordered_map<ProducerId, ProducerEntry> entries_;
  std::map<Offset, ProducerId> ongoing_;
  ProducerId max_id_ = kNoProducerId;
};

/// Size in bytes of one entry of a producer snapshot, and of what stands before the entries.
inline constexpr std::size_t kSnapshotEntryBytes = 46;
inline constexpr std::size_t kSnapshotHeaderBytes = 10;

}  // namespace kmirror::storage
