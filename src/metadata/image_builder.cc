// Applying records to the newest state.
#include "metadata/image_builder.h"

#include "kmirror/metadata/names.h"
#include "kmirror/model/error_code.h"

namespace kmirror::metadata {
namespace {

// A partition number far above anything sensible would allocate its way through the memory.
constexpr std::int32_t kMaxPartitionsOfATopic = 1'000'000;

Error misfit(std::string text) {
  return kafka_error(ErrorCode::CORRUPT_MESSAGE, "metadata record: " + std::move(text));
}

Error unknown_topic(const char* record, const Uuid& id) {
  return misfit(fmt::format("{} for topic id {}, which no TopicRecord made", record, id));
}

}  // namespace

const std::map<std::string, FeatureLevel, std::less<>>& supported_features() {
  // metadata.version: that of Kafka 4.4 (level 33), whose record formats are written here.
  static const std::map<std::string, FeatureLevel, std::less<>> features = {
      {"metadata.version", FeatureLevel(7, 33, 0)},
      {"group.version", FeatureLevel(0, 1, 0)},
      {"transaction.version", FeatureLevel(0, 2, 0)},
      {"mirror.version", FeatureLevel(0, 1, 0)},
  };
  return features;
}

ImageBuilder::ImageBuilder(std::shared_ptr<const MetadataImage> base)
    : last_taken_(std::move(base)) {
  if (last_taken_ != nullptr) {
    image_ = *last_taken_;
  } else {
    image_.features = supported_features();
  }
}

void ImageBuilder::set_identity(std::string cluster_id, NodeId controller_id) {
  image_.cluster_id = std::move(cluster_id);
  image_.controller_id = controller_id;
}

TopicImage* ImageBuilder::edit(const Uuid& id) {
  const auto open = open_.find(id);
  if (open != open_.end()) return open->second.get();
  const auto found = image_.topics_by_id.find(id);
  if (found == image_.topics_by_id.end()) return nullptr;
  auto copy = std::make_shared<TopicImage>(*found->second);
  put(copy);
  return copy.get();
}

void ImageBuilder::put(std::shared_ptr<TopicImage> topic) {
  open_[topic->id] = topic;
  image_.topics[topic->name] = topic;
  image_.topics_by_id[topic->id] = topic;
}

Result<void> ImageBuilder::apply(const wire::RegisterBrokerRecord& record, std::int64_t offset) {
  auto broker = std::make_shared<BrokerImage>();
  broker->id = record.broker_id;
  broker->incarnation_id = record.incarnation_id;
  broker->broker_epoch = record.broker_epoch;
  broker->rack = record.rack;
  broker->fenced = record.fenced;
  for (const auto& end_point : record.end_points) {
    ListenerEndpoint endpoint;
    endpoint.name = end_point.name;
    endpoint.host = end_point.host;
    endpoint.port = end_point.port;
    endpoint.security_protocol = end_point.security_protocol;
    broker->listeners.push_back(std::move(endpoint));
  }
  image_.brokers[broker->id] = std::move(broker);
  image_.offset = offset;
  delta_.brokers_changed = true;
  return {};
}

Result<void> ImageBuilder::apply(const wire::UnregisterBrokerRecord& record, std::int64_t offset) {
  image_.brokers.erase(record.broker_id);
  image_.offset = offset;
  delta_.brokers_changed = true;
  return {};
}

Result<void> ImageBuilder::apply(const wire::TopicRecord& record, std::int64_t offset) {
  if (image_.topics.contains(record.name) || image_.topics_by_id.contains(record.topic_id)) {
    return misfit(fmt::format("TopicRecord for '{}' ({}), which is there already", record.name,
                              record.topic_id));
  }
  auto topic = std::make_shared<TopicImage>();
  topic->name = record.name;
  topic->id = record.topic_id;
  delta_.changed_topics.insert(record.name);
  put(std::move(topic));
  image_.offset = offset;
  return {};
}

Result<void> ImageBuilder::apply(const wire::PartitionRecord& record, std::int64_t offset) {
  TopicImage* topic = edit(record.topic_id);
  if (topic == nullptr) return unknown_topic("PartitionRecord", record.topic_id);
  const std::int32_t index = record.partition_id;
  if (index < 0 || index >= kMaxPartitionsOfATopic) {
    return misfit(fmt::format("PartitionRecord {} of topic '{}'", index, topic->name));
  }
  const auto position = static_cast<std::size_t>(index);
  if (position >= topic->partitions.size()) topic->partitions.resize(position + 1);
  PartitionImage& partition = topic->partitions[position];
  partition.replicas = record.replicas;
  partition.isr = record.isr;
  partition.leader = record.leader;
  partition.leader_epoch = record.leader_epoch;
  partition.partition_epoch = record.partition_epoch;
  delta_.changed_topics.insert(topic->name);
  image_.offset = offset;
  return {};
}

Result<void> ImageBuilder::apply(const wire::PartitionChangeRecord& record, std::int64_t offset) {
  constexpr NodeId kNoLeaderChange{-2};
  TopicImage* topic = edit(record.topic_id);
  if (topic == nullptr) return unknown_topic("PartitionChangeRecord", record.topic_id);
  const auto position = static_cast<std::size_t>(record.partition_id);
  if (record.partition_id < 0 || position >= topic->partitions.size()) {
    return misfit(fmt::format("PartitionChangeRecord for partition {} of topic '{}', which has {}",
                              record.partition_id, topic->name, topic->partitions.size()));
  }
  PartitionImage& partition = topic->partitions[position];
  if (record.isr) partition.isr = *record.isr;
  if (record.replicas) partition.replicas = *record.replicas;
  if (record.leader != kNoLeaderChange) {
    partition.leader = record.leader;
    partition.leader_epoch = LeaderEpoch(partition.leader_epoch.get() + 1);
  }
  ++partition.partition_epoch;
  delta_.changed_topics.insert(topic->name);
  image_.offset = offset;
  return {};
}

Result<void> ImageBuilder::apply(const wire::RemoveTopicRecord& record, std::int64_t offset) {
  const auto found = image_.topics_by_id.find(record.topic_id);
  if (found == image_.topics_by_id.end())
    return unknown_topic("RemoveTopicRecord", record.topic_id);
  const std::shared_ptr<const TopicImage> topic = found->second;
  image_.topics_by_id.erase(found);
  image_.topics.erase(topic->name);
  open_.erase(topic->id);
  const ConfigResource resource(ConfigResourceType::kTopic, topic->name);
  if (image_.configs.erase(resource) > 0) delta_.changed_configs.insert(resource);
  delta_.changed_topics.erase(topic->name);
  // A topic that no image ever showed was not deleted for anybody.
  if (last_taken_ != nullptr) {
    const std::shared_ptr<const TopicImage> shown = last_taken_->topic(topic->id);
    if (shown != nullptr) delta_.deleted_topics.push_back(shown);
  }
  image_.offset = offset;
  return {};
}

Result<void> ImageBuilder::apply(const wire::ConfigRecord& record, std::int64_t offset) {
  const ConfigResource resource(static_cast<ConfigResourceType>(record.resource_type),
                                record.resource_name);
  auto next = std::make_shared<ConfigMap>(image_.config(resource));
  if (record.value) {
    (*next)[record.name] = *record.value;
  } else {
    next->erase(record.name);
  }
  if (next->empty()) {
    image_.configs.erase(resource);
  } else {
    image_.configs[resource] = std::move(next);
  }
  delta_.changed_configs.insert(resource);
  image_.offset = offset;
  return {};
}

Result<void> ImageBuilder::apply(const wire::FeatureLevelRecord& record, std::int64_t offset) {
  const auto found = image_.features.find(record.name);
  if (found == image_.features.end() || record.feature_level > found->second.max) {
    return kafka_error(ErrorCode::UNSUPPORTED_VERSION,
                       fmt::format("the metadata log needs feature {} at level {}; this release of "
                                   "kmirror has {}",
                                   record.name, record.feature_level,
                                   found == image_.features.end() ? 0 : found->second.max));
  }
  found->second.finalized = record.feature_level;
  image_.offset = offset;
  return {};
}

Result<void> ImageBuilder::apply(const wire::ProducerIdsRecord& record, std::int64_t offset) {
  image_.next_producer_id = record.next_producer_id.get();
  image_.offset = offset;
  return {};
}

Result<void> ImageBuilder::apply(const wire::AccessControlEntryRecord& record,
                                 std::int64_t offset) {
  auto acl = std::make_shared<AclImage>();
  acl->id = record.id;
  acl->resource_type = record.resource_type;
  acl->resource_name = record.resource_name;
  acl->pattern_type = record.pattern_type;
  acl->principal = record.principal;
  acl->host = record.host;
  acl->operation = record.operation;
  acl->permission_type = record.permission_type;
  acl->owners.insert("");
  image_.acls[acl->id] = std::move(acl);
  delta_.acls_changed = true;
  image_.offset = offset;
  return {};
}

Result<void> ImageBuilder::apply(const wire::RemoveAccessControlEntryRecord& record,
                                 std::int64_t offset) {
  if (image_.acls.erase(record.id) == 0) {
    return misfit(fmt::format("RemoveAccessControlEntryRecord for unknown ACL {}", record.id));
  }
  delta_.acls_changed = true;
  image_.offset = offset;
  return {};
}

Result<void> ImageBuilder::apply(const wire::AclOwnersRecord& record, std::int64_t offset) {
  const auto found = image_.acls.find(record.acl_id);
  if (found == image_.acls.end()) {
    return misfit(fmt::format("AclOwnersRecord for unknown ACL {}", record.acl_id));
  }
  auto next = std::make_shared<AclImage>(*found->second);
  next->owners = std::set<std::string>(record.owners.begin(), record.owners.end());
  found->second = std::move(next);
  delta_.acls_changed = true;
  image_.offset = offset;
  return {};
}

Result<void> ImageBuilder::apply(const wire::MirrorTopicStateChangeRecord& record,
                                 std::int64_t offset) {
  TopicImage* topic = edit(record.topic_id);
  if (topic == nullptr) return unknown_topic("MirrorTopicStateChangeRecord", record.topic_id);
  const auto state = static_cast<DesiredMirrorState>(record.desired_state);
  switch (state) {
    case DesiredMirrorState::kNone:
    case DesiredMirrorState::kMirroring:
    case DesiredMirrorState::kPaused:
    case DesiredMirrorState::kStopped:
      break;
    default:
      return kafka_error(ErrorCode::UNSUPPORTED_VERSION,
                         fmt::format("MirrorTopicStateChangeRecord for topic '{}' with unknown "
                                     "desired state {}",
                                     topic->name, record.desired_state));
  }
  topic->mirror_name = record.mirror_name;
  topic->desired_mirror_state = state;
  // A snapshot keeps the offset of the record it stands for.
  topic->last_state_offset = record.state_offset.get() >= 0 ? record.state_offset.get() : offset;
  delta_.changed_topics.insert(topic->name);
  image_.offset = offset;
  return {};
}

Result<void> ImageBuilder::apply(const wire::DeletedMirrorTopicRecord& record,
                                 std::int64_t offset) {
  if (record.deleted) {
    image_.deleted_here[record.mirror_name].insert(record.topic_name);
  } else {
    const auto found = image_.deleted_here.find(record.mirror_name);
    if (found != image_.deleted_here.end()) {
      found->second.erase(record.topic_name);
      if (found->second.empty()) image_.deleted_here.erase(found);
    }
  }
  image_.offset = offset;
  return {};
}

Result<void> ImageBuilder::apply(const wire::NoOpRecord& /*record*/, std::int64_t offset) {
  image_.offset = offset;
  return {};
}

std::shared_ptr<const MetadataDelta> ImageBuilder::take() {
  auto taken = std::make_shared<const MetadataImage>(image_);
  auto delta = std::make_shared<MetadataDelta>(std::move(delta_));
  delta->before = std::move(last_taken_);
  delta->after = taken;
  delta_ = MetadataDelta();
  open_.clear();
  last_taken_ = std::move(taken);
  return delta;
}

void ImageBuilder::revert() {
  image_ = *last_taken_;
  open_.clear();
  delta_ = MetadataDelta();
}

}  // namespace kmirror::metadata
