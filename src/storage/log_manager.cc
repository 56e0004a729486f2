#include "kmirror/storage/log_manager.h"

#include <algorithm>

#include <fmt/format.h>

#include "kmirror/base/log.h"
#include "kmirror/model/error_code.h"
#include "storage/log_manager_impl.h"

namespace kmirror::storage {

LogManager::Impl::Impl(LogManager& manager, env::Environment& environment,
                       LogManagerConfig settings, metrics::Registry& registry)
    : door(manager),
      env(environment),
      config(std::move(settings)),
      flush_queues(environment.loops.size()),
      flushes(registry.counter("kmirror_log_flushes_total", "Times a log was made durable")),
      flush_errors(registry.counter("kmirror_log_flush_errors_total", "Times that failed")),
      offline_directories(registry.gauge("kmirror_offline_log_directories",
                                         "Log directories taken offline after a disk error")) {
  for (const auto& path : config.log_dirs) {
    directories.push_back(std::make_unique<Directory>());
    directories.back()->path = path;
  }
}

env::Loop& LogManager::Impl::loop_of(const Uuid& topic_id, std::int32_t partition) const {
  const std::size_t hash = std::hash<TopicIdPartition>{}({topic_id, partition});
  return *env.loops[hash % env.loops.size()];
}

std::vector<LogManager::Impl::Log> LogManager::Impl::all() const {
  std::vector<Log> out;
  by_name.append_all(out);
  std::sort(out.begin(), out.end(),
            [](const Log& a, const Log& b) { return a->topic_partition() < b->topic_partition(); });
  return out;
}

void LogManager::Impl::enter(const Log& log, Directory& directory) {
  by_name.put(log->topic_partition(), log);
  by_id.put({log->topic_id(), log->topic_partition().partition}, log);
  ++directory.log_count;
}

void LogManager::Impl::leave(const Log& log, Directory& directory) {
  by_name.erase(log->topic_partition());
  by_id.erase({log->topic_id(), log->topic_partition().partition});
  --directory.log_count;
  directory.cleaner_offsets.erase(log->topic_partition());
}

LogManager::Impl::Directory* LogManager::Impl::directory_of(const PartitionLog& log) {
  for (const auto& directory : directories) {
    if (log.directory().starts_with(directory->path + '/')) return directory.get();
  }
  return nullptr;
}

void LogManager::Impl::create(ExpectedLog wanted, CreateDone done) {
  if (auto log = by_name.find(wanted.topic_partition)) {
    if (log->topic_id() == wanted.topic_id) {
      done(std::move(log));
    } else {
      done(kafka_error(
          ErrorCode::INCONSISTENT_TOPIC_ID,
          fmt::format("{} exists with topic id {}", wanted.topic_partition, log->topic_id())));
    }
    return;
  }
  auto& waiting = creating[wanted.topic_partition];
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) return;
  Directory* best = nullptr;
  for (const auto& directory : directories) {
    if (directory->online.load() && (best == nullptr || directory->log_count < best->log_count)) {
      best = directory.get();
    }
  }
  if (best == nullptr) {
    auto all_waiting = std::move(waiting);
    creating.erase(wanted.topic_partition);
    for (auto& one : all_waiting) {
      one(kafka_error(ErrorCode::KAFKA_STORAGE_ERROR, "no log directory is online"));
    }
    return;
  }
  env.disk.submit([self = shared_from_this(), wanted = std::move(wanted), best]() mutable {
    PartitionLog::OpenOptions options = self->open_options(*best, wanted);
    options.clean = false;
    options.log_start_offset = Offset(0);
    options.recovery_point = Offset(0);
    auto opened = self->open_log(*best, wanted, std::move(options));
    if (opened) {
      const auto synced = self->env.files.sync_directory(best->path);
      if (!synced) opened = synced.error();
    }
    self->env.loops[0]->post(
        [self, wanted = std::move(wanted), best, opened = std::move(opened)]() mutable {
          self->create_finished(wanted, *best, std::move(opened));
        });
  });
}

void LogManager::Impl::create_finished(const ExpectedLog& wanted, Directory& directory,
                                       Result<Log> opened) {
  auto waiting = std::move(creating[wanted.topic_partition]);
  creating.erase(wanted.topic_partition);
  if (opened) {
    enter(*opened, directory);
  } else {
    KM_LOG(kError, "storage.create_failed", "{}: {}", wanted.topic_partition,
           opened.error().message);
  }
  for (auto& done : waiting) done(opened);
}

void LogManager::Impl::remove(const TopicPartition& partition,
                              UniqueFunction<void(Result<void>)> done) {
  const Log log = by_name.find(partition);
  Directory* directory = log ? directory_of(*log) : nullptr;
  if (directory == nullptr) {
    done(kafka_error(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                     fmt::format("there is no log of {}", partition)));
    return;
  }
  leave(log, *directory);
  env::Loop& owner = loop_of(log->topic_id(), partition.partition);
  owner.post([self = shared_from_this(), log, directory, partition, &owner,
              done = std::move(done)]() mutable {
    self->flush_queues[owner.index()].erase(log.get());
    auto renamed = log->schedule_delete();
    self->env.loops[0]->post([self, directory, partition, renamed = std::move(renamed),
                              done = std::move(done)]() mutable {
      self->remove_renamed(partition, *directory, std::move(renamed), std::move(done));
    });
  });
}

void LogManager::Impl::remove_renamed(const TopicPartition& partition, Directory& directory,
                                      Result<std::string> renamed,
                                      UniqueFunction<void(Result<void>)> done) {
  if (!renamed) {
    KM_LOG(kError, "storage.delete_failed", "{}: {}", partition, renamed.error().message);
    take_offline(directory, renamed.error());
    done(renamed.error());
    return;
  }
  Garbage later;
  later.due_ms = env.clock.wall_ms() + LogConfig().file_delete_delay_ms;
  later.directory = std::move(*renamed);
  garbage.push_back(std::move(later));
  done({});
}

// ---- the door ----

LogManager::LogManager(env::Environment& environment, LogManagerConfig config,
                       metrics::Registry& metrics)
    : impl_(std::make_shared<Impl>(*this, environment, std::move(config), metrics)) {}

LogManager::~LogManager() {
  impl_->stopped = true;
  impl_->flush_timer.reset();
  impl_->checkpoint_timer.reset();
  impl_->retention_timer.reset();
}

Result<LoadReport> LogManager::load(const std::vector<ExpectedLog>& expected) {
  return impl_->load(expected);
}
std::shared_ptr<PartitionLog> LogManager::find(const TopicPartition& partition) const {
  return impl_->by_name.find(partition);
}
std::shared_ptr<PartitionLog> LogManager::find(const Uuid& topic_id, std::int32_t partition) const {
  return impl_->by_id.find({topic_id, partition});
}
std::vector<std::shared_ptr<PartitionLog>> LogManager::all() const { return impl_->all(); }
env::Loop& LogManager::loop_of(const PartitionLog& log) const {
  return impl_->loop_of(log.topic_id(), log.topic_partition().partition);
}
env::Loop& LogManager::loop_of(const Uuid& topic_id, std::int32_t partition) const {
  return impl_->loop_of(topic_id, partition);
}
void LogManager::create(ExpectedLog log,
                        UniqueFunction<void(Result<std::shared_ptr<PartitionLog>>)> done) {
  impl_->create(std::move(log), std::move(done));
}
void LogManager::remove(const TopicPartition& partition, UniqueFunction<void(Result<void>)> done) {
  impl_->remove(partition, std::move(done));
}
void LogManager::start() { impl_->start(); }
void LogManager::flush(std::shared_ptr<PartitionLog> log, UniqueFunction<void(Result<void>)> done) {
  impl_->flush(log, std::move(done));
}
Result<void> LogManager::shut_down_clean() { return impl_->shut_down_clean(); }
const LogManagerConfig& LogManager::config() const { return impl_->config; }

}  // namespace kmirror::storage
