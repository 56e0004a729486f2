// OffsetIndex, TimeIndex, TransactionIndex: the sparse indexes of one segment.
// Owner: as EntryStore. A look-up is a hint: the reader checks the batch it finds there.
// Sources: Kafka 4.4 OffsetIndex, TimeIndex, TransactionIndex, AbortedTxn; docs/formats/log.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "storage/entry_store.h"

namespace kmirror::storage {

inline constexpr std::size_t kOffsetEntryBytes = 8;
inline constexpr std::size_t kTimeEntryBytes = 12;
inline constexpr std::size_t kTransactionEntryBytes = 34;

struct OffsetPosition {
  OffsetPosition() = default;
  OffsetPosition(Offset o, std::uint64_t p) : offset(o), position(p) {}
  Offset offset;  ///< the last offset of the batch at `position`
  std::uint64_t position = 0;
};

struct TimestampOffset {
  TimestampOffset() = default;
  TimestampOffset(std::int64_t t, Offset o) : timestamp_ms(t), offset(o) {}
  std::int64_t timestamp_ms = -1;
  Offset offset = kNoOffset;
};

class OffsetIndex {
 public:
  OffsetIndex(std::shared_ptr<const LogPlace> place, Offset base, std::uint64_t file_bytes)
      : base_(base), store_(std::move(place), base, kOffsetIndexSuffix, file_bytes) {}

  /// The last entry with an offset <= `target`, or (base, 0). Any thread.
  [[nodiscard]] Result<OffsetPosition> lookup(Offset target) const;
  [[nodiscard]] Result<std::optional<OffsetPosition>> last() const;
  [[nodiscard]] Result<OffsetPosition> entry(std::size_t i) const;
  /// Entries whose position is below `position` (for truncation). Any thread.
  [[nodiscard]] Result<std::size_t> entries_below(std::uint64_t position) const;
  /// Writer only; offsets and positions must rise.
  void append(OffsetPosition entry);
  [[nodiscard]] EntryStore<kOffsetEntryBytes>& store() { return store_; }
  [[nodiscard]] const EntryStore<kOffsetEntryBytes>& store() const { return store_; }

 private:
  [[nodiscard]] OffsetPosition decode(const EntryStore<kOffsetEntryBytes>::Entry& entry) const;
  Offset base_;
  EntryStore<kOffsetEntryBytes> store_;
};

class TimeIndex {
 public:
  TimeIndex(std::shared_ptr<const LogPlace> place, Offset base, std::uint64_t file_bytes)
      : base_(base), store_(std::move(place), base, kTimeIndexSuffix, file_bytes) {}

  /// The last entry with a timestamp <= `timestamp_ms`, or (-1, base). Any thread.
  [[nodiscard]] Result<TimestampOffset> lookup(std::int64_t timestamp_ms) const;
  /// The last entry, or (-1, base).
  [[nodiscard]] Result<TimestampOffset> last() const;
  /// Entries whose offset is below `offset`. Any thread.
  [[nodiscard]] Result<std::size_t> entries_below(Offset offset) const;
  /// How many entries at the front rise in time and offset and lie below `offset`.
  [[nodiscard]] Result<std::size_t> usable_entries(Offset offset) const;
  /// Writer only: left out unless both timestamp and offset are above those of the last entry.
  void maybe_append(TimestampOffset entry);
  [[nodiscard]] EntryStore<kTimeEntryBytes>& store() { return store_; }
  [[nodiscard]] const EntryStore<kTimeEntryBytes>& store() const { return store_; }

 private:
  [[nodiscard]] TimestampOffset decode(const EntryStore<kTimeEntryBytes>::Entry& entry) const;
  Offset base_;
  EntryStore<kTimeEntryBytes> store_;
};

/// A transaction that ended with an ABORT marker.
struct AbortedEntry {
  AbortedEntry() = default;
  ProducerId producer_id = kNoProducerId;
  Offset first_offset;
  Offset last_offset;  ///< of the marker
  Offset last_stable_offset;
};

class TransactionIndex {
 public:
  TransactionIndex(std::shared_ptr<const LogPlace> place, Offset base, std::uint64_t file_bytes)
      : store_(std::move(place), base, kTransactionIndexSuffix, file_bytes) {}

  [[nodiscard]] std::size_t size() const { return store_.size(); }
  [[nodiscard]] Result<AbortedEntry> at(std::size_t i) const;
  /// Adds to `out` the entries that overlap [from, upper). True if nothing that comes later can.
  [[nodiscard]] Result<bool> collect(Offset from, Offset upper,
                                     std::vector<AbortedEntry>& out) const;
  /// Entries whose marker is below `offset`. Any thread.
  [[nodiscard]] Result<std::size_t> entries_below(Offset offset) const;
  /// Writer only.
  void append(const AbortedEntry& entry);
  [[nodiscard]] EntryStore<kTransactionEntryBytes>& store() { return store_; }
  [[nodiscard]] const EntryStore<kTransactionEntryBytes>& store() const { return store_; }

 private:
  EntryStore<kTransactionEntryBytes> store_;
};

}  // namespace kmirror::storage
