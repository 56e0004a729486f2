// Segment: one .log file with its indexes. LogView: the segments of a log at one moment.
// Owner: the log's loop appends to the newest segment; any thread reads every segment without a
// lock. Invariants: bytes below size_bytes() never change; a segment object never becomes smaller:
// truncation and roll put another object in its place in the next view.
// Sources: Kafka 4.4 LogSegment; decisions 3.21; docs/formats/log.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "kmirror/base/published.h"
#include "kmirror/env/file.h"
#include "storage/batch_summary.h"
#include "storage/segment_indexes.h"

namespace kmirror::storage {

struct SegmentSizes {
  SegmentSizes() = default;
  std::uint64_t log_bytes = 0;
  std::uint64_t offset_index_bytes = 0;
  std::uint64_t time_index_bytes = 0;
  std::uint64_t transaction_index_bytes = 0;
};

class Segment {
 public:
  /// `file`: the open .log, or null to open it when it is first needed.
  Segment(std::shared_ptr<const LogPlace> place, Offset base, const SegmentSizes& sizes,
          std::shared_ptr<env::File> file);

  // ---- any thread ----
  [[nodiscard]] Offset base_offset() const { return base_; }
  [[nodiscard]] std::uint64_t size_bytes() const { return size_.load(std::memory_order_acquire); }
  [[nodiscard]] const std::shared_ptr<const LogPlace>& place() const { return place_; }
  /// The file for reading. Errors: the system's; ENOENT if the segment was deleted meanwhile.
  [[nodiscard]] Result<std::shared_ptr<const env::File>> file() const;
  /// The first batch whose last offset is >= `target`, or nothing if there is none here.
  /// Errors: the system's, CORRUPT_MESSAGE.
  [[nodiscard]] Result<std::optional<BatchSummary>> find_batch(Offset target) const;
  /// The greatest timestamp of the segment, -1 if it has none.
  [[nodiscard]] Result<std::int64_t> max_timestamp_ms() const;
  /// Where the last indexed batch stands and its last offset, checked against the batch itself;
  /// (base, 0) if there is no usable entry.
  [[nodiscard]] Result<OffsetPosition> last_indexed() const;
  [[nodiscard]] SegmentSizes sizes() const;
  [[nodiscard]] const OffsetIndex& offsets() const { return offsets_; }
  [[nodiscard]] const TimeIndex& times() const { return times_; }
  [[nodiscard]] const TransactionIndex& transactions() const { return transactions_; }
  /// Closes files that were opened for reading; the next reader opens them again.
  void release_files() const;
  /// Opens the files now and keeps them open, because their names are about to mean something else:
  /// a reader with an old view must go on reading the old bytes. Errors: the system's.
  [[nodiscard]] Result<void> pin_files() const;
  /// True if somebody read here since the last call.
  [[nodiscard]] bool take_recently_read() const {
    return recently_read_.exchange(false, std::memory_order_relaxed);
  }

  // ---- the log's loop ----
  /// Opens the file for writing, made if it is not there, and finds out what index_batch() needs to
  /// know of the batches that are there.
  [[nodiscard]] Result<env::File*> writable();
  /// Enters a batch that was written at summary.position into the indexes.
  void index_batch(const BatchSummary& summary, std::int64_t index_interval_bytes);
  /// Makes everything below `size_bytes` visible to readers.
  void publish_size(std::uint64_t size_bytes) {
    size_.store(size_bytes, std::memory_order_release);
  }
  [[nodiscard]] TransactionIndex& transactions() { return transactions_; }
  /// The time index's last entry, which an inactive segment always has.
  void finish_time_index();
  /// Pending index entries go to their files (page cache).
  [[nodiscard]] Result<void> write_indexes();
  [[nodiscard]] std::size_t pending_index_entries() const;
  /// The same segment with all index entries in files and none in memory. Call write_indexes()
  /// first.
  [[nodiscard]] std::shared_ptr<Segment> with_indexes_on_disk() const;
  /// The file if it is open for writing, else null.
  [[nodiscard]] const std::shared_ptr<env::File>& open_file() const { return writable_; }
  /// Nothing is written here any more; readers keep the file until release_files().
  void close_writable() { writable_ = nullptr; }
  /// Time of the first batch, for rolling by time; -1 if unknown or none.
  [[nodiscard]] Result<std::int64_t> first_timestamp_ms();

 private:
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

  /// Greatest timestamp and the last offset of the first batch that has it, from time index and
  /// log.
  [[nodiscard]] Result<TimestampOffset> read_max_timestamp() const;

  std::shared_ptr<const LogPlace> place_;
  Offset base_;
  std::atomic<std::uint64_t> size_;
  mutable std::atomic<std::int64_t> max_timestamp_ms_;
  mutable std::atomic<bool> recently_read_{false};
  mutable std::atomic<bool> pinned_{false};
  mutable Published<env::File> file_;
  OffsetIndex offsets_;
  TimeIndex times_;
  TransactionIndex transactions_;
  // The log's loop only.
  std::shared_ptr<env::File> writable_;
  Offset max_timestamp_offset_ = kNoOffset;
  std::int64_t first_timestamp_ms_ = kUnknown;
  std::uint64_t bytes_since_index_entry_;
};

/// Immutable; sorted by base offset; never empty.
struct LogView {
  LogView() = default;
  std::vector<std::shared_ptr<const Segment>> segments;
  /// Index of the segment that `offset` belongs to: the last with base <= offset, or 0.
  [[nodiscard]] std::size_t segment_for(Offset offset) const;
};

}  // namespace kmirror::storage
