// SyncGroup, Heartbeat, LeaveGroup, and the table of groups. Sources: see group_membership.h.
#include <utility>

#include "coordinator/group/group_membership.h"
#include "kmirror/base/log.h"

namespace kmirror::coordinator {

ErrorCode append_error_code(const Error& error) {
  const ErrorCode code = to_kafka_error(error);
  switch (code) {
    case ErrorCode::UNKNOWN_TOPIC_OR_PARTITION:
    case ErrorCode::NOT_ENOUGH_REPLICAS:
    case ErrorCode::REQUEST_TIMED_OUT:
      return ErrorCode::COORDINATOR_NOT_AVAILABLE;
    case ErrorCode::NOT_LEADER_OR_FOLLOWER:
    case ErrorCode::KAFKA_STORAGE_ERROR:
      return ErrorCode::NOT_COORDINATOR;
    case ErrorCode::MESSAGE_TOO_LARGE:
    case ErrorCode::RECORD_LIST_TOO_LARGE:
    case ErrorCode::INVALID_FETCH_SIZE:
    case ErrorCode::CORRUPT_MESSAGE:
      return ErrorCode::UNKNOWN_SERVER_ERROR;
    default:
      return code;
  }
}

ErrorCode GroupMembership::validate_sync(const ClassicGroup& group,
                                         const wire::SyncGroupRequest& request) {
  const ErrorCode error = group.validate_member(request.member_id, request.group_instance_id);
  if (error != ErrorCode::NONE) return error;
  if (request.generation_id != group.generation()) return ErrorCode::ILLEGAL_GENERATION;
  const bool other_type = request.protocol_type && request.protocol_type != group.protocol_type();
  const bool other_name = request.protocol_name && request.protocol_name != group.protocol_name();
  if (other_type || other_name) return ErrorCode::INCONSISTENT_GROUP_PROTOCOL;
  return ErrorCode::NONE;
}

wire::SyncGroupResponse GroupMembership::synced(const ClassicGroup& group,
                                                const GroupMember& member) {
  wire::SyncGroupResponse response;
  response.protocol_type = group.protocol_type();
  response.protocol_name = group.protocol_name();
  response.assignment = member.assignment;
  return response;
}

void GroupMembership::sync(wire::SyncGroupRequest request, SyncReply reply) {
  ClassicGroup* const group = find(request.group_id);
  ErrorCode error =
      group == nullptr ? ErrorCode::UNKNOWN_MEMBER_ID : validate_sync(*group, request);
  if (error == ErrorCode::NONE && group->is_in(GroupState::kEmpty)) {
    error = ErrorCode::UNKNOWN_MEMBER_ID;
  }
  if (error == ErrorCode::NONE && group->is_in(GroupState::kPreparingRebalance)) {
    error = ErrorCode::REBALANCE_IN_PROGRESS;
  }
  if (error != ErrorCode::NONE) {
    wire::SyncGroupResponse response;
    response.error_code = error;
    reply(std::move(response));
    return;
  }
  GroupMember& member = *group->member(request.member_id);
  // An older SyncGroup of the same member: the client repeats it on another connection.
  wire::SyncGroupResponse superseded;
  superseded.error_code = ErrorCode::REBALANCE_IN_PROGRESS;
  group->complete_sync(member, std::move(superseded));
  member.sync = std::move(reply);
  group->pending_sync.erase(member.id);
  if (group->pending_sync.empty()) context_.timers().cancel(group->sync_timer);
  if (group->is_in(GroupState::kStable)) {
    answer_sync(member, synced(*group, member));
    schedule_heartbeat(*group, member);
  } else if (group->is_leader(member.id)) {
    sync_by_leader(*group, request);
  }
}

void GroupMembership::sync_by_leader(ClassicGroup& group, const wire::SyncGroupRequest& request) {
  Assignments assignments;
  for (const auto& one : request.assignments) assignments[one.member_id] = one.assignment;
  const auto appended = append(group_record(group, assignments));
  if (!appended) {
    release_syncs(group, append_error_code(appended.error()));
    rebalance_or_complete(group);
    return;
  }
  group.transition_to(GroupState::kStable, now_ms());
  for (auto& [id, member] : group.members()) {
    const auto found = assignments.find(id);
    member.assignment = found != assignments.end() ? std::move(found->second) : Bytes();
    if (!member.sync) continue;
    answer_sync(member, synced(group, member));
    schedule_heartbeat(group, member);
  }
}

ErrorCode GroupMembership::heartbeat(const wire::HeartbeatRequest& request) {
  ClassicGroup* const group = find(request.group_id);
  if (group == nullptr) return ErrorCode::UNKNOWN_MEMBER_ID;
  const ErrorCode error = group->validate_member(request.member_id, request.group_instance_id);
  if (error != ErrorCode::NONE) return error;
  if (request.generation_id != group->generation()) return ErrorCode::ILLEGAL_GENERATION;
  if (group->is_in(GroupState::kEmpty)) return ErrorCode::UNKNOWN_MEMBER_ID;
  schedule_heartbeat(*group, *group->member(request.member_id));
  return group->is_in(GroupState::kPreparingRebalance) ? ErrorCode::REBALANCE_IN_PROGRESS
                                                       : ErrorCode::NONE;
}

void GroupMembership::keep_alive(ClassicGroup& group, const std::string& member_id) {
  GroupMember* const member = group.member(member_id);
  const bool counts =
      group.is_in(GroupState::kStable) || group.is_in(GroupState::kPreparingRebalance);
  if (member != nullptr && counts) schedule_heartbeat(group, *member);
}

wire::LeaveGroupResponse GroupMembership::leave(const wire::LeaveGroupRequest& request) {
  wire::LeaveGroupResponse response;
  ClassicGroup* const group = find(request.group_id);
  bool somebody_left = false;
  for (const auto& member : request.members) {
    auto& one = response.members.emplace_back();
    one.member_id = member.member_id;
    one.group_instance_id = member.group_instance_id;
    one.error_code = group == nullptr ? ErrorCode::UNKNOWN_MEMBER_ID : leave_one(*group, member);
    somebody_left = somebody_left || one.error_code == ErrorCode::NONE;
  }
  if (somebody_left) members_left(*group);
  return response;
}

ErrorCode GroupMembership::leave_one(ClassicGroup& group,
                                     const wire::LeaveGroupRequest::MemberIdentity& member) {
  if (member.member_id.empty()) {
    // An administrator removes a static member by its instance id.
    const std::string* const id =
        member.group_instance_id ? group.static_member(*member.group_instance_id) : nullptr;
    if (id == nullptr) return ErrorCode::UNKNOWN_MEMBER_ID;
    drop_member(group, std::string(*id));
    return ErrorCode::NONE;
  }
  if (!group.pending_join.contains(member.member_id)) {
    const ErrorCode error = group.validate_member(member.member_id, member.group_instance_id);
    if (error != ErrorCode::NONE) return error;
  }
  drop_member(group, member.member_id);
  return ErrorCode::NONE;
}

ClassicGroup* GroupMembership::find(const std::string& group_id) {
  const auto found = groups_.find(group_id);
  return found != groups_.end() ? found->second.get() : nullptr;
}

ClassicGroup& GroupMembership::find_or_make(const std::string& group_id) {
  auto& group = groups_[group_id];
  if (!group) group = std::make_unique<ClassicGroup>(group_id, now_ms());
  return *group;
}

Result<void> GroupMembership::append(const Result<CoordinatorRecord>& record) {
  if (!record) return record.error();
  AppendOutcome outcome = context_.append(std::span(&*record, 1));
  if (outcome.error) return std::move(*outcome.error);
  return {};
}

Result<void> GroupMembership::remove(const std::string& group_id) {
  ClassicGroup* const group = find(group_id);
  if (group == nullptr) return {};
  KM_TRY_VOID(append(group_tombstone(group_id)));
  cancel_timers(*group);
  groups_.erase(group_id);
  return {};
}

void GroupMembership::replay(const std::string& group_id, const CoordinatorRecord& record) {
  auto group = read_group(group_id, record);
  if (!group) {
    KM_LOG(kWarn, "coordinator.record_skipped", "a record of group {} is skipped: {}", group_id,
           group.error().message);
  } else if (*group) {
    groups_[group_id] = std::move(*group);
  } else {
    groups_.erase(group_id);
  }
}

void GroupMembership::on_loaded() {
  for (const auto& [group_id, group] : groups_) {
    for (auto& [id, member] : group->members()) schedule_heartbeat(*group, member);
    if (group->members().size() > static_cast<std::size_t>(std::max(config_.group_max_size, 1))) {
      prepare_rebalance(*group);
    }
  }
}

void GroupMembership::on_unloaded() {
  for (const auto& [group_id, group] : groups_) {
    for (auto& [id, member] : group->members()) {
      wire::JoinGroupResponse join;
      join.error_code = ErrorCode::NOT_COORDINATOR;
      join.protocol_name.reset();
      join.member_id = id;
      group->complete_join(member, std::move(join));
      wire::SyncGroupResponse sync;
      sync.error_code = ErrorCode::NOT_COORDINATOR;
      group->complete_sync(member, std::move(sync));
    }
  }
}

}  // namespace kmirror::coordinator
