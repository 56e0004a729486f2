// LogManager::Impl: one file a concern: log_manager (creating, removing, finding),
// log_manager_load, log_manager_flush (group commit, clean stop), log_manager_upkeep (timers,
// checkpoints, retention, offline directories). Owner: loop 0; `tables` and `loops` any thread; a
// FlushQueue belongs to the loop of its log. Invariants: a log is in `tables` from the moment it is
// open until it is removed; its loop is a function of topic id and partition alone. Sources: see
// log_manager.h.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "kmirror/base/published.h"
#include "kmirror/env/timer.h"
#include "kmirror/storage/log_manager.h"
#include "storage/checkpoint_file.h"

namespace kmirror::storage {

inline constexpr std::string_view kCleanMarkName = ".kafka_cleanshutdown";
inline constexpr std::string_view kLockName = ".lock";
inline constexpr std::string_view kRecoveryPointName = "recovery-point-offset-checkpoint";
inline constexpr std::string_view kHighWatermarkName = "replication-offset-checkpoint";
inline constexpr std::string_view kLogStartName = "log-start-offset-checkpoint";
inline constexpr std::string_view kCleanerName = "cleaner-offset-checkpoint";
/// The metadata log's directory: its own engine opens it.
inline constexpr std::string_view kMetadataTopic = "__cluster_metadata";

/// A table that one thread changes and all read. Split so that a change copies a small part.
template <class Key>
class LogTable {
 public:
  using Log = std::shared_ptr<PartitionLog>;
  [[nodiscard]] Log find(const Key& key) const {
    const auto part = parts_[index(key)].load();
    if (!part) return nullptr;
    const auto found = part->find(key);
    return found == part->end() ? nullptr : found->second;
  }
  void put(const Key& key, Log log) {
    auto next = copy(key);
    (*next)[key] = std::move(log);
    parts_[index(key)].store(std::move(next));
  }
  void erase(const Key& key) {
    auto next = copy(key);
    next->erase(key);
    parts_[index(key)].store(std::move(next));
  }
  void append_all(std::vector<Log>& out) const {
    for (const auto& part : parts_) {
      const auto logs = part.load();
      if (!logs) continue;
      for (const auto& [key, log] : *logs) out.push_back(log);
    }
  }

 private:
  using Part = std::unordered_map<Key, Log>;
  static constexpr std::size_t kParts = 256;
  static std::size_t index(const Key& key) { return std::hash<Key>{}(key) % kParts; }
  [[nodiscard]] std::shared_ptr<Part> copy(const Key& key) const {
    const auto part = parts_[index(key)].load();
    return part ? std::make_shared<Part>(*part) : std::make_shared<Part>();
  }
  std::array<Published<Part>, kParts> parts_;
};

/// Callers that wait for one log's next fdatasync.
struct FlushQueue {
  FlushQueue() = default;
  using Done = UniqueFunction<void(Result<void>)>;
  bool running = false;
  std::vector<Done> current;
  std::vector<Done> next;
};

class LogManager::Impl : public std::enable_shared_from_this<LogManager::Impl> {
 public:
  using Log = std::shared_ptr<PartitionLog>;
  using CreateDone = UniqueFunction<void(Result<Log>)>;

  struct Directory {
    Directory() = default;
    std::string path;
    std::unique_ptr<env::FileLock> lock;
    std::atomic<bool> online{true};
    bool was_clean = false;
    OffsetCheckpoint recovery_points;
    OffsetCheckpoint high_watermarks;
    OffsetCheckpoint log_starts;
    OffsetCheckpoint cleaner_offsets;  ///< kept up to date while running
    std::size_t log_count = 0;
  };

  Impl(LogManager& door, env::Environment& environment, LogManagerConfig settings,
       metrics::Registry& registry);

  // ---- log_manager.cc ----
  [[nodiscard]] env::Loop& loop_of(const Uuid& topic_id, std::int32_t partition) const;
  [[nodiscard]] env::Loop& loop_of(const PartitionLog& log) const {
    return loop_of(log.topic_id(), log.topic_partition().partition);
  }
  void create(ExpectedLog wanted, CreateDone done);
  void create_finished(const ExpectedLog& wanted, Directory& directory, Result<Log> opened);
  void remove(const TopicPartition& partition, UniqueFunction<void(Result<void>)> done);
  void remove_renamed(const TopicPartition& partition, Directory& directory,
                      Result<std::string> renamed, UniqueFunction<void(Result<void>)> done);
  void enter(const Log& log, Directory& directory);
  void leave(const Log& log, Directory& directory);
  [[nodiscard]] Directory* directory_of(const PartitionLog& log);
  [[nodiscard]] std::vector<Log> all() const;

  // ---- log_manager_load.cc ----
  [[nodiscard]] Result<LoadReport> load(const std::vector<ExpectedLog>& expected);
  [[nodiscard]] Result<void> open_directory(Directory& directory);
  [[nodiscard]] Result<void> load_directory(Directory& directory,
                                            std::map<TopicPartition, const ExpectedLog*>& missing,
                                            LoadReport& report);
  [[nodiscard]] Result<void> move_aside(Directory& directory, const std::string& name,
                                        LoadReport& report);
  [[nodiscard]] PartitionLog::OpenOptions open_options(Directory& directory,
                                                       const ExpectedLog& wanted);
  [[nodiscard]] Result<Log> open_log(Directory& directory, const ExpectedLog& wanted,
                                     PartitionLog::OpenOptions options);

  // ---- log_manager_flush.cc ----
  void flush(const Log& log, FlushQueue::Done done);
  void start_flush(const Log& log, FlushQueue& queue);
  void flush_finished(const Log& log, const PartitionLog::FlushTask& task, Result<void> result);
  void flush_everything();
  [[nodiscard]] Result<void> shut_down_clean();
  [[nodiscard]] Result<void> close_directory(Directory& directory);

  // ---- log_manager_upkeep.cc ----
  void start();
  void every(std::int64_t interval_ms, std::unique_ptr<env::Timer>& timer, void (Impl::*work)());
  void write_checkpoints_later();
  void write_checkpoints_in_pool();
  [[nodiscard]] Result<void> write_checkpoints(Directory& directory,
                                               const OffsetCheckpoint& cleaner);
  [[nodiscard]] std::vector<OffsetCheckpoint> cleaner_snapshot() const;
  void apply_retention();
  void truncated(const TopicPartition& partition, Offset new_end);
  /// Runs `work` for each log on its own loop: one message a loop.
  void on_each_loop(std::function<void(const Log&)> work);
  void take_offline(Directory& directory, const Error& reason);
  void remove_garbage();

  LogManager& door;  ///< for on_offline only, and not once `stopped` is set
  env::Environment& env;
  LogManagerConfig config;
  std::vector<std::unique_ptr<Directory>> directories;
  LogTable<TopicPartition> by_name;
  LogTable<TopicIdPartition> by_id;
  std::map<TopicPartition, std::vector<CreateDone>> creating;
  /// One table a loop, used on that loop only.
  std::vector<std::unordered_map<const PartitionLog*, FlushQueue>> flush_queues;
  struct Garbage {
    Garbage() = default;
    std::int64_t due_ms = 0;
    std::string directory;
  };
  std::vector<Garbage> garbage;
  bool started = false;
  std::atomic<bool> stopped{false};
  bool checkpoint_running = false;
  bool checkpoint_wanted = false;
  std::unique_ptr<env::Timer> flush_timer;
  std::unique_ptr<env::Timer> checkpoint_timer;
  std::unique_ptr<env::Timer> retention_timer;
  metrics::Counter& flushes;
  metrics::Counter& flush_errors;
  metrics::Gauge& offline_directories;
};

}  // namespace kmirror::storage
