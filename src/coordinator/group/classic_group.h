// ClassicGroup: one group of the classic protocol: members, generation, state and the answers that
// wait. Data and its rules only; what happens when is in group_membership.h.
// Owner: the loop of the shard. Invariants: the leader is a member, or there is none; every static
// member's instance id leads to it; supported protocols count their members; a waiting answer is
// given exactly once.
// Sources: Kafka 4.4 ClassicGroup, ClassicGroupMember.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/runtime/timer_queue.h"
#include "kmirror/base/unique_function.h"
#include "kmirror/bytes/slice.h"
#include "kmirror/model/error_code.h"
#include "kmirror/wire/join_group_response.h"
#include "kmirror/wire/sync_group_response.h"

namespace kmirror::coordinator {

enum class GroupState : std::uint8_t {
  kEmpty,
  kPreparingRebalance,
  kCompletingRebalance,
  kStable,
};
/// "Empty", "PreparingRebalance", "CompletingRebalance", "Stable".
[[nodiscard]] std::string_view name(GroupState state);

using JoinReply = UniqueFunction<void(wire::JoinGroupResponse)>;
using SyncReply = UniqueFunction<void(wire::SyncGroupResponse)>;

struct GroupProtocol {
  GroupProtocol() = default;
  GroupProtocol(std::string n, Bytes m) : name(std::move(n)), metadata(std::move(m)) {}
  std::string name;
  Bytes metadata;
  friend bool operator==(const GroupProtocol&, const GroupProtocol&) = default;
};

struct GroupMember {
  GroupMember() = default;
  std::string id;
  std::optional<std::string> instance_id;
  std::string client_id;
  std::string client_host;
  std::int32_t rebalance_timeout_ms = 0;
  std::int32_t session_timeout_ms = 0;
  std::string protocol_type;
  std::vector<GroupProtocol> protocols;  ///< in the member's order of preference
  Bytes assignment;
  JoinReply join;       ///< set while a JoinGroup waits
  SyncReply sync;       ///< set while a SyncGroup waits
  bool is_new = false;  ///< has not had the answer to its first JoinGroup
  TimerId heartbeat = 0;

  [[nodiscard]] bool is_static() const { return instance_id.has_value(); }
  /// Its metadata for `protocol`; null if it does not support it.
  [[nodiscard]] const Bytes* metadata(std::string_view protocol) const;
  /// True if a member that waits needs no heartbeat to stay.
  [[nodiscard]] bool has_satisfied_heartbeat() const {
    return !is_new && (static_cast<bool>(join) || static_cast<bool>(sync));
  }
};

class ClassicGroup {
 public:
  using Members = std::map<std::string, GroupMember>;

  ClassicGroup(std::string id, std::int64_t now_ms) : id_(std::move(id)), state_since_ms_(now_ms) {}
  ClassicGroup(const ClassicGroup&) = delete;
  ClassicGroup& operator=(const ClassicGroup&) = delete;

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] GroupState state() const { return state_; }
  [[nodiscard]] GroupState previous_state() const { return previous_state_; }
  [[nodiscard]] bool is_in(GroupState state) const { return state_ == state; }
  [[nodiscard]] std::int32_t generation() const { return generation_; }
  [[nodiscard]] const std::optional<std::string>& protocol_type() const { return protocol_type_; }
  [[nodiscard]] const std::optional<std::string>& protocol_name() const { return protocol_name_; }
  [[nodiscard]] const std::optional<std::string>& leader() const { return leader_; }
  [[nodiscard]] bool is_leader(std::string_view member_id) const { return leader_ == member_id; }
  /// When the present state began, wall clock; nothing in groups of an old record version.
  [[nodiscard]] std::optional<std::int64_t> state_since_ms() const { return state_since_ms_; }
  [[nodiscard]] Members& members() { return members_; }
  [[nodiscard]] const Members& members() const { return members_; }
  [[nodiscard]] GroupMember* member(std::string_view id);
  /// The member id behind a static instance id; null if there is none.
  [[nodiscard]] const std::string* static_member(std::string_view instance_id) const;
  /// The greatest rebalance timeout of the members, in milliseconds.
  [[nodiscard]] std::int32_t rebalance_timeout_ms() const;
  [[nodiscard]] bool uses_consumer_protocol() const { return protocol_type_ == "consumer"; }
  /// Topics the members subscribe to; nothing if that cannot be known.
  [[nodiscard]] const std::optional<std::set<std::string>>& subscribed_topics() const {
    return subscribed_topics_;
  }
  /// True while the group has members that (may) subscribe to `topic`.
  [[nodiscard]] bool is_subscribed_to(const std::string& topic) const;

  /// NONE, UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.
  [[nodiscard]] ErrorCode validate_member(std::string_view member_id,
                                          const std::optional<std::string>& instance_id) const;
  /// True if a member with these protocols may join now.
  [[nodiscard]] bool supports(std::string_view protocol_type,
                              const std::vector<GroupProtocol>& protocols) const;
  [[nodiscard]] bool can_rebalance() const { return !is_in(GroupState::kPreparingRebalance); }
  [[nodiscard]] bool has_all_joined() const;
  [[nodiscard]] std::size_t awaiting_join_count() const;
  /// The protocol most members prefer among those all support. There must be members.
  [[nodiscard]] std::string select_protocol() const;

  void transition_to(GroupState state, std::int64_t now_ms);
  /// Adds `member`; the first one leads and sets the protocol type.
  GroupMember& add(GroupMember member);
  /// Removes a member or pending member; another member leads if it led. Its waiting answers must
  /// have been given. False if it is not there.
  bool remove(std::string_view member_id);
  /// Gives a static member a new id: its waiting answers get FENCED_INSTANCE_ID.
  GroupMember& replace_static(const std::string& instance_id, const std::string& new_id);
  /// Replaces protocols, timeouts and the waiting answer of a member.
  void update(GroupMember& member, std::vector<GroupProtocol> protocols,
              std::int32_t rebalance_timeout_ms, std::int32_t session_timeout_ms, JoinReply join);
  /// Lets a member that has joined lead if the leader has not. False if nobody has joined.
  [[nodiscard]] bool elect_joined_leader();
  /// The next generation: completing its rebalance, or Empty without members.
  void start_next_generation(std::int64_t now_ms);

  /// Gives a waiting answer; false if none waits.
  bool complete_join(GroupMember& member, wire::JoinGroupResponse response);
  bool complete_sync(GroupMember& member, wire::SyncGroupResponse response);
  /// What the leader gets: every member with its metadata for the chosen protocol.
  [[nodiscard]] std::vector<wire::JoinGroupResponse::JoinGroupResponseMember> members_for_leader()
      const;

  /// Takes over what a group metadata record says.
  void restore(std::string protocol_type, std::int32_t generation,
               std::optional<std::string> protocol, std::optional<std::string> leader,
               std::optional<std::int64_t> state_since_ms, std::vector<GroupMember> members);

  bool new_member_added = false;                ///< since the initial rebalance was delayed
  std::map<std::string, TimerId> pending_join;  ///< ids handed out, their joins awaited
  std::set<std::string> pending_sync;           ///< members whose SyncGroup is awaited
  TimerId join_timer = 0;
  TimerId sync_timer = 0;

 private:
  void count_protocols(const GroupMember& member, int by);
  void compute_subscribed_topics();

  std::string id_;
  GroupState state_ = GroupState::kEmpty;
  GroupState previous_state_ = GroupState::kEmpty;
  std::optional<std::int64_t> state_since_ms_;
  std::int32_t generation_ = 0;
  std::optional<std::string> protocol_type_;
  std::optional<std::string> protocol_name_;
  std::optional<std::string> leader_;
  Members members_;
  std::map<std::string, std::string, std::less<>> static_members_;
  std::map<std::string, std::size_t, std::less<>> protocol_counts_;
  std::optional<std::set<std::string>> subscribed_topics_;
};

}  // namespace kmirror::coordinator
