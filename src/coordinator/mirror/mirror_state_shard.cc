#include "coordinator/mirror/mirror_state_shard.h"

#include <set>

#include "kmirror/base/log.h"
#include "kmirror/wire/last_mirror_epochs_key.h"
#include "kmirror/wire/last_mirror_epochs_value.h"
#include "kmirror/wire/mirror_partition_state_key.h"
#include "kmirror/wire/mirror_partition_state_value.h"

namespace kmirror::coordinator {
namespace {

template <class Key>
Key wire_key(const MirrorPartitionKey& key) {
  Key wire;
  wire.mirror_name = key.mirror;
  wire.topic_id = key.topic_id;
  wire.partition = key.partition;
  return wire;
}

template <class Key>
MirrorPartitionKey from_wire(Key wire) {
  return {std::move(wire.mirror_name), wire.topic_id, wire.partition};
}

Result<CoordinatorRecord> position_record(const MirrorPartitionKey& key, LeaderEpoch epoch,
                                          Offset offset) {
  wire::LastMirrorEpochsValue value;
  value.last_mirror_epoch = epoch;
  value.last_mirror_offset = offset;
  return record_of(wire_key<wire::LastMirrorEpochsKey>(key), value, ApiVersion(0));
}

Result<CoordinatorRecord> state_record(const MirrorPartitionKey& key,
                                       const MirrorPartitionState& state) {
  wire::MirrorPartitionStateValue value;
  value.state = static_cast<std::int8_t>(state.status.state);
  value.leader_epoch = state.leader_epoch;
  value.state_epoch = state.state_epoch;
  value.error_message = state.status.error_message;
  value.retry_attempt = state.status.retry_attempt;
  value.previous_state = static_cast<std::int8_t>(state.status.previous);
  return record_of(wire_key<wire::MirrorPartitionStateKey>(key), value, ApiVersion(0));
}

void skip(const char* what, const Error& error) {
  KM_LOG(kWarn, "coordinator.record_skipped", "a {} record of {} is skipped: {}", what,
         kMirrorStateTopic, error.message);
}

}  // namespace

/// What one write appends, and the state after it.
struct MirrorStateShard::Plan {
  Plan() = default;
  std::vector<CoordinatorRecord> records;
};

MirrorPartitionState MirrorStateShard::read(const MirrorPartitionKey& key) const {
  const auto found = states_.find(key);
  return found != states_.end() ? found->second : MirrorPartitionState();
}

Result<MirrorStateShard::Plan> MirrorStateShard::plan(const MirrorStateWrite& write) const {
  const MirrorPartitionState now = read(write.key);
  if (write.leader_epoch.get() >= 0 && write.leader_epoch < now.leader_epoch) {
    return kafka_error(
        ErrorCode::FENCED_LEADER_EPOCH,
        fmt::format("leader epoch {} is behind {}", write.leader_epoch, now.leader_epoch));
  }
  if (write.state_epoch >= 0 && write.state_epoch < now.state_epoch) {
    return kafka_error(
        ErrorCode::FENCED_STATE_EPOCH,
        fmt::format("state epoch {} is behind {}", write.state_epoch, now.state_epoch));
  }
  const MirrorEvent event = MirrorEvent::write(write.target, write.retry_attempt,
                                               write.non_retriable, write.error_message);
  KM_TRY(status, next(now.status, event, retry_));
  Plan plan;
  const LeaderEpoch epoch =
      write.last_mirror_epoch.get() >= 0 ? write.last_mirror_epoch : now.last_mirror_epoch;
  const Offset offset =
      write.last_mirror_offset.get() >= 0 ? write.last_mirror_offset : now.last_mirror_offset;
  // The position goes first: should the append be torn, STOPPED never stands without it.
  if (epoch != now.last_mirror_epoch || offset != now.last_mirror_offset) {
    KM_TRY(record, position_record(write.key, epoch, offset));
    plan.records.push_back(std::move(record));
  }
  MirrorPartitionState after = now;
  after.status = status;
  if (write.leader_epoch.get() >= 0) after.leader_epoch = write.leader_epoch;
  if (write.target != MirrorState::kUnknown && after != now) {
    after.state_epoch = now.state_epoch + 1;
    KM_TRY(record, state_record(write.key, after));
    plan.records.push_back(std::move(record));
  }
  return plan;
}

std::size_t MirrorStateShard::append(const std::vector<CoordinatorRecord>& records, Error& error) {
  if (records.empty()) return 0;
  AppendOutcome outcome = context_.append(records);
  for (std::size_t i = 0; i < outcome.appended_count; ++i) replay(records[i], kNoProducerId);
  if (outcome.error) error = std::move(*outcome.error);
  return outcome.appended_count;
}

std::vector<MirrorStateWritten> MirrorStateShard::write(std::span<const MirrorStateWrite> writes) {
  std::vector<MirrorStateWritten> results(writes.size());
  std::vector<CoordinatorRecord> records;
  std::vector<std::pair<std::size_t, std::size_t>> ends;  // write, end of its records
  std::set<MirrorPartitionKey> touched;
  const auto commit = [&] {
    Error error;
    const std::size_t count = append(records, error);
    for (const auto& [index, end] : ends) {
      if (end <= count) continue;
      results[index].error = to_kafka_error(error);
      results[index].error_message = error.message;
    }
    records.clear();
    ends.clear();
    touched.clear();
  };
  for (std::size_t i = 0; i < writes.size(); ++i) {
    // A second write of one key must see what the first one did.
    if (touched.contains(writes[i].key)) commit();
    auto planned = plan(writes[i]);
    if (!planned) {
      results[i].error = to_kafka_error(planned.error());
      results[i].error_message = planned.error().message;
      continue;
    }
    touched.insert(writes[i].key);
    for (CoordinatorRecord& record : planned->records) records.push_back(std::move(record));
    ends.emplace_back(i, records.size());
  }
  commit();
  for (std::size_t i = 0; i < writes.size(); ++i) results[i].state = read(writes[i].key);
  return results;
}

Result<void> MirrorStateShard::remove(std::span<const MirrorPartitionKey> keys) {
  std::vector<CoordinatorRecord> records;
  for (const MirrorPartitionKey& key : keys) {
    if (!states_.contains(key)) continue;
    KM_TRY(state, tombstone_of(wire_key<wire::MirrorPartitionStateKey>(key)));
    KM_TRY(position, tombstone_of(wire_key<wire::LastMirrorEpochsKey>(key)));
    records.push_back(std::move(state));
    records.push_back(std::move(position));
  }
  Error error;
  const std::size_t count = append(records, error);
  if (count < records.size()) return error;
  return {};
}

std::vector<MirrorPartitionKey> MirrorStateShard::keys_of(const std::string& mirror) const {
  std::vector<MirrorPartitionKey> keys;
  for (const auto& [key, state] : states_) {
    if (mirror.empty() || key.mirror == mirror) keys.push_back(key);
  }
  return keys;
}

void MirrorStateShard::replay(const CoordinatorRecord& record, ProducerId) {
  const auto type = record_type(record.key);
  if (!type) return skip("mirror state", type.error());
  if (*type == wire::LastMirrorEpochsKey::kApiKey.get()) {
    replay_position(record);
  } else if (*type == wire::MirrorPartitionStateKey::kApiKey.get()) {
    replay_state(record);
  } else {
    skip("mirror state",
         kafka_error(ErrorCode::UNSUPPORTED_VERSION, fmt::format("its type is {}", *type)));
  }
}

void MirrorStateShard::replay_position(const CoordinatorRecord& record) {
  auto wire = decode_key<wire::LastMirrorEpochsKey>(record.key);
  if (!wire) return skip("last mirror epochs", wire.error());
  const MirrorPartitionKey key = from_wire(std::move(*wire));
  if (!record.value) {
    const auto found = states_.find(key);
    if (found == states_.end()) return;
    found->second.last_mirror_epoch = kNoLeaderEpoch;
    found->second.last_mirror_offset = kNoOffset;
    return forget_if_empty(key);
  }
  const auto value = decode_value<wire::LastMirrorEpochsValue>(*record.value);
  if (!value) return skip("last mirror epochs", value.error());
  MirrorPartitionState& state = states_[key];
  state.last_mirror_epoch = value->last_mirror_epoch;
  state.last_mirror_offset = value->last_mirror_offset;
}

void MirrorStateShard::replay_state(const CoordinatorRecord& record) {
  auto wire = decode_key<wire::MirrorPartitionStateKey>(record.key);
  if (!wire) return skip("mirror partition state", wire.error());
  const MirrorPartitionKey key = from_wire(std::move(*wire));
  if (!record.value) {
    const auto found = states_.find(key);
    if (found == states_.end()) return;
    found->second.status = MirrorStatus();
    found->second.leader_epoch = kNoLeaderEpoch;
    found->second.state_epoch = 0;
    return forget_if_empty(key);
  }
  auto value = decode_value<wire::MirrorPartitionStateValue>(*record.value);
  if (!value) return skip("mirror partition state", value.error());
  const auto now = mirror_state_from_code(value->state);
  if (!now) {
    return skip(
        "mirror partition state",
        kafka_error(ErrorCode::INVALID_RECORD, fmt::format("its state is {}", value->state)));
  }
  MirrorPartitionState& state = states_[key];
  state.status.state = *now;
  state.status.previous =
      mirror_state_from_code(value->previous_state).value_or(MirrorState::kUnknown);
  state.status.retry_attempt = value->retry_attempt;
  state.status.error_message = std::move(value->error_message);
  state.leader_epoch = value->leader_epoch;
  state.state_epoch = value->state_epoch;
}

void MirrorStateShard::forget_if_empty(const MirrorPartitionKey& key) {
  const auto found = states_.find(key);
  if (found != states_.end() && found->second == MirrorPartitionState()) states_.erase(found);
}

}  // namespace kmirror::coordinator
