// Expiry, deleted topics, and positions that a mirror's sync stores. Sources: see group_offsets.h.
#include <algorithm>
#include <utility>

#include "coordinator/group/group_offsets.h"
#include "kmirror/base/log.h"

namespace kmirror::coordinator {

std::int64_t GroupOffsets::expiry_base_ms(const ClassicGroup& group, bool by_group_state,
                                          const std::string& topic,
                                          const OffsetAndMetadata& value) {
  std::int64_t base = value.commit_timestamp_ms;
  if (by_group_state) base = group.state_since_ms().value_or(base);
  if (!value.is_synced) return base;
  // The group works at the source, so nothing here renews its positions: they count from the moment
  // the topic is no mirror any more. After a restart that moment is not known, and now is taken.
  const auto [since, is_new] = unmirrored_since_ms_.try_emplace(topic, context_.clock().wall_ms());
  return std::max(base, since->second);
}

bool GroupOffsets::expire_group(const std::string& group_id,
                                std::vector<CoordinatorRecord>& tombstones) {
  const auto offsets = offsets_.find(group_id);
  ClassicGroup* const group = membership_.find(group_id);
  if (offsets == offsets_.end() || group == nullptr) return true;
  const bool is_standalone = !group->protocol_type().has_value();
  const bool is_empty = group->is_in(GroupState::kEmpty);
  const bool knows_subscriptions = group->uses_consumer_protocol() &&
                                   group->subscribed_topics().has_value() &&
                                   group->is_in(GroupState::kStable);
  if (!is_standalone && !is_empty && !knows_subscriptions) return false;
  const std::int64_t now_ms = context_.clock().wall_ms();
  bool all_expired = true;
  for (const auto& [topic, partitions] : offsets->second) {
    const bool is_subscribed = group->is_subscribed_to(topic);
    const bool is_mirrored = is_mirrored_(topic);
    if (is_mirrored) unmirrored_since_ms_.erase(topic);
    for (const auto& [partition, value] : partitions) {
      const TopicPartition topic_partition(topic, partition);
      bool expired = !is_subscribed && !(value.is_synced && is_mirrored) &&
                     !is_pending(group_id, topic_partition);
      if (expired && value.expire_timestamp_ms) {
        expired = now_ms >= *value.expire_timestamp_ms;
      } else if (expired) {
        const std::int64_t base = expiry_base_ms(*group, is_empty && !is_standalone, topic, value);
        expired = now_ms - base >= config_.offsets_retention_ms;
      }
      auto record = expired ? offset_tombstone(group_id, topic_partition)
                            : Result<CoordinatorRecord>(CoordinatorRecord());
      if (expired && record) tombstones.push_back(std::move(*record));
      all_expired = all_expired && expired;
    }
  }
  return all_expired;
}

void GroupOffsets::expire() {
  std::vector<std::string> ids;
  for (const auto& [id, group] : membership_.groups()) ids.push_back(id);
  std::size_t expired_count = 0;
  for (const std::string& id : ids) {
    std::vector<CoordinatorRecord> tombstones;
    const bool all = expire_group(id, tombstones);
    std::optional<Error> error;
    expired_count += append(tombstones, error);
    if (error) return;  // the next pass tries again
    const ClassicGroup* const group = membership_.find(id);
    const bool is_pending = std::any_of(pending_.begin(), pending_.end(), [&id](const auto& entry) {
      return entry.second.contains(id);
    });
    if (all && group != nullptr && group->is_in(GroupState::kEmpty) &&
        group->pending_join.empty() && !is_pending) {
      if (!membership_.remove(id)) return;
    }
  }
  if (expired_count > 0) {
    KM_LOG(kInfo, "group.offsets_expired", "{} committed positions expired", expired_count);
  }
}

void GroupOffsets::forget_topics(const std::vector<std::string>& topics) {
  std::vector<CoordinatorRecord> tombstones;
  for (const auto& [group_id, by_topic] : offsets_) {
    for (const std::string& topic : topics) {
      const auto found = by_topic.find(topic);
      if (found == by_topic.end()) continue;
      for (const auto& [partition, value] : found->second) {
        auto record = offset_tombstone(group_id, TopicPartition(topic, partition));
        if (record) tombstones.push_back(std::move(*record));
      }
    }
  }
  for (const std::string& topic : topics) unmirrored_since_ms_.erase(topic);
  std::optional<Error> error;
  const std::size_t count = append(tombstones, error);
  if (count < tombstones.size()) {
    KM_LOG(kWarn, "group.offsets_left", "{} positions of deleted topics stay for now: {}",
           tombstones.size() - count, error->message);
  }
}

SyncOutcome GroupOffsets::sync_one(const std::string& group_id, const std::string& mirror_name,
                                   const SyncedOffset& offset, std::int64_t now_ms,
                                   std::vector<CoordinatorRecord>& records,
                                   std::optional<Error>& error) {
  const OffsetAndMetadata* const now = find(group_id, offset.topic_partition);
  if (now != nullptr && !now->is_synced) return SyncOutcome::kOwnedByGroup;
  if (is_pending(group_id, offset.topic_partition)) return SyncOutcome::kOwnedByGroup;
  const bool is_same = now != nullptr && now->offset == offset.offset &&
                       now->leader_epoch == offset.leader_epoch &&
                       now->metadata == offset.metadata && now->topic_id == offset.topic_id;
  if (is_same) return SyncOutcome::kUnchanged;
  OffsetAndMetadata value;
  value.offset = offset.offset;
  value.leader_epoch = offset.leader_epoch;
  value.metadata = offset.metadata;
  value.commit_timestamp_ms = now_ms;
  value.topic_id = offset.topic_id;
  auto record = offset_record(group_id, offset.topic_partition, value, mirror_name);
  if (record) {
    records.push_back(std::move(*record));
  } else {
    error = std::move(record).error();
  }
  return SyncOutcome::kWritten;
}

SyncOffsetsResult GroupOffsets::sync(const std::string& group_id, const std::string& mirror_name,
                                     const std::vector<SyncedOffset>& offsets) {
  SyncOffsetsResult result;
  const ClassicGroup* const group = membership_.find(group_id);
  if (group != nullptr && !(group->is_in(GroupState::kEmpty) && group->pending_join.empty())) {
    result.group_is_active = true;
    return result;
  }
  const std::int64_t now_ms = context_.clock().wall_ms();
  std::vector<CoordinatorRecord> records;
  std::optional<Error> error;
  for (const SyncedOffset& offset : offsets) {
    result.outcomes.push_back(sync_one(group_id, mirror_name, offset, now_ms, records, error));
  }
  if (!error) static_cast<void>(append(records, error));
  if (error) {
    result.error = append_error_code(*error);
    result.outcomes.clear();
  }
  return result;
}

}  // namespace kmirror::coordinator
