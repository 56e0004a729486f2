// MirrorMetadataManager: keeps every mirror partition on its way to what the operator wants. It
// listens to metadata, asks the sources, decides transitions with kmirror::next(), has them stored
// by the ClusterMirrorCoordinator before they count, and performs their side effects. Owner: loop 0
// calls every method, unless it says otherwise. Invariants: nothing else changes a mirror state
// (but WriteMirrorStates, see states_written()); a state's side effects begin after it is stored;
// one partition's trouble never stops another. Sources: spec B, F;
// decisions 3.1-3.10, 3.15, 3.18, 3.19, 3.24.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kmirror/client/admin.h"
#include "kmirror/coordinator/cluster_mirror_coordinator.h"
#include "kmirror/metadata/engine.h"
#include "kmirror/mirror/mirror_service.h"
#include "kmirror/model/mirror_state.h"

namespace kmirror::mirror {

/// One partition as describe shows it.
struct MirrorPartitionInfo {
  MirrorPartitionInfo() = default;
  std::string topic;
  std::int32_t partition = 0;
  Uuid topic_id;
  coordinator::MirrorPartitionState stored;
  Offset source_offset = kNoOffset;       ///< source high watermark; -1 unless MIRRORING
  Offset destination_offset = kNoOffset;  ///< our log end; -1 unless MIRRORING
  std::string note;                       ///< records lost to retention at the source, if any
};

struct MirrorInfo {
  MirrorInfo() = default;
  std::string name;
  std::string bootstrap;
  std::string source_cluster_id;
  std::vector<MirrorPartitionInfo> partitions;  ///< by topic and partition
};

class MirrorMetadataManager {
 public:
  class Impl;
  explicit MirrorMetadataManager(MirrorDeps deps);
  ~MirrorMetadataManager();  ///< after stop(), or before start()
  MirrorMetadataManager(const MirrorMetadataManager&) = delete;
  MirrorMetadataManager& operator=(const MirrorMetadataManager&) = delete;

  /// Loads the stored states, then listens to metadata. Once.
  void start();
  [[nodiscard]] env::Awaitable<void> stop();
  /// A log was made. Loop 0.
  void log_created();
  std::function<void(const std::string& topic)> on_writable_changed;

  /// Mirrors by name; nothing if there is none. `include_partitions` false leaves partitions out.
  [[nodiscard]] std::vector<MirrorInfo> describe() const;
  [[nodiscard]] std::optional<MirrorInfo> describe(const std::string& mirror) const;
  /// The state of one partition; UNKNOWN if there is no record.
  [[nodiscard]] MirrorState state_of(const std::string& mirror, const TopicPartition& of) const;
  /// True once the stored states are known.
  [[nodiscard]] bool is_loaded() const;
  /// RecoverMirrorTopics: every FAILED partition of the topics goes back to where it was.
  void recover(const std::string& mirror, const std::vector<std::string>& topics);
  /// Somebody wrote states through WriteMirrorStates: read them again and act on them.
  void states_written(const std::string& mirror, std::vector<TopicPartition> partitions);
  /// How to reach the source of a mirror; an error if its settings do not parse.
  [[nodiscard]] Result<client::AdminOptions> source_of(const std::string& mirror) const;
  /// Looks for new topics now instead of at the next refresh.
  void refresh_soon(const std::string& mirror);

  /// Any thread: true if the partition's stored state is STOPPED.
  [[nodiscard]] bool is_stopped(const Uuid& topic_id, std::int32_t partition) const;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace kmirror::mirror
