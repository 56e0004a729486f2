#include "server/handlers/cluster.h"

#include <algorithm>
#include <set>
#include <utility>

#include "kmirror/metadata/names.h"
#include "server/handlers/topic_facts.h"

namespace kmirror::server {
namespace {

constexpr std::int8_t kBrokerEndpoint = 1;

using Topic = wire::DescribeTopicPartitionsResponse::DescribeTopicPartitionsResponseTopic;
using Partition = wire::DescribeTopicPartitionsResponse::DescribeTopicPartitionsResponsePartition;
using Cursor = wire::DescribeTopicPartitionsResponse::Cursor;

Partition partition_of(const metadata::MetadataImage& image,
                       const metadata::PartitionImage& partition, std::int32_t index) {
  Partition entry;
  entry.partition_index = index;
  entry.leader_id = partition.leader;
  entry.leader_epoch = partition.leader_epoch;
  entry.replica_nodes = partition.replicas;
  entry.isr_nodes = partition.isr;
  entry.eligible_leader_replicas.emplace();
  entry.last_known_elr.emplace();
  entry.offline_replicas = offline_replicas(image, partition);
  if (partition.leader < NodeId(0)) entry.error_code = ErrorCode::LEADER_NOT_AVAILABLE;
  return entry;
}

Topic missing(const std::string& name) {
  Topic entry;
  entry.name = name;
  entry.error_code = metadata::check_topic_name(name) ? ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
                                                      : ErrorCode::INVALID_TOPIC_EXCEPTION;
  entry.is_internal = metadata::is_internal_topic(name);
  return entry;
}

Cursor cursor_at(const std::string& name, std::int32_t partition) {
  Cursor cursor;
  cursor.topic_name = name;
  cursor.partition_index = partition;
  return cursor;
}

// The topics of this page and the pages after it, sorted.
std::set<std::string> topics_from_cursor(const metadata::MetadataImage& image,
                                         const wire::DescribeTopicPartitionsRequest& request) {
  const std::string first = request.cursor ? request.cursor->topic_name : "";
  std::set<std::string> names;
  if (request.topics.empty()) {
    for (auto it = image.topics.lower_bound(first); it != image.topics.end(); ++it) {
      names.insert(it->first);
    }
  }
  for (const auto& topic : request.topics) {
    if (topic.name >= first) names.insert(topic.name);
  }
  return names;
}

wire::DescribeTopicPartitionsResponse refused(const wire::DescribeTopicPartitionsRequest& request) {
  wire::DescribeTopicPartitionsResponse response;
  for (const auto& topic : request.topics) {
    auto& entry = response.topics.emplace_back();
    entry.name = topic.name;
    entry.error_code = ErrorCode::INVALID_REQUEST;
  }
  return response;
}

}  // namespace

wire::DescribeTopicPartitionsResponse describe_topic_partitions(
    const metadata::MetadataImage& image, const wire::DescribeTopicPartitionsRequest& request,
    std::int32_t limit) {
  const std::set<std::string> names = topics_from_cursor(image, request);
  const bool all = request.topics.empty();
  const bool cursor_is_bad =
      request.cursor && (request.cursor->partition_index < 0 ||
                         (!all && !names.contains(request.cursor->topic_name)));
  if (cursor_is_bad) return refused(request);

  wire::DescribeTopicPartitionsResponse response;
  std::int32_t left = limit;
  for (const auto& name : names) {
    if (left == 0) {
      response.next_cursor = cursor_at(name, 0);
      break;
    }
    const auto topic = image.topic(name);
    if (topic == nullptr) {
      response.topics.push_back(missing(name));
      continue;
    }
    const bool is_first = request.cursor && request.cursor->topic_name == name;
    const std::int32_t from = is_first ? request.cursor->partition_index : 0;
    const auto count = static_cast<std::int32_t>(topic->partitions.size());
    const std::int32_t to = from < count ? from + std::min(left, count - from) : count;
    auto& entry = response.topics.emplace_back();
    entry.name = name;
    entry.topic_id = topic->id;
    entry.is_internal = metadata::is_internal_topic(name);
    entry.topic_authorized_operations = kAllTopicOperations;
    for (std::int32_t i = from; i < to; ++i) {
      entry.partitions.push_back(
          partition_of(image, topic->partitions[static_cast<std::size_t>(i)], i));
      --left;
    }
    if (to < count) {
      response.next_cursor = cursor_at(name, to);
      break;
    }
  }
  return response;
}

void handle_describe_topic_partitions(const ClusterDeps& deps, const RequestContext&,
                                      wire::DescribeTopicPartitionsRequest request,
                                      Reply<wire::DescribeTopicPartitionsResponse> reply) {
  const std::int32_t limit = std::max(
      1, std::min(request.response_partition_limit, deps.config.max_request_partition_size_limit));
  reply(describe_topic_partitions(*deps.metadata.image(), request, limit));
}

void handle_describe_cluster(const ClusterDeps& deps, const RequestContext& context,
                             wire::DescribeClusterRequest request,
                             Reply<wire::DescribeClusterResponse> reply) {
  wire::DescribeClusterResponse response;
  if (request.endpoint_type != kBrokerEndpoint) {
    response.error_code = ErrorCode::MISMATCHED_ENDPOINT_TYPE;
    response.error_message = "this is a broker's endpoint, not a controller's";
    return reply(response);
  }
  const auto image = deps.metadata.image();
  response.cluster_id = image->cluster_id;
  response.controller_id = controller_for_clients(*image);
  for (const auto& [id, broker] : image->brokers) {
    const auto* endpoint = broker->listener(context.connection->listener);
    if (endpoint == nullptr || (broker->fenced && !request.include_fenced_brokers)) continue;
    auto& entry = response.brokers.emplace_back();
    entry.broker_id = id;
    entry.host = endpoint->host;
    entry.port = endpoint->port;
    entry.rack = broker->rack;
    if (request.include_fenced_brokers) entry.is_fenced = broker->fenced;
  }
  if (request.include_cluster_authorized_operations) {
    response.cluster_authorized_operations = kAllClusterOperations;
  }
  reply(response);
}

}  // namespace kmirror::server
