// GroupShard: the groups and positions that hash to one partition of __consumer_offsets.
// Owner: the loop that owns that log.
// Sources: Kafka 4.4 GroupCoordinatorShard.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/group/group_membership.h"
#include "coordinator/group/group_offsets.h"
#include "coordinator/runtime/shard.h"
#include "kmirror/coordinator/group_coordinator.h"
#include "kmirror/wire/describe_groups_response.h"
#include "kmirror/wire/list_groups_response.h"

namespace kmirror::coordinator {

class GroupShard final : public CoordinatorShard {
 public:
  /// `config` must outlive the shard.
  GroupShard(ShardContext& context, const GroupCoordinatorConfig& config,
             GroupOffsets::IsMirrored is_mirrored);

  [[nodiscard]] GroupMembership& membership() { return membership_; }
  [[nodiscard]] GroupOffsets& offsets() { return offsets_; }
  /// Groups whose state (lower case) is in `states` and type in `types`; empty sets let all pass.
  [[nodiscard]] std::vector<wire::ListGroupsResponse::ListedGroup> list(
      const std::set<std::string>& states, const std::set<std::string>& types) const;
  /// The group as DescribeGroups tells it; nothing if there is none.
  [[nodiscard]] std::optional<wire::DescribeGroupsResponse::DescribedGroup> describe(
      const std::string& group_id);
  /// Deletes an empty group with its positions. NONE, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, or what
  /// the append says.
  [[nodiscard]] ErrorCode remove(const std::string& group_id);
  /// See ShardContext.
  void when_durable(UniqueFunction<void(ErrorCode)> then) {
    context_.when_durable(std::move(then));
  }

  // CoordinatorShard
  void replay(const CoordinatorRecord& record, ProducerId transaction) override;
  void replay_end_transaction(ProducerId producer_id, bool commit) override;
  void on_loaded() override;
  void on_unloaded() override;

 private:
  void schedule_expiry();

  ShardContext& context_;
  const GroupCoordinatorConfig& config_;
  GroupMembership membership_;
  GroupOffsets offsets_;
};

}  // namespace kmirror::coordinator
