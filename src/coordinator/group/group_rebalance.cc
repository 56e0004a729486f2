// Rebalances and timeouts. Sources: see group_membership.h.
#include <algorithm>
#include <utility>

#include "coordinator/group/group_membership.h"
#include "kmirror/base/log.h"

namespace kmirror::coordinator {

void GroupMembership::rebalance_or_complete(ClassicGroup& group) {
  if (group.can_rebalance()) {
    prepare_rebalance(group);
  } else {
    complete_if_all_joined(group);
  }
}

void GroupMembership::prepare_rebalance(ClassicGroup& group) {
  if (group.is_in(GroupState::kCompletingRebalance)) {
    release_syncs(group, ErrorCode::REBALANCE_IN_PROGRESS);
  }
  context_.timers().cancel(group.sync_timer);
  const bool is_initial = group.is_in(GroupState::kEmpty);
  group.transition_to(GroupState::kPreparingRebalance, now_ms());
  if (!is_initial) {
    complete_or_wait(group);
    return;
  }
  // The group is new: the other members get time to join before the first assignment.
  const Milliseconds delay(config_.group_initial_rebalance_delay_ms);
  const Milliseconds timeout(group.rebalance_timeout_ms());
  delay_initial_rebalance(group, delay, std::max(timeout - delay, Milliseconds(0)));
}

void GroupMembership::delay_initial_rebalance(ClassicGroup& group, Milliseconds delay,
                                              Milliseconds remaining) {
  context_.timers().cancel(group.join_timer);
  group.join_timer = context_.timers().schedule(delay, [this, id = group.id(), delay, remaining] {
    ClassicGroup* const waiting = find(id);
    if (waiting == nullptr) return;
    waiting->join_timer = 0;
    if (!waiting->new_member_added || remaining.count() == 0) {
      complete_join_phase(*waiting);
      return;
    }
    waiting->new_member_added = false;
    const Milliseconds initial(config_.group_initial_rebalance_delay_ms);
    delay_initial_rebalance(*waiting, std::min(initial, remaining),
                            std::max(remaining - delay, Milliseconds(0)));
  });
}

void GroupMembership::complete_or_wait(ClassicGroup& group) {
  if (group.has_all_joined()) {
    complete_join_phase(group);
  } else {
    schedule_join_completion(group, Milliseconds(group.rebalance_timeout_ms()));
  }
}

void GroupMembership::complete_if_all_joined(ClassicGroup& group) {
  // The first rebalance of a group waits out its delay.
  if (group.is_in(GroupState::kPreparingRebalance) && group.has_all_joined() &&
      group.previous_state() != GroupState::kEmpty) {
    complete_join_phase(group);
  }
}

void GroupMembership::schedule_join_completion(ClassicGroup& group, Milliseconds delay) {
  context_.timers().cancel(group.join_timer);
  group.join_timer = context_.timers().schedule(delay, [this, id = group.id()] {
    ClassicGroup* const waiting = find(id);
    if (waiting == nullptr) return;
    waiting->join_timer = 0;
    complete_join_phase(*waiting);
  });
}

void GroupMembership::complete_join_phase(ClassicGroup& group) {
  context_.timers().cancel(group.join_timer);
  if (!group.is_in(GroupState::kPreparingRebalance)) return;
  std::vector<std::string> silent;
  for (const auto& [id, member] : group.members()) {
    if (!member.join && !member.is_static()) silent.push_back(id);
  }
  for (const std::string& id : silent) drop_member(group, id);
  if (!group.elect_joined_leader() && !group.members().empty()) {
    // Only static members are left and none has joined: they keep their places until their
    // sessions end.
    schedule_join_completion(group, Milliseconds(group.rebalance_timeout_ms()));
    return;
  }
  group.start_next_generation(now_ms());
  group.new_member_added = false;
  if (group.is_in(GroupState::kEmpty)) {
    const auto appended = append(group_record(group, {}));
    if (!appended) {
      // The group is empty here all the same; a restart finds the members of before, and their
      // sessions end there.
      KM_LOG(kWarn, "group.record_lost", "group {}: {}", group.id(), appended.error().message);
    }
    return;
  }
  for (auto& [id, member] : group.members()) {
    wire::JoinGroupResponse response = joined(group, id);
    if (group.is_leader(id)) response.members = group.members_for_leader();
    group.complete_join(member, std::move(response));
    member.is_new = false;
    schedule_heartbeat(group, member);
    group.pending_sync.insert(id);
  }
  schedule_sync_expiry(group);
}

void GroupMembership::schedule_sync_expiry(ClassicGroup& group) {
  context_.timers().cancel(group.sync_timer);
  group.sync_timer =
      context_.timers().schedule(Milliseconds(group.rebalance_timeout_ms()),
                                 [this, id = group.id(), generation = group.generation()] {
                                   ClassicGroup* const waiting = find(id);
                                   if (waiting == nullptr) return;
                                   waiting->sync_timer = 0;
                                   expire_sync(*waiting, generation);
                                 });
}

void GroupMembership::expire_sync(ClassicGroup& group, std::int32_t generation) {
  if (generation != group.generation() || group.pending_sync.empty()) return;
  if (!group.is_in(GroupState::kCompletingRebalance) && !group.is_in(GroupState::kStable)) return;
  const std::vector<std::string> silent(group.pending_sync.begin(), group.pending_sync.end());
  for (const std::string& id : silent) drop_member(group, id);
  prepare_rebalance(group);
}

void GroupMembership::schedule_heartbeat(ClassicGroup& group, GroupMember& member,
                                         Milliseconds timeout) {
  context_.timers().cancel(member.heartbeat);
  member.heartbeat = context_.timers().schedule(
      timeout, [this, group_id = group.id(), id = member.id] { expire_heartbeat(group_id, id); });
}

void GroupMembership::schedule_heartbeat(ClassicGroup& group, GroupMember& member) {
  schedule_heartbeat(group, member, Milliseconds(member.session_timeout_ms));
}

void GroupMembership::expire_heartbeat(const std::string& group_id, const std::string& member_id) {
  ClassicGroup* const group = find(group_id);
  if (group == nullptr) return;
  if (group->pending_join.erase(member_id) > 0) {
    complete_if_all_joined(*group);
    return;
  }
  GroupMember* const member = group->member(member_id);
  if (member == nullptr) return;
  member->heartbeat = 0;
  if (member->has_satisfied_heartbeat()) return;
  KM_LOG(kInfo, "group.member_expired", "group {}: member {} was silent for its session timeout",
         group_id, member_id);
  drop_member(*group, member_id);
  members_left(*group);
}

void GroupMembership::drop_member(ClassicGroup& group, const std::string& member_id) {
  const auto pending = group.pending_join.find(member_id);
  if (pending != group.pending_join.end()) context_.timers().cancel(pending->second);
  GroupMember* const member = group.member(member_id);
  if (member != nullptr) {
    context_.timers().cancel(member->heartbeat);
    // The client, if it is still there, joins as a new member.
    wire::JoinGroupResponse join;
    join.error_code = ErrorCode::UNKNOWN_MEMBER_ID;
    join.protocol_name.reset();
    group.complete_join(*member, std::move(join));
    wire::SyncGroupResponse sync;
    sync.error_code = ErrorCode::UNKNOWN_MEMBER_ID;
    group.complete_sync(*member, std::move(sync));
  }
  group.remove(member_id);
}

void GroupMembership::members_left(ClassicGroup& group) {
  switch (group.state()) {
    case GroupState::kStable:
    case GroupState::kCompletingRebalance:
      rebalance_or_complete(group);
      break;
    case GroupState::kPreparingRebalance:
      complete_if_all_joined(group);
      break;
    case GroupState::kEmpty:
      break;
  }
}

void GroupMembership::release_syncs(ClassicGroup& group, ErrorCode code) {
  for (auto& [id, member] : group.members()) {
    member.assignment.clear();
    if (!member.sync) continue;
    wire::SyncGroupResponse response;
    response.error_code = code;
    group.complete_sync(member, std::move(response));
    schedule_heartbeat(group, member);
  }
}

void GroupMembership::answer_sync(GroupMember& member, wire::SyncGroupResponse response) {
  SyncReply reply = std::exchange(member.sync, nullptr);
  context_.when_durable(
      [reply = std::move(reply), response = std::move(response)](ErrorCode code) mutable {
        if (code != ErrorCode::NONE) {
          response = wire::SyncGroupResponse();
          response.error_code = code;
        }
        reply(std::move(response));
      });
}

void GroupMembership::cancel_timers(ClassicGroup& group) {
  context_.timers().cancel(group.join_timer);
  context_.timers().cancel(group.sync_timer);
  for (auto& [id, timer] : group.pending_join) context_.timers().cancel(timer);
  for (auto& [id, member] : group.members()) context_.timers().cancel(member.heartbeat);
}

}  // namespace kmirror::coordinator
