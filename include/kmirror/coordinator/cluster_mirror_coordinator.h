// ClusterMirrorCoordinator: the stored state of every mirror partition, kept in __mirror_state.
// Owner: calls may come from any thread and may overlap. A partition's state lives in the shard
// that its composite key hashes to, on the loop that owns that log; `done` is always posted to the
// loop the caller names, never run inside the call. Invariants: only transitions that
// model/mirror_state.h allows are stored; an answer is sent after what it reports is durable;
// replaying __mirror_state gives the live state. Sources: spec B.6, C.2, D.1, D.2; decisions
// section 2, 3.19, 3.20.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/base/unique_function.h"
#include "kmirror/env/environment.h"
#include "kmirror/metadata/engine.h"
#include "kmirror/model/error_code.h"
#include "kmirror/model/mirror_state.h"
#include "kmirror/model/types.h"
#include "kmirror/storage/log_manager.h"
#include "kmirror/wire/read_mirror_states_request.h"
#include "kmirror/wire/read_mirror_states_response.h"
#include "kmirror/wire/write_mirror_states_request.h"
#include "kmirror/wire/write_mirror_states_response.h"

namespace kmirror::coordinator {

inline constexpr std::string_view kMirrorStateTopic = "__mirror_state";

struct ClusterMirrorCoordinatorConfig {
  ClusterMirrorCoordinatorConfig() = default;
  std::int32_t topic_num_partitions = 50;  ///< mirror.topic.num.partitions; only used to create it
  MirrorRetryPolicy retry;                 ///< mirror.failed.retry.*: counts attempts
  bool flush = true;
};

struct MirrorPartitionKey {
  MirrorPartitionKey() = default;
  MirrorPartitionKey(std::string name, Uuid id, std::int32_t index)
      : mirror(std::move(name)), topic_id(id), partition(index) {}
  std::string mirror;
  Uuid topic_id;
  std::int32_t partition = 0;
  friend auto operator<=>(const MirrorPartitionKey&, const MirrorPartitionKey&) = default;
};

struct MirrorPartitionState {
  MirrorPartitionState() = default;
  MirrorStatus status;                        ///< kUnknown: no record
  LeaderEpoch leader_epoch = kNoLeaderEpoch;  ///< of the writer of the newest state
  std::int32_t state_epoch = 0;               ///< counts the writes of the state
  LeaderEpoch last_mirror_epoch = kNoLeaderEpoch;
  Offset last_mirror_offset = kNoOffset;
  friend bool operator==(const MirrorPartitionState&, const MirrorPartitionState&) = default;
};

struct MirrorStateRead {
  MirrorStateRead() = default;
  ErrorCode error = ErrorCode::NONE;
  MirrorPartitionState state;  ///< state kUnknown if there is no record
};

struct MirrorStateWrite {
  MirrorStateWrite() = default;
  MirrorPartitionKey key;
  MirrorState target = MirrorState::kUnknown;      ///< kUnknown: leave the state as it is
  LeaderEpoch leader_epoch = kNoLeaderEpoch;       ///< the writer's; -1: not checked
  std::int32_t state_epoch = -1;                   ///< what the writer last saw; -1: not checked
  LeaderEpoch last_mirror_epoch = kNoLeaderEpoch;  ///< -1: leave the last mirror position
  Offset last_mirror_offset = kNoOffset;
  std::optional<std::string> error_message;
  std::int32_t retry_attempt = -1;  ///< as MirrorEvent::write
  bool non_retriable = false;
};

struct MirrorStateWritten {
  MirrorStateWritten() = default;
  /// FENCED_LEADER_EPOCH, FENCED_STATE_EPOCH: somebody newer wrote; read again.
  /// INVALID_CLUSTER_MIRROR_STATE: no such transition; nothing was written.
  ErrorCode error = ErrorCode::NONE;
  std::string error_message;
  MirrorPartitionState state;  ///< what is stored now, also after an error
};

class ClusterMirrorCoordinator {
 public:
  template <class Response>
  using Done = UniqueFunction<void(Response)>;
  using States = std::vector<std::pair<MirrorPartitionKey, MirrorPartitionState>>;

  /// All references must outlive the coordinator.
  ClusterMirrorCoordinator(env::Environment& environment, storage::LogManager& logs,
                           metadata::MetadataEngine& metadata,
                           ClusterMirrorCoordinatorConfig config);
  ~ClusterMirrorCoordinator();
  ClusterMirrorCoordinator(const ClusterMirrorCoordinator&) = delete;
  ClusterMirrorCoordinator& operator=(const ClusterMirrorCoordinator&) = delete;

  /// Starts loading every log of __mirror_state there is. Loop 0, once, after LogManager::load.
  /// Calls that come while a shard loads wait for it (at most 10,000; beyond that
  /// COORDINATOR_LOAD_IN_PROGRESS).
  void start();
  /// Tells the coordinator of a log that was made after start(); logs of other topics are ignored.
  /// Whoever creates logs calls this. Any thread.
  void log_created(std::shared_ptr<storage::PartitionLog> log);
  /// Answers everything that waits with NOT_COORDINATOR, refuses what comes later; then `done` on
  /// loop 0. Loop 0, once, before the loops stop.
  void shut_down(UniqueFunction<void()> done);

  /// Makes __mirror_state if it is not there; `done` on `reply_on` when its shards exist. The other
  /// calls do this by themselves.
  void ensure_topic(env::Loop& reply_on, Done<Result<void>> done);
  /// The partition of __mirror_state that holds the state of `key`: Java's hash of
  /// "mirror:topicId:partition". Any thread.
  [[nodiscard]] std::int32_t partition_for(const MirrorPartitionKey& key) const;

  /// The stored states, in the order of `keys`. Before __mirror_state exists: kUnknown for all.
  void read(std::vector<MirrorPartitionKey> keys, env::Loop& reply_on,
            Done<std::vector<MirrorStateRead>> done);
  /// Validates, fences and stores each write by itself; results in the order of `writes`, after
  /// they are durable. Two writes for one key in one call are done in their order.
  void write(std::vector<MirrorStateWrite> writes, env::Loop& reply_on,
             Done<std::vector<MirrorStateWritten>> done);
  /// Every stored partition of `mirror_name` (empty: of all mirrors), sorted by key. Error:
  /// COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR if a shard cannot answer.
  void list(std::string mirror_name, env::Loop& reply_on, Done<Result<States>> done);
  /// Forgets every partition of a deleted mirror: writes tombstones for state and last mirror
  /// position. May be repeated. `done` after they are durable.
  void remove_mirror(std::string mirror_name, env::Loop& reply_on, Done<Result<void>> done);
  /// Forgets single partitions, those of a deleted topic for instance.
  void remove(std::vector<MirrorPartitionKey> keys, env::Loop& reply_on, Done<Result<void>> done);

  /// Read/WriteMirrorStates as they come over the wire, v0 (seed codes) and v1. Topic names are
  /// looked up in the metadata image; an unknown one is answered with UNKNOWN_TOPIC_OR_PARTITION.
  void read_mirror_states(wire::ReadMirrorStatesRequest request, ApiVersion version,
                          env::Loop& reply_on, Done<wire::ReadMirrorStatesResponse> done);
  void write_mirror_states(wire::WriteMirrorStatesRequest request, ApiVersion version,
                           env::Loop& reply_on, Done<wire::WriteMirrorStatesResponse> done);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kmirror::coordinator
