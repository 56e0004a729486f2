#include "server/handlers/partition_finder.h"

#include <utility>

namespace kmirror::server {

TopicKey TopicKey::named(std::string topic_name) {
  TopicKey key;
  key.name = std::move(topic_name);
  return key;
}

TopicKey TopicKey::of_id(const Uuid& topic_id) {
  TopicKey key;
  key.id = topic_id;
  key.by_id = true;
  return key;
}

FoundPartition PartitionFinder::find(const metadata::MetadataImage& image, const TopicKey& topic,
                                     std::int32_t partition,
                                     LeaderEpoch current_leader_epoch) const {
  FoundPartition found;
  found.topic = topic.by_id ? image.topic(topic.id) : image.topic(topic.name);
  if (found.topic == nullptr) {
    found.error = topic.by_id ? ErrorCode::UNKNOWN_TOPIC_ID : ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    return found;
  }
  const auto& partitions = found.topic->partitions;
  if (partition < 0 || static_cast<std::size_t>(partition) >= partitions.size()) {
    found.error = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    return found;
  }
  const metadata::PartitionImage& facts = partitions[static_cast<std::size_t>(partition)];
  found.leader = facts.leader;
  found.leader_epoch = facts.leader_epoch;
  if (facts.leader != node_id_) {
    found.error = ErrorCode::NOT_LEADER_OR_FOLLOWER;
    return found;
  }
  if (current_leader_epoch != kNoLeaderEpoch && current_leader_epoch != facts.leader_epoch) {
    found.error = current_leader_epoch < facts.leader_epoch ? ErrorCode::FENCED_LEADER_EPOCH
                                                            : ErrorCode::UNKNOWN_LEADER_EPOCH;
    return found;
  }
  auto log = logs_.find(found.topic->id, partition);
  if (log == nullptr) {
    found.error = ErrorCode::NOT_LEADER_OR_FOLLOWER;
  } else if (!log->is_online()) {
    found.error = ErrorCode::KAFKA_STORAGE_ERROR;
  } else {
    found.log = std::move(log);
  }
  return found;
}

}  // namespace kmirror::server
