// DescribeConfigs (key 32) and ListConfigResources (key 74).
// Owner: any loop; read from the image.
// Sources: Kafka 4.4 ConfigHelper, KafkaApis.handleListConfigResources; KIP-133, KIP-226, KIP-1142;
// decisions section 2 (CLUSTER_MIRROR).
#pragma once

#include "kmirror/metadata/config_resolver.h"
#include "kmirror/metadata/engine.h"
#include "kmirror/wire/describe_configs_request.h"
#include "kmirror/wire/describe_configs_response.h"
#include "kmirror/wire/list_config_resources_request.h"
#include "kmirror/wire/list_config_resources_response.h"
#include "server/handler.h"

namespace kmirror::server {

struct ConfigsDeps {
  ConfigsDeps(const metadata::MetadataEngine& engine,
              const metadata::ConfigResolver& config_resolver)
      : metadata(engine), resolver(config_resolver) {}
  const metadata::MetadataEngine& metadata;
  const metadata::ConfigResolver& resolver;
};

void handle_describe_configs(const ConfigsDeps& deps, const RequestContext& context,
                             wire::DescribeConfigsRequest request,
                             Reply<wire::DescribeConfigsResponse> reply);
void handle_list_config_resources(const ConfigsDeps& deps, const RequestContext& context,
                                  wire::ListConfigResourcesRequest request,
                                  Reply<wire::ListConfigResourcesResponse> reply);

}  // namespace kmirror::server
