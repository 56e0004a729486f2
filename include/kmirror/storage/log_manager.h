// LogManager: all partition logs of the process: loading, finding, creating, deleting, flushing,
// retention, cleaning and the checkpoint files of each log directory.
// Owner: loop 0 for create/delete/housekeeping; find() from any thread. A log's loop is
// hash(topic id, partition) mod loops, for life.
// Sources: Kafka 4.4 LogManager, LogCleaner; decisions 3.12, 3.20, 3.23, section 4.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kmirror/base/metrics.h"
#include "kmirror/base/published.h"
#include "kmirror/base/result.h"
#include "kmirror/env/environment.h"
#include "kmirror/storage/partition_log.h"

namespace kmirror::storage {

struct LogManagerConfig {
  LogManagerConfig() = default;
  std::vector<std::string> log_dirs;
  std::int64_t flush_interval_ms = 5'000;
  std::int64_t retention_check_interval_ms = 300'000;
  std::int64_t checkpoint_interval_ms = 5'000;
  std::int64_t producer_id_expiration_ms = 86'400'000;
  std::int64_t cleaner_dedupe_buffer_bytes = 16'777'216;
  std::int64_t cleaner_backoff_ms = 15'000;
};

struct ExpectedLog {
  ExpectedLog() = default;
  TopicPartition topic_partition;
  Uuid topic_id;
  LogConfig config;
};

struct LoadReport {
  LoadReport() = default;
  std::size_t loaded = 0;
  std::vector<std::string> strays;   ///< directories moved aside (decisions 3.23)
  std::vector<std::string> offline;  ///< log directories that failed, with the reason
};

class LogManager {
 public:
  LogManager(env::Environment& environment, LogManagerConfig config, metrics::Registry& metrics);
  ~LogManager();
  LogManager(const LogManager&) = delete;
  LogManager& operator=(const LogManager&) = delete;

  /// Locks the log directories and opens every log that metadata expects; partition directories of
  /// unknown topics are moved aside, never served or wiped. Blocking; before the loops serve.
  /// Errors: a directory is locked by another process or cannot be made.
  [[nodiscard]] Result<LoadReport> load(const std::vector<ExpectedLog>& expected);

  /// The log, or null. Any thread.
  [[nodiscard]] std::shared_ptr<PartitionLog> find(const TopicPartition& partition) const;
  [[nodiscard]] std::shared_ptr<PartitionLog> find(const Uuid& topic_id,
                                                   std::int32_t partition) const;
  [[nodiscard]] std::vector<std::shared_ptr<PartitionLog>> all() const;
  /// The loop that owns this log. Any thread.
  [[nodiscard]] env::Loop& loop_of(const PartitionLog& log) const;
  [[nodiscard]] env::Loop& loop_of(const Uuid& topic_id, std::int32_t partition) const;

  /// Makes the log on disk (or returns the one there is) and calls `done` on loop 0. Loop 0.
  void create(ExpectedLog log, UniqueFunction<void(Result<std::shared_ptr<PartitionLog>>)> done);
  /// Stops serving, renames the directory to "-delete", removes the files later. Loop 0.
  void remove(const TopicPartition& partition, UniqueFunction<void(Result<void>)> done);

  /// Starts the periodic work: flush, checkpoints, retention, cleaning. Loop 0, once.
  void start();
  /// Group-committed fdatasync: `done` runs on the caller's `loop` after everything appended to
  /// `log` before the call is durable; many callers share one fdatasync. Owner loop of `log`.
  void flush(std::shared_ptr<PartitionLog> log, UniqueFunction<void(Result<void>)> done);
  /// One pass of the cleaner over this log, now (tests, tools). Owner loop; `done` there.
  void clean_now(std::shared_ptr<PartitionLog> log, UniqueFunction<void(Result<void>)> done);
  /// Stops periodic work, flushes and closes every log, writes checkpoints and the clean-shutdown
  /// mark. Blocking; call after the loops stopped appending.
  [[nodiscard]] Result<void> shut_down_clean();
  /// Called with a log directory and reason when it went offline after a disk error. Set before
  /// load.
  std::function<void(const std::string& log_dir, const Error& reason)> on_offline;

  [[nodiscard]] const LogManagerConfig& config() const;

  class Impl;  // inside the room

 private:
  std::shared_ptr<Impl> impl_;  // kept by work in the disk pool until that ends
};

}  // namespace kmirror::storage
