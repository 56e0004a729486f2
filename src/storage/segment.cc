#include "storage/segment.h"

#include <algorithm>
#include <limits>

#include "kmirror/base/check.h"
#include "kmirror/base/log.h"
#include "kmirror/model/error_code.h"
#include "storage/header_scanner.h"

namespace kmirror::storage {

Segment::Segment(std::shared_ptr<const LogPlace> place, Offset base, const SegmentSizes& sizes,
                 std::shared_ptr<env::File> file)
    : place_(std::move(place)),
      base_(base),
      size_(sizes.log_bytes),
      max_timestamp_ms_(sizes.log_bytes == 0 ? -1 : kUnknown),
      file_(file),
      offsets_(place_, base, sizes.offset_index_bytes),
      times_(place_, base, sizes.time_index_bytes),
      transactions_(place_, base, sizes.transaction_index_bytes),
      writable_(std::move(file)),
      // A segment that is gone on with gets an entry at its next batch: how far back the last one
      // lies is not known without reading.
      bytes_since_index_entry_(sizes.log_bytes) {}

Result<std::shared_ptr<const env::File>> Segment::file() const {
  recently_read_.store(true, std::memory_order_relaxed);
  auto file = file_.load();
  if (file) return file;
  KM_TRY(opened, place_->files.open(place_->path(base_, kLogSuffix), env::OpenMode::kRead));
  file = std::move(opened);
  file_.store(file);
  return file;
}

Result<void> Segment::pin_files() const {
  pinned_.store(true);
  KM_TRY_VOID(file());
  KM_TRY_VOID(offsets_.store().pin_file());
  KM_TRY_VOID(times_.store().pin_file());
  return transactions_.store().pin_file();
}

void Segment::release_files() const {
  if (pinned_.load()) return;
  if (!writable_) file_.store(nullptr);
  offsets_.store().release_file();
  times_.store().release_file();
  transactions_.store().release_file();
}

Result<std::optional<BatchSummary>> Segment::find_batch(Offset target) const {
  const std::uint64_t end = size_bytes();
  if (end == 0) return std::optional<BatchSummary>{};
  KM_TRY(log, file());
  auto hint = offsets_.lookup(target);
  std::uint64_t start = hint ? hint->position : 0;
  // An entry that does not fit the batch it points to is of a broken index: the log is what counts.
  bool trusted = start == 0;
  for (;;) {
    HeaderScanner scanner(log, start, end);
    auto batch = scanner.next();
    if (!trusted) {
      trusted = true;
      if (!batch || !*batch || (*batch)->last_offset > hint->offset ||
          (*batch)->base_offset < base_) {
        KM_LOG(kWarn, "storage.index_ignored", "{}: the index entry for offset {} is wrong",
               place_->path(base_, kOffsetIndexSuffix), hint->offset);
        start = 0;
        continue;
      }
    }
    while (batch && *batch && (*batch)->last_offset < target) batch = scanner.next();
    return batch;
  }
}

Result<OffsetPosition> Segment::last_indexed() const {
  const OffsetPosition start(base_, 0);
  const std::uint64_t end = size_bytes();
  const auto last = offsets_.last();
  if (!last || !*last || (*last)->position >= end) return start;
  KM_TRY(log, file());
  HeaderScanner scanner(log, (*last)->position, end);
  const auto batch = scanner.next();
  if (!batch || !*batch || (*batch)->last_offset > (*last)->offset ||
      (*batch)->base_offset < base_) {
    return start;
  }
  return OffsetPosition((*batch)->last_offset, (*last)->position);
}

// The time index ends with the greatest time if the segment was closed well; what stands after the
// last entry of the offset index is looked at to be sure.
Result<TimestampOffset> Segment::read_max_timestamp() const {
  KM_TRY(greatest, times_.last());
  std::uint64_t position = 0;
  if (greatest.timestamp_ms >= 0) {
    KM_TRY(indexed, last_indexed());
    position = indexed.position;
  }
  KM_TRY(log, file());
  HeaderScanner scanner(log, position, size_bytes());
  for (;;) {
    KM_TRY(batch, scanner.next());
    if (!batch) return greatest;
    if (batch->max_timestamp_ms <= greatest.timestamp_ms) continue;
    greatest = TimestampOffset(batch->max_timestamp_ms, batch->last_offset);
  }
}

Result<std::int64_t> Segment::max_timestamp_ms() const {
  const std::int64_t known = max_timestamp_ms_.load(std::memory_order_acquire);
  if (known != kUnknown) return known;
  KM_TRY(greatest, read_max_timestamp());
  // A batch that is being appended may already have stored a value: the greater one stays.
  std::int64_t expected = kUnknown;
  if (max_timestamp_ms_.compare_exchange_strong(expected, greatest.timestamp_ms)) {
    return greatest.timestamp_ms;
  }
  return expected;
}

SegmentSizes Segment::sizes() const {
  SegmentSizes out;
  out.log_bytes = size_bytes();
  out.offset_index_bytes = offsets_.store().size() * kOffsetEntryBytes;
  out.time_index_bytes = times_.store().size() * kTimeEntryBytes;
  out.transaction_index_bytes = transactions_.size() * kTransactionEntryBytes;
  return out;
}

Result<env::File*> Segment::writable() {
  if (size_bytes() > 0 && max_timestamp_offset_ == kNoOffset) {
    KM_TRY(greatest, read_max_timestamp());
    max_timestamp_ms_.store(greatest.timestamp_ms, std::memory_order_release);
    max_timestamp_offset_ = greatest.timestamp_ms >= 0 ? greatest.offset : base_;
  }
  if (!writable_) {
    KM_TRY(opened, place_->files.open(place_->path(base_, kLogSuffix), env::OpenMode::kCreate,
                                      place_->secret));
    writable_ = std::move(opened);
    file_.store(writable_);
  }
  return writable_.get();
}

void Segment::index_batch(const BatchSummary& summary, std::int64_t index_interval_bytes) {
  if (first_timestamp_ms_ == kUnknown && summary.position == 0) {
    first_timestamp_ms_ = summary.max_timestamp_ms;
  }
  std::int64_t greatest = max_timestamp_ms_.load(std::memory_order_relaxed);
  if (summary.max_timestamp_ms > greatest) {
    max_timestamp_ms_.store(summary.max_timestamp_ms, std::memory_order_release);
    max_timestamp_offset_ = summary.last_offset;
    greatest = summary.max_timestamp_ms;
  } else if (max_timestamp_offset_ == kNoOffset) {
    max_timestamp_offset_ = base_;  // batches without a time: known to have none
  }
  if (bytes_since_index_entry_ > static_cast<std::uint64_t>(index_interval_bytes)) {
    offsets_.append({summary.last_offset, summary.position});
    if (max_timestamp_offset_ != kNoOffset) times_.maybe_append({greatest, max_timestamp_offset_});
    bytes_since_index_entry_ = 0;
  }
  bytes_since_index_entry_ += summary.size_bytes;
}

void Segment::finish_time_index() {
  if (max_timestamp_offset_ == kNoOffset) return;
  times_.maybe_append({max_timestamp_ms_.load(std::memory_order_relaxed), max_timestamp_offset_});
}

Result<void> Segment::write_indexes() {
  KM_TRY_VOID(offsets_.store().write_pending());
  KM_TRY_VOID(times_.store().write_pending());
  return transactions_.store().write_pending();
}

std::size_t Segment::pending_index_entries() const {
  return offsets_.store().pending() + transactions_.store().pending();
}

std::shared_ptr<Segment> Segment::with_indexes_on_disk() const {
  KM_CHECK(offsets_.store().pending() == 0 && times_.store().pending() == 0 &&
               transactions_.store().pending() == 0,
           "segment {}: index entries not written", base_);
  auto out = std::make_shared<Segment>(place_, base_, sizes(), writable_);
  if (!writable_) out->file_.store(file_.load());
  out->max_timestamp_ms_.store(max_timestamp_ms_.load());
  out->max_timestamp_offset_ = max_timestamp_offset_;
  out->first_timestamp_ms_ = first_timestamp_ms_;
  out->bytes_since_index_entry_ = bytes_since_index_entry_;
  return out;
}

Result<std::int64_t> Segment::first_timestamp_ms() {
  if (first_timestamp_ms_ == kUnknown) {
    if (size_bytes() == 0) return -1;
    KM_TRY(log, file());
    HeaderScanner scanner(log, 0, size_bytes());
    KM_TRY(batch, scanner.next());
    first_timestamp_ms_ = batch ? batch->max_timestamp_ms : -1;
  }
  return first_timestamp_ms_;
}

std::size_t LogView::segment_for(Offset offset) const {
  const auto above = std::upper_bound(
      segments.begin(), segments.end(), offset,
      [](Offset o, const std::shared_ptr<const Segment>& s) { return o < s->base_offset(); });
  return above == segments.begin() ? 0 : static_cast<std::size_t>(above - segments.begin()) - 1;
}

}  // namespace kmirror::storage
