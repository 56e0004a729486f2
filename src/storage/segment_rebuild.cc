#include "storage/segment_rebuild.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "storage/header_scanner.h"
#include "storage/partition_log_impl.h"

namespace kmirror::storage {
namespace {
constexpr std::size_t kReadBytes = 1024 * 1024;
}

Result<void> shorten_file(const LogPlace& place, const std::string& path,
                          std::uint64_t size_bytes) {
  auto file = place.files.open(path, env::OpenMode::kReadWrite);
  if (!file) {
    if (is_not_found(file.error())) return {};
    return file.error();
  }
  KM_TRY(size, (*file)->size());
  if (size <= size_bytes) return {};
  return (*file)->truncate(size_bytes);
}

Result<void> SegmentRebuild::run() {
  KM_TRY_VOID(find_start());
  KM_TRY(good_bytes, scan());
  const LogPlace& place = *old_.place();
  if (good_bytes < old_.size_bytes()) {
    cut_ = true;
    KM_TRY_VOID(shorten_file(place, place.path(old_.base_offset(), kLogSuffix), good_bytes));
  }
  fresh_->finish_time_index();
  KM_TRY_VOID(fresh_->write_indexes());
  fresh_ = fresh_->with_indexes_on_disk();
  return {};
}

// Entries that rise and lie inside the file. A power cut leaves zeros or nothing behind the last
// whole page, so the first entry that does not rise ends what can be used.
Result<std::size_t> SegmentRebuild::usable_offset_entries() const {
  const auto& index = old_.offsets();
  OffsetPosition before(old_.base_offset() - 1, 0);
  const std::size_t count = index.store().size();
  for (std::size_t i = 0; i < count; ++i) {
    KM_TRY(entry, index.entry(i));
    const bool rises = entry.offset > before.offset && (i == 0 || entry.position > before.position);
    if (!rises || entry.position >= old_.size_bytes() || entry.offset >= from_) return i;
    before = entry;
  }
  return count;
}

Result<void> SegmentRebuild::find_start() {
  KM_TRY(usable, usable_offset_entries());
  while (usable > 0) {
    KM_TRY(entry, old_.offsets().entry(usable - 1));
    KM_TRY(file, old_.file());
    HeaderScanner scanner(file, entry.position, old_.size_bytes());
    const auto batch = scanner.next();
    if (batch && *batch && (*batch)->last_offset == entry.offset) {
      start_position_ = entry.position;
      checked_from_ = (*batch)->base_offset;
      break;
    }
    --usable;
  }
  if (usable == 0) checked_from_ = old_.base_offset();
  return cut_indexes(usable);
}

// Leaves in the index files what belongs to the batches before the start position.
Result<void> SegmentRebuild::cut_indexes(std::size_t offset_entries) {
  const LogPlace& place = *old_.place();
  const Offset base = old_.base_offset();
  // The entry at the start position is made again by the scan, as are those of its time.
  const std::size_t keep = offset_entries == 0 ? 0 : offset_entries - 1;
  SegmentSizes sizes;
  sizes.offset_index_bytes = keep * kOffsetEntryBytes;
  KM_TRY(times, old_.times().usable_entries(checked_from_));
  sizes.time_index_bytes = times * kTimeEntryBytes;
  KM_TRY(aborted, old_.transactions().entries_below(checked_from_));
  sizes.transaction_index_bytes = aborted * kTransactionEntryBytes;
  KM_TRY_VOID(shorten_file(place, place.path(base, kOffsetIndexSuffix), sizes.offset_index_bytes));
  KM_TRY_VOID(shorten_file(place, place.path(base, kTimeIndexSuffix), sizes.time_index_bytes));
  KM_TRY_VOID(shorten_file(place, place.path(base, kTransactionIndexSuffix),
                           sizes.transaction_index_bytes));
  sizes.log_bytes = start_position_;
  fresh_ = std::make_shared<Segment>(old_.place(), base, sizes, nullptr);
  return {};
}

std::optional<std::string> SegmentRebuild::objection(const BatchSummary& batch, ByteSpan whole,
                                                     Offset expected) {
  if (batch.last_offset >= next_base_) {
    overlapped_ = true;
    return fmt::format("offset {} belongs to the next segment", batch.last_offset);
  }
  if (batch.base_offset < expected) {
    return fmt::format("offset {} after {}", batch.base_offset, expected);
  }
  if (batch.last_offset - old_.base_offset() > std::numeric_limits<std::int32_t>::max()) {
    return fmt::format("offset {} is too far from the segment's base", batch.last_offset);
  }
  if (!BatchHeader(whole).crc_is_valid()) {
    return fmt::format("wrong CRC at offset {}", batch.base_offset);
  }
  return std::nullopt;
}

// Returns where the last good batch ends.
Result<std::uint64_t> SegmentRebuild::scan() {
  if (old_.size_bytes() == start_position_) return start_position_;
  KM_TRY_VOID(fresh_->writable());
  KM_TRY(file, old_.file());
  WindowReader window(file, old_.size_bytes(), kReadBytes);
  std::uint64_t position = start_position_;
  Offset expected = checked_from_;
  while (position < old_.size_bytes()) {
    KM_TRY(head, window.at(position, kBatchHeaderBytes));
    const auto size = check_batch_head(head, old_.size_bytes() - position);
    if (!size) {
      reason_ = size.error().message;
      break;
    }
    KM_TRY(rest, window.at(position, *size));
    if (rest.size() < *size) break;
    const ByteSpan whole = rest.first(*size);
    BatchSummary batch = summarize(whole, *size);
    batch.position = position;
    if (auto why = objection(batch, whole, expected)) {
      reason_ = std::move(*why);
      break;
    }
    fresh_->index_batch(batch, interval_);
    expected = batch.last_offset.next();
    position += *size;
    fresh_->publish_size(position);
  }
  return position;
}

}  // namespace kmirror::storage
