// DescribeCluster (key 60) and DescribeTopicPartitions (key 75): the cluster without topics, and
// topics page by page. Owner: any loop; read from the image. Sources: Kafka 4.4
// KafkaApis.handleDescribeCluster, DescribeTopicPartitionsRequestHandler; KIP-700, KIP-919,
// KIP-966, KIP-1073.
#pragma once

#include "kmirror/metadata/engine.h"
#include "kmirror/server/server.h"
#include "kmirror/wire/describe_cluster_request.h"
#include "kmirror/wire/describe_cluster_response.h"
#include "kmirror/wire/describe_topic_partitions_request.h"
#include "kmirror/wire/describe_topic_partitions_response.h"
#include "server/handler.h"

namespace kmirror::server {

struct ClusterDeps {
  ClusterDeps(const metadata::MetadataEngine& engine, const ServerConfig& server_config)
      : metadata(engine), config(server_config) {}
  const metadata::MetadataEngine& metadata;
  const ServerConfig& config;
};

void handle_describe_cluster(const ClusterDeps& deps, const RequestContext& context,
                             wire::DescribeClusterRequest request,
                             Reply<wire::DescribeClusterResponse> reply);
void handle_describe_topic_partitions(const ClusterDeps& deps, const RequestContext& context,
                                      wire::DescribeTopicPartitionsRequest request,
                                      Reply<wire::DescribeTopicPartitionsResponse> reply);

/// One page. `limit`: partitions at most, >= 1. A cursor that names a topic below all asked ones,
/// or a negative partition, or (with a list of topics) one that is not in it, is INVALID_REQUEST on
/// every topic. Pure; any thread.
[[nodiscard]] wire::DescribeTopicPartitionsResponse describe_topic_partitions(
    const metadata::MetadataImage& image, const wire::DescribeTopicPartitionsRequest& request,
    std::int32_t limit);

}  // namespace kmirror::server
