// find_partition: from what a client names to the log that this node leads, or the error it is
// told. Owner: any thread. Sources: Kafka 4.4 ReplicaManager.getPartitionOrError,
// Partition.checkCurrentLeaderEpoch; KIP-320, KIP-516.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kmirror/metadata/image.h"
#include "kmirror/model/error_code.h"
#include "kmirror/storage/log_manager.h"

namespace kmirror::server {

/// A topic as a request names it: by id if `by_id`, else by name.
struct TopicKey {
  TopicKey() = default;
  [[nodiscard]] static TopicKey named(std::string topic_name);
  [[nodiscard]] static TopicKey of_id(const Uuid& topic_id);
  std::string name;
  Uuid id;
  bool by_id = false;
  friend bool operator==(const TopicKey&, const TopicKey&) = default;
};

struct FoundPartition {
  FoundPartition() = default;
  ErrorCode error = ErrorCode::NONE;
  std::shared_ptr<const metadata::TopicImage> topic;  ///< null if there is none
  std::shared_ptr<storage::PartitionLog> log;         ///< null if there is an error
  NodeId leader{-1};
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
};

class PartitionFinder {
 public:
  PartitionFinder(const storage::LogManager& logs, NodeId node_id)
      : logs_(logs), node_id_(node_id) {}

  /// Errors: UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION; NOT_LEADER_OR_FOLLOWER if another node
  /// leads, or the log is not open yet; KAFKA_STORAGE_ERROR if its disk failed; FENCED_LEADER_EPOCH
  /// and UNKNOWN_LEADER_EPOCH if `current_leader_epoch`, unless it is -1, is not the leader's.
  [[nodiscard]] FoundPartition find(const metadata::MetadataImage& image, const TopicKey& topic,
                                    std::int32_t partition, LeaderEpoch current_leader_epoch) const;

 private:
  const storage::LogManager& logs_;
  NodeId node_id_;
};

}  // namespace kmirror::server
