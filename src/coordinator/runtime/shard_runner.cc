#include "coordinator/runtime/shard_runner.h"

#include <algorithm>

#include "kmirror/base/check.h"
#include "kmirror/base/log.h"

namespace kmirror::coordinator {

ShardRunner::ShardRunner(env::Clock& clock, env::Rng& rng, TimerQueue::Arm arm,
                         ShardFactory factory, ShardRunnerOptions options)
    : clock_(clock),
      rng_(rng),
      factory_(std::move(factory)),
      options_(std::move(options)),
      timers_(clock, std::move(arm)) {}

ShardRunner::~ShardRunner() = default;

void ShardRunner::load(std::unique_ptr<PartitionWriter> writer,
                       std::unique_ptr<PartitionLoader> loader) {
  if (state_ == State::kEnded) return;
  KM_CHECK(state_ == State::kOpening, "shard {} is loaded twice", options_.name);
  state_ = State::kLoading;
  load_started_ms_ = clock_.wall_ms();
  writer_ = std::move(writer);
  loader_ = std::move(loader);
  shard_ = factory_(*this);
  loader_->load(
      [self = weak_from_this()](std::vector<LoadedBatch> batches) {
        if (const auto runner = self.lock()) runner->replay(std::move(batches));
      },
      [self = weak_from_this()](Result<void> result) {
        if (const auto runner = self.lock()) runner->loaded(result);
      });
}

void ShardRunner::replay(std::vector<LoadedBatch> batches) {
  if (state_ != State::kLoading) return;
  for (const LoadedBatch& batch : batches) {
    if (batch.control == ControlRecordType::kCommit || batch.control == ControlRecordType::kAbort) {
      shard_->replay_end_transaction(batch.transaction,
                                     batch.control == ControlRecordType::kCommit);
    }
    for (const CoordinatorRecord& record : batch.records) {
      shard_->replay(record, batch.transaction);
    }
    replayed_count_ += batch.records.size();
  }
}

void ShardRunner::loaded(const Result<void>& result) {
  if (state_ != State::kLoading) return;
  if (!result) {
    fail(result.error());
    return;
  }
  loader_.reset();
  state_ = State::kActive;
  KM_LOG(kInfo, "coordinator.loaded", "shard {}: {} records in {} ms", options_.name,
         replayed_count_, clock_.wall_ms() - load_started_ms_);
  shard_->on_loaded();
  std::deque<Waiting> waiting;
  waiting.swap(waiting_);
  for (Waiting& one : waiting) run(std::move(one.operation), std::move(one.refuse));
}

void ShardRunner::fail(const Error& reason) {
  if (state_ == State::kEnded) return;
  KM_LOG(kError, "coordinator.failed", "shard {} cannot serve: {}", options_.name, reason.message);
  end(ErrorCode::COORDINATOR_NOT_AVAILABLE);
}

void ShardRunner::run(Operation operation, Refuse refuse) {
  const bool waits =
      state_ == State::kOpening || (state_ == State::kLoading && options_.wait_while_loading);
  if (state_ == State::kActive) {
    operation(*shard_);
  } else if (state_ == State::kEnded) {
    refuse(ErrorCode::NOT_COORDINATOR);
  } else if (waits && waiting_.size() < options_.max_waiting_count) {
    waiting_.emplace_back(std::move(operation), std::move(refuse));
  } else {
    refuse(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
  }
}

void ShardRunner::close() { end(ErrorCode::NOT_COORDINATOR); }

void ShardRunner::end(ErrorCode waiting_code) {
  if (state_ == State::kEnded) return;
  const bool was_active = state_ == State::kActive;
  state_ = State::kEnded;
  if (loader_) loader_->cancel();
  loader_.reset();
  timers_.clear();
  std::deque<Held> held;
  held.swap(held_);
  for (Held& one : held) one.then(waiting_code);
  if (was_active) shard_->on_unloaded();
  std::deque<Waiting> waiting;
  waiting.swap(waiting_);
  for (Waiting& one : waiting) one.refuse(waiting_code);
  shard_.reset();
  writer_.reset();
}

AppendOutcome ShardRunner::append(std::span<const CoordinatorRecord> records) {
  AppendOutcome outcome;
  if (state_ != State::kActive) {
    outcome.error = kafka_error(ErrorCode::NOT_COORDINATOR, options_.name + " is closed");
    return outcome;
  }
  while (outcome.appended_count < records.size()) {
    const auto rest = records.subspan(outcome.appended_count);
    const auto part = rest.first(batch_length(rest, options_.max_batch_bytes));
    auto end = writer_->append(batch_of(part, clock_.wall_ms()));
    if (!end) {
      KM_LOG(kWarn, "coordinator.append_failed", "shard {}: {}", options_.name,
             end.error().message);
      outcome.error = std::move(end).error();
      return outcome;
    }
    log_end_ = *end;
    outcome.appended_count += part.size();
  }
  return outcome;
}

void ShardRunner::when_durable(UniqueFunction<void(ErrorCode)> then) {
  if (state_ != State::kActive) {
    then(ErrorCode::NOT_COORDINATOR);
    return;
  }
  if (!options_.flush || durable_end_ >= log_end_) {
    then(ErrorCode::NONE);
    return;
  }
  held_.emplace_back(log_end_, std::move(then));
  if (!flushing_) start_flush();
}

void ShardRunner::start_flush() {
  flushing_ = true;
  const Offset up_to = log_end_;
  writer_->flush([self = weak_from_this(), up_to](Result<void> result) {
    if (const auto runner = self.lock()) runner->flushed(up_to, result);
  });
}

void ShardRunner::flushed(Offset up_to, const Result<void>& result) {
  flushing_ = false;
  if (state_ != State::kActive) return;
  if (!result) {
    // What the disk holds is not known any more: only a restart and a replay can tell.
    KM_LOG(kError, "coordinator.flush_failed", "shard {}: {}", options_.name,
           result.error().message);
    end(ErrorCode::NOT_COORDINATOR);
    return;
  }
  durable_end_ = std::max(durable_end_, up_to);
  while (!held_.empty() && held_.front().needs <= durable_end_) {
    UniqueFunction<void(ErrorCode)> then = std::move(held_.front().then);
    held_.pop_front();
    then(ErrorCode::NONE);
    if (state_ != State::kActive) return;
  }
  if (!held_.empty() && !flushing_) start_flush();
}

}  // namespace kmirror::coordinator
