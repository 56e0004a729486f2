// LogPartitionWriter and LogPartitionLoader: a shard's log as a storage::PartitionLog.
// Owner: the loop that owns the log. The loader reads and parses in the disk pool, one piece of at
// most kLoadPieceBytes (or one batch, if that is larger) at a time.
// Sources: Kafka 4.4 CoordinatorLoaderImpl, CoordinatorPartitionWriter.
#pragma once

#include <functional>
#include <memory>

#include "coordinator/runtime/partition_io.h"
#include "kmirror/env/environment.h"
#include "kmirror/storage/log_manager.h"
#include "kmirror/storage/partition_log.h"

namespace kmirror::coordinator {

inline constexpr std::size_t kLoadPieceBytes = 524'288;

class LogPartitionWriter final : public PartitionWriter {
 public:
  /// `leader_epoch` is asked for every append.
  LogPartitionWriter(storage::LogManager& logs, std::shared_ptr<storage::PartitionLog> log,
                     std::function<LeaderEpoch()> leader_epoch)
      : logs_(logs), log_(std::move(log)), leader_epoch_(std::move(leader_epoch)) {}

  [[nodiscard]] Result<Offset> append(Slice batch) override;
  void flush(UniqueFunction<void(Result<void>)> done) override;

 private:
  storage::LogManager& logs_;
  std::shared_ptr<storage::PartitionLog> log_;
  std::function<LeaderEpoch()> leader_epoch_;
};

class LogPartitionLoader final : public PartitionLoader {
 public:
  LogPartitionLoader(env::DiskPool& disk, env::Loop& loop,
                     std::shared_ptr<storage::PartitionLog> log)
      : disk_(disk), loop_(loop), log_(std::move(log)) {}

  void load(UniqueFunction<void(std::vector<LoadedBatch>)> on_batches,
            UniqueFunction<void(Result<void>)> done) override;
  void cancel() override;

 private:
  struct Job;
  static void read_next(const std::shared_ptr<Job>& job);

  env::DiskPool& disk_;
  env::Loop& loop_;
  std::shared_ptr<storage::PartitionLog> log_;
  std::shared_ptr<Job> job_;
};

}  // namespace kmirror::coordinator
