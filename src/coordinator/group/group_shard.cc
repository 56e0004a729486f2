#include "coordinator/group/group_shard.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "kmirror/base/log.h"
#include "kmirror/wire/group_metadata_key.h"
#include "kmirror/wire/offset_commit_key.h"

namespace kmirror::coordinator {
namespace {

// An offset key of the time before groups had coordinators: the same fields.
constexpr std::int16_t kOldOffsetKey = 0;
constexpr std::string_view kClassicType = "classic";

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

GroupShard::GroupShard(ShardContext& context, const GroupCoordinatorConfig& config,
                       GroupOffsets::IsMirrored is_mirrored)
    : context_(context),
      config_(config),
      membership_(context, config),
      offsets_(context, config, membership_, std::move(is_mirrored)) {}

std::vector<wire::ListGroupsResponse::ListedGroup> GroupShard::list(
    const std::set<std::string>& states, const std::set<std::string>& types) const {
  std::vector<wire::ListGroupsResponse::ListedGroup> listed;
  if (!types.empty() && !types.contains(std::string(kClassicType))) return listed;
  for (const auto& [id, group] : membership_.groups()) {
    if (!states.empty() && !states.contains(lower(name(group->state())))) continue;
    auto& one = listed.emplace_back();
    one.group_id = id;
    one.protocol_type = group->protocol_type().value_or(std::string());
    one.group_state = name(group->state());
    one.group_type = kClassicType;
  }
  return listed;
}

std::optional<wire::DescribeGroupsResponse::DescribedGroup> GroupShard::describe(
    const std::string& group_id) {
  const ClassicGroup* const group = membership_.find(group_id);
  if (group == nullptr) return std::nullopt;
  wire::DescribeGroupsResponse::DescribedGroup described;
  described.group_id = group_id;
  described.group_state = name(group->state());
  described.protocol_type = group->protocol_type().value_or(std::string());
  const bool is_stable = group->is_in(GroupState::kStable);
  const std::string protocol = group->protocol_name().value_or(std::string());
  if (is_stable) described.protocol_data = protocol;
  for (const auto& [id, member] : group->members()) {
    auto& one = described.members.emplace_back();
    one.member_id = id;
    one.group_instance_id = member.instance_id;
    one.client_id = member.client_id;
    one.client_host = member.client_host;
    // In between generations metadata and assignment do not belong together.
    if (!is_stable) continue;
    const Bytes* const metadata = member.metadata(protocol);
    if (metadata != nullptr) one.member_metadata = *metadata;
    one.member_assignment = member.assignment;
  }
  return described;
}

ErrorCode GroupShard::remove(const std::string& group_id) {
  const ClassicGroup* const group = membership_.find(group_id);
  if (group == nullptr) return ErrorCode::GROUP_ID_NOT_FOUND;
  if (!group->is_in(GroupState::kEmpty)) return ErrorCode::NON_EMPTY_GROUP;
  const auto offsets = offsets_.remove_all(group_id);
  if (!offsets) return append_error_code(offsets.error());
  const auto removed = membership_.remove(group_id);
  return removed ? ErrorCode::NONE : append_error_code(removed.error());
}

void GroupShard::replay(const CoordinatorRecord& record, ProducerId transaction) {
  const auto type = record_type(record.key);
  if (type && *type == wire::GroupMetadataKey::kApiKey.get()) {
    const auto key = decode_key<wire::GroupMetadataKey>(record.key);
    if (key) return membership_.replay(key->group, record);
  } else if (type && (*type == kOldOffsetKey || *type == wire::OffsetCommitKey::kApiKey.get())) {
    const auto key = decode_key<wire::OffsetCommitKey>(record.key);
    if (key) {
      const TopicPartition partition(key->topic, key->partition);
      return offsets_.replay(key->group, partition, record, transaction);
    }
  }
  // Groups of the newer protocols, written by another broker, say nothing about classic ones.
  KM_LOG(kDebug, "coordinator.record_skipped", "a record of {} of type {} is skipped",
         kConsumerOffsetsTopic, type ? *type : -1);
}

void GroupShard::replay_end_transaction(ProducerId producer_id, bool commit) {
  offsets_.replay_end_transaction(producer_id, commit);
}

void GroupShard::on_loaded() {
  membership_.on_loaded();
  schedule_expiry();
}

void GroupShard::schedule_expiry() {
  const TimerId timer = context_.timers().schedule(
      std::chrono::milliseconds(config_.offsets_retention_check_interval_ms), [this] {
        offsets_.expire();
        schedule_expiry();
      });
  static_cast<void>(timer);  // ends with the shard
}

void GroupShard::on_unloaded() { membership_.on_unloaded(); }

}  // namespace kmirror::coordinator
