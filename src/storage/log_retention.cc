// The front of the log: log start offset, retention, and files that are no longer part of it.
#include <algorithm>

#include <fmt/format.h>

#include "kmirror/base/log.h"
#include "kmirror/model/error_code.h"
#include "storage/partition_log_impl.h"

namespace kmirror::storage {

Result<bool> PartitionLog::Impl::advance_log_start_offset(Offset offset) {
  if (!online.load()) return offline_error();
  const Offset limit(high_watermark.load());
  if (offset > limit) {
    return kafka_error(
        ErrorCode::OFFSET_OUT_OF_RANGE,
        fmt::format("{}: log start {} above the high watermark {}", name(), offset, limit));
  }
  if (offset <= start()) return false;
  log_start.store(offset.get());
  update_last_stable();
  if (epochs.truncate_from_start(offset)) KM_TRY_VOID(write_epochs());
  std::size_t below = 0;
  while (below + 1 < segments.size() && segments[below + 1]->base_offset() <= offset) ++below;
  if (below > 0) KM_TRY_VOID(remove_oldest(below));
  wake_waiters(false);
  return true;
}

namespace {

bool wants_delete(const LogConfig& config) { return config.cleanup_delete && !config.is_mirror; }

}  // namespace

Result<int> PartitionLog::Impl::apply_retention(std::int64_t now_ms) {
  if (!online.load()) return offline_error();
  const auto settings = config.load();
  std::size_t count = 0;
  while (count + 1 < segments.size() && segments[count + 1]->base_offset() <= start()) ++count;
  if (wants_delete(*settings)) {
    if (settings->retention_bytes >= 0) {
      std::uint64_t left = size_bytes.load();
      const auto limit = static_cast<std::uint64_t>(settings->retention_bytes);
      for (std::size_t i = 0; i < segments.size(); ++i) {
        const std::uint64_t size = segments[i]->size_bytes();
        if (left < limit + size) break;
        left -= size;
        if (size > 0) count = std::max(count, i + 1);
      }
    }
    KM_TRY(expired, expired_segments(now_ms, settings->retention_ms));
    count = std::max(count, expired);
  }
  if (count == 0) return 0;
  const auto removed = static_cast<int>(count);
  if (count == segments.size()) KM_TRY_VOID(roll(end()));
  KM_TRY_VOID(remove_oldest(count));
  const Offset new_start = std::max(start(), segments.front()->base_offset());
  if (new_start > start()) {
    log_start.store(new_start.get());
    update_last_stable();
    if (epochs.truncate_from_start(new_start)) KM_TRY_VOID(write_epochs());
  }
  return removed;
}

// How many segments at the front have no record younger than the limit. The active one counts too.
Result<std::size_t> PartitionLog::Impl::expired_segments(std::int64_t now_ms,
                                                         std::int64_t retention_ms) {
  std::size_t count = 0;
  if (retention_ms < 0) return count;
  for (; count < segments.size(); ++count) {
    if (segments[count]->size_bytes() == 0 && count + 1 == segments.size()) break;
    KM_TRY(newest, segments[count]->max_timestamp_ms());
    if (newest > now_ms && !warned_of_future_time) {
      warned_of_future_time = true;
      KM_LOG(kWarn, "storage.future_timestamp",
             "{}: segment {} holds the future time {}; it stays until that time and the retention "
             "have passed",
             name(), segments[count]->base_offset(), newest);
    }
    // Records without a time (format 0) expire by nothing we could read.
    if (newest < 0 ? segments[count]->size_bytes() > 0 : now_ms - newest <= retention_ms) break;
  }
  return count;
}

Result<void> PartitionLog::Impl::remove_oldest(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto retired = retire_files(*segments[i]);
    if (!retired) {
      fail(retired.error());
      return retired.error();
    }
  }
  segments.erase(segments.begin(), segments.begin() + static_cast<std::ptrdiff_t>(count));
  std::uint64_t total = 0;
  for (const auto& segment : segments) total += segment->size_bytes();
  size_bytes.store(total);
  sealed_bytes = total - segments.back()->size_bytes();
  // A snapshot below the first segment is of no use; one is always kept to start from.
  while (snapshots.size() > 1 && *std::next(snapshots.begin()) <= segments.front()->base_offset()) {
    KM_TRY_VOID(env.files.remove(place->path(*snapshots.begin(), kSnapshotSuffix)));
    snapshots.erase(snapshots.begin());
  }
  publish_view();
  return {};
}

Result<void> PartitionLog::Impl::retire_files(const Segment& segment) {
  KM_TRY_VOID(segment.pin_files());
  Garbage retired;
  retired.due_ms = env.clock.wall_ms() + config.load()->file_delete_delay_ms;
  for (const auto suffix :
       {kOffsetIndexSuffix, kTimeIndexSuffix, kTransactionIndexSuffix, kLogSuffix}) {
    const std::string path = place->path(segment.base_offset(), suffix);
    if (!env.files.exists(path)) continue;
    std::string deleted = path + std::string(kDeletedSuffix);
    KM_TRY_VOID(env.files.rename(path, deleted));
    retired.paths.push_back(std::move(deleted));
  }
  garbage.push_back(std::move(retired));
  directory_dirty = true;
  return {};
}

std::vector<std::string> PartitionLog::Impl::take_deletable_files(std::int64_t now_ms) {
  std::vector<std::string> out;
  std::erase_if(garbage, [&](Garbage& item) {
    if (item.due_ms > now_ms) return false;
    for (auto& path : item.paths) out.push_back(std::move(path));
    return true;
  });
  return out;
}

void PartitionLog::Impl::release_idle_files() {
  for (const auto& segment : segments) {
    if (!segment->take_recently_read()) segment->release_files();
  }
}

}  // namespace kmirror::storage
