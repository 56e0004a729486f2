// Metadata (key 3): brokers, topics, partitions and their leaders, as clients of one listener see
// them. Owner: any loop; topics that a client may bring into being are created through the engine.
// Sources: Kafka 4.4 KafkaApis.handleTopicMetadataRequest, KRaftMetadataCache; KIP-516, KIP-700.
#pragma once

#include "kmirror/metadata/engine.h"
#include "kmirror/server/server.h"
#include "kmirror/wire/metadata_request.h"
#include "kmirror/wire/metadata_response.h"
#include "server/handler.h"

namespace kmirror::server {

struct MetadataDeps {
  MetadataDeps(metadata::MetadataEngine& engine, const ServerConfig& server_config)
      : metadata(engine), config(server_config) {}
  metadata::MetadataEngine& metadata;
  const ServerConfig& config;
};

void handle_metadata(const MetadataDeps& deps, const RequestContext& context,
                     wire::MetadataRequest request, Reply<wire::MetadataResponse> reply);

/// The answer from `image` alone, nothing created. Pure; any thread.
[[nodiscard]] wire::MetadataResponse metadata_response(const metadata::MetadataImage& image,
                                                       const wire::MetadataRequest& request,
                                                       ApiVersion version,
                                                       std::string_view listener);

}  // namespace kmirror::server
