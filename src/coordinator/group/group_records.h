// The records of __consumer_offsets: groups and committed offsets, in the versions Kafka 4.4
// writes. Owner: any thread. Sources: Kafka 4.4 GroupCoordinatorRecordHelpers;
// docs/formats/coordinator-records.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "coordinator/group/classic_group.h"
#include "coordinator/runtime/coordinator_record.h"
#include "kmirror/model/types.h"

namespace kmirror::coordinator {

/// A committed position.
struct OffsetAndMetadata {
  OffsetAndMetadata() = default;
  Offset offset;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  std::string metadata;
  std::int64_t commit_timestamp_ms = 0;             ///< wall clock
  std::optional<std::int64_t> expire_timestamp_ms;  ///< only from OffsetCommit v2 to v4
  Uuid topic_id;                                    ///< zero: not known
  bool is_synced = false;                           ///< stored by a mirror's sync, not by the group
  friend bool operator==(const OffsetAndMetadata&, const OffsetAndMetadata&) = default;
};

/// The header key that marks a position stored by a mirror's sync; its value is the mirror's name.
/// A header, so that key and value stay Kafka's and every Kafka tool passes over it.
inline constexpr std::string_view kSyncedHeader = "mirror.name";

using Assignments = std::map<std::string, Bytes>;

/// The group with its members and `assignments` by member id (none for a member: empty).
[[nodiscard]] Result<CoordinatorRecord> group_record(const ClassicGroup& group,
                                                     const Assignments& assignments);
/// The group with the assignments its members have.
[[nodiscard]] Result<CoordinatorRecord> group_record(const ClassicGroup& group);
/// A group that was just made.
[[nodiscard]] Result<CoordinatorRecord> new_group_record(const ClassicGroup& group);
[[nodiscard]] Result<CoordinatorRecord> group_tombstone(const std::string& group_id);
/// What a group metadata record says; null if it is a tombstone. Errors: as decode_value().
[[nodiscard]] Result<std::unique_ptr<ClassicGroup>> read_group(const std::string& group_id,
                                                               const CoordinatorRecord& record);

/// `mirror_name` marks a position as synced.
[[nodiscard]] Result<CoordinatorRecord> offset_record(
    const std::string& group_id, const TopicPartition& topic_partition,
    const OffsetAndMetadata& value, const std::optional<std::string>& mirror_name = std::nullopt);
[[nodiscard]] Result<CoordinatorRecord> offset_tombstone(const std::string& group_id,
                                                         const TopicPartition& topic_partition);
/// What an offset record says; nothing if it is a tombstone. Errors: as decode_value().
[[nodiscard]] Result<std::optional<OffsetAndMetadata>> read_offset(const CoordinatorRecord& record);

}  // namespace kmirror::coordinator
