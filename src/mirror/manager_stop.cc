// STOPPING: from "no more appends" to "clients may write", without the source. Partitions that stop
// at about the same time go through each step together, so that thousands cost a few durable
// writes. Owner: loop 0; logs are written on their own loops. Invariants: log, then last mirror
// position, then markers, then STOPPED, each durable before the next; a step that was done before a
// crash is recognised and not done twice. Sources: spec F.4, A.7, A.8; decisions 3.1, 3.13, 3.20;
// cases G69, G70.
#include <algorithm>

#include "kmirror/base/log.h"
#include "kmirror/wire/bump_leader_epochs_request.h"
#include "kmirror/wire/bump_leader_epochs_response.h"
#include "mirror/manager_impl.h"

namespace kmirror::mirror {
namespace {

constexpr std::size_t kMostTogether = 500;
/// Our own markers after the last mirror position are few; more than this is data.
constexpr std::size_t kTailBytes = 1UL << 20;

using Log = storage::PartitionLog;

/// True if everything from `position` on is control batches of a later epoch: an earlier stop of
/// ours got as far as writing them.
bool has_own_tail(const Log& log, LeaderEpoch last_mirror_epoch, Offset position) {
  if (position < log.log_start_offset() || position >= log.log_end_offset()) return false;
  storage::ReadRequest request;
  request.from = position;
  request.max_bytes = kTailBytes;
  request.isolation = storage::Isolation::kLogEnd;
  const Result<storage::ReadResult> read = log.read(request);
  if (!read || read->records.size() >= kTailBytes) return false;
  Result<Slice> bytes = read->records.flatten();
  if (!bytes) return false;
  BatchIterator batches(std::move(*bytes));
  for (;;) {
    const Result<std::optional<RecordBatchView>> batch = batches.next();
    if (!batch) return false;
    if (!batch->has_value()) return true;
    const RecordBatchView& view = **batch;
    if (!view.is_control() || view.partition_leader_epoch() <= last_mirror_epoch) return false;
  }
}

bool ends_with_reset(const Log& log) {
  storage::ReadRequest request;
  request.from = log.log_end_offset() - 1;
  request.max_bytes = 1;
  request.isolation = storage::Isolation::kLogEnd;
  if (request.from < log.log_start_offset()) return false;
  const Result<storage::ReadResult> read = log.read(request);
  if (!read) return false;
  Result<Slice> bytes = read->records.flatten();
  if (!bytes || bytes->empty()) return false;
  const Result<RecordBatchView> batch = RecordBatchView::parse(std::move(*bytes));
  if (!batch || !batch->is_control()) return false;
  const Result<ControlRecordType> type = control_record_type(*batch);
  return type && *type == ControlRecordType::kMirrorPidReset;
}

/// ABORT markers for open transactions and the reset of producer state, under the new epoch.
Result<std::string> append_markers(Log& log, LeaderEpoch epoch, std::int64_t now_ms) {
  std::string aborted;
  for (const storage::ActiveProducer& producer : log.open_transactions()) {
    const Slice marker =
        end_transaction_marker(log.log_end_offset(), epoch, now_ms, producer.producer_id,
                               producer.producer_epoch, false, producer.coordinator_epoch);
    KM_TRY(info, log.append_as_leader(marker, epoch, storage::AppendOrigin::kCoordinator));
    static_cast<void>(info);
    aborted += fmt::format("{}{}", aborted.empty() ? "" : ",", producer.producer_id);
  }
  if (!ends_with_reset(log)) {
    const Slice reset = mirror_pid_reset_batch(log.log_end_offset(), epoch, now_ms);
    KM_TRY(info, log.append_as_leader(reset, epoch, storage::AppendOrigin::kCoordinator));
    static_cast<void>(info);
  }
  return aborted;
}

}  // namespace

using Impl = MirrorMetadataManager::Impl;

void Impl::request_stop(const PartitionPtr& partition) {
  if (partition->is_stopping) return;
  partition->is_stopping = true;
  release(partition, [this, partition] {
    stops_.push_back(partition);
    stop_wake_.set();
  });
}

env::Awaitable<void> Impl::run_stops() {
  for (;;) {
    stop_wake_.reset();
    // Bounded by nothing: this task has nothing to do until somebody stops a topic.
    if (stops_.empty()) co_await stop_wake_.wait();
    const bool cancelled = co_await env::task_cancelled();
    if (cancelled) co_return;
    const std::size_t count = std::min(stops_.size(), kMostTogether);
    const auto end = stops_.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<PartitionPtr> group(stops_.begin(), end);
    stops_.erase(stops_.begin(), end);
    if (!group.empty()) co_await stop_group(std::move(group));
  }
}

env::Awaitable<void> Impl::stop_group(std::vector<PartitionPtr> group) {
  wire::BumpLeaderEpochsRequest bump;
  std::vector<PartitionPtr> recorded;
  for (const PartitionPtr& partition : group) {
    partition->is_stopping = false;
    if (partition->is_gone || partition->state() != MirrorState::kStopping) continue;
    const Result<void> done = co_await record_position(partition);
    if (!done) {
      fail(partition, MirrorFailure::kRetriable, done.error().message);
      continue;
    }
    recorded.push_back(partition);
    const LeaderEpoch highest = std::max(log_of(*partition)->latest_epoch(), partition->own_epoch);
    if (bump.topics.empty() || bump.topics.back().topic_name != partition->where.topic) {
      bump.topics.emplace_back().topic_name = partition->where.topic;
    }
    auto& entry = bump.topics.back().partitions.emplace_back();
    entry.partition_index = partition->where.partition;
    entry.min_leader_epoch = highest;
  }
  if (recorded.empty()) co_return;
  using Response = wire::BumpLeaderEpochsResponse;
  UniqueFunction<void(UniqueFunction<void(Response)>)> begin =
      [this, bump = std::move(bump)](UniqueFunction<void(Response)> done) mutable {
        deps_.metadata.bump_leader_epochs(std::move(bump), std::move(done));
      };
  auto raised = co_await answered<Response>(std::move(begin));
  if (!raised) co_return;
  for (const PartitionPtr& partition : recorded) {
    if (partition->is_gone || partition->state() != MirrorState::kStopping) continue;
    if (raised->error_code != ErrorCode::NONE) {
      fail(partition, MirrorFailure::kRetriable,
           fmt::format("raising the leader epoch: {}", raised->error_message.value_or("")));
      continue;
    }
    const Result<void> closed = co_await close_transactions(partition);
    if (closed) {
      apply(partition, MirrorEvent::Kind::kStopDone);
    } else {
      fail(partition, MirrorFailure::kRetriable, closed.error().message);
    }
  }
}

/// Makes the log durable and stores where it ends: (latest epoch, log end offset).
env::Awaitable<Result<void>> Impl::record_position(PartitionPtr partition) {
  const std::shared_ptr<Log> log = log_of(*partition);
  if (!log) {
    co_return kafka_error(ErrorCode::KAFKA_STORAGE_ERROR,
                          fmt::format("{} has no log", partition->where));
  }
  const coordinator::MirrorPartitionState& stored = partition->stored;
  if (has_own_tail(*log, stored.last_mirror_epoch, stored.last_mirror_offset)) {
    co_return Result<void>();
  }
  UniqueFunction<void(UniqueFunction<void(Result<void>)>)> flush =
      [this, log](UniqueFunction<void(Result<void>)> done) {
        deps_.logs.loop_of(*log).post([this, log, done = std::move(done)]() mutable {
          deps_.logs.flush(log, std::move(done));
        });
      };
  KM_CO_TRY_VOID(co_await answered<Result<void>>(std::move(flush)));
  coordinator::MirrorStateWrite write;
  write.key = partition->key;
  write.leader_epoch = partition->own_epoch;
  write.last_mirror_epoch = log->latest_epoch();
  write.last_mirror_offset = log->log_end_offset();
  std::vector<coordinator::MirrorStateWrite> writes{std::move(write)};
  using Written = std::vector<coordinator::MirrorStateWritten>;
  UniqueFunction<void(UniqueFunction<void(Written)>)> store =
      [this, writes = std::move(writes)](UniqueFunction<void(Written)> done) mutable {
        deps_.coordinator.write(std::move(writes), loop_, std::move(done));
      };
  KM_CO_TRY(written, co_await answered<Written>(std::move(store)));
  if (written.empty()) co_return Result<void>();
  coordinator::MirrorStateWritten& result = written.front();
  if (result.error != ErrorCode::NONE) co_return kafka_error(result.error, result.error_message);
  partition->stored = std::move(result.state);
  co_return Result<void>();
}

env::Awaitable<Result<void>> Impl::close_transactions(PartitionPtr partition) {
  const std::shared_ptr<Log> log = log_of(*partition);
  if (!log) {
    co_return kafka_error(ErrorCode::KAFKA_STORAGE_ERROR,
                          fmt::format("{} has no log", partition->where));
  }
  const LeaderEpoch epoch = partition->own_epoch;
  const std::int64_t now_ms = deps_.environment.clock.wall_ms();
  env::Loop& owner = deps_.logs.loop_of(*log);
  UniqueFunction<Result<std::string>()> append = [log, epoch, now_ms] {
    return append_markers(*log, epoch, now_ms);
  };
  KM_CO_TRY(aborted, co_await env::call_on<Result<std::string>>(owner, std::move(append)));
  if (!aborted.empty()) {
    KM_LOG(kWarn, "mirror.transactions_aborted", "mirror {} {}: open transactions of producers {}",
           partition->key.mirror, partition->where, aborted);
  }
  UniqueFunction<void(UniqueFunction<void(Result<void>)>)> flush =
      [this, log](UniqueFunction<void(Result<void>)> done) {
        deps_.logs.loop_of(*log).post([this, log, done = std::move(done)]() mutable {
          deps_.logs.flush(log, std::move(done));
        });
      };
  KM_CO_TRY_VOID(co_await answered<Result<void>>(std::move(flush)));
  const ProducerId seen = log->max_producer_id_seen();
  UniqueFunction<void(UniqueFunction<void(Result<void>)>)> raise =
      [this, seen](UniqueFunction<void(Result<void>)> done) {
        deps_.metadata.raise_producer_ids(seen, std::move(done));
      };
  Result<void> raised = co_await answered<Result<void>>(std::move(raise));
  co_return raised;
}

}  // namespace kmirror::mirror
