// MirrorService: the mirror as the server's handlers see it: one method per mirror RPC of both
// generations, and the question "may a client write here". It owns MirrorMetadataManager and
// MirrorFetcherManager.
// Owner: every request method may be called from any thread; `done` runs once, on loop 0. Requests
// that change something are done when the change is durable. start() and stop(): loop 0.
// Sources: spec C.2, B.5, F; seeds' AddTopicsToMirror family; decisions sections 2, 3.1, 3.15.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kmirror/base/metrics.h"
#include "kmirror/env/environment.h"
#include "kmirror/metadata/config_resolver.h"
#include "kmirror/metadata/engine.h"
#include "kmirror/storage/log_manager.h"

namespace kmirror::wire {
#define KM_API(name, ...) \
  struct name##Request;   \
  struct name##Response;
#include "kmirror/wire/api_table.inc"
#undef KM_API
}  // namespace kmirror::wire

namespace kmirror::client {
class ConnectionSecurity;
}
namespace kmirror::coordinator {
class ClusterMirrorCoordinator;
}

namespace kmirror::mirror {

using metadata::Done;

/// What the mirror works on; all of it outlives the service. Configuration is read from `configs`
/// when it is needed, so that a dynamic change holds at once.
struct MirrorDeps {
  MirrorDeps(env::Environment& env, metadata::MetadataEngine& engine,
             const metadata::ConfigResolver& resolver,
             coordinator::ClusterMirrorCoordinator& states, storage::LogManager& log_manager,
             metrics::Registry& registry)
      : environment(env),
        metadata(engine),
        configs(resolver),
        coordinator(states),
        logs(log_manager),
        metrics(registry) {}
  env::Environment& environment;
  metadata::MetadataEngine& metadata;
  const metadata::ConfigResolver& configs;
  coordinator::ClusterMirrorCoordinator& coordinator;
  storage::LogManager& logs;
  metrics::Registry& metrics;
};

class MirrorService {
 public:
  class Impl;
  explicit MirrorService(MirrorDeps deps);
  ~MirrorService();  ///< after stop() has returned, or before start()
  MirrorService(const MirrorService&) = delete;
  MirrorService& operator=(const MirrorService&) = delete;

  /// Listens to metadata, takes up every mirror partition where its record says it was. Once.
  void start();
  /// Ends fetchers (their sessions are closed at the source), refreshes and retries. Once.
  [[nodiscard]] env::Awaitable<void> stop();
  /// Tells the mirror of a log that was made. Whoever creates logs calls this. Any thread.
  void log_created(std::shared_ptr<storage::PartitionLog> log);
  /// Called on loop 0 when a partition of `topic` became writable or read-only, after is_writable()
  /// says so. Set before start().
  std::function<void(const std::string& topic)> on_writable_changed;

  // ---- newest family ----
  /// Asks the source for its cluster id first: a source that is ourselves is refused with
  /// INVALID_REQUEST; one that does not answer is accepted (it is looked up later).
  void create_cluster_mirror(wire::CreateClusterMirrorRequest request,
                             Done<wire::CreateClusterMirrorResponse> done);
  /// Named topics, patterns, or both. Topics without id or partition count, and patterns, are
  /// resolved against the source here; a topic that the source does not have yet stays in
  /// mirror.topics.include.
  void start_mirror_topics(wire::StartMirrorTopicsRequest request,
                           Done<wire::StartMirrorTopicsResponse> done);
  void stop_mirror_topics(wire::StopMirrorTopicsRequest request,
                          Done<wire::StopMirrorTopicsResponse> done);
  void pause_mirror_topics(wire::PauseMirrorTopicsRequest request,
                           Done<wire::PauseMirrorTopicsResponse> done);
  void resume_mirror_topics(wire::ResumeMirrorTopicsRequest request,
                            Done<wire::ResumeMirrorTopicsResponse> done);
  void delete_cluster_mirror(wire::DeleteClusterMirrorRequest request,
                             Done<wire::DeleteClusterMirrorResponse> done);
  void recover_mirror_topics(wire::RecoverMirrorTopicsRequest request,
                             Done<wire::RecoverMirrorTopicsResponse> done);
  void list_cluster_mirrors(wire::ListClusterMirrorsRequest request,
                            Done<wire::ListClusterMirrorsResponse> done);
  void describe_cluster_mirrors(wire::DescribeClusterMirrorsRequest request,
                                Done<wire::DescribeClusterMirrorsResponse> done);
  /// Version 0 carries the seed generation's state codes (decisions section 2).
  void read_mirror_states(wire::ReadMirrorStatesRequest request, ApiVersion version,
                          Done<wire::ReadMirrorStatesResponse> done);
  void write_mirror_states(wire::WriteMirrorStatesRequest request, ApiVersion version,
                           Done<wire::WriteMirrorStatesResponse> done);
  void read_mirror_offsets(wire::ReadMirrorOffsetsRequest request,
                           Done<wire::ReadMirrorOffsetsResponse> done);
  void bump_leader_epochs(wire::BumpLeaderEpochsRequest request,
                          Done<wire::BumpLeaderEpochsResponse> done);

  // ---- seed family ----
  void create_mirror(wire::CreateMirrorRequest request, Done<wire::CreateMirrorResponse> done);
  void add_topics_to_mirror(wire::AddTopicsToMirrorRequest request,
                            Done<wire::AddTopicsToMirrorResponse> done);
  void remove_topics_from_mirror(wire::RemoveTopicsFromMirrorRequest request,
                                 Done<wire::RemoveTopicsFromMirrorResponse> done);
  void last_mirrored_offsets(wire::LastMirroredOffsetsRequest request,
                             Done<wire::LastMirroredOffsetsResponse> done);
  void list_mirrors(wire::ListMirrorsRequest request, Done<wire::ListMirrorsResponse> done);
  void describe_mirrors(wire::DescribeMirrorsRequest request,
                        Done<wire::DescribeMirrorsResponse> done);

  // ---- for other handlers; any thread, no waiting ----
  /// False while `partition` of `topic` belongs to a mirror and is not STOPPED. A topic that no
  /// mirror owns, or that does not exist, is writable.
  [[nodiscard]] bool is_writable(std::string_view topic, std::int32_t partition) const;
  /// False if any partition is not writable: DeleteTopics, CreatePartitions, DeleteRecords.
  [[nodiscard]] bool is_writable(std::string_view topic) const;
  /// "topic NAME is a read-only mirror of MIRROR", for the answer; empty if no mirror owns it.
  [[nodiscard]] std::string read_only_message(std::string_view topic) const;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace kmirror::mirror
