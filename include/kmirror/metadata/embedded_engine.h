// EmbeddedEngine: a MetadataEngine of one daemon. It is controller and only broker at once; its
// records live in its own __cluster_metadata-0 log, in Kafka's format.
// Owner: loop 0. Commands may be called from any thread: they are posted to loop 0 in order.
// Invariants: a command is evaluated against everything before it; its records are one batch, so
// all or nothing survives a crash; `done` runs only after they are on disk and in image(); after a
// disk error every command fails with KAFKA_STORAGE_ERROR. Sources: Kafka 4.4
// ReplicationControlManager, ConfigurationControlManager; KIP-630, KIP-631; spec C, D.3, F;
// decisions sections 2, 3.20, 3.24, 3.25; docs/formats/metadata.md.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kmirror/base/metrics.h"
#include "kmirror/env/environment.h"
#include "kmirror/metadata/config_resolver.h"
#include "kmirror/metadata/engine.h"

namespace kmirror::metadata {

struct EmbeddedEngineOptions {
  EmbeddedEngineOptions() = default;
  std::string directory;   ///< where __cluster_metadata-0 lies: metadata.log.dir or log.dirs[0]
  std::string cluster_id;  ///< as prepare_log_directories() gave it
  NodeId node_id{0};
  std::vector<Uuid> log_directory_ids;
  ConfigMap file;                                   ///< checked keys of the configuration file
  std::uint64_t snapshot_after_bytes = 20'971'520;  ///< records since the last snapshot
  std::int64_t segment_bytes = 1'073'741'824;
  std::size_t max_pending_commands = 10'000;    ///< more are answered REQUEST_TIMED_OUT at once
  std::size_t max_records_in_command = 50'000;  ///< more are POLICY_VIOLATION
};

class EmbeddedEngine final : public MetadataEngine {
 public:
  /// Opens the log, loads the newest snapshot and replays what follows. Blocking; before the loops
  /// serve. Errors: the system's; CORRUPT_MESSAGE; a record of unknown type or version, named; a
  /// log of another cluster.
  [[nodiscard]] static Result<std::unique_ptr<EmbeddedEngine>> open(env::Environment& environment,
                                                                    EmbeddedEngineOptions options,
                                                                    metrics::Registry& metrics);
  ~EmbeddedEngine() override;

  /// Set by the mirror room before commands come: true once every partition of a mirror topic has
  /// the actual state STOPPED. Until it is set, no topic that a mirror owns counts as writable.
  /// Loop 0.
  std::function<bool(const TopicImage&)> is_writable;

  /// Writes this node's registration with the listeners clients should use, if it changed. Call it
  /// once the listeners are bound and their ports known, on every start.
  void register_broker(std::vector<ListenerEndpoint> listeners, std::optional<std::string> rack,
                       Done<Result<void>> done);
  /// Refuses new commands, waits for those under way, and closes the log; then `done` on loop 0.
  void shut_down(Done<Result<void>> done);

  [[nodiscard]] const ConfigResolver& resolver() const;
  /// Adds ACLs and ownership (decisions 3.25). An entry that is there already (same binding) gets
  /// the owners added; `id` is ignored. `done` after the change is durable.
  void add_acls(std::vector<AclImage> acls, Done<Result<void>> done);
  /// `owner` lets go of the ACLs with these ids; an ACL without owners is removed. Without an owner
  /// (an administrator's DeleteAcls) they are removed whoever owns them. Unknown ids are passed
  /// over.
  void remove_acls(std::vector<Uuid> ids, std::optional<std::string> owner,
                   Done<Result<void>> done);
  /// Sets keys of a mirror as the system, not as an operator: source.cluster.id. A null value
  /// resets.
  void set_mirror_configs(std::string mirror,
                          std::map<std::string, std::optional<std::string>> configs,
                          Done<Result<void>> done);

  [[nodiscard]] std::shared_ptr<const MetadataImage> image() const override;
  void add_listener(MetadataListener& listener) override;
  void create_topics(wire::CreateTopicsRequest request, ApiVersion version,
                     Done<wire::CreateTopicsResponse> done) override;
  void delete_topics(wire::DeleteTopicsRequest request,
                     Done<wire::DeleteTopicsResponse> done) override;
  void create_partitions(wire::CreatePartitionsRequest request, bool is_mirror_sync,
                         Done<wire::CreatePartitionsResponse> done) override;
  void incremental_alter_configs(wire::IncrementalAlterConfigsRequest request, bool is_mirror_sync,
                                 Done<wire::IncrementalAlterConfigsResponse> done) override;
  void alter_configs(wire::AlterConfigsRequest request,
                     Done<wire::AlterConfigsResponse> done) override;
  void create_cluster_mirror(wire::CreateClusterMirrorRequest request,
                             Done<wire::CreateClusterMirrorResponse> done) override;
  void delete_cluster_mirror(wire::DeleteClusterMirrorRequest request,
                             Done<wire::DeleteClusterMirrorResponse> done) override;
  void start_mirror_topics(wire::StartMirrorTopicsRequest request,
                           Done<wire::StartMirrorTopicsResponse> done) override;
  void stop_mirror_topics(wire::StopMirrorTopicsRequest request,
                          Done<wire::StopMirrorTopicsResponse> done) override;
  void pause_mirror_topics(wire::PauseMirrorTopicsRequest request,
                           Done<wire::PauseMirrorTopicsResponse> done) override;
  void resume_mirror_topics(wire::ResumeMirrorTopicsRequest request,
                            Done<wire::ResumeMirrorTopicsResponse> done) override;
  void bump_leader_epochs(wire::BumpLeaderEpochsRequest request,
                          Done<wire::BumpLeaderEpochsResponse> done) override;
  void allocate_producer_ids(Done<Result<ProducerIdBlock>> done) override;
  void raise_producer_ids(ProducerId seen, Done<Result<void>> done) override;
  void create_internal_topic(std::string name, std::int32_t partitions, ConfigMap configs,
                             Done<Result<void>> done) override;

 private:
  class Impl;
  explicit EmbeddedEngine(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace kmirror::metadata
