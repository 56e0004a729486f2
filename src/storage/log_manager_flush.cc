// Group commit, and the clean stop.
#include <fmt/format.h>

#include "kmirror/base/log.h"
#include "kmirror/model/error_code.h"
#include "storage/log_manager_impl.h"

namespace kmirror::storage {

// While one fdatasync of a log runs, all who come wait for the next one: it covers whatever was
// appended before it starts.
void LogManager::Impl::flush(const Log& log, FlushQueue::Done done) {
  FlushQueue& queue = flush_queues[loop_of(*log).index()][log.get()];
  if (queue.running) {
    queue.next.push_back(std::move(done));
    return;
  }
  queue.current.push_back(std::move(done));
  start_flush(log, queue);
}

void LogManager::Impl::start_flush(const Log& log, FlushQueue& queue) {
  queue.running = true;
  auto task = std::make_shared<PartitionLog::FlushTask>(log->start_flush());
  env::Loop& owner = loop_of(*log);
  env.disk.submit([self = shared_from_this(), log, task, &owner] {
    auto result =
        log->is_online()
            ? task->run()
            : Result<void>(kafka_error(ErrorCode::KAFKA_STORAGE_ERROR,
                                       fmt::format("{} is offline", log->topic_partition())));
    owner.post([self, log, task, result = std::move(result)]() mutable {
      self->flush_finished(log, *task, std::move(result));
    });
  });
}

void LogManager::Impl::flush_finished(const Log& log, const PartitionLog::FlushTask& task,
                                      Result<void> result) {
  flushes.add();
  auto& queues = flush_queues[loop_of(*log).index()];
  if (result) {
    log->flush_done(task);
  } else {
    // What reached the disk is unknown now, and asking again would get a false yes.
    flush_errors.add();
    log->take_offline(result.error());
  }
  const auto found = queues.find(log.get());
  if (found == queues.end()) return;  // removed meanwhile
  auto finished = std::move(found->second.current);
  found->second.current = std::move(found->second.next);
  found->second.next.clear();
  found->second.running = false;
  for (auto& done : finished) {
    if (done) done(result);
  }
  const auto still = queues.find(log.get());
  if (still == queues.end() || still->second.running) return;
  if (still->second.current.empty()) {
    queues.erase(still);
  } else {
    start_flush(log, still->second);
  }
}

void LogManager::Impl::flush_everything() {
  on_each_loop([self = shared_from_this()](const Log& log) {
    if (log->is_online() && log->recovery_point() < log->log_end_offset())
      self->flush(log, nullptr);
  });
}

Result<void> LogManager::Impl::shut_down_clean() {
  stopped = true;
  flush_timer.reset();
  checkpoint_timer.reset();
  retention_timer.reset();
  Result<void> first_error;
  for (const auto& directory : directories) {
    if (!directory->online.load()) continue;
    const auto closed = close_directory(*directory);
    if (closed) continue;
    KM_LOG(kError, "storage.close_failed", "{}: {}", directory->path, closed.error().message);
    if (first_error) first_error = closed.error();
  }
  return first_error;
}

Result<void> LogManager::Impl::close_directory(Directory& directory) {
  Result<void> first_error;
  for (const auto& log : all()) {
    if (directory_of(*log) != &directory || !log->is_online()) continue;
    const auto closed = log->close_clean();
    if (!closed && first_error) first_error = closed.error();
  }
  KM_TRY_VOID(write_checkpoints(directory, directory.cleaner_offsets));
  // One log that could not be closed makes the whole directory unclean: it is then checked.
  if (!first_error) return first_error;
  KM_TRY_VOID(env.files.write_text_atomically(directory.path + '/' + std::string(kCleanMarkName),
                                              R"({"version":0,"brokerEpoch":-1})"));
  directory.lock.reset();
  return {};
}

}  // namespace kmirror::storage
