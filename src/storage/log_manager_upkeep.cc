// Periodic work: flush, checkpoints, retention, files to remove; and directories that went offline.
#include <fmt/format.h>

#include "kmirror/base/log.h"
#include "storage/log_manager_impl.h"

namespace kmirror::storage {

void LogManager::Impl::start() {
  started = true;
  every(config.flush_interval_ms, flush_timer, &Impl::flush_everything);
  every(config.checkpoint_interval_ms, checkpoint_timer, &Impl::write_checkpoints_in_pool);
  every(config.retention_check_interval_ms, retention_timer, &Impl::apply_retention);
}

void LogManager::Impl::every(std::int64_t interval_ms, std::unique_ptr<env::Timer>& timer,
                             void (Impl::*work)()) {
  const env::Instant when = env.clock.now() + std::chrono::milliseconds(interval_ms);
  timer = env::call_at(env.clock, *env.loops[0], when,
                       [weak = weak_from_this(), interval_ms, &timer, work] {
                         const auto self = weak.lock();
                         if (!self || self->stopped) return;
                         (self.get()->*work)();
                         self->every(interval_ms, timer, work);
                       });
}

void LogManager::Impl::on_each_loop(std::function<void(const Log&)> work) {
  std::map<env::Loop*, std::vector<Log>> by_loop;
  for (auto& log : all()) by_loop[&loop_of(*log)].push_back(std::move(log));
  for (auto& [loop, logs] : by_loop) {
    loop->post([logs = std::move(logs), work] {
      for (const auto& log : logs) work(log);
    });
  }
}

void LogManager::Impl::write_checkpoints_in_pool() {
  remove_garbage();
  on_each_loop([self = shared_from_this()](const Log& log) {
    auto paths = log->take_deletable_files(self->env.clock.wall_ms());
    if (paths.empty()) return;
    self->env.disk.submit([self, paths = std::move(paths)] {
      for (const auto& path : paths) {
        const auto removed = self->env.files.remove(path);
        if (!removed) KM_LOG(kWarn, "storage.delete_failed", "{}", removed.error().message);
      }
    });
  });
  write_checkpoints_later();
}

// At most one write at a time; whoever comes meanwhile gets another one after it.
void LogManager::Impl::write_checkpoints_later() {
  if (checkpoint_running) {
    checkpoint_wanted = true;
    return;
  }
  checkpoint_running = true;
  env.disk.submit([self = shared_from_this(), cleaner = cleaner_snapshot()] {
    std::vector<std::pair<Directory*, Error>> failed;
    for (std::size_t i = 0; i < self->directories.size(); ++i) {
      Directory& directory = *self->directories[i];
      if (!directory.online.load()) continue;
      const auto written = self->write_checkpoints(directory, cleaner[i]);
      if (!written) failed.emplace_back(&directory, written.error());
    }
    self->env.loops[0]->post([self, failed = std::move(failed)] {
      self->checkpoint_running = false;
      for (const auto& [directory, error] : failed) self->take_offline(*directory, error);
      if (!self->checkpoint_wanted) return;
      self->checkpoint_wanted = false;
      self->write_checkpoints_later();
    });
  });
}

std::vector<OffsetCheckpoint> LogManager::Impl::cleaner_snapshot() const {
  std::vector<OffsetCheckpoint> out;
  out.reserve(directories.size());
  for (const auto& directory : directories) out.push_back(directory->cleaner_offsets);
  return out;
}

Result<void> LogManager::Impl::write_checkpoints(Directory& directory,
                                                 const OffsetCheckpoint& cleaner) {
  OffsetCheckpoint recovery_points;
  OffsetCheckpoint high_watermarks;
  OffsetCheckpoint log_starts;
  std::vector<std::pair<Log, Offset>> saved;
  for (auto& log : all()) {
    if (directory_of(*log) != &directory) continue;
    const TopicPartition& partition = log->topic_partition();
    const Offset point = log->recovery_point();
    recovery_points[partition] = point;
    high_watermarks[partition] = log->high_watermark();
    if (log->log_start_offset() > Offset(0)) log_starts[partition] = log->log_start_offset();
    if (log->checkpoint_limit()) saved.emplace_back(std::move(log), point);
  }
  const auto write = [&](std::string_view name, const OffsetCheckpoint& offsets) {
    return env.files.write_text_atomically(directory.path + '/' + std::string(name),
                                           to_text(offsets));
  };
  KM_TRY_VOID(write(kRecoveryPointName, recovery_points));
  KM_TRY_VOID(write(kHighWatermarkName, high_watermarks));
  KM_TRY_VOID(write(kLogStartName, log_starts));
  KM_TRY_VOID(write(kCleanerName, cleaner));
  for (const auto& [log, point] : saved) {
    loop_of(*log).post([log = log, point = point] { log->recovery_point_saved(point); });
  }
  return {};
}

void LogManager::Impl::apply_retention() {
  on_each_loop([self = shared_from_this()](const Log& log) {
    if (!log->is_online()) return;
    const std::int64_t now_ms = self->env.clock.wall_ms();
    const auto removed = log->apply_retention(now_ms);
    if (!removed) {
      KM_LOG(kWarn, "storage.retention_failed", "{}: {}", log->topic_partition(),
             removed.error().message);
    } else if (*removed > 0) {
      KM_LOG(kInfo, "storage.segments_expired", "{}: {} segments, log start {}",
             log->topic_partition(), *removed, log->log_start_offset());
    }
    log->expire_producers(now_ms, self->config.producer_id_expiration_ms);
    log->release_idle_files();
  });
}

// What the cleaner knew of the bytes that were cut is void, in memory and in the file.
void LogManager::Impl::truncated(const TopicPartition& partition, Offset new_end) {
  for (const auto& directory : directories) {
    const auto found = directory->cleaner_offsets.find(partition);
    if (found == directory->cleaner_offsets.end() || found->second <= new_end) continue;
    found->second = new_end;
  }
  if (started && !stopped) write_checkpoints_later();
}

void LogManager::Impl::take_offline(Directory& directory, const Error& reason) {
  if (!directory.online.exchange(false)) return;
  offline_directories.add(1);
  KM_LOG(kError, "storage.log_dir_offline", "{}: {}", directory.path, reason.message);
  for (const auto& log : all()) {
    if (directory_of(*log) != &directory) continue;
    loop_of(*log).post([log, reason] { log->take_offline(reason); });
  }
  if (!stopped && door.on_offline) door.on_offline(directory.path, reason);
}

void LogManager::Impl::remove_garbage() {
  const std::int64_t now_ms = env.clock.wall_ms();
  std::erase_if(garbage, [&](const Garbage& item) {
    if (item.due_ms > now_ms) return false;
    env.disk.submit([&files = env.files, path = item.directory] {
      const auto removed = files.remove_all(path);
      if (!removed) KM_LOG(kWarn, "storage.delete_failed", "{}", removed.error().message);
    });
    return true;
  });
}

}  // namespace kmirror::storage
