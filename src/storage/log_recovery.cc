// After an unclean stop: what the disk holds decides, whatever the small files say. Runs in open().
#include <algorithm>

#include <fmt/format.h>

#include "kmirror/base/log.h"
#include "kmirror/model/error_code.h"
#include "storage/header_scanner.h"
#include "storage/partition_log_impl.h"
#include "storage/segment_rebuild.h"

namespace kmirror::storage {
namespace {

constexpr std::size_t kMaxSnapshotBytes = 512 * 1024 * 1024;
constexpr std::uint64_t kSmallSegment = 65536;

}  // namespace

Result<Offset> PartitionLog::Impl::recover(Offset point, bool clean) {
  Offset index_from(std::numeric_limits<std::int64_t>::max());
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool newest = i + 1 == segments.size();
    const Offset next_base =
        newest ? Offset(std::numeric_limits<std::int64_t>::max()) : segments[i + 1]->base_offset();
    // What lies below the recovery point was synced; only its end is looked at, since a truncation
    // may have been lost in a power cut.
    bool sound = clean ? !index_is_missing(*segments[i]) : !newest && next_base <= point;
    Offset from = std::max(point, segments[i]->base_offset());
    if (sound && !clean) {
      KM_TRY(tail, tail_is_sound(*segments[i], next_base));
      sound = tail;
      from = segments[i]->base_offset();
    }
    if (sound) continue;
    SegmentRebuild rebuild(*segments[i], next_base, from, config.load()->index_interval_bytes);
    KM_TRY_VOID(rebuild.run());
    index_from = std::min(index_from, rebuild.checked_from());
    segments[i] = rebuild.take_segment();
    if (!rebuild.cut()) continue;
    KM_LOG(kWarn, "storage.tail_cut", "{}: segment {} cut to {} bytes: {}", name(),
           segments[i]->base_offset(), segments[i]->size_bytes(), rebuild.reason());
    // What follows a broken batch would leave a hole.
    while (segments.size() > i + 1 && !rebuild.overlapped()) {
      KM_TRY_VOID(retire_files(*segments.back()));
      segments.pop_back();
    }
  }
  std::uint64_t total = 0;
  for (const auto& segment : segments) total += segment->size_bytes();
  size_bytes.store(total);
  sealed_bytes = total - segments.back()->size_bytes();
  publish_view();
  return index_from;
}

// No entry at all in a segment that must have some.
bool PartitionLog::Impl::index_is_missing(const Segment& segment) const {
  const SegmentSizes sizes = segment.sizes();
  const auto interval = static_cast<std::uint64_t>(config.load()->index_interval_bytes);
  return sizes.offset_index_bytes == 0 && sizes.log_bytes > std::max(4 * interval, kSmallSegment);
}

Result<bool> PartitionLog::Impl::tail_is_sound(const Segment& segment, Offset next_base) const {
  const std::uint64_t size = segment.size_bytes();
  if (size == 0) return true;
  if (index_is_missing(segment)) return false;
  KM_TRY(indexed, segment.last_indexed());
  // Entries are there but cannot be used.
  if (indexed.position == 0 && segment.offsets().store().size() > 0) return false;
  KM_TRY(file, segment.file());
  HeaderScanner scanner(file, indexed.position, size);
  for (;;) {
    const auto batch = scanner.next();
    if (!batch) return false;
    if (!*batch) return true;
    if ((*batch)->last_offset >= next_base) return false;
  }
}

Result<Offset> PartitionLog::Impl::load_newest_snapshot(Offset limit) {
  while (true) {
    auto above = snapshots.upper_bound(limit);
    if (above == snapshots.begin()) {
      producers.clear();
      return segments.front()->base_offset();
    }
    const Offset offset = *std::prev(above);
    const std::string path = place->path(offset, kSnapshotSuffix);
    const auto text = env.files.read_text(path, kMaxSnapshotBytes);
    if (!text) return text.error();
    const auto loaded = producers.load_snapshot(as_bytes(*text));
    if (loaded) return offset;
    KM_LOG(kWarn, "storage.snapshot_ignored", "{}: {}", path, loaded.error().message);
    KM_TRY_VOID(env.files.remove(path));
    snapshots.erase(offset);
  }
}

namespace {

// The marker of the last transaction that the segment's index knows, -1 if none.
Result<Offset> last_aborted(const Segment& segment) {
  const std::size_t count = segment.transactions().size();
  if (count == 0) return kNoOffset;
  KM_TRY(entry, segment.transactions().at(count - 1));
  return entry.last_offset;
}

}  // namespace

Result<void> PartitionLog::Impl::rebuild_producers(Offset snapshot_limit, Offset end) {
  KM_TRY(from, load_newest_snapshot(snapshot_limit));
  if (from >= end) return {};
  const auto current = view.load();
  for (std::size_t i = current->segment_for(from); i < segments.size(); ++i) {
    Segment& segment = *segments[i];
    if (segment.size_bytes() == 0) continue;
    KM_TRY(first, segment.find_batch(from));
    if (!first) continue;
    KM_TRY(known, last_aborted(segment));
    KM_TRY(file, segment.file());
    HeaderScanner scanner(file, first->position, segment.size_bytes(),
                          HeaderScanner::kLargeWindowBytes);
    for (;;) {
      KM_TRY(batch, scanner.next());
      if (!batch) break;
      const auto aborted = producers.apply(*batch);
      if (aborted && aborted->last_offset > known) segment.transactions().append(*aborted);
    }
    const bool sealed = i + 1 < segments.size();
    if (sealed) KM_TRY_VOID(segment.write_indexes());
  }
  return {};
}

namespace {

// The first batch whose last offset is at or above `offset`, wherever it stands.
Result<std::optional<BatchSummary>> first_batch_at(const LogView& view, Offset offset) {
  for (std::size_t i = view.segment_for(offset); i < view.segments.size(); ++i) {
    KM_TRY(batch, view.segments[i]->find_batch(offset));
    if (batch) return batch;
  }
  return std::optional<BatchSummary>{};
}

// Whether the log bears `entry` out: the first batch from its start on has its epoch, and the batch
// right before, if it is still there, that of the entry before. Epochs never fall, so nothing else
// can stand between two entries that pass.
Result<bool> entry_holds(const LogView& view, const EpochEntry& entry, const EpochEntry* before,
                         Offset log_start) {
  KM_TRY(here, first_batch_at(view, entry.start_offset));
  if (!here || here->leader_epoch != entry.epoch) return false;
  if (before == nullptr) return entry.start_offset <= log_start;
  KM_TRY(previous, first_batch_at(view, entry.start_offset - 1));
  const bool is_previous = previous && previous->last_offset < entry.start_offset;
  return !is_previous || previous->leader_epoch == before->epoch;
}

// Adds to `cache` the epochs of the batches from `from` on. A segment whose successor still begins
// in the newest known epoch holds no other one.
Result<void> scan_epochs(const LogView& view, Offset from, LeaderEpochCache& cache) {
  for (std::size_t i = view.segment_for(from); i < view.segments.size(); ++i) {
    const Segment& segment = *view.segments[i];
    if (segment.size_bytes() == 0) continue;
    if (i + 1 < view.segments.size() && cache.latest() >= LeaderEpoch(0)) {
      KM_TRY(next, first_batch_at(view, view.segments[i + 1]->base_offset()));
      if (next && next->leader_epoch == cache.latest()) continue;
    }
    KM_TRY(file, segment.file());
    HeaderScanner scanner(file, 0, segment.size_bytes(), HeaderScanner::kLargeWindowBytes);
    for (;;) {
      KM_TRY(batch, scanner.next());
      if (!batch) break;
      if (batch->last_offset < from) continue;
      cache.assign(batch->leader_epoch, std::max(batch->base_offset, from));
    }
  }
  return {};
}

}  // namespace

Result<void> PartitionLog::Impl::verify_epochs(LeaderEpochCache::Entries entries, Offset end_now) {
  const auto current = view.load();
  LeaderEpochCache::Entries good;
  for (const auto& entry : entries) {
    if (entry.start_offset >= end_now) break;
    KM_TRY(holds, entry_holds(*current, entry, good.empty() ? nullptr : &good.back(), start()));
    if (!holds) break;
    good.push_back(entry);
  }
  const Offset from = good.empty() ? start() : std::max(good.back().start_offset, start());
  epochs.replace(std::move(good));
  return scan_epochs(*current, from, epochs);
}

}  // namespace kmirror::storage
