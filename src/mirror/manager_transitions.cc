// Events become stored states, stored states begin their side effects.
// Owner: loop 0.
// Sources: spec B.2-B.6; decisions 3.18, 3.19.
#include "kmirror/base/log.h"
#include "mirror/manager_impl.h"

namespace kmirror::mirror {
namespace {

constexpr std::chrono::milliseconds kWriteRetry{500};
/// More than a partition can have under way; beyond it something is wrong and the newest wins.
constexpr std::size_t kMaxWaitingEvents = 64;

}  // namespace

using Impl = MirrorMetadataManager::Impl;
using Kind = MirrorEvent::Kind;

void Impl::apply(const PartitionPtr& partition, MirrorEvent event) {
  if (partition->is_gone || is_stopping_) return;
  if (partition->events.size() >= kMaxWaitingEvents) partition->events.pop_front();
  partition->events.push_back(std::move(event));
  pump(partition);
}

void Impl::fail(const PartitionPtr& partition, MirrorFailure failure, std::string message) {
  apply(partition, MirrorEvent::failed(failure, std::move(message)));
}

void Impl::pump(const PartitionPtr& partition) {
  while (!partition->is_writing && !partition->events.empty()) {
    const MirrorEvent event = std::move(partition->events.front());
    partition->events.pop_front();
    const Result<MirrorStatus> after = next(partition->stored.status, event, policy());
    if (!after) {
      KM_LOG(kDebug, "mirror.event_skipped", "mirror {} {}: {}", partition->key.mirror,
             partition->where, after.error().message);
      continue;
    }
    if (*after == partition->stored.status) continue;
    queue_write(partition, event, *after);
  }
}

void Impl::queue_write(const PartitionPtr& partition, const MirrorEvent& event,
                       const MirrorStatus& next) {
  partition->is_writing = true;
  PendingWrite pending{partition, event, {}};
  coordinator::MirrorStateWrite& write = pending.write;
  write.key = partition->key;
  write.target = next.state;
  write.leader_epoch = partition->own_epoch;
  write.state_epoch = partition->stored.state_epoch;
  write.error_message = next.error_message;
  write.retry_attempt = std::max<std::int32_t>(next.retry_attempt, 0);
  write.non_retriable = next.retry_attempt < 0;
  pending_writes_.push_back(std::move(pending));
  flush_soon();
}

void Impl::flush_soon() {
  if (is_flush_posted_) return;
  is_flush_posted_ = true;
  std::weak_ptr<bool> alive = alive_;
  loop_.post([this, alive] {
    if (!alive.expired()) flush();
  });
}

/// Everything that came up in one turn of the loop goes out together.
void Impl::flush() {
  is_flush_posted_ = false;
  std::map<std::pair<std::string, NodeId>, std::vector<PendingAssign>> groups;
  for (PendingAssign& pending : std::exchange(pending_assigns_, {})) {
    groups[{pending.mirror, pending.broker}].push_back(std::move(pending));
  }
  for (auto& [key, group] : groups) {
    const env::Endpoint endpoint = group.back().endpoint;
    std::vector<FetchAssignment> assignments;
    for (PendingAssign& pending : group) {
      const PartitionPtr partition = find(key.first, pending.assignment.topic_partition);
      if (!partition || partition->assignment != pending.assignment.number) continue;
      assignments.push_back(std::move(pending.assignment));
    }
    if (assignments.empty()) continue;
    fetchers_.assign(key.first, key.second, endpoint, std::move(assignments));
  }
  if (pending_writes_.empty()) return;
  auto batch = std::make_shared<std::vector<PendingWrite>>(std::exchange(pending_writes_, {}));
  std::vector<coordinator::MirrorStateWrite> writes;
  for (PendingWrite& pending : *batch) writes.push_back(std::move(pending.write));
  std::weak_ptr<bool> alive = alive_;
  deps_.coordinator.write(
      std::move(writes), loop_,
      [this, alive, batch](std::vector<coordinator::MirrorStateWritten> results) {
        if (alive.expired()) return;
        for (std::size_t i = 0; i < results.size() && i < batch->size(); ++i) {
          written((*batch)[i].partition, (*batch)[i].event, std::move(results[i]));
        }
      });
}

void Impl::written(const PartitionPtr& partition, const MirrorEvent& event,
                   coordinator::MirrorStateWritten result) {
  partition->is_writing = false;
  if (partition->is_gone) return;
  const MirrorState before = partition->state();
  switch (result.error) {
    case ErrorCode::NONE:
      break;
    case ErrorCode::FENCED_LEADER_EPOCH:
    case ErrorCode::FENCED_STATE_EPOCH:
    case ErrorCode::INVALID_CLUSTER_MIRROR_STATE:
      KM_LOG(kWarn, "mirror.state_not_stored", "mirror {} {}: {}; the stored state is {}",
             partition->key.mirror, partition->where, result.error_message,
             name(result.state.status.state));
      break;
    default:
      // Loading, or a disk in trouble: the event stays the next one.
      KM_LOG(kWarn, "mirror.state_not_stored", "mirror {} {}: {} {}; tried again",
             partition->key.mirror, partition->where, result.error, result.error_message);
      partition->is_writing = true;
      after(kWriteRetry, [this, partition, event] {
        partition->is_writing = false;
        partition->events.push_front(event);
        if (!partition->is_gone) pump(partition);
      });
      return;
  }
  partition->stored = std::move(result.state);
  if (event.kind == Kind::kFailed) {
    partition->is_unreachable = event.failure == MirrorFailure::kSourceUnreachable;
  }
  if (partition->stored.status.retry_attempt == 0) partition->failures = 0;
  if (partition->state() != before) {
    enter(partition, before);
  } else if (partition->state() == MirrorState::kFailed) {
    schedule_retry(partition);
  }
  pump(partition);
  reconcile(partition);
}

void Impl::enter(const PartitionPtr& partition, MirrorState before) {
  const MirrorState state = partition->state();
  note_state(*partition, before, state);
  if (state == MirrorState::kFailed) {
    KM_LOG(kWarn, "mirror.partition_failed", "mirror {} {}: {} -> FAILED (attempt {}): {}",
           partition->key.mirror, partition->where, name(before),
           partition->stored.status.retry_attempt,
           partition->stored.status.error_message.value_or(""));
  } else {
    KM_LOG(kInfo, "mirror.partition_state", "mirror {} {}: {} -> {}", partition->key.mirror,
           partition->where, name(before), name(state));
  }
  if (state != MirrorState::kMirroring) {
    partition->awaits_metadata = false;
    release(partition, [] {});
  }
  act(partition);
}

/// Begins what the partition's state asks for. Called on entering it and after a restart.
void Impl::act(const PartitionPtr& partition) {
  const MirrorPtr mirror = find_mirror(partition->key.mirror);
  switch (partition->state()) {
    case MirrorState::kUnknown:
    case MirrorState::kPaused:
    case MirrorState::kStopped:
      return;
    case MirrorState::kLogAlignment:
      if (mirror) request_refresh(*mirror);
      return;
    case MirrorState::kEpochFencing:
      return fence(partition);
    case MirrorState::kUleRecovery:
      return cut_for_recovery(partition);
    case MirrorState::kMirroring:
      return start_fetching(partition);
    case MirrorState::kPausing:
      return release(partition, [this, partition] { apply(partition, Kind::kPauseDone); });
    case MirrorState::kStopping:
      return request_stop(partition);
    case MirrorState::kFailed:
      return schedule_retry(partition);
  }
}

/// Compares what the operator wants with the state, and starts the way there.
void Impl::reconcile(const PartitionPtr& partition) {
  if (partition->is_gone || partition->is_writing || !partition->events.empty()) return;
  const auto topic = topic_of(*partition);
  if (!topic || !topic->is_mirrored()) return;
  const MirrorState state = partition->state();
  switch (topic->desired_mirror_state) {
    case metadata::DesiredMirrorState::kNone:
      return;
    case metadata::DesiredMirrorState::kMirroring:
      if (state == MirrorState::kUnknown || state == MirrorState::kStopped) {
        apply(partition, Kind::kStart);
      } else if (state == MirrorState::kPaused) {
        apply(partition, Kind::kResume);
      }
      return;
    case metadata::DesiredMirrorState::kPaused:
      if (state == MirrorState::kMirroring) apply(partition, Kind::kPause);
      return;
    case metadata::DesiredMirrorState::kStopped:
      if (state != MirrorState::kStopped && state != MirrorState::kStopping) {
        // A stop that failed on its way is tried again by the retry, not at once.
        const bool failed_stop = state == MirrorState::kFailed &&
                                 partition->stored.status.previous == MirrorState::kStopping;
        if (!failed_stop) apply(partition, Kind::kStop);
      }
      return;
  }
}

void Impl::schedule_retry(const PartitionPtr& partition) {
  const MirrorRetryPolicy policy = this->policy();
  const std::uint64_t number = ++partition->retry_number;
  if (!is_retried(partition->stored.status, policy)) return;
  ++partition->failures;
  const auto delay = retry_backoff(partition->failures, policy, deps_.environment.rng.unit());
  after(delay, [this, partition, number] {
    if (partition->retry_number == number) retry(partition);
  });
}

void Impl::retry(const PartitionPtr& partition) {
  if (partition->is_gone || partition->state() != MirrorState::kFailed) return;
  ++partition->retry_number;
  apply(partition, Kind::kRetry);
}

void Impl::recover(const std::string& mirror_name, const std::vector<std::string>& topics) {
  const MirrorPtr mirror = find_mirror(mirror_name);
  if (!mirror) return;
  const std::set<std::string> wanted(topics.begin(), topics.end());
  for (const auto& [where, partition] : mirror->partitions) {
    const bool is_meant = wanted.contains(where.topic);
    if (!is_meant || partition->state() != MirrorState::kFailed) continue;
    ++partition->retry_number;
    apply(partition, Kind::kRecover);
    mirror->missing_rounds.erase(where.topic);
  }
  mirror->cluster_mismatch = false;
  request_refresh(*mirror);
}

void Impl::states_written(const std::string& mirror, std::vector<TopicPartition> partitions) {
  std::vector<coordinator::MirrorPartitionKey> keys;
  auto read = std::make_shared<std::vector<PartitionPtr>>();
  for (const TopicPartition& where : partitions) {
    if (const PartitionPtr partition = find(mirror, where)) {
      keys.push_back(partition->key);
      read->push_back(partition);
    }
  }
  std::weak_ptr<bool> alive = alive_;
  deps_.coordinator.read(std::move(keys), loop_,
                         [this, alive, read](std::vector<coordinator::MirrorStateRead> states) {
                           if (alive.expired()) return;
                           for (std::size_t i = 0; i < states.size() && i < read->size(); ++i) {
                             const PartitionPtr& partition = (*read)[i];
                             if (states[i].error != ErrorCode::NONE || partition->is_gone) continue;
                             const MirrorState before = partition->state();
                             partition->stored = std::move(states[i].state);
                             if (partition->state() != before) enter(partition, before);
                             reconcile(partition);
                           }
                         });
}

}  // namespace kmirror::mirror
