// ShardRunner: the life of one shard: waiting for its log, replaying it, serving requests, holding
// answers back until what they report is durable, and ending.
// Owner: the loop that owns the partition's log; every call comes from there.
// Invariant: answers leave in the order in which when_durable() was called.
// Sources: Kafka 4.4 CoordinatorRuntime; decisions 3.20.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "coordinator/runtime/partition_io.h"
#include "coordinator/runtime/shard.h"
#include "kmirror/env/clock.h"

namespace kmirror::coordinator {

struct ShardRunnerOptions {
  ShardRunnerOptions() = default;
  std::string name;  ///< topic-partition, for the log
  bool flush = true;
  /// Requests that come while the log is replayed wait instead of being refused.
  bool wait_while_loading = false;
  std::size_t max_waiting_count = 10'000;
  std::size_t max_batch_bytes = 786'432;  ///< well below max.message.bytes
};

class ShardRunner final : public ShardContext, public std::enable_shared_from_this<ShardRunner> {
 public:
  using Operation = UniqueFunction<void(CoordinatorShard&)>;
  using Refuse = UniqueFunction<void(ErrorCode)>;

  ShardRunner(env::Clock& clock, env::Rng& rng, TimerQueue::Arm arm, ShardFactory factory,
              ShardRunnerOptions options);
  ~ShardRunner() override;

  /// Replays the log and then serves. Once.
  void load(std::unique_ptr<PartitionWriter> writer, std::unique_ptr<PartitionLoader> loader);
  /// There will be no log: what waits is refused with COORDINATOR_NOT_AVAILABLE.
  void fail(const Error& reason);
  /// Runs `operation` now or, while the log is not there yet (or is replayed, if so configured),
  /// later; else calls `refuse`: COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR.
  void run(Operation operation, Refuse refuse);
  /// Ends the shard; everything that waits is answered with NOT_COORDINATOR.
  void close();
  [[nodiscard]] bool is_active() const { return state_ == State::kActive; }
  /// For tests: the state machine, null unless active.
  [[nodiscard]] CoordinatorShard* shard() { return shard_.get(); }

  // ShardContext
  [[nodiscard]] AppendOutcome append(std::span<const CoordinatorRecord> records) override;
  void when_durable(UniqueFunction<void(ErrorCode)> then) override;
  [[nodiscard]] TimerQueue& timers() override { return timers_; }
  [[nodiscard]] env::Clock& clock() override { return clock_; }
  [[nodiscard]] env::Rng& rng() override { return rng_; }

 private:
  enum class State { kOpening, kLoading, kActive, kEnded };
  struct Held {
    Held(Offset o, UniqueFunction<void(ErrorCode)> t) : needs(o), then(std::move(t)) {}
    Offset needs;  ///< runs when everything below is durable
    UniqueFunction<void(ErrorCode)> then;
  };
  struct Waiting {
    Waiting(Operation o, Refuse r) : operation(std::move(o)), refuse(std::move(r)) {}
    Operation operation;
    Refuse refuse;
  };

  void replay(std::vector<LoadedBatch> batches);
  void loaded(const Result<void>& result);
  void end(ErrorCode waiting_code);
  void start_flush();
  void flushed(Offset up_to, const Result<void>& result);

  env::Clock& clock_;
  env::Rng& rng_;
  ShardFactory factory_;
  ShardRunnerOptions options_;
  TimerQueue timers_;
  State state_ = State::kOpening;
  std::unique_ptr<PartitionWriter> writer_;
  std::unique_ptr<PartitionLoader> loader_;
  std::unique_ptr<CoordinatorShard> shard_;
  std::deque<Waiting> waiting_;
  std::deque<Held> held_;
  Offset log_end_;
  Offset durable_end_;
  bool flushing_ = false;
  std::int64_t load_started_ms_ = 0;
  std::size_t replayed_count_ = 0;
};

}  // namespace kmirror::coordinator
