// The records that several commands write.
#include "metadata/command.h"

namespace kmirror::metadata {

void Command::emit_config(const ConfigResource& resource, const std::string& key,
                          std::optional<std::string> value) {
  wire::ConfigRecord record;
  record.resource_type = static_cast<std::int8_t>(resource.type);
  record.resource_name = resource.name;
  record.name = key;
  record.value = std::move(value);
  emit(record);
}

void Command::emit_partition(const Uuid& topic_id, std::int32_t index, LeaderEpoch leader_epoch,
                             std::int32_t partition_epoch) {
  wire::PartitionRecord record;
  record.topic_id = topic_id;
  record.partition_id = index;
  record.replicas = {node_id()};
  record.isr = {node_id()};
  record.leader = node_id();
  record.leader_epoch = leader_epoch;
  record.partition_epoch = partition_epoch;
  // Version 0: version 1 names log directories, which the log manager picks by itself here.
  emit(record, ApiVersion(0));
}

void Command::emit_topic(const std::string& name, const Uuid& id, std::int32_t partitions) {
  wire::TopicRecord record;
  record.name = name;
  record.topic_id = id;
  emit(record);
  for (std::int32_t i = 0; i < partitions; ++i) emit_partition(id, i, LeaderEpoch(0), 0);
}

void Command::emit_mirror_state(const Uuid& topic_id, std::optional<std::string> mirror,
                                DesiredMirrorState state) {
  wire::MirrorTopicStateChangeRecord record;
  record.topic_id = topic_id;
  record.mirror_name = std::move(mirror);
  record.desired_state = static_cast<std::int8_t>(state);
  emit(record);
}

void Command::emit_deleted_here(const std::string& mirror, const std::string& topic, bool deleted) {
  wire::DeletedMirrorTopicRecord record;
  record.mirror_name = mirror;
  record.topic_name = topic;
  record.deleted = deleted;
  emit(record);
}

std::string read_only_text(const TopicImage& topic) {
  return fmt::format("topic {} is a read-only mirror of {}", topic.name,
                     topic.mirror_name.value_or(""));
}

}  // namespace kmirror::metadata
