// CoordinatorRuntime: the shards of one internal topic: makes the topic on first need, opens its
// logs, finds the shard of a partition and carries work to its loop.
// Owner: any thread for dispatch() and ensure_topic(); loop 0 for the rest. Each ShardRunner is
// used on its own loop only. Invariant: once published, the table of shards never changes size.
// Sources: Kafka 4.4 CoordinatorRuntime; house section 4.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/runtime/shard_runner.h"
#include "kmirror/base/published.h"
#include "kmirror/env/environment.h"
#include "kmirror/metadata/engine.h"
#include "kmirror/storage/log_manager.h"

namespace kmirror::coordinator {

struct CoordinatorRuntimeConfig {
  CoordinatorRuntimeConfig() = default;
  std::string topic;
  std::int32_t partition_count = 50;  ///< to create the topic with
  metadata::ConfigMap topic_configs;  ///< likewise
  storage::LogConfig log_config;      ///< for logs that this runtime is the first to open
  bool flush = true;
  bool wait_while_loading = false;
};

class CoordinatorRuntime final : public metadata::MetadataListener,
                                 public std::enable_shared_from_this<CoordinatorRuntime> {
 public:
  using Operation = ShardRunner::Operation;
  using Refuse = ShardRunner::Refuse;

  CoordinatorRuntime(env::Environment& environment, storage::LogManager& logs,
                     metadata::MetadataEngine& engine, CoordinatorRuntimeConfig config,
                     ShardFactory factory);
  ~CoordinatorRuntime() override;

  /// Listens to metadata from now on and loads the shards of the topic if it is there. Loop 0,
  /// once.
  void start();
  /// See GroupCoordinator::log_created().
  void log_created(std::shared_ptr<storage::PartitionLog> log);
  /// Ends every shard, then calls `done` on loop 0. Loop 0, once.
  void shut_down(UniqueFunction<void()> done);

  /// Calls `done`, on this or another thread, when the topic and its shards are there. At most
  /// 10,000 calls wait. Errors: the engine's, COORDINATOR_NOT_AVAILABLE after shut_down().
  void ensure_topic(UniqueFunction<void(Result<void>)> done);
  [[nodiscard]] bool has_topic() const { return table_.load() != nullptr; }
  /// Calls `there` when the shards are there, or `nowhere` if there is no such topic (and makes
  /// none); on this or another thread.
  void if_topic(UniqueFunction<void()> there, UniqueFunction<void(Result<void>)> nowhere);
  /// Partitions of the topic; before it exists, how many it will be made with.
  [[nodiscard]] std::int32_t partition_count() const;

  /// Runs `operation` on the loop of shard `partition`, or `refuse` there or here. The topic must
  /// be there, else NOT_COORDINATOR.
  void dispatch(std::int32_t partition, Operation operation, Refuse refuse);
  /// Work on the shards that serve at this moment, on each one's loop; others are passed over.
  void for_each_active(std::function<void(CoordinatorShard&)> work);

  void on_metadata(const metadata::MetadataDelta& delta) override;

 private:
  struct Entry {
    Entry() = default;
    env::Loop* loop = nullptr;
    std::shared_ptr<ShardRunner> runner;
  };
  struct Table {
    Table() = default;
    Uuid topic_id;
    std::vector<Entry> entries;
  };

  void open(const metadata::TopicImage& topic);
  void open_log(const Uuid& topic_id, std::int32_t partition);
  void give_log(const Table& table, std::shared_ptr<storage::PartitionLog> log);
  void close_table(UniqueFunction<void()> done);
  void create_topic();
  void resolve_waiting(const Result<void>& result);
  [[nodiscard]] std::shared_ptr<ShardRunner> make_runner(env::Loop& loop, std::int32_t partition);

  env::Environment& environment_;
  storage::LogManager& logs_;
  metadata::MetadataEngine& engine_;
  const CoordinatorRuntimeConfig config_;
  const ShardFactory factory_;
  Published<Table> table_;
  std::atomic<bool> closed_{false};
  // Loop 0 only.
  bool creating_ = false;
  std::deque<UniqueFunction<void(Result<void>)>> waiting_;
  std::vector<bool> given_;
};

}  // namespace kmirror::coordinator
