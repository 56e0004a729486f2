// Truncation. Cut bytes are never overwritten in the file they stood in: the file is shortened or
// retired, and what follows goes into a new segment, so that a reader in flight sends old bytes or
// finds the file too short, never a mixture.
#include <algorithm>

#include <fmt/format.h>

#include "kmirror/base/log.h"
#include "storage/partition_log_impl.h"
#include "storage/segment_rebuild.h"

namespace kmirror::storage {
namespace {

struct Cut {
  Cut() = default;
  std::size_t segment = 0;     ///< the first segment that does not stay whole
  std::uint64_t position = 0;  ///< where it is cut
  Offset end;                  ///< the log end afterwards
};

// The first batch that reaches `offset` goes as a whole: a batch is never split, and what is lost
// of it below `offset` comes again.
Result<Cut> find_cut(const std::vector<std::shared_ptr<Segment>>& segments, Offset offset) {
  Cut cut;
  cut.end = offset;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    cut.segment = i;
    cut.position = segments[i]->size_bytes();
    if (i + 1 < segments.size() && segments[i + 1]->base_offset() <= offset) continue;
    KM_TRY(batch, segments[i]->find_batch(offset));
    if (!batch) continue;
    cut.position = batch->position;
    cut.end = std::min(offset, batch->base_offset);
    return cut;
  }
  return cut;
}

// The part of `segment` below `position`: file and indexes shortened, as a new object.
Result<std::shared_ptr<Segment>> shorten(Segment& segment, std::uint64_t position, Offset end) {
  const LogPlace& place = *segment.place();
  const Offset base = segment.base_offset();
  KM_TRY_VOID(segment.write_indexes());
  SegmentSizes sizes;
  KM_TRY(offsets, segment.offsets().entries_below(position));
  KM_TRY(times, segment.times().entries_below(end));
  KM_TRY(aborted, segment.transactions().entries_below(end));
  sizes.log_bytes = position;
  sizes.offset_index_bytes = offsets * kOffsetEntryBytes;
  sizes.time_index_bytes = times * kTimeEntryBytes;
  sizes.transaction_index_bytes = aborted * kTransactionEntryBytes;
  KM_TRY(file, place.files.open(place.path(base, kLogSuffix), env::OpenMode::kReadWrite));
  KM_TRY_VOID(file->truncate(position));
  KM_TRY_VOID(file->sync());
  KM_TRY_VOID(shorten_file(place, place.path(base, kOffsetIndexSuffix), sizes.offset_index_bytes));
  KM_TRY_VOID(shorten_file(place, place.path(base, kTimeIndexSuffix), sizes.time_index_bytes));
  KM_TRY_VOID(shorten_file(place, place.path(base, kTransactionIndexSuffix),
                           sizes.transaction_index_bytes));
  return std::make_shared<Segment>(segment.place(), base, sizes, nullptr);
}

}  // namespace

Result<void> PartitionLog::Impl::truncate_to(Offset offset) {
  if (!online.load()) return offline_error();
  if (offset >= end()) return {};
  if (offset <= start()) return truncate_fully_and_start_at(offset);
  // In this order: epoch file, log with its indexes, producer snapshots. A crash between them
  // leaves less than the log holds, which opening makes good; never more.
  KM_TRY(cut, find_cut(segments, offset));
  epochs.truncate_from_end(cut.end);
  auto done = epochs.is_dirty() ? write_epochs() : Result<void>();
  if (done) done = cut_segments(offset);
  if (done) done = remove_snapshots_above(cut.end);
  if (done) done = rebuild_producers(cut.end, cut.end);
  if (done) done = finish_truncation(cut.end);
  if (!done) fail(done.error());
  return done;
}

Result<void> PartitionLog::Impl::cut_segments(Offset offset) {
  KM_TRY(cut, find_cut(segments, offset));
  // Newest first, so that a crash in between leaves a log without a hole.
  while (segments.size() > cut.segment + 1) {
    KM_TRY_VOID(retire_files(*segments.back()));
    segments.pop_back();
  }
  if (cut.position == 0) {
    KM_TRY_VOID(retire_files(*segments.back()));
    segments.pop_back();
  } else {
    KM_TRY(shorter, shorten(*segments.back(), cut.position, cut.end));
    segments.back() = std::move(shorter);
  }
  auto next = std::make_shared<Segment>(place, cut.end, SegmentSizes{}, nullptr);
  KM_TRY_VOID(next->writable());
  segments.push_back(std::move(next));
  sealed_bytes = 0;
  for (const auto& segment : segments) sealed_bytes += segment->size_bytes();
  size_bytes.store(sealed_bytes);
  publish_view();
  return {};
}

Result<void> PartitionLog::Impl::truncate_fully_and_start_at(Offset offset) {
  if (!online.load()) return offline_error();
  epochs.replace({});
  auto done = write_epochs();
  while (done && !segments.empty()) {
    done = retire_files(*segments.back());
    if (done) segments.pop_back();
  }
  if (done) done = start_empty_at(offset);
  if (done) done = finish_truncation(offset);
  if (!done) fail(done.error());
  return done;
}

Result<void> PartitionLog::Impl::remove_snapshots_above(Offset offset) {
  while (!snapshots.empty() && *snapshots.rbegin() > offset) {
    const Offset newest = *snapshots.rbegin();
    KM_TRY_VOID(env.files.remove(place->path(newest, kSnapshotSuffix)));
    snapshots.erase(newest);
    directory_dirty = true;
  }
  return {};
}

Result<void> PartitionLog::Impl::mark_checkpoint_limit(Offset limit) {
  if (Offset(checkpoint_limit.load()) <= limit) return {};
  KM_TRY_VOID(
      env.files.open(place->path(limit, kUnsyncedSuffix), env::OpenMode::kCreate, place->secret));
  checkpoint_limit.store(limit.get());
  return {};
}

Result<void> PartitionLog::Impl::finish_truncation(Offset new_end) {
  ++generation;
  recovery_point.store(std::min(recovery_point.load(), new_end.get()));
  KM_TRY_VOID(mark_checkpoint_limit(new_end));
  // Otherwise a power cut could bring a removed snapshot or segment back beside newer ones.
  KM_TRY_VOID(env.files.sync_directory(identity.directory));
  directory_dirty = false;
  publish_end(new_end);
  if (on_truncated) on_truncated(new_end);
  wake_waiters(true);
  return {};
}

void PartitionLog::Impl::recovery_point_saved(Offset saved) {
  if (Offset(checkpoint_limit.load()) == kNoLimit) return;
  if (saved > Offset(recovery_point.load())) return;
  const auto entries = env.files.list(identity.directory);
  if (!entries) return;
  for (const auto& entry : *entries) {
    const auto parsed = parse_segment_file_name(entry.name);
    if (!parsed || parsed->suffix != kUnsyncedSuffix) continue;
    const auto removed = env.files.remove(place->path(entry.name));
    if (!removed) return;  // it only costs a longer check after a crash
  }
  checkpoint_limit.store(kNoLimit.get());
}

}  // namespace kmirror::storage
