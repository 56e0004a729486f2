// MirrorStateShard: the mirror partitions that hash to one partition of __mirror_state.
// Owner: the loop that owns that log. Invariant: the state is what a replay of the log gives.
// Sources: spec B.6, D.1; decisions 3.19.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "coordinator/runtime/shard.h"
#include "kmirror/coordinator/cluster_mirror_coordinator.h"

namespace kmirror::coordinator {

class MirrorStateShard final : public CoordinatorShard {
 public:
  using StateMap = std::map<MirrorPartitionKey, MirrorPartitionState>;

  MirrorStateShard(ShardContext& context, MirrorRetryPolicy retry)
      : context_(context), retry_(retry) {}

  [[nodiscard]] MirrorPartitionState read(const MirrorPartitionKey& key) const;
  /// Does the writes in their order and appends what they change. Not durable on return.
  [[nodiscard]] std::vector<MirrorStateWritten> write(std::span<const MirrorStateWrite> writes);
  /// Appends tombstones, state first, for those of `keys` that are stored. Error: what the append
  /// says; then some may be left.
  [[nodiscard]] Result<void> remove(std::span<const MirrorPartitionKey> keys);
  /// Stored keys of `mirror` (empty: of all mirrors).
  [[nodiscard]] std::vector<MirrorPartitionKey> keys_of(const std::string& mirror) const;
  [[nodiscard]] const StateMap& states() const { return states_; }
  /// See ShardContext.
  void when_durable(UniqueFunction<void(ErrorCode)> then) {
    context_.when_durable(std::move(then));
  }

  // CoordinatorShard
  void replay(const CoordinatorRecord& record, ProducerId transaction) override;
  void replay_end_transaction(ProducerId, bool) override {}  // nobody writes these in transactions
  void on_loaded() override {}
  void on_unloaded() override {}  // requests never wait inside this shard

 private:
  struct Plan;
  [[nodiscard]] Result<Plan> plan(const MirrorStateWrite& write) const;
  [[nodiscard]] std::size_t append(const std::vector<CoordinatorRecord>& records, Error& error);
  void replay_position(const CoordinatorRecord& record);
  void replay_state(const CoordinatorRecord& record);
  void forget_if_empty(const MirrorPartitionKey& key);

  ShardContext& context_;
  const MirrorRetryPolicy retry_;
  StateMap states_;
};

}  // namespace kmirror::coordinator
