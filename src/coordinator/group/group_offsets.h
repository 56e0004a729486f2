// GroupOffsets: the committed positions of one shard's groups: commit, fetch, delete, expiry, and
// what a mirror's sync stores.
// Owner: the shard's loop. Invariants: the positions are what a replay of the log gives; a position
// belongs to a group that GroupMembership knows.
// Sources: Kafka 4.4 OffsetMetadataManager, ClassicGroup; KIP-211, KIP-447; decisions 3.5.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "coordinator/group/group_membership.h"
#include "coordinator/group/group_records.h"
#include "coordinator/runtime/shard.h"
#include "kmirror/coordinator/group_coordinator.h"

namespace kmirror::coordinator {

/// The parts of an OffsetCommit that are not positions.
struct CommitHeader {
  CommitHeader() = default;
  std::string group_id;
  std::int32_t generation = -1;
  std::string member_id;
  std::optional<std::string> instance_id;
  std::int64_t retention_time_ms = -1;  ///< -1: the broker's
};
struct CommitItem {
  CommitItem() = default;
  TopicPartition topic_partition;
  Uuid topic_id;
  Offset offset;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  std::string metadata;
};
struct FetchItem {
  FetchItem() = default;
  TopicPartition topic_partition;
  Uuid topic_id;  ///< zero: not known
};
struct FetchedOffset {
  FetchedOffset() = default;
  std::optional<OffsetAndMetadata> position;  ///< nothing: never committed
  ErrorCode error = ErrorCode::NONE;          ///< UNSTABLE_OFFSET_COMMIT
};

class GroupOffsets {
 public:
  using Partitions = std::map<std::int32_t, OffsetAndMetadata>;
  using Topics = std::map<std::string, Partitions>;
  using Offsets = std::unordered_map<std::string, Topics>;
  /// Whether a mirror that is not stopped owns a topic.
  using IsMirrored = std::function<bool(const std::string& topic)>;

  GroupOffsets(ShardContext& context, const GroupCoordinatorConfig& config,
               GroupMembership& membership, IsMirrored is_mirrored)
      : context_(context),
        config_(config),
        membership_(membership),
        is_mirrored_(std::move(is_mirrored)) {}

  /// One code per item. `version` is the request's.
  [[nodiscard]] std::vector<ErrorCode> commit(const CommitHeader& header,
                                              const std::vector<CommitItem>& items,
                                              ApiVersion version);
  [[nodiscard]] std::vector<FetchedOffset> fetch(const std::string& group_id,
                                                 const std::vector<FetchItem>& items,
                                                 bool require_stable) const;
  /// Every position of the group, with UNSTABLE_OFFSET_COMMIT where one is pending and
  /// `require_stable`.
  [[nodiscard]] std::vector<std::pair<TopicPartition, FetchedOffset>> fetch_all(
      const std::string& group_id, bool require_stable) const;
  /// OffsetDelete: a code for the whole request, then one per item.
  [[nodiscard]] ErrorCode remove(const std::string& group_id,
                                 const std::vector<TopicPartition>& items,
                                 std::vector<ErrorCode>& codes);
  /// Appends tombstones for every position of the group.
  [[nodiscard]] Result<void> remove_all(const std::string& group_id);
  [[nodiscard]] SyncOffsetsResult sync(const std::string& group_id, const std::string& mirror_name,
                                       const std::vector<SyncedOffset>& offsets);
  /// Positions of topics that are gone.
  void forget_topics(const std::vector<std::string>& topics);
  /// Drops what has expired, and groups that are empty and have nothing left.
  void expire();

  /// One offset record, live or while loading.
  void replay(const std::string& group_id, const TopicPartition& topic_partition,
              const CoordinatorRecord& record, ProducerId transaction);
  void replay_end_transaction(ProducerId producer_id, bool commit);

  [[nodiscard]] const Offsets& offsets() const { return offsets_; }

 private:
  struct Rule;
  [[nodiscard]] ErrorCode validate_commit(ClassicGroup& group, const CommitHeader& header) const;
  [[nodiscard]] const OffsetAndMetadata* find(const std::string& group_id,
                                              const TopicPartition& topic_partition) const;
  [[nodiscard]] bool is_pending(const std::string& group_id,
                                const TopicPartition& topic_partition) const;
  /// Appends and applies; returns how many are in the log, and the error of the others.
  [[nodiscard]] std::size_t append(const std::vector<CoordinatorRecord>& records,
                                   std::optional<Error>& error);
  void apply(const std::string& group_id, const TopicPartition& topic_partition,
             std::optional<OffsetAndMetadata> value);
  [[nodiscard]] bool expire_group(const std::string& group_id,
                                  std::vector<CoordinatorRecord>& tombstones);
  [[nodiscard]] std::int64_t expiry_base_ms(const ClassicGroup& group, bool by_group_state,
                                            const std::string& topic,
                                            const OffsetAndMetadata& value);
  [[nodiscard]] SyncOutcome sync_one(const std::string& group_id, const std::string& mirror_name,
                                     const SyncedOffset& offset, std::int64_t now_ms,
                                     std::vector<CoordinatorRecord>& records,
                                     std::optional<Error>& error);

  ShardContext& context_;
  const GroupCoordinatorConfig& config_;
  GroupMembership& membership_;
  IsMirrored is_mirrored_;
  Offsets offsets_;
  /// Positions in transactions that are not decided yet.
  std::map<ProducerId, Offsets> pending_;
  /// Since when this process has seen a topic with synced positions without its mirror.
  std::map<std::string, std::int64_t> unmirrored_since_ms_;
};

}  // namespace kmirror::coordinator
