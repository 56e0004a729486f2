// JoinGroup. Sources: see group_membership.h.
#include <algorithm>
#include <utility>

#include "coordinator/group/group_membership.h"
#include "kmirror/base/log.h"

namespace kmirror::coordinator {
namespace {

constexpr ApiVersion kFirstRequiringKnownId{4};    // KIP-394
constexpr ApiVersion kFirstSkippingAssignment{9};  // KIP-814

wire::JoinGroupResponse refusal(ErrorCode code, std::string member_id) {
  wire::JoinGroupResponse response;
  response.error_code = code;
  response.protocol_name.reset();
  response.member_id = std::move(member_id);
  return response;
}

}  // namespace

GroupMembership::Join GroupMembership::join_of(wire::JoinGroupRequest request, ApiVersion version,
                                               JoinReply reply) {
  Join join;
  join.member_id = std::move(request.member_id);
  join.instance_id = std::move(request.group_instance_id);
  join.protocol_type = std::move(request.protocol_type);
  for (auto& protocol : request.protocols) {
    const bool known = std::any_of(
        join.protocols.begin(), join.protocols.end(),
        [&protocol](const GroupProtocol& other) { return other.name == protocol.name; });
    if (known) continue;
    join.protocols.emplace_back(std::move(protocol.name), std::move(protocol.metadata));
  }
  join.session_timeout_ms = request.session_timeout_ms;
  // Version 0 has no rebalance timeout: the session timeout takes its place.
  join.rebalance_timeout_ms = version == ApiVersion(0) || request.rebalance_timeout_ms < 0
                                  ? request.session_timeout_ms
                                  : request.rebalance_timeout_ms;
  join.version = version;
  join.reply = std::move(reply);
  return join;
}

void GroupMembership::join(wire::JoinGroupRequest request, ApiVersion version,
                           const GroupClient& client, JoinReply reply) {
  const std::string group_id = request.group_id;
  Join join = join_of(std::move(request), version, std::move(reply));
  ClassicGroup* group = find(group_id);
  const bool is_unknown_member = join.member_id.empty();
  if (group == nullptr) {
    if (!is_unknown_member) {
      join.reply(refusal(ErrorCode::UNKNOWN_MEMBER_ID, join.member_id));
      return;
    }
    auto made = std::make_unique<ClassicGroup>(group_id, now_ms());
    if (!made->supports(join.protocol_type, join.protocols)) {
      join.reply(refusal(ErrorCode::INCONSISTENT_GROUP_PROTOCOL, ""));
      return;
    }
    const auto appended = append(new_group_record(*made));
    if (!appended) {
      join.reply(refusal(append_error_code(appended.error()), ""));
      return;
    }
    group = groups_.emplace(group_id, std::move(made)).first->second.get();
  }
  if (!accepts_joining(*group, join.member_id)) {
    drop_member(*group, join.member_id);
    join.reply(refusal(ErrorCode::GROUP_MAX_SIZE_REACHED, ""));
  } else if (is_unknown_member) {
    join_new(*group, std::move(join), client);
  } else {
    join_existing(*group, std::move(join), client);
  }
}

bool GroupMembership::accepts_joining(ClassicGroup& group, const std::string& member_id) const {
  const auto limit = static_cast<std::size_t>(std::max(config_.group_max_size, 1));
  const GroupMember* const member = group.member(member_id);
  switch (group.state()) {
    case GroupState::kEmpty:
      return true;
    case GroupState::kPreparingRebalance:
      // Counting those who wait lets the last ones to rejoin go when the limit was lowered.
      return (member != nullptr && member->join) || group.awaiting_join_count() < limit;
    case GroupState::kCompletingRebalance:
    case GroupState::kStable:
      return member != nullptr || group.members().size() < limit;
  }
  return true;
}

std::string GroupMembership::new_member_id(const std::string& prefix) {
  const std::string hex = to_hex(context_.rng().uuid().bytes());
  return fmt::format("{}-{}-{}-{}-{}-{}", prefix, hex.substr(0, 8), hex.substr(8, 4),
                     hex.substr(12, 4), hex.substr(16, 4), hex.substr(20));
}

void GroupMembership::join_new(ClassicGroup& group, Join join, const GroupClient& client) {
  if (!group.supports(join.protocol_type, join.protocols)) {
    join.reply(refusal(ErrorCode::INCONSISTENT_GROUP_PROTOCOL, ""));
    return;
  }
  const std::string id = new_member_id(join.instance_id.value_or(client.client_id));
  if (join.instance_id) {
    if (group.static_member(*join.instance_id) != nullptr) {
      replace_static(group, std::move(join), id, client);
    } else {
      add_member(group, std::move(join), id, client);
    }
    return;
  }
  if (join.version < kFirstRequiringKnownId) {
    add_member(group, std::move(join), id, client);
    return;
  }
  // The member must come back with its id: a client that gave up leaves no member behind.
  TimerId& timer = group.pending_join[id];
  timer = context_.timers().schedule(
      Milliseconds(join.session_timeout_ms),
      [this, group_id = group.id(), id] { expire_heartbeat(group_id, id); });
  join.reply(refusal(ErrorCode::MEMBER_ID_REQUIRED, id));
}

void GroupMembership::join_existing(ClassicGroup& group, Join join, const GroupClient& client) {
  if (!group.supports(join.protocol_type, join.protocols)) {
    join.reply(refusal(ErrorCode::INCONSISTENT_GROUP_PROTOCOL, join.member_id));
    return;
  }
  const auto pending = group.pending_join.find(join.member_id);
  if (pending != group.pending_join.end()) {
    if (join.instance_id) {
      // Ids are handed out in advance to dynamic members only.
      join.reply(refusal(ErrorCode::UNKNOWN_MEMBER_ID, join.member_id));
      return;
    }
    context_.timers().cancel(pending->second);
    const std::string id = join.member_id;
    add_member(group, std::move(join), id, client);
    return;
  }
  const ErrorCode error = group.validate_member(join.member_id, join.instance_id);
  if (error != ErrorCode::NONE) {
    join.reply(refusal(error, join.member_id));
    return;
  }
  GroupMember& member = *group.member(join.member_id);
  rejoin(group, member, std::move(join));
}

void GroupMembership::rejoin(ClassicGroup& group, GroupMember& member, Join join) {
  const bool is_leader = group.is_leader(member.id);
  const bool is_same = member.protocols == join.protocols;
  bool rebalances = true;
  switch (group.state()) {
    case GroupState::kEmpty:
      join.reply(refusal(ErrorCode::UNKNOWN_MEMBER_ID, join.member_id));
      return;
    case GroupState::kPreparingRebalance:
      break;
    case GroupState::kCompletingRebalance:
      // The answer may have been lost: the same generation is told again.
      rebalances = !is_same;
      break;
    case GroupState::kStable:
      // A leader that joins again wants a new assignment.
      rebalances = is_leader || !is_same;
      break;
  }
  if (!rebalances) {
    wire::JoinGroupResponse response = joined(group, member.id);
    if (is_leader) response.members = group.members_for_leader();
    join.reply(std::move(response));
    return;
  }
  group.update(member, std::move(join.protocols), join.rebalance_timeout_ms,
               join.session_timeout_ms, std::move(join.reply));
  rebalance_or_complete(group);
}

void GroupMembership::add_member(ClassicGroup& group, Join join, std::string member_id,
                                 const GroupClient& client) {
  if (group.is_in(GroupState::kPreparingRebalance) &&
      group.previous_state() == GroupState::kEmpty) {
    group.new_member_added = true;
  }
  GroupMember member;
  member.id = std::move(member_id);
  member.instance_id = std::move(join.instance_id);
  member.client_id = client.client_id;
  member.client_host = client.client_host;
  member.rebalance_timeout_ms = join.rebalance_timeout_ms;
  member.session_timeout_ms = join.session_timeout_ms;
  member.protocol_type = std::move(join.protocol_type);
  member.protocols = std::move(join.protocols);
  member.is_new = true;
  member.join = std::move(join.reply);
  GroupMember& added = group.add(std::move(member));
  // A new member cannot send heartbeats while it waits for its id, and a client that went away is
  // not noticed: after this long it counts as gone. If it is still there it joins again.
  schedule_heartbeat(group, added, Milliseconds(config_.new_member_join_timeout_ms));
  rebalance_or_complete(group);
}

wire::JoinGroupResponse GroupMembership::joined(const ClassicGroup& group,
                                                const std::string& member_id) const {
  wire::JoinGroupResponse response;
  response.member_id = member_id;
  response.generation_id = group.generation();
  response.protocol_type = group.protocol_type();
  response.protocol_name = group.protocol_name();
  response.leader = group.leader().value_or(std::string());
  return response;
}

void GroupMembership::replace_static(ClassicGroup& group, Join join, const std::string& new_id,
                                     const GroupClient& client) {
  const std::string instance_id = *join.instance_id;
  const std::string old_id = *group.static_member(instance_id);
  const std::optional<std::string> leader_before = group.leader();
  context_.timers().cancel(group.member(old_id)->heartbeat);
  GroupMember& member = group.replace_static(instance_id, new_id);
  const GroupMember& old = member;
  auto old_protocols = old.protocols;
  const auto old_rebalance_timeout_ms = old.rebalance_timeout_ms;
  const auto old_session_timeout_ms = old.session_timeout_ms;
  member.client_id = client.client_id;
  member.client_host = client.client_host;
  group.update(member, std::move(join.protocols), join.rebalance_timeout_ms,
               join.session_timeout_ms, std::move(join.reply));
  schedule_heartbeat(group, member);
  switch (group.state()) {
    case GroupState::kStable:
      break;
    case GroupState::kCompletingRebalance:
      // The leader may already assign to the old id: everybody joins again.
      prepare_rebalance(group);
      return;
    case GroupState::kEmpty:
    case GroupState::kPreparingRebalance:
      complete_if_all_joined(group);
      return;
  }
  if (group.protocol_name() != group.select_protocol()) {
    rebalance_or_complete(group);
    return;
  }
  const auto appended = append(group_record(group));
  if (appended) {
    answer_replaced(group, member, join.version, leader_before);
    return;
  }
  // Back to the old id: this generation stays as it is stored.
  wire::JoinGroupResponse response = joined(group, "");
  response.leader = leader_before.value_or(std::string());
  response.error_code = append_error_code(appended.error());
  group.complete_join(member, std::move(response));
  context_.timers().cancel(member.heartbeat);
  group.update(member, std::move(old_protocols), old_rebalance_timeout_ms, old_session_timeout_ms,
               nullptr);
  schedule_heartbeat(group, group.replace_static(instance_id, old_id));
}

void GroupMembership::answer_replaced(ClassicGroup& group, GroupMember& member, ApiVersion version,
                                      const std::optional<std::string>& leader_before) {
  wire::JoinGroupResponse response = joined(group, member.id);
  if (version >= kFirstSkippingAssignment) {
    response.skip_assignment = group.is_leader(member.id);
    if (response.skip_assignment) response.members = group.members_for_leader();
  } else {
    // An older client that led would assign anew: it is told the leader that was, so it follows.
    response.leader = leader_before.value_or(std::string());
  }
  JoinReply reply = std::exchange(member.join, nullptr);
  context_.when_durable(
      [reply = std::move(reply), response = std::move(response)](ErrorCode code) mutable {
        response.error_code = code;
        reply(std::move(response));
      });
}

}  // namespace kmirror::coordinator
