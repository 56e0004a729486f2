// The controller requests, evaluated: each function checks one request against the newest state,
// emits the records that carry it out, and gives the answer. Nothing here waits or touches a disk.
// Owner: loop 0.
// Sources: Kafka 4.4 ReplicationControlManager, ConfigurationControlManager, ControllerApis (checks
// and error codes as observed); spec C, F; decisions sections 2, 3.
#pragma once

#include "kmirror/metadata/engine.h"
#include "kmirror/metadata/names.h"
#include "metadata/command.h"

namespace kmirror::metadata {

[[nodiscard]] wire::CreateTopicsResponse evaluate(Command& command,
                                                  const wire::CreateTopicsRequest& request);
[[nodiscard]] wire::DeleteTopicsResponse evaluate(Command& command,
                                                  const wire::DeleteTopicsRequest& request);
[[nodiscard]] wire::CreatePartitionsResponse evaluate(Command& command,
                                                      const wire::CreatePartitionsRequest& request,
                                                      bool is_mirror_sync);
[[nodiscard]] wire::IncrementalAlterConfigsResponse evaluate(
    Command& command, const wire::IncrementalAlterConfigsRequest& request);
[[nodiscard]] wire::AlterConfigsResponse evaluate(Command& command,
                                                  const wire::AlterConfigsRequest& request);
[[nodiscard]] wire::CreateClusterMirrorResponse evaluate(
    Command& command, const wire::CreateClusterMirrorRequest& request);
[[nodiscard]] wire::DeleteClusterMirrorResponse evaluate(
    Command& command, const wire::DeleteClusterMirrorRequest& request);
[[nodiscard]] wire::StartMirrorTopicsResponse evaluate(
    Command& command, const wire::StartMirrorTopicsRequest& request);
[[nodiscard]] wire::StopMirrorTopicsResponse evaluate(Command& command,
                                                      const wire::StopMirrorTopicsRequest& request);
[[nodiscard]] wire::PauseMirrorTopicsResponse evaluate(
    Command& command, const wire::PauseMirrorTopicsRequest& request);
[[nodiscard]] wire::ResumeMirrorTopicsResponse evaluate(
    Command& command, const wire::ResumeMirrorTopicsRequest& request);
[[nodiscard]] wire::BumpLeaderEpochsResponse evaluate(Command& command,
                                                      const wire::BumpLeaderEpochsRequest& request);

[[nodiscard]] Result<MetadataEngine::ProducerIdBlock> allocate_producer_ids(Command& command);
/// Error: INVALID_PRODUCER_ID_MAPPING for an id so great that no block would be left above it.
[[nodiscard]] Result<void> raise_producer_ids(Command& command, ProducerId seen);
/// Errors: INVALID_CONFIG, INVALID_TOPIC_EXCEPTION, INVALID_PARTITIONS.
[[nodiscard]] Result<void> create_internal_topic(Command& command, const std::string& name,
                                                 std::int32_t partitions, const ConfigMap& configs);
[[nodiscard]] Result<void> register_broker(Command& command,
                                           const std::vector<ListenerEndpoint>& listeners,
                                           const std::optional<std::string>& rack,
                                           const std::vector<Uuid>& log_directory_ids);
/// Writes the finalized feature levels of a new log.
void write_features(Command& command);
[[nodiscard]] Result<void> add_acls(Command& command, const std::vector<AclImage>& acls);
[[nodiscard]] Result<void> remove_acls(Command& command, const std::vector<Uuid>& ids,
                                       const std::optional<std::string>& owner);
/// Error: UNKNOWN_CLUSTER_MIRROR, INVALID_CONFIG.
[[nodiscard]] Result<void> set_mirror_configs(
    Command& command, const std::string& mirror,
    const std::map<std::string, std::optional<std::string>>& configs);

/// What one value of mirror.name asks for, checked for `topic` (which may not exist yet: null).
/// Emits nothing. Errors: INVALID_CONFIG, INVALID_REQUEST with what to do instead.
[[nodiscard]] Result<void> check_mirror_name_change(const Command& command, const TopicImage* topic,
                                                    const MirrorNameForm& wanted);
/// Carries out a checked change; nothing if it is so already.
void emit_mirror_name_change(Command& command, const TopicImage& topic,
                             const MirrorNameForm& wanted);

/// The records that __mirror_state needs if it is not there.
void emit_mirror_state_topic(Command& command);

}  // namespace kmirror::metadata
