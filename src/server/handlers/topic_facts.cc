#include "server/handlers/topic_facts.h"

namespace kmirror::server {
namespace {

const metadata::BrokerImage* live_broker(const metadata::MetadataImage& image, NodeId id) {
  const auto found = image.brokers.find(id);
  return found != image.brokers.end() && !found->second->fenced ? found->second.get() : nullptr;
}

}  // namespace

LeaderView leader_for(const metadata::MetadataImage& image,
                      const metadata::PartitionImage& partition, std::string_view listener) {
  LeaderView view;
  const metadata::BrokerImage* broker = live_broker(image, partition.leader);
  if (broker == nullptr) {
    view.error = ErrorCode::LEADER_NOT_AVAILABLE;
    return view;
  }
  view.endpoint = broker->listener(listener);
  if (view.endpoint == nullptr) {
    view.error = ErrorCode::LISTENER_NOT_FOUND;
    return view;
  }
  view.leader = partition.leader;
  return view;
}

std::vector<NodeId> offline_replicas(const metadata::MetadataImage& image,
                                     const metadata::PartitionImage& partition) {
  std::vector<NodeId> offline;
  for (const NodeId id : partition.replicas) {
    if (live_broker(image, id) == nullptr) offline.push_back(id);
  }
  return offline;
}

NodeId controller_for_clients(const metadata::MetadataImage& image) {
  if (live_broker(image, image.controller_id) != nullptr) return image.controller_id;
  for (const auto& [id, broker] : image.brokers) {
    if (!broker->fenced) return id;
  }
  return NodeId(-1);
}

}  // namespace kmirror::server
