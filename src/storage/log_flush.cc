// Making things durable, small files beside the segments, and the two ways a log ends: closed or
// deleted.
#include <algorithm>

#include <fmt/format.h>

#include "kmirror/base/log.h"
#include "storage/partition_log_impl.h"

namespace kmirror::storage {
namespace {

// A file that need not be there: an index that never got an entry, a snapshot of nothing.
Result<void> add_if_there(env::FileSystem& files, const std::string& path,
                          std::vector<std::shared_ptr<env::File>>& out) {
  auto file = files.open(path, env::OpenMode::kReadWrite);
  if (file) {
    out.push_back(std::move(*file));
    return {};
  }
  if (is_not_found(file.error())) return {};
  return file.error();
}

Result<void> add_segment_files(const Segment& segment, bool sealed,
                               std::vector<std::shared_ptr<env::File>>& out) {
  const LogPlace& place = *segment.place();
  if (segment.open_file()) {
    out.push_back(segment.open_file());
  } else {
    KM_TRY_VOID(add_if_there(place.files, place.path(segment.base_offset(), kLogSuffix), out));
  }
  if (!sealed) return {};
  for (const auto suffix :
       {kOffsetIndexSuffix, kTimeIndexSuffix, kTransactionIndexSuffix, kSnapshotSuffix}) {
    KM_TRY_VOID(add_if_there(place.files, place.path(segment.base_offset(), suffix), out));
  }
  return {};
}

}  // namespace

Result<void> PartitionLog::FlushTask::run() const {
  for (const auto& file : files) KM_TRY_VOID(file->sync());
  if (!directory.empty() && file_system != nullptr) {
    KM_TRY_VOID(file_system->sync_directory(directory));
  }
  return {};
}

PartitionLog::FlushTask PartitionLog::Impl::start_flush() {
  FlushTask task;
  task.up_to = end();
  task.generation = generation;
  task.file_system = &env.files;
  if (!online.load()) return task;
  const Offset durable(recovery_point.load());
  if (durable < task.up_to) {
    for (std::size_t i = view.load()->segment_for(durable); i < segments.size(); ++i) {
      const bool sealed = i + 1 < segments.size();
      const auto added = add_segment_files(*segments[i], sealed, task.files);
      if (!added) {
        fail(added.error());
        return task;
      }
    }
  }
  if (epochs.is_dirty()) {
    const auto written = write_epochs();
    if (!written) fail(written.error());
  }
  if (epochs_need_sync) {
    const auto added = add_if_there(env.files, place->path(kEpochFileName), task.files);
    if (!added) fail(added.error());
  }
  if (directory_dirty || epochs_need_sync) task.directory = identity.directory;
  directory_dirty = false;
  epochs_need_sync = false;
  return task;
}

void PartitionLog::Impl::flush_done(const FlushTask& task) {
  if (task.generation != generation) return;
  recovery_point.store(std::max(task.up_to.get(), recovery_point.load()));
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    if (segments[i + 1]->base_offset() <= task.up_to) segments[i]->close_writable();
  }
}

Result<void> PartitionLog::Impl::replace_file(const std::string& path, ByteSpan bytes) {
  const std::string temporary = path + ".tmp";
  KM_TRY(file, env.files.open(temporary, env::OpenMode::kCreateEmpty, place->secret));
  KM_TRY_VOID(file->write_at(0, ByteChain(Slice::copy_of(bytes))));
  directory_dirty = true;
  return env.files.rename(temporary, path);
}

Result<void> PartitionLog::Impl::write_snapshot(Offset offset) {
  if (snapshots.contains(offset)) return {};
  const Bytes bytes = producers.encode_snapshot();
  KM_TRY_VOID(replace_file(place->path(offset, kSnapshotSuffix), bytes));
  snapshots.insert(offset);
  return {};
}

Result<void> PartitionLog::Impl::write_epochs() {
  const std::string text = LeaderEpochCache::to_text(*epochs.entries());
  KM_TRY_VOID(replace_file(place->path(kEpochFileName), as_bytes(text)));
  epochs.mark_clean();
  epochs_need_sync = true;
  return {};
}

Result<void> PartitionLog::Impl::close_clean() {
  if (!online.load()) return offline_error();
  active()->finish_time_index();
  KM_TRY_VOID(active()->write_indexes());
  // Kafka writes none for a log that never had a record.
  if (end() > start()) KM_TRY_VOID(write_snapshot(end()));
  if (epochs.is_dirty()) KM_TRY_VOID(write_epochs());
  FlushTask task = start_flush();
  if (active()->size_bytes() > 0) KM_TRY_VOID(add_segment_files(*active(), true, task.files));
  KM_TRY_VOID(task.run());
  flush_done(task);
  for (const auto& segment : segments) {
    segment->close_writable();
    segment->release_files();
  }
  return {};
}

Result<std::string> PartitionLog::Impl::schedule_delete() {
  const std::string id = fmt::format("{:016x}{:016x}", env.rng.next(), env.rng.next());
  const std::string& old_path = identity.directory;
  const std::size_t slash = old_path.rfind('/');
  // Kafka's form: "<topic>-<partition>.<32 hex digits>-delete", the topic cut so that the name
  // fits.
  constexpr std::size_t kNameLimit = 255;
  const std::string suffix = fmt::format(".{}-delete", id);
  std::string name_part = slash == std::string::npos ? old_path : old_path.substr(slash + 1);
  name_part.resize(std::min(name_part.size(), kNameLimit - suffix.size()));
  const std::string parent = slash == std::string::npos ? "" : old_path.substr(0, slash + 1);
  std::string new_path = parent + name_part + suffix;
  const bool was_online = online.exchange(false);
  wake_waiters(true);
  if (was_online) {
    for (const auto& segment : segments) segment->close_writable();
  }
  KM_TRY_VOID(env.files.rename(old_path, new_path));
  return new_path;
}

}  // namespace kmirror::storage
