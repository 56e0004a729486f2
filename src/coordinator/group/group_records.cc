#include "coordinator/group/group_records.h"

#include <algorithm>
#include <utility>

#include "kmirror/wire/group_metadata_key.h"
#include "kmirror/wire/group_metadata_value.h"
#include "kmirror/wire/offset_commit_key.h"
#include "kmirror/wire/offset_commit_value.h"

namespace kmirror::coordinator {
namespace {

constexpr ApiVersion kGroupVersion{3};
constexpr ApiVersion kOffsetVersion{4};
// The last version that can say when a position expires.
constexpr ApiVersion kExpiringOffsetVersion{1};

wire::GroupMetadataKey group_key(const std::string& group_id) {
  wire::GroupMetadataKey key;
  key.group = group_id;
  return key;
}

wire::OffsetCommitKey offset_key(const std::string& group_id, const TopicPartition& partition) {
  wire::OffsetCommitKey key;
  key.group = group_id;
  key.topic = partition.topic;
  key.partition = partition.partition;
  return key;
}

wire::GroupMetadataValue::MemberMetadata member_value(const GroupMember& member,
                                                      const std::string& protocol,
                                                      const Bytes& assignment) {
  wire::GroupMetadataValue::MemberMetadata value;
  value.member_id = member.id;
  value.group_instance_id = member.instance_id;
  value.client_id = member.client_id;
  value.client_host = member.client_host;
  value.rebalance_timeout = member.rebalance_timeout_ms;
  value.session_timeout = member.session_timeout_ms;
  const Bytes* const metadata = member.metadata(protocol);
  if (metadata != nullptr) value.subscription = *metadata;
  value.assignment = assignment;
  return value;
}

GroupMember member_of(wire::GroupMetadataValue::MemberMetadata value,
                      const wire::GroupMetadataValue& group) {
  GroupMember member;
  member.id = std::move(value.member_id);
  member.instance_id = std::move(value.group_instance_id);
  member.client_id = std::move(value.client_id);
  member.client_host = std::move(value.client_host);
  member.session_timeout_ms = value.session_timeout;
  member.rebalance_timeout_ms =
      value.rebalance_timeout == -1 ? value.session_timeout : value.rebalance_timeout;
  member.protocol_type = group.protocol_type;
  member.protocols.emplace_back(group.protocol.value_or(std::string()),
                                std::move(value.subscription));
  member.assignment = std::move(value.assignment);
  return member;
}

}  // namespace

Result<CoordinatorRecord> group_record(const ClassicGroup& group, const Assignments& assignments) {
  wire::GroupMetadataValue value;
  value.protocol_type = group.protocol_type().value_or(std::string());
  value.generation = group.generation();
  value.protocol = group.protocol_name();
  value.leader = group.leader();
  value.current_state_timestamp = group.state_since_ms().value_or(-1);
  const std::string protocol = group.protocol_name().value_or(std::string());
  const Bytes nothing;
  for (const auto& [id, member] : group.members()) {
    const auto found = assignments.find(id);
    value.members.push_back(
        member_value(member, protocol, found != assignments.end() ? found->second : nothing));
  }
  return record_of(group_key(group.id()), value, kGroupVersion);
}

Result<CoordinatorRecord> group_record(const ClassicGroup& group) {
  Assignments assignments;
  for (const auto& [id, member] : group.members()) assignments[id] = member.assignment;
  return group_record(group, assignments);
}

Result<CoordinatorRecord> new_group_record(const ClassicGroup& group) {
  wire::GroupMetadataValue value;
  value.protocol.reset();
  value.leader.reset();
  value.current_state_timestamp = group.state_since_ms().value_or(-1);
  return record_of(group_key(group.id()), value, kGroupVersion);
}

Result<CoordinatorRecord> group_tombstone(const std::string& group_id) {
  return tombstone_of(group_key(group_id));
}

Result<std::unique_ptr<ClassicGroup>> read_group(const std::string& group_id,
                                                 const CoordinatorRecord& record) {
  if (!record.value) return std::unique_ptr<ClassicGroup>();
  KM_TRY(value, decode_value<wire::GroupMetadataValue>(*record.value));
  std::vector<GroupMember> members;
  for (auto& member : value.members) members.push_back(member_of(std::move(member), value));
  auto group = std::make_unique<ClassicGroup>(group_id, 0);
  std::optional<std::int64_t> since;
  if (value.current_state_timestamp != -1) since = value.current_state_timestamp;
  group->restore(std::move(value.protocol_type), value.generation, std::move(value.protocol),
                 std::move(value.leader), since, std::move(members));
  return group;
}

Result<CoordinatorRecord> offset_record(const std::string& group_id,
                                        const TopicPartition& topic_partition,
                                        const OffsetAndMetadata& value,
                                        const std::optional<std::string>& mirror_name) {
  const bool expires = value.expire_timestamp_ms.has_value();
  wire::OffsetCommitValue out;
  out.offset = value.offset;
  out.metadata = value.metadata;
  out.commit_timestamp = value.commit_timestamp_ms;
  if (expires) {
    out.expire_timestamp = *value.expire_timestamp_ms;
  } else {
    out.leader_epoch = value.leader_epoch;
    out.topic_id = value.topic_id;
  }
  KM_TRY(record, record_of(offset_key(group_id, topic_partition), out,
                           expires ? kExpiringOffsetVersion : kOffsetVersion));
  if (mirror_name) {
    RecordHeader& header = record.headers.emplace_back();
    header.key = kSyncedHeader;
    header.value = Bytes(mirror_name->begin(), mirror_name->end());
  }
  return record;
}

Result<CoordinatorRecord> offset_tombstone(const std::string& group_id,
                                           const TopicPartition& topic_partition) {
  return tombstone_of(offset_key(group_id, topic_partition));
}

Result<std::optional<OffsetAndMetadata>> read_offset(const CoordinatorRecord& record) {
  if (!record.value) return std::optional<OffsetAndMetadata>();
  KM_TRY(value, decode_value<wire::OffsetCommitValue>(*record.value));
  OffsetAndMetadata out;
  out.offset = value.offset;
  out.leader_epoch = value.leader_epoch;
  out.metadata = std::move(value.metadata);
  out.commit_timestamp_ms = value.commit_timestamp;
  if (value.expire_timestamp != -1) out.expire_timestamp_ms = value.expire_timestamp;
  out.topic_id = value.topic_id;
  out.is_synced =
      std::any_of(record.headers.begin(), record.headers.end(),
                  [](const RecordHeader& header) { return header.key == kSyncedHeader; });
  return std::optional<OffsetAndMetadata>(std::move(out));
}

}  // namespace kmirror::coordinator
