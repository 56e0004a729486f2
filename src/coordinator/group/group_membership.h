// GroupMembership: joining, syncing, heartbeats and leaving of the groups of one shard, with their
// rebalances and timeouts.
// Owner: the shard's loop. Invariants: a JoinGroup or SyncGroup that waits is answered exactly
// once: by the rebalance, a timeout, a newer request of the same member, or on_unloaded(); the
// group record of a stable group is what its members have. Sources: Kafka 4.4 GroupMetadataManager
// (classic part); KIP-134, KIP-345, KIP-394, KIP-800.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/group/classic_group.h"
#include "coordinator/group/group_records.h"
#include "coordinator/runtime/shard.h"
#include "kmirror/coordinator/group_coordinator.h"

namespace kmirror::coordinator {

/// The client behind a request.
struct GroupClient {
  GroupClient(std::string id, std::string host)
      : client_id(std::move(id)), client_host(std::move(host)) {}
  std::string client_id;
  std::string client_host;
};

class GroupMembership {
 public:
  using Groups = std::map<std::string, std::unique_ptr<ClassicGroup>>;

  GroupMembership(ShardContext& context, const GroupCoordinatorConfig& config)
      : context_(context), config_(config) {}

  // Requests. Replies may come inside the call or later.
  void join(wire::JoinGroupRequest request, ApiVersion version, const GroupClient& client,
            JoinReply reply);
  void sync(wire::SyncGroupRequest request, SyncReply reply);
  [[nodiscard]] ErrorCode heartbeat(const wire::HeartbeatRequest& request);
  /// Version 3 form: `members` filled. The answer is to be given when durable.
  [[nodiscard]] wire::LeaveGroupResponse leave(const wire::LeaveGroupRequest& request);

  [[nodiscard]] ClassicGroup* find(const std::string& group_id);
  [[nodiscard]] const Groups& groups() const { return groups_; }
  /// The group, made if it is not there, without a record: for positions of a group that never had
  /// members.
  ClassicGroup& find_or_make(const std::string& group_id);
  /// A commit of a member counts as its heartbeat.
  void keep_alive(ClassicGroup& group, const std::string& member_id);
  /// Appends the group's tombstone and forgets it. The group must be Empty.
  [[nodiscard]] Result<void> remove(const std::string& group_id);

  /// One record of the log, while loading.
  void replay(const std::string& group_id, const CoordinatorRecord& record);
  void on_loaded();
  void on_unloaded();

 private:
  using Milliseconds = std::chrono::milliseconds;
  /// The parts of a JoinGroup that outlive its request.
  struct Join {
    Join() = default;
    std::string member_id;
    std::optional<std::string> instance_id;
    std::string protocol_type;
    std::vector<GroupProtocol> protocols;
    std::int32_t rebalance_timeout_ms = 0;
    std::int32_t session_timeout_ms = 0;
    ApiVersion version{0};
    JoinReply reply;
  };

  // group_join.cc
  [[nodiscard]] static Join join_of(wire::JoinGroupRequest request, ApiVersion version,
                                    JoinReply reply);
  [[nodiscard]] bool accepts_joining(ClassicGroup& group, const std::string& member_id) const;
  void join_new(ClassicGroup& group, Join join, const GroupClient& client);
  void join_existing(ClassicGroup& group, Join join, const GroupClient& client);
  void rejoin(ClassicGroup& group, GroupMember& member, Join join);
  void add_member(ClassicGroup& group, Join join, std::string member_id, const GroupClient& client);
  void replace_static(ClassicGroup& group, Join join, const std::string& new_id,
                      const GroupClient& client);
  void answer_replaced(ClassicGroup& group, GroupMember& member, ApiVersion version,
                       const std::optional<std::string>& leader_before);
  [[nodiscard]] wire::JoinGroupResponse joined(const ClassicGroup& group,
                                               const std::string& member_id) const;
  [[nodiscard]] std::string new_member_id(const std::string& prefix);

  // group_rebalance.cc
  void rebalance_or_complete(ClassicGroup& group);
  void prepare_rebalance(ClassicGroup& group);
  void delay_initial_rebalance(ClassicGroup& group, Milliseconds delay, Milliseconds remaining);
  void complete_or_wait(ClassicGroup& group);
  void complete_if_all_joined(ClassicGroup& group);
  void complete_join_phase(ClassicGroup& group);
  void schedule_join_completion(ClassicGroup& group, Milliseconds delay);
  void schedule_sync_expiry(ClassicGroup& group);
  void expire_sync(ClassicGroup& group, std::int32_t generation);
  void schedule_heartbeat(ClassicGroup& group, GroupMember& member, Milliseconds timeout);
  void schedule_heartbeat(ClassicGroup& group, GroupMember& member);
  void expire_heartbeat(const std::string& group_id, const std::string& member_id);
  void drop_member(ClassicGroup& group, const std::string& member_id);
  void members_left(ClassicGroup& group);
  void release_syncs(ClassicGroup& group, ErrorCode code);
  void answer_sync(GroupMember& member, wire::SyncGroupResponse response);
  void cancel_timers(ClassicGroup& group);

  // group_sync.cc
  [[nodiscard]] static ErrorCode validate_sync(const ClassicGroup& group,
                                               const wire::SyncGroupRequest& request);
  void sync_by_leader(ClassicGroup& group, const wire::SyncGroupRequest& request);
  [[nodiscard]] static wire::SyncGroupResponse synced(const ClassicGroup& group,
                                                      const GroupMember& member);
  [[nodiscard]] ErrorCode leave_one(ClassicGroup& group,
                                    const wire::LeaveGroupRequest::MemberIdentity& member);

  [[nodiscard]] std::int64_t now_ms() const { return context_.clock().wall_ms(); }
  [[nodiscard]] Result<void> append(const Result<CoordinatorRecord>& record);

  ShardContext& context_;
  const GroupCoordinatorConfig& config_;
  Groups groups_;
};

/// The code a client is told when a record of its group could not be stored.
[[nodiscard]] ErrorCode append_error_code(const Error& error);

}  // namespace kmirror::coordinator
