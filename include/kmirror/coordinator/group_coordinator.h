// GroupCoordinator: groups, their members and their committed offsets, kept in __consumer_offsets.
// Owner: calls may come from any thread and may overlap. Each group lives in the shard of the
// partition its id hashes to, on the loop that owns that partition's log; `done` is always posted
// to the loop the caller names, never run inside the call. Invariants: an answer that depends on
// stored state is sent after that state is durable (unless flush is off); replaying
// __consumer_offsets gives the stored state of every shard. Sources: Kafka 4.4
// GroupCoordinatorService, GroupMetadataManager, OffsetMetadataManager; KIP-345, KIP-394, KIP-709;
// decisions 3.5.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/base/unique_function.h"
#include "kmirror/env/environment.h"
#include "kmirror/metadata/engine.h"
#include "kmirror/model/error_code.h"
#include "kmirror/model/types.h"
#include "kmirror/storage/log_manager.h"
#include "kmirror/wire/delete_groups_request.h"
#include "kmirror/wire/delete_groups_response.h"
#include "kmirror/wire/describe_groups_request.h"
#include "kmirror/wire/describe_groups_response.h"
#include "kmirror/wire/heartbeat_request.h"
#include "kmirror/wire/heartbeat_response.h"
#include "kmirror/wire/join_group_request.h"
#include "kmirror/wire/join_group_response.h"
#include "kmirror/wire/leave_group_request.h"
#include "kmirror/wire/leave_group_response.h"
#include "kmirror/wire/list_groups_request.h"
#include "kmirror/wire/list_groups_response.h"
#include "kmirror/wire/offset_commit_request.h"
#include "kmirror/wire/offset_commit_response.h"
#include "kmirror/wire/offset_delete_request.h"
#include "kmirror/wire/offset_delete_response.h"
#include "kmirror/wire/offset_fetch_request.h"
#include "kmirror/wire/offset_fetch_response.h"
#include "kmirror/wire/sync_group_request.h"
#include "kmirror/wire/sync_group_response.h"

namespace kmirror::coordinator {

inline constexpr std::string_view kConsumerOffsetsTopic = "__consumer_offsets";

struct GroupCoordinatorConfig {
  GroupCoordinatorConfig() = default;
  std::int32_t offsets_topic_num_partitions = 50;  ///< only used to create the topic
  std::int64_t offsets_topic_segment_bytes = 104'857'600;
  std::int32_t offset_metadata_max_bytes = 4096;
  std::int64_t offsets_retention_ms = 604'800'000;  ///< offsets.retention.minutes · 60,000
  std::int64_t offsets_retention_check_interval_ms = 600'000;
  std::int64_t group_initial_rebalance_delay_ms = 3'000;
  std::int64_t group_min_session_timeout_ms = 6'000;
  std::int64_t group_max_session_timeout_ms = 1'800'000;
  std::int32_t group_max_size = std::numeric_limits<std::int32_t>::max();
  /// How long a new member may wait in its first JoinGroup before it counts as gone.
  std::int64_t new_member_join_timeout_ms = 300'000;
  bool flush = true;  ///< flush.acks.all: answers wait until what they report is durable
};

/// Who asks, and where the answer goes.
struct GroupRequestContext {
  GroupRequestContext(std::string id, std::string host, env::Loop& loop)
      : client_id(std::move(id)), client_host(std::move(host)), reply_on(&loop) {}
  std::string client_id;
  std::string client_host;  ///< as Kafka shows it: "/127.0.0.1"
  env::Loop* reply_on;      ///< `done` is posted here; must outlive the coordinator
};

/// One position that a mirror copies from its source.
struct SyncedOffset {
  SyncedOffset() = default;
  TopicPartition topic_partition;
  Uuid topic_id;                              ///< zero: not known
  Offset offset;                              ///< already within the local log (decisions 3.5)
  LeaderEpoch leader_epoch = kNoLeaderEpoch;  ///< only if the local epoch cache has it
  std::string metadata;                       ///< as the source has it
};
enum class SyncOutcome : std::uint8_t {
  kWritten,
  kUnchanged,     ///< the same position was already there
  kOwnedByGroup,  ///< the group committed here by itself: left alone
};
struct SyncOffsetsResult {
  SyncOffsetsResult() = default;
  ErrorCode error = ErrorCode::NONE;  ///< if not NONE some may be stored: try all of them again
  bool group_is_active = false;       ///< the group has members here: skipped, nothing written
  std::vector<SyncOutcome> outcomes;  ///< one per offset asked for, in that order; else empty
};

class GroupCoordinator {
 public:
  template <class Response>
  using Done = UniqueFunction<void(Response)>;

  /// All references must outlive the coordinator.
  GroupCoordinator(env::Environment& environment, storage::LogManager& logs,
                   metadata::MetadataEngine& metadata, GroupCoordinatorConfig config);
  ~GroupCoordinator();
  GroupCoordinator(const GroupCoordinator&) = delete;
  GroupCoordinator& operator=(const GroupCoordinator&) = delete;

  /// Starts loading every log of __consumer_offsets there is, and the periodic expiry. Loop 0,
  /// once, after LogManager::load and before requests are served. Until a shard is loaded its
  /// requests are answered with COORDINATOR_LOAD_IN_PROGRESS.
  void start();
  /// Tells the coordinator of a log that was made after start(); logs of other topics are ignored.
  /// Whoever creates logs calls this. Any thread.
  void log_created(std::shared_ptr<storage::PartitionLog> log);
  /// Answers everything that waits with NOT_COORDINATOR, ends all timers, refuses what comes later;
  /// then `done` on loop 0. Call it before the loops stop. Loop 0, once.
  void shut_down(UniqueFunction<void()> done);

  /// Makes __consumer_offsets if it is not there; `done` on `reply_on` when its shards exist.
  /// FindCoordinator calls this. Errors: what the metadata engine answers.
  void ensure_topic(env::Loop& reply_on, Done<Result<void>> done);
  /// The partition of __consumer_offsets that `group_id` belongs to. Any thread.
  [[nodiscard]] std::int32_t partition_for(std::string_view group_id) const;

  // The requests. Authorization is the caller's: take forbidden topics and groups out first.
  // Topics that do not exist are answered here. Error codes inside the responses, as Kafka 4.4.
  void join_group(wire::JoinGroupRequest request, ApiVersion version, GroupRequestContext context,
                  Done<wire::JoinGroupResponse> done);
  void sync_group(wire::SyncGroupRequest request, ApiVersion version, GroupRequestContext context,
                  Done<wire::SyncGroupResponse> done);
  void heartbeat(wire::HeartbeatRequest request, ApiVersion version, GroupRequestContext context,
                 Done<wire::HeartbeatResponse> done);
  void leave_group(wire::LeaveGroupRequest request, ApiVersion version, GroupRequestContext context,
                   Done<wire::LeaveGroupResponse> done);
  void commit_offsets(wire::OffsetCommitRequest request, ApiVersion version,
                      GroupRequestContext context, Done<wire::OffsetCommitResponse> done);
  void fetch_offsets(wire::OffsetFetchRequest request, ApiVersion version,
                     GroupRequestContext context, Done<wire::OffsetFetchResponse> done);
  /// Groups of all shards, sorted by id.
  void list_groups(wire::ListGroupsRequest request, ApiVersion version, GroupRequestContext context,
                   Done<wire::ListGroupsResponse> done);
  /// authorized_operations is left at its default: the caller fills it in.
  void describe_groups(wire::DescribeGroupsRequest request, ApiVersion version,
                       GroupRequestContext context, Done<wire::DescribeGroupsResponse> done);
  void delete_groups(wire::DeleteGroupsRequest request, ApiVersion version,
                     GroupRequestContext context, Done<wire::DeleteGroupsResponse> done);
  void delete_offsets(wire::OffsetDeleteRequest request, ApiVersion version,
                      GroupRequestContext context, Done<wire::OffsetDeleteResponse> done);

  /// Stores positions that `mirror_name` copies from its source (decisions 3.5). A group with
  /// members here is skipped as a whole; of an idle one only positions that are absent or were
  /// stored by a sync are overwritten, and unchanged ones are not written again. Such positions do
  /// not expire while their topic is mirrored, nor before a full retention after it stopped being
  /// so. `done` on `reply_on` after the writes are durable.
  void sync_offsets(std::string group_id, std::string mirror_name,
                    std::vector<SyncedOffset> offsets, env::Loop& reply_on,
                    Done<SyncOffsetsResult> done);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kmirror::coordinator
