// Commit, fetch, delete and replay of positions. Sources: see group_offsets.h.
#include "coordinator/group/group_offsets.h"

#include <utility>

#include "kmirror/base/log.h"
#include "kmirror/wire/offset_commit_key.h"

namespace kmirror::coordinator {
namespace {

constexpr ApiVersion kFirstNamingGroupNotFound{9};

/// Java's String.length(): UTF-16 units.
std::size_t utf16_length(const std::string& utf8) {
  std::size_t units = 0;
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) != 0x80U) ++units;
    if (byte >= 0xF0U) ++units;
  }
  return units;
}

bool is_other_topic(const Uuid& a, const Uuid& b) { return !a.is_zero() && !b.is_zero() && a != b; }

}  // namespace

ErrorCode GroupOffsets::validate_commit(ClassicGroup& group, const CommitHeader& header) const {
  const bool is_empty = group.is_in(GroupState::kEmpty);
  // A client that manages its partitions itself, or an administrator.
  if (header.generation < 0 && is_empty) return ErrorCode::NONE;
  if (header.generation >= 0 || !header.member_id.empty() || header.instance_id) {
    const ErrorCode error = group.validate_member(header.member_id, header.instance_id);
    if (error != ErrorCode::NONE) return error;
    if (header.generation != group.generation()) return ErrorCode::ILLEGAL_GENERATION;
  } else if (!is_empty) {
    return ErrorCode::UNKNOWN_MEMBER_ID;
  }
  // The member knows the new generation but not yet what it may consume.
  return group.is_in(GroupState::kCompletingRebalance) ? ErrorCode::REBALANCE_IN_PROGRESS
                                                       : ErrorCode::NONE;
}

std::vector<ErrorCode> GroupOffsets::commit(const CommitHeader& header,
                                            const std::vector<CommitItem>& items,
                                            ApiVersion version) {
  ClassicGroup* group = membership_.find(header.group_id);
  ErrorCode error = ErrorCode::NONE;
  if (group == nullptr && header.generation >= 0) {
    error = version >= kFirstNamingGroupNotFound ? ErrorCode::GROUP_ID_NOT_FOUND
                                                 : ErrorCode::ILLEGAL_GENERATION;
  } else if (group != nullptr) {
    error = validate_commit(*group, header);
  }
  std::vector<ErrorCode> codes(items.size(), error);
  if (error != ErrorCode::NONE) return codes;
  if (group != nullptr) membership_.keep_alive(*group, header.member_id);
  const std::int64_t now_ms = context_.clock().wall_ms();
  std::vector<CoordinatorRecord> records;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const CommitItem& item = items[i];
    if (utf16_length(item.metadata) > static_cast<std::size_t>(config_.offset_metadata_max_bytes)) {
      codes[i] = ErrorCode::OFFSET_METADATA_TOO_LARGE;
      continue;
    }
    OffsetAndMetadata value;
    value.offset = item.offset;
    value.leader_epoch = item.leader_epoch;
    value.metadata = item.metadata;
    value.commit_timestamp_ms = now_ms;
    value.topic_id = item.topic_id;
    if (header.retention_time_ms != -1) {
      value.expire_timestamp_ms = now_ms + header.retention_time_ms;
    }
    auto record = offset_record(header.group_id, item.topic_partition, value);
    if (!record) {
      codes[i] = append_error_code(record.error());
      continue;
    }
    records.push_back(std::move(*record));
    places.push_back(i);
  }
  std::optional<Error> append_error;
  const std::size_t count = append(records, append_error);
  for (std::size_t i = count; i < places.size(); ++i) {
    codes[places[i]] = append_error_code(*append_error);
  }
  return codes;
}

std::size_t GroupOffsets::append(const std::vector<CoordinatorRecord>& records,
                                 std::optional<Error>& error) {
  if (records.empty()) return 0;
  AppendOutcome outcome = context_.append(records);
  for (std::size_t i = 0; i < outcome.appended_count; ++i) {
    auto key = decode_key<wire::OffsetCommitKey>(records[i].key);
    if (!key) continue;
    const TopicPartition partition(key->topic, key->partition);
    replay(key->group, partition, records[i], kNoProducerId);
  }
  error = std::move(outcome.error);
  return outcome.appended_count;
}

void GroupOffsets::replay(const std::string& group_id, const TopicPartition& topic_partition,
                          const CoordinatorRecord& record, ProducerId transaction) {
  auto value = read_offset(record);
  if (!value) {
    KM_LOG(kWarn, "coordinator.record_skipped", "a position of group {} in {} is skipped: {}",
           group_id, topic_partition, value.error().message);
    return;
  }
  if (transaction != kNoProducerId && *value) {
    membership_.find_or_make(group_id);
    pending_[transaction][group_id][topic_partition.topic][topic_partition.partition] =
        std::move(**value);
    return;
  }
  apply(group_id, topic_partition, std::move(*value));
}

void GroupOffsets::apply(const std::string& group_id, const TopicPartition& topic_partition,
                         std::optional<OffsetAndMetadata> value) {
  if (value) {
    membership_.find_or_make(group_id);
    offsets_[group_id][topic_partition.topic][topic_partition.partition] = std::move(*value);
    return;
  }
  const auto group = offsets_.find(group_id);
  if (group == offsets_.end()) return;
  const auto topic = group->second.find(topic_partition.topic);
  if (topic == group->second.end()) return;
  topic->second.erase(topic_partition.partition);
  if (topic->second.empty()) group->second.erase(topic);
  if (group->second.empty()) offsets_.erase(group);
}

void GroupOffsets::replay_end_transaction(ProducerId producer_id, bool commit) {
  const auto found = pending_.find(producer_id);
  if (found == pending_.end()) return;
  Offsets decided = std::move(found->second);
  pending_.erase(found);
  if (!commit) return;
  for (auto& [group_id, topics] : decided) {
    for (auto& [topic, partitions] : topics) {
      for (auto& [partition, value] : partitions) {
        apply(group_id, TopicPartition(topic, partition), std::move(value));
      }
    }
  }
}

const OffsetAndMetadata* GroupOffsets::find(const std::string& group_id,
                                            const TopicPartition& topic_partition) const {
  const auto group = offsets_.find(group_id);
  if (group == offsets_.end()) return nullptr;
  const auto topic = group->second.find(topic_partition.topic);
  if (topic == group->second.end()) return nullptr;
  const auto value = topic->second.find(topic_partition.partition);
  return value != topic->second.end() ? &value->second : nullptr;
}

bool GroupOffsets::is_pending(const std::string& group_id,
                              const TopicPartition& topic_partition) const {
  for (const auto& [producer_id, groups] : pending_) {
    const auto group = groups.find(group_id);
    if (group == groups.end()) continue;
    const auto topic = group->second.find(topic_partition.topic);
    if (topic != group->second.end() && topic->second.contains(topic_partition.partition)) {
      return true;
    }
  }
  return false;
}

std::vector<FetchedOffset> GroupOffsets::fetch(const std::string& group_id,
                                               const std::vector<FetchItem>& items,
                                               bool require_stable) const {
  std::vector<FetchedOffset> fetched(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const FetchItem& item = items[i];
    if (require_stable && is_pending(group_id, item.topic_partition)) {
      fetched[i].error = ErrorCode::UNSTABLE_OFFSET_COMMIT;
      continue;
    }
    const OffsetAndMetadata* const value = find(group_id, item.topic_partition);
    // A topic that was made anew under an old name has no positions yet.
    if (value != nullptr && !is_other_topic(value->topic_id, item.topic_id)) {
      fetched[i].position = *value;
    }
  }
  return fetched;
}

std::vector<std::pair<TopicPartition, FetchedOffset>> GroupOffsets::fetch_all(
    const std::string& group_id, bool require_stable) const {
  std::vector<std::pair<TopicPartition, FetchedOffset>> all;
  const auto group = offsets_.find(group_id);
  if (group == offsets_.end()) return all;
  for (const auto& [topic, partitions] : group->second) {
    for (const auto& [partition, value] : partitions) {
      auto& [topic_partition, fetched] = all.emplace_back();
      topic_partition = TopicPartition(topic, partition);
      if (require_stable && is_pending(group_id, topic_partition)) {
        fetched.error = ErrorCode::UNSTABLE_OFFSET_COMMIT;
      } else {
        fetched.position = value;
      }
    }
  }
  return all;
}

ErrorCode GroupOffsets::remove(const std::string& group_id,
                               const std::vector<TopicPartition>& items,
                               std::vector<ErrorCode>& codes) {
  codes.assign(items.size(), ErrorCode::NONE);
  ClassicGroup* const group = membership_.find(group_id);
  if (group == nullptr) return ErrorCode::GROUP_ID_NOT_FOUND;
  const bool has_members = !group->is_in(GroupState::kEmpty);
  if (has_members && !group->uses_consumer_protocol()) return ErrorCode::NON_EMPTY_GROUP;
  std::vector<CoordinatorRecord> tombstones;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (group->is_subscribed_to(items[i].topic)) {
      codes[i] = ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC;
      continue;
    }
    if (find(group_id, items[i]) == nullptr && !is_pending(group_id, items[i])) continue;
    auto record = offset_tombstone(group_id, items[i]);
    if (!record) {
      codes[i] = append_error_code(record.error());
      continue;
    }
    tombstones.push_back(std::move(*record));
    places.push_back(i);
  }
  std::optional<Error> error;
  const std::size_t count = append(tombstones, error);
  for (std::size_t i = count; i < places.size(); ++i) codes[places[i]] = append_error_code(*error);
  return ErrorCode::NONE;
}

Result<void> GroupOffsets::remove_all(const std::string& group_id) {
  std::vector<CoordinatorRecord> tombstones;
  const auto group = offsets_.find(group_id);
  if (group == offsets_.end()) return {};
  for (const auto& [topic, partitions] : group->second) {
    for (const auto& [partition, value] : partitions) {
      KM_TRY(record, offset_tombstone(group_id, TopicPartition(topic, partition)));
      tombstones.push_back(std::move(record));
    }
  }
  std::optional<Error> error;
  const std::size_t count = append(tombstones, error);
  if (count < tombstones.size()) return std::move(*error);
  return {};
}

}  // namespace kmirror::coordinator
