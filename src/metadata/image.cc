// Look-ups in a MetadataImage.
#include "kmirror/metadata/image.h"

#include <algorithm>

namespace kmirror::metadata {

const ListenerEndpoint* BrokerImage::listener(std::string_view listener_name) const {
  const auto found = std::find_if(
      listeners.begin(), listeners.end(),
      [&](const ListenerEndpoint& endpoint) { return endpoint.name == listener_name; });
  return found == listeners.end() ? nullptr : &*found;
}

std::shared_ptr<const TopicImage> MetadataImage::topic(std::string_view name) const {
  const auto found = topics.find(name);
  return found == topics.end() ? nullptr : found->second;
}

std::shared_ptr<const TopicImage> MetadataImage::topic(const Uuid& id) const {
  const auto found = topics_by_id.find(id);
  return found == topics_by_id.end() ? nullptr : found->second;
}

const PartitionImage* MetadataImage::partition(std::string_view topic_name,
                                               std::int32_t index) const {
  const auto found = topics.find(topic_name);
  if (found == topics.end() || index < 0) return nullptr;
  const std::vector<PartitionImage>& partitions = found->second->partitions;
  const auto position = static_cast<std::size_t>(index);
  return position < partitions.size() ? &partitions[position] : nullptr;
}

const ConfigMap& MetadataImage::config(const ConfigResource& resource) const {
  static const ConfigMap kNone;
  const auto found = configs.find(resource);
  return found == configs.end() ? kNone : *found->second;
}

std::vector<std::string> MetadataImage::mirror_names() const {
  std::vector<std::string> names;
  auto at = configs.lower_bound(ConfigResource(ConfigResourceType::kClusterMirror, ""));
  for (; at != configs.end() && at->first.type == ConfigResourceType::kClusterMirror; ++at) {
    names.push_back(at->first.name);
  }
  return names;
}

bool MetadataImage::has_mirror(std::string_view mirror_name) const {
  return configs.contains(
      ConfigResource(ConfigResourceType::kClusterMirror, std::string(mirror_name)));
}

std::vector<std::shared_ptr<const TopicImage>> MetadataImage::mirror_topics(
    std::string_view mirror_name) const {
  std::vector<std::shared_ptr<const TopicImage>> found;
  for (const auto& [name, topic] : topics) {
    if (topic->mirror_name && *topic->mirror_name == mirror_name) found.push_back(topic);
  }
  return found;
}

}  // namespace kmirror::metadata
