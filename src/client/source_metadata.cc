// The cache of a source's leaders and epochs.
// Owner: one task.
#include "kmirror/client/source_metadata.h"

#include "kmirror/wire/metadata_response.h"

namespace kmirror::client {
namespace {

using Partition = wire::MetadataResponse::MetadataResponsePartition;

/// Partition indexes beyond this are nonsense; it bounds what one answer can make us allocate.
constexpr std::int32_t kMaxPartitions = 1'000'000;

/// Takes the answer's word for one partition; true if leader or epoch changed.
bool update(SourcePartition& known, const Partition& said) {
  const bool says_nothing = said.leader_epoch < LeaderEpoch{0};
  const bool is_older = !says_nothing && said.leader_epoch < known.epoch;
  if (is_older && ++known.refusals < SourceMetadata::kRefusalsBeforeBelief) return false;
  known.refusals = 0;
  const NodeId leader =
      said.error_code == ErrorCode::LEADER_NOT_AVAILABLE ? NodeId{-1} : said.leader_id;
  // Without a leader an answer without an epoch must not make us forget the one we know.
  const LeaderEpoch epoch =
      says_nothing ? (leader < NodeId{0} ? known.epoch : kNoLeaderEpoch) : said.leader_epoch;
  const bool changed = known.leader != leader || known.epoch != epoch;
  known.leader = leader;
  known.epoch = epoch;
  return changed;
}

void update_topic(const std::string& name, SourceTopic& known,
                  const wire::MetadataResponse::MetadataResponseTopic& said,
                  SourceChanges& changes) {
  known.is_internal = said.is_internal;
  for (const Partition& partition : said.partitions) {
    const std::int32_t index = partition.partition_index;
    if (index < 0 || index >= kMaxPartitions) continue;
    const auto slot = static_cast<std::size_t>(index);
    const bool is_new = slot >= known.partitions.size();
    if (is_new) {
      known.partitions.resize(slot + 1);
      changes.grown.insert(name);
    }
    if (update(known.partitions[slot], partition) || is_new) changes.leaders.emplace(name, index);
  }
}

}  // namespace

SourceChanges SourceMetadata::apply(const wire::MetadataResponse& answer,
                                    const std::set<std::string>* wanted) {
  SourceChanges changes;
  if (answer.cluster_id) cluster_id_ = answer.cluster_id;
  controller_ = answer.controller_id;
  for (const auto& broker : answer.brokers) {
    if (broker.port <= 0 || broker.port > 65'535) continue;
    add_broker(broker.node_id, env::Endpoint(broker.host, static_cast<std::uint16_t>(broker.port)));
  }
  for (const auto& topic : answer.topics) {
    if (!topic.name) continue;
    const std::string& name = *topic.name;
    const bool is_known = topics_.contains(name);
    if (!is_known && wanted != nullptr && !wanted->contains(name)) continue;
    // LEADER_NOT_AVAILABLE at the topic still comes with partitions.
    if (topic.error_code != ErrorCode::NONE &&
        topic.error_code != ErrorCode::LEADER_NOT_AVAILABLE) {
      changes.refused[name] = topic.error_code;
      continue;
    }
    SourceTopic& known = topics_[name];
    if (!known.id.is_zero() && !topic.topic_id.is_zero() && known.id != topic.topic_id) {
      changes.recreated[name] = topic.topic_id;
      continue;
    }
    if (!topic.topic_id.is_zero()) known.id = topic.topic_id;
    update_topic(name, known, topic, changes);
  }
  return changes;
}

bool SourceMetadata::apply_leader_hint(const TopicPartition& partition, NodeId leader,
                                       LeaderEpoch epoch) {
  const auto topic = topics_.find(partition.topic);
  if (topic == topics_.end() || partition.partition < 0) return false;
  const auto slot = static_cast<std::size_t>(partition.partition);
  if (slot >= topic->second.partitions.size()) return false;
  SourcePartition& known = topic->second.partitions[slot];
  if (leader < NodeId{0} || epoch <= known.epoch || !brokers_.contains(leader)) return false;
  known.leader = leader;
  known.epoch = epoch;
  known.refusals = 0;
  return true;
}

void SourceMetadata::add_broker(NodeId node, env::Endpoint at) { brokers_[node] = std::move(at); }

void SourceMetadata::forget(const std::string& topic) { topics_.erase(topic); }

const SourceTopic* SourceMetadata::topic(const std::string& name) const {
  const auto found = topics_.find(name);
  return found == topics_.end() ? nullptr : &found->second;
}

const SourcePartition* SourceMetadata::partition(const TopicPartition& partition) const {
  const SourceTopic* found = topic(partition.topic);
  if (found == nullptr || partition.partition < 0) return nullptr;
  const auto slot = static_cast<std::size_t>(partition.partition);
  return slot < found->partitions.size() ? &found->partitions[slot] : nullptr;
}

std::optional<env::Endpoint> SourceMetadata::leader_endpoint(
    const TopicPartition& partition_id) const {
  const SourcePartition* found = partition(partition_id);
  if (found == nullptr) return std::nullopt;
  const auto broker = brokers_.find(found->leader);
  if (broker == brokers_.end()) return std::nullopt;
  return broker->second;
}

}  // namespace kmirror::client
