// MetadataEngine: the one door through which cluster metadata changes.
// EmbeddedEngine (one daemon, its own __cluster_metadata log) implements it now; an engine that
// talks to stock Kafka controllers fits the same interface, which is why the commands are Kafka's
// controller requests. Owner: loop 0. Commands may be called from any thread; `done` runs on loop
// 0, after the change is durable and visible in image(). Commands take effect in the order of their
// calls. Sources: KIP-631, Kafka 4.4 QuorumController; spec C, F; decisions 2, 3.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/base/unique_function.h"
#include "kmirror/metadata/image.h"
#include "kmirror/wire/alter_configs_request.h"
#include "kmirror/wire/alter_configs_response.h"
#include "kmirror/wire/bump_leader_epochs_request.h"
#include "kmirror/wire/bump_leader_epochs_response.h"
#include "kmirror/wire/create_cluster_mirror_request.h"
#include "kmirror/wire/create_cluster_mirror_response.h"
#include "kmirror/wire/create_partitions_request.h"
#include "kmirror/wire/create_partitions_response.h"
#include "kmirror/wire/create_topics_request.h"
#include "kmirror/wire/create_topics_response.h"
#include "kmirror/wire/delete_cluster_mirror_request.h"
#include "kmirror/wire/delete_cluster_mirror_response.h"
#include "kmirror/wire/delete_topics_request.h"
#include "kmirror/wire/delete_topics_response.h"
#include "kmirror/wire/incremental_alter_configs_request.h"
#include "kmirror/wire/incremental_alter_configs_response.h"
#include "kmirror/wire/pause_mirror_topics_request.h"
#include "kmirror/wire/pause_mirror_topics_response.h"
#include "kmirror/wire/resume_mirror_topics_request.h"
#include "kmirror/wire/resume_mirror_topics_response.h"
#include "kmirror/wire/start_mirror_topics_request.h"
#include "kmirror/wire/start_mirror_topics_response.h"
#include "kmirror/wire/stop_mirror_topics_request.h"
#include "kmirror/wire/stop_mirror_topics_response.h"

namespace kmirror::metadata {

class MetadataListener {
 public:
  MetadataListener() = default;
  MetadataListener(const MetadataListener&) = delete;
  MetadataListener& operator=(const MetadataListener&) = delete;
  virtual ~MetadataListener() = default;
  /// Called on loop 0 after each commit, in order, before the commands' `done`.
  virtual void on_metadata(const MetadataDelta& delta) = 0;
};

template <class Response>
using Done = UniqueFunction<void(Response)>;

class MetadataEngine {
 public:
  MetadataEngine() = default;
  MetadataEngine(const MetadataEngine&) = delete;
  MetadataEngine& operator=(const MetadataEngine&) = delete;
  virtual ~MetadataEngine() = default;

  /// The newest image. Any thread; never null once started.
  [[nodiscard]] virtual std::shared_ptr<const MetadataImage> image() const = 0;
  /// Adds a listener; it is called at once with the present image (before = null). Loop 0.
  virtual void add_listener(MetadataListener& listener) = 0;

  // Controller requests. `is_mirror_sync` marks our own refresh, which may change mirror topics.
  virtual void create_topics(wire::CreateTopicsRequest request, ApiVersion version,
                             Done<wire::CreateTopicsResponse> done) = 0;
  virtual void delete_topics(wire::DeleteTopicsRequest request,
                             Done<wire::DeleteTopicsResponse> done) = 0;
  virtual void create_partitions(wire::CreatePartitionsRequest request, bool is_mirror_sync,
                                 Done<wire::CreatePartitionsResponse> done) = 0;
  virtual void incremental_alter_configs(wire::IncrementalAlterConfigsRequest request,
                                         bool is_mirror_sync,
                                         Done<wire::IncrementalAlterConfigsResponse> done) = 0;
  virtual void alter_configs(wire::AlterConfigsRequest request,
                             Done<wire::AlterConfigsResponse> done) = 0;
  virtual void create_cluster_mirror(wire::CreateClusterMirrorRequest request,
                                     Done<wire::CreateClusterMirrorResponse> done) = 0;
  virtual void delete_cluster_mirror(wire::DeleteClusterMirrorRequest request,
                                     Done<wire::DeleteClusterMirrorResponse> done) = 0;
  virtual void start_mirror_topics(wire::StartMirrorTopicsRequest request,
                                   Done<wire::StartMirrorTopicsResponse> done) = 0;
  virtual void stop_mirror_topics(wire::StopMirrorTopicsRequest request,
                                  Done<wire::StopMirrorTopicsResponse> done) = 0;
  virtual void pause_mirror_topics(wire::PauseMirrorTopicsRequest request,
                                   Done<wire::PauseMirrorTopicsResponse> done) = 0;
  virtual void resume_mirror_topics(wire::ResumeMirrorTopicsRequest request,
                                    Done<wire::ResumeMirrorTopicsResponse> done) = 0;
  virtual void bump_leader_epochs(wire::BumpLeaderEpochsRequest request,
                                  Done<wire::BumpLeaderEpochsResponse> done) = 0;
  /// A block of producer ids, never given out before: first id and length.
  struct ProducerIdBlock {
    ProducerIdBlock() = default;
    std::int64_t first = 0;
    std::int32_t length = 0;
  };
  virtual void allocate_producer_ids(Done<Result<ProducerIdBlock>> done) = 0;
  /// Moves the allocator past `seen` if it is not already (decisions 3.13).
  virtual void raise_producer_ids(ProducerId seen, Done<Result<void>> done) = 0;
  /// Creates an internal topic (compacted) if it is not there: __mirror_state, __consumer_offsets,
  /// …
  virtual void create_internal_topic(std::string name, std::int32_t partitions, ConfigMap configs,
                                     Done<Result<void>> done) = 0;
};

}  // namespace kmirror::metadata
