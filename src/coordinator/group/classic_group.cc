#include "coordinator/group/classic_group.h"

#include <algorithm>
#include <utility>

#include "kmirror/base/check.h"
#include "kmirror/bytes/reader.h"
#include "kmirror/wire/consumer_protocol_subscription.h"

namespace kmirror::coordinator {
namespace {

/// Topics of one ConsumerProtocolSubscription; nothing if the bytes are none.
std::optional<std::vector<std::string>> topics_of(const Bytes& metadata) {
  Reader reader(Slice::copy_of(metadata));
  const auto version = reader.integer<std::int16_t>();
  if (!version || *version < 0) return std::nullopt;
  // A newer version begins like the newest one we know.
  const std::int16_t known =
      std::min(*version, wire::ConsumerProtocolSubscription::kMaxVersion.get());
  auto subscription = wire::ConsumerProtocolSubscription::decode(reader, ApiVersion(known));
  if (!subscription) return std::nullopt;
  return std::move(subscription->topics);
}

}  // namespace

std::string_view name(GroupState state) {
  switch (state) {
    case GroupState::kEmpty:
      return "Empty";
    case GroupState::kPreparingRebalance:
      return "PreparingRebalance";
    case GroupState::kCompletingRebalance:
      return "CompletingRebalance";
    case GroupState::kStable:
      return "Stable";
  }
  return "Unknown";
}

const Bytes* GroupMember::metadata(std::string_view protocol) const {
  for (const GroupProtocol& one : protocols) {
    if (one.name == protocol) return &one.metadata;
  }
  return nullptr;
}

GroupMember* ClassicGroup::member(std::string_view id) {
  const auto found = members_.find(std::string(id));
  return found != members_.end() ? &found->second : nullptr;
}

const std::string* ClassicGroup::static_member(std::string_view instance_id) const {
  const auto found = static_members_.find(instance_id);
  return found != static_members_.end() ? &found->second : nullptr;
}

std::int32_t ClassicGroup::rebalance_timeout_ms() const {
  std::int32_t most = 0;
  for (const auto& [id, member] : members_) most = std::max(most, member.rebalance_timeout_ms);
  return most;
}

bool ClassicGroup::is_subscribed_to(const std::string& topic) const {
  if (is_in(GroupState::kEmpty)) return false;
  // A consumer group whose subscriptions cannot be read may subscribe to anything.
  return subscribed_topics_ ? subscribed_topics_->contains(topic) : uses_consumer_protocol();
}

ErrorCode ClassicGroup::validate_member(std::string_view member_id,
                                        const std::optional<std::string>& instance_id) const {
  if (instance_id) {
    const std::string* const known = static_member(*instance_id);
    if (known == nullptr) return ErrorCode::UNKNOWN_MEMBER_ID;
    if (*known != member_id) return ErrorCode::FENCED_INSTANCE_ID;
  }
  return members_.contains(std::string(member_id)) ? ErrorCode::NONE : ErrorCode::UNKNOWN_MEMBER_ID;
}

bool ClassicGroup::supports(std::string_view protocol_type,
                            const std::vector<GroupProtocol>& protocols) const {
  if (is_in(GroupState::kEmpty)) return !protocol_type.empty() && !protocols.empty();
  if (protocol_type_ != protocol_type) return false;
  return std::any_of(protocols.begin(), protocols.end(), [this](const GroupProtocol& protocol) {
    const auto found = protocol_counts_.find(protocol.name);
    const std::size_t supporters = found != protocol_counts_.end() ? found->second : 0;
    return supporters == members_.size();
  });
}

std::size_t ClassicGroup::awaiting_join_count() const {
  return static_cast<std::size_t>(
      std::count_if(members_.begin(), members_.end(),
                    [](const auto& entry) { return static_cast<bool>(entry.second.join); }));
}

bool ClassicGroup::has_all_joined() const {
  return pending_join.empty() && awaiting_join_count() == members_.size();
}

std::string ClassicGroup::select_protocol() const {
  KM_CHECK(!members_.empty(), "group {} has nobody to choose a protocol", id_);
  std::map<std::string, std::size_t> votes;
  for (const auto& [id, member] : members_) {
    for (const GroupProtocol& protocol : member.protocols) {
      const auto found = protocol_counts_.find(protocol.name);
      if (found == protocol_counts_.end() || found->second != members_.size()) continue;
      ++votes[protocol.name];
      break;
    }
  }
  KM_CHECK(!votes.empty(), "group {} has no protocol that all members support", id_);
  const auto most = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->first;
}

void ClassicGroup::transition_to(GroupState state, std::int64_t now_ms) {
  previous_state_ = state_;
  state_ = state;
  state_since_ms_ = now_ms;
}

void ClassicGroup::count_protocols(const GroupMember& member, int by) {
  for (const GroupProtocol& protocol : member.protocols) {
    std::size_t& count = protocol_counts_[protocol.name];
    count += static_cast<std::size_t>(by);
    if (count == 0) protocol_counts_.erase(protocol.name);
  }
}

GroupMember& ClassicGroup::add(GroupMember member) {
  const std::string id = member.id;
  if (members_.empty()) protocol_type_ = member.protocol_type;
  if (!leader_) leader_ = id;
  if (member.instance_id) static_members_[*member.instance_id] = id;
  pending_join.erase(id);
  count_protocols(member, 1);
  const auto [place, is_new] = members_.emplace(id, std::move(member));
  KM_CHECK(is_new, "member {} is added twice to group {}", id, id_);
  return place->second;
}

bool ClassicGroup::remove(std::string_view member_id) {
  const std::string id(member_id);
  pending_join.erase(id);
  pending_sync.erase(id);
  const auto found = members_.find(id);
  if (found == members_.end()) return false;
  count_protocols(found->second, -1);
  if (found->second.instance_id) static_members_.erase(*found->second.instance_id);
  members_.erase(found);
  if (leader_ == id) {
    leader_.reset();
    if (!members_.empty()) leader_ = members_.begin()->first;
  }
  return true;
}

GroupMember& ClassicGroup::replace_static(const std::string& instance_id,
                                          const std::string& new_id) {
  const std::string old_id = static_members_.at(instance_id);
  auto node = members_.extract(old_id);
  KM_CHECK(!node.empty(), "static member {} of group {} is not there", old_id, id_);
  wire::JoinGroupResponse join;
  join.member_id = old_id;
  join.error_code = ErrorCode::FENCED_INSTANCE_ID;
  complete_join(node.mapped(), std::move(join));
  wire::SyncGroupResponse sync;
  sync.error_code = ErrorCode::FENCED_INSTANCE_ID;
  complete_sync(node.mapped(), std::move(sync));
  node.key() = new_id;
  node.mapped().id = new_id;
  if (leader_ == old_id) leader_ = new_id;
  static_members_[instance_id] = new_id;
  if (pending_sync.erase(old_id) > 0) pending_sync.insert(new_id);
  return members_.insert(std::move(node)).position->second;
}

void ClassicGroup::update(GroupMember& member, std::vector<GroupProtocol> protocols,
                          std::int32_t rebalance_timeout_ms, std::int32_t session_timeout_ms,
                          JoinReply join) {
  count_protocols(member, -1);
  member.protocols = std::move(protocols);
  count_protocols(member, 1);
  member.rebalance_timeout_ms = rebalance_timeout_ms;
  member.session_timeout_ms = session_timeout_ms;
  // An older JoinGroup of the same member: the client repeats it on another connection.
  wire::JoinGroupResponse superseded;
  superseded.member_id = member.id;
  superseded.error_code = ErrorCode::REBALANCE_IN_PROGRESS;
  complete_join(member, std::move(superseded));
  member.join = std::move(join);
}

bool ClassicGroup::elect_joined_leader() {
  if (!leader_) return false;
  const GroupMember* const leading = member(*leader_);
  if (leading != nullptr && leading->join) return true;
  for (const auto& [id, member] : members_) {
    if (!member.join) continue;
    leader_ = id;
    return true;
  }
  return false;
}

void ClassicGroup::start_next_generation(std::int64_t now_ms) {
  ++generation_;
  pending_sync.clear();
  if (members_.empty()) {
    protocol_name_.reset();
    compute_subscribed_topics();
    transition_to(GroupState::kEmpty, now_ms);
    return;
  }
  protocol_name_ = select_protocol();
  compute_subscribed_topics();
  transition_to(GroupState::kCompletingRebalance, now_ms);
}

void ClassicGroup::compute_subscribed_topics() {
  subscribed_topics_.reset();
  if (!protocol_type_) return;
  if (members_.empty()) {
    subscribed_topics_.emplace();
    return;
  }
  if (!uses_consumer_protocol() || !protocol_name_) return;
  std::set<std::string> topics;
  for (const auto& [id, member] : members_) {
    const Bytes* const metadata = member.metadata(*protocol_name_);
    auto subscribed = metadata != nullptr ? topics_of(*metadata) : std::nullopt;
    if (!subscribed) return;
    topics.insert(subscribed->begin(), subscribed->end());
  }
  subscribed_topics_ = std::move(topics);
}

bool ClassicGroup::complete_join(GroupMember& member, wire::JoinGroupResponse response) {
  if (!member.join) return false;
  JoinReply reply = std::exchange(member.join, nullptr);
  reply(std::move(response));
  return true;
}

bool ClassicGroup::complete_sync(GroupMember& member, wire::SyncGroupResponse response) {
  if (!member.sync) return false;
  SyncReply reply = std::exchange(member.sync, nullptr);
  reply(std::move(response));
  return true;
}

std::vector<wire::JoinGroupResponse::JoinGroupResponseMember> ClassicGroup::members_for_leader()
    const {
  std::vector<wire::JoinGroupResponse::JoinGroupResponseMember> all;
  for (const auto& [id, member] : members_) {
    auto& one = all.emplace_back();
    one.member_id = id;
    one.group_instance_id = member.instance_id;
    const Bytes* const metadata = member.metadata(protocol_name_.value_or(std::string()));
    if (metadata != nullptr) one.metadata = *metadata;
  }
  return all;
}

void ClassicGroup::restore(std::string protocol_type, std::int32_t generation,
                           std::optional<std::string> protocol, std::optional<std::string> leader,
                           std::optional<std::int64_t> state_since_ms,
                           std::vector<GroupMember> members) {
  for (GroupMember& one : members) {
    if (!members_.contains(one.id)) add(std::move(one));
  }
  protocol_type_.reset();
  if (!protocol_type.empty()) protocol_type_ = std::move(protocol_type);
  generation_ = generation;
  protocol_name_ = std::move(protocol);
  if (members_.empty() || (leader && members_.contains(*leader))) leader_ = std::move(leader);
  state_ = members_.empty() ? GroupState::kEmpty : GroupState::kStable;
  previous_state_ = state_;
  state_since_ms_ = state_since_ms;
  compute_subscribed_topics();
}

}  // namespace kmirror::coordinator
