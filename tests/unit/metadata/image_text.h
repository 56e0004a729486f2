// Everything in a MetadataImage as text, to compare images and to print what differs.
#pragma once

#include <string>

#include "kmirror/metadata/image.h"

namespace kmirror::metadata {

inline std::string partition_text(const PartitionImage& partition) {
  std::string text = fmt::format(" leader {} epoch {}/{} replicas", partition.leader,
                                 partition.leader_epoch, partition.partition_epoch);
  for (const NodeId id : partition.replicas) text += fmt::format(" {}", id);
  text += " isr";
  for (const NodeId id : partition.isr) text += fmt::format(" {}", id);
  return text;
}

inline std::string broker_text(const BrokerImage& broker) {
  std::string text =
      fmt::format("broker {} {} epoch {} rack {} fenced {}", broker.id, broker.incarnation_id,
                  broker.broker_epoch, broker.rack.value_or("-"), broker.fenced);
  for (const ListenerEndpoint& listener : broker.listeners) {
    text += fmt::format(" {}://{}:{}/{}", listener.name, listener.host, listener.port,
                        listener.security_protocol);
  }
  return text;
}

inline std::string image_text(const MetadataImage& image) {
  std::string text =
      fmt::format("offset {} cluster '{}' controller {} next producer id {}\n", image.offset,
                  image.cluster_id, image.controller_id, image.next_producer_id);
  for (const auto& [id, broker] : image.brokers) text += broker_text(*broker) + "\n";
  for (const auto& [name, topic] : image.topics) {
    text += fmt::format("topic {} {} mirror {} state {} at {}\n", name, topic->id,
                        topic->mirror_name.value_or("-"),
                        static_cast<int>(topic->desired_mirror_state), topic->last_state_offset);
    for (const PartitionImage& partition : topic->partitions)
      text += partition_text(partition) + "\n";
    if (image.topic(topic->id) != topic) text += "NOT FOUND BY ID\n";
  }
  if (image.topics.size() != image.topics_by_id.size()) text += "STALE IDS\n";
  for (const auto& [resource, configs] : image.configs) {
    for (const auto& [key, value] : *configs) {
      text += fmt::format("config {}:{} {}={}\n", static_cast<int>(resource.type), resource.name,
                          key, value);
    }
  }
  for (const auto& [id, acl] : image.acls) {
    text += fmt::format("acl {} {} {} {} {} {} {} {} owners", id, acl->resource_type,
                        acl->resource_name, acl->pattern_type, acl->principal, acl->host,
                        acl->operation, acl->permission_type);
    for (const std::string& owner : acl->owners) text += fmt::format(" '{}'", owner);
    text += '\n';
  }
  for (const auto& [name, level] : image.features) {
    text += fmt::format("feature {} {}-{} at {}\n", name, level.min, level.max, level.finalized);
  }
  for (const auto& [mirror, topics] : image.deleted_here) {
    for (const std::string& topic : topics) text += fmt::format("deleted {} {}\n", mirror, topic);
  }
  return text;
}

}  // namespace kmirror::metadata
