#include "server/handlers/metadata.h"

#include <algorithm>
#include <utility>

#include "kmirror/metadata/names.h"
#include "server/handlers/topic_facts.h"

namespace kmirror::server {
namespace {

constexpr ApiVersion kFirstWithNullForAll{1};
constexpr ApiVersion kFirstWithListenerError{6};
constexpr ApiVersion kFirstByTopicId{12};

using Response = wire::MetadataResponse;

void add_brokers(Response& response, const metadata::MetadataImage& image,
                 std::string_view listener) {
  for (const auto& [id, broker] : image.brokers) {
    const auto* endpoint = broker->listener(listener);
    if (broker->fenced || endpoint == nullptr) continue;
    Response::MetadataResponseBroker entry;
    entry.node_id = id;
    entry.host = endpoint->host;
    entry.port = endpoint->port;
    entry.rack = broker->rack;
    response.brokers.push_back(std::move(entry));
  }
}

Response::MetadataResponsePartition partition_entry(const metadata::MetadataImage& image,
                                                    const metadata::PartitionImage& partition,
                                                    std::size_t index, ApiVersion version,
                                                    std::string_view listener) {
  Response::MetadataResponsePartition entry;
  const LeaderView view = leader_for(image, partition, listener);
  entry.error_code = view.error;
  if (view.error == ErrorCode::LISTENER_NOT_FOUND && version < kFirstWithListenerError) {
    entry.error_code = ErrorCode::LEADER_NOT_AVAILABLE;
  }
  entry.partition_index = static_cast<std::int32_t>(index);
  entry.leader_id = view.leader;
  entry.leader_epoch = partition.leader_epoch;
  entry.replica_nodes = partition.replicas;
  entry.isr_nodes = partition.isr;
  entry.offline_replicas = offline_replicas(image, partition);
  return entry;
}

Response::MetadataResponseTopic topic_entry(const metadata::MetadataImage& image,
                                            const metadata::TopicImage& topic,
                                            const wire::MetadataRequest& request,
                                            ApiVersion version, std::string_view listener) {
  Response::MetadataResponseTopic entry;
  entry.name = topic.name;
  entry.topic_id = topic.id;
  entry.is_internal = metadata::is_internal_topic(topic.name);
  entry.partitions.reserve(topic.partitions.size());
  for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
    entry.partitions.push_back(partition_entry(image, topic.partitions[i], i, version, listener));
  }
  if (request.include_topic_authorized_operations) {
    entry.topic_authorized_operations = kAllTopicOperations;
  }
  return entry;
}

// A topic that was asked for and is not there. By id there is no name to tell, and the other way.
Response::MetadataResponseTopic missing_topic(
    const wire::MetadataRequest::MetadataRequestTopic& asked) {
  Response::MetadataResponseTopic entry;
  if (!asked.topic_id.is_zero()) {
    entry.error_code = ErrorCode::UNKNOWN_TOPIC_ID;
    entry.topic_id = asked.topic_id;
    entry.name = std::nullopt;
  } else {
    entry.error_code = metadata::check_topic_name(*asked.name)
                           ? ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
                           : ErrorCode::INVALID_TOPIC_EXCEPTION;
    entry.name = asked.name;
  }
  return entry;
}

bool wants_all(const wire::MetadataRequest& request, ApiVersion version) {
  return !request.topics || (version < kFirstWithNullForAll && request.topics->empty());
}

bool is_malformed(const wire::MetadataRequest& request, ApiVersion version) {
  if (!request.topics) return false;
  return std::any_of(request.topics->begin(), request.topics->end(), [version](const auto& topic) {
    if (version < kFirstByTopicId) return !topic.name || !topic.topic_id.is_zero();
    return !topic.name && topic.topic_id.is_zero();
  });
}

// Names that are asked for, legal, not there, and may be created for this client.
std::vector<std::string> names_to_create(const MetadataDeps& deps,
                                         const metadata::MetadataImage& image,
                                         const wire::MetadataRequest& request, ApiVersion version) {
  std::vector<std::string> names;
  if (!deps.config.auto_create_topics || !request.allow_auto_topic_creation ||
      wants_all(request, version) || is_malformed(request, version)) {
    return names;
  }
  for (const auto& topic : *request.topics) {
    if (!topic.topic_id.is_zero() || !topic.name || !metadata::check_topic_name(*topic.name))
      continue;
    if (metadata::is_internal_topic(*topic.name) || image.topic(*topic.name) != nullptr) continue;
    names.push_back(*topic.name);
  }
  return names;
}

wire::CreateTopicsRequest creation_of(const std::vector<std::string>& names) {
  wire::CreateTopicsRequest request;
  for (const auto& name : names) {
    wire::CreateTopicsRequest::CreatableTopic topic;
    topic.name = name;
    topic.num_partitions = -1;  // the broker's defaults
    topic.replication_factor = -1;
    request.topics.push_back(std::move(topic));
  }
  return request;
}

}  // namespace

Response metadata_response(const metadata::MetadataImage& image,
                           const wire::MetadataRequest& request, ApiVersion version,
                           std::string_view listener) {
  Response response;
  add_brokers(response, image, listener);
  response.cluster_id = image.cluster_id;
  response.controller_id = controller_for_clients(image);
  if (request.include_cluster_authorized_operations) {
    response.cluster_authorized_operations = kAllClusterOperations;
  }
  if (is_malformed(request, version)) {
    for (const auto& asked : *request.topics) {
      Response::MetadataResponseTopic entry;
      entry.error_code = ErrorCode::INVALID_REQUEST;
      entry.name = asked.name.value_or("");
      entry.topic_id = asked.topic_id;
      response.topics.push_back(std::move(entry));
    }
    return response;
  }
  if (wants_all(request, version)) {
    response.topics.reserve(image.topics.size());
    for (const auto& [name, topic] : image.topics) {
      response.topics.push_back(topic_entry(image, *topic, request, version, listener));
    }
    return response;
  }
  for (const auto& asked : *request.topics) {
    const auto topic =
        asked.topic_id.is_zero() ? image.topic(*asked.name) : image.topic(asked.topic_id);
    response.topics.push_back(topic != nullptr
                                  ? topic_entry(image, *topic, request, version, listener)
                                  : missing_topic(asked));
  }
  return response;
}

void handle_metadata(const MetadataDeps& deps, const RequestContext& context,
                     wire::MetadataRequest request, Reply<Response> reply) {
  const auto image = deps.metadata.image();
  const auto names = names_to_create(deps, *image, request, context.version);
  if (names.empty()) {
    return reply(metadata_response(*image, request, context.version, context.connection->listener));
  }
  auto answer = [&metadata = deps.metadata, request = std::move(request), version = context.version,
                 connection = context.connection,
                 reply = std::move(reply)](const wire::CreateTopicsResponse&) mutable {
    // Whether it was created now, by somebody else, or refused: the newest image tells.
    reply(metadata_response(*metadata.image(), request, version, connection->listener));
  };
  deps.metadata.create_topics(creation_of(names), wire::CreateTopicsRequest::kMaxVersion,
                              std::move(answer));
}

}  // namespace kmirror::server
