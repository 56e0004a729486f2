// ReplicaManager: keeps the partition logs in step with metadata: every partition of the image that
// lives on this node has a log with the topic's settings, and no other partition has.
// Owner: loop 0. Invariant: a log is never removed unless its topic is gone from the image.
// Sources: Kafka 4.4 ReplicaManager, BrokerMetadataPublisher; decisions 3.8, 3.23.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kmirror/base/metrics.h"
#include "kmirror/env/environment.h"
#include "kmirror/metadata/engine.h"
#include "kmirror/storage/log_manager.h"

namespace kmirror::server {

/// The settings of one topic's logs: its overrides over the broker's defaults, and whether it is a
/// mirror that is not stopped. Any thread.
using ResolveLogConfig = std::function<storage::LogConfig(const metadata::MetadataImage& image,
                                                          const metadata::TopicImage& topic)>;

class ReplicaManager final : public metadata::MetadataListener {
 public:
  ReplicaManager(storage::LogManager& logs, NodeId node_id, ResolveLogConfig resolve,
                 metrics::Registry& metrics);
  ~ReplicaManager() override;

  /// The logs that `image` puts on `node_id`, for LogManager::load at start-up. Any thread.
  [[nodiscard]] static std::vector<storage::ExpectedLog> expected_logs(
      const metadata::MetadataImage& image, NodeId node_id, const ResolveLogConfig& resolve);

  /// Called on loop 0 for each log that was made after LogManager::load: the coordinators want to
  /// know of theirs. Set before the first on_metadata().
  std::function<void(std::shared_ptr<storage::PartitionLog>)> on_log_created;

  /// Creates, removes and reconfigures logs. A partition is served once its log is there, which may
  /// be a little after this returns; until then clients are told NOT_LEADER_OR_FOLLOWER, and ask
  /// again. What could not be made is tried again with the next change.
  void on_metadata(const metadata::MetadataDelta& delta) override;
  /// Resolves and applies the settings of one topic again: for a mirror state that is not metadata.
  /// Loop 0.
  void refresh_config(const std::string& topic);
  /// Calls `done` on loop 0 when every log asked for so far is there or has failed; in place if
  /// that is so now. Loop 0.
  void when_settled(UniqueFunction<void()> done);
  /// Partitions whose log could not be made or opened. Any thread.
  [[nodiscard]] std::int64_t failed_count() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kmirror::server
