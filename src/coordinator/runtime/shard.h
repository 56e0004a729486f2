// CoordinatorShard: the state machine of one partition of an internal topic, and what it may use.
// Owner: the loop that owns the partition's log; every call comes from there.
// Sources: Kafka 4.4 CoordinatorShard, CoordinatorRuntime; house section 7.7.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "coordinator/runtime/coordinator_record.h"
#include "coordinator/runtime/timer_queue.h"
#include "kmirror/base/unique_function.h"
#include "kmirror/env/clock.h"
#include "kmirror/model/error_code.h"
#include "kmirror/model/record_batch.h"

namespace kmirror::coordinator {

struct AppendOutcome {
  AppendOutcome() = default;
  std::size_t appended_count = 0;  ///< records that are in the log, from the first
  std::optional<Error> error;      ///< why the rest is not
};

/// What a shard may do. Implemented by ShardRunner, and by tests.
class ShardContext {
 public:
  ShardContext() = default;
  ShardContext(const ShardContext&) = delete;
  ShardContext& operator=(const ShardContext&) = delete;
  virtual ~ShardContext() = default;

  /// Appends records to the log. Those that were appended are visible, not yet durable; the shard
  /// changes its state by them and only by them. Large lists are appended in several batches.
  [[nodiscard]] virtual AppendOutcome append(std::span<const CoordinatorRecord> records) = 0;
  /// Calls `then` once everything appended so far is durable, perhaps inside the call: NONE, or the
  /// code to answer with if that failed or the shard was closed.
  virtual void when_durable(UniqueFunction<void(ErrorCode)> then) = 0;
  [[nodiscard]] virtual TimerQueue& timers() = 0;
  [[nodiscard]] virtual env::Clock& clock() = 0;
  [[nodiscard]] virtual env::Rng& rng() = 0;
};

class CoordinatorShard {
 public:
  CoordinatorShard() = default;
  CoordinatorShard(const CoordinatorShard&) = delete;
  CoordinatorShard& operator=(const CoordinatorShard&) = delete;
  virtual ~CoordinatorShard() = default;

  /// Applies one record of the log. A record it does not understand is skipped, with a log line.
  /// `transaction`: the producer id if the record belongs to a transaction not yet decided, else
  /// -1.
  virtual void replay(const CoordinatorRecord& record, ProducerId transaction) = 0;
  /// The transaction of `producer_id` ended: its records count now, or never.
  virtual void replay_end_transaction(ProducerId producer_id, bool commit) = 0;
  /// Everything is replayed: start timers. Requests come from now on.
  virtual void on_loaded() = 0;
  /// The shard goes away: answer everything that waits with NOT_COORDINATOR. Nothing is called
  /// afterwards.
  virtual void on_unloaded() = 0;
};

using ShardFactory = std::function<std::unique_ptr<CoordinatorShard>(ShardContext& context)>;

}  // namespace kmirror::coordinator
