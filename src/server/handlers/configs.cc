#include "server/handlers/configs.h"

#include <set>
#include <utility>

namespace kmirror::server {
namespace {

constexpr ApiVersion kFirstWithTypes{1};  // of ListConfigResources

using metadata::ConfigResource;
using metadata::ConfigResourceType;
using ConfigResult = wire::DescribeConfigsResponse::DescribeConfigsResourceResult;

ConfigResult line_of(const metadata::ConfigEntry& entry,
                     const wire::DescribeConfigsRequest& request) {
  ConfigResult line;
  line.name = entry.name;
  line.value = entry.value;
  line.read_only = entry.read_only;
  line.config_source = static_cast<std::int8_t>(entry.source);
  line.is_sensitive = entry.sensitive;
  line.config_type = static_cast<std::int8_t>(entry.type);
  line.documentation = std::nullopt;
  if (request.include_documentation) line.documentation = entry.documentation;
  if (!request.include_synonyms) return line;
  for (const auto& synonym : entry.synonyms) {
    auto& other = line.synonyms.emplace_back();
    other.name = synonym.name;
    other.value = synonym.value;
    other.source = static_cast<std::int8_t>(synonym.source);
  }
  return line;
}

// Resources of `type`, by name.
std::set<std::string> resources_of(const metadata::MetadataImage& image, ConfigResourceType type) {
  std::set<std::string> names;
  if (type == ConfigResourceType::kTopic) {
    for (const auto& [name, topic] : image.topics) names.insert(name);
  } else if (type == ConfigResourceType::kBroker || type == ConfigResourceType::kBrokerLogger) {
    for (const auto& [id, broker] : image.brokers) names.insert(fmt::format("{}", id));
  } else {
    for (const auto& [resource, values] : image.configs) {
      if (resource.type == type) names.insert(resource.name);
    }
  }
  return names;
}

bool is_listable(std::int8_t type) {
  switch (static_cast<ConfigResourceType>(type)) {
    case ConfigResourceType::kTopic:
    case ConfigResourceType::kBroker:
    case ConfigResourceType::kBrokerLogger:
    case ConfigResourceType::kClientMetrics:
    case ConfigResourceType::kGroup:
    case ConfigResourceType::kClusterMirror:
      return true;
    case ConfigResourceType::kUnknown:
      break;
  }
  return false;
}

std::set<std::int8_t> wanted_types(const wire::ListConfigResourcesRequest& request,
                                   ApiVersion version) {
  const auto code = [](ConfigResourceType type) { return static_cast<std::int8_t>(type); };
  if (version < kFirstWithTypes) return {code(ConfigResourceType::kClientMetrics)};
  if (!request.resource_types.empty()) {
    return {request.resource_types.begin(), request.resource_types.end()};
  }
  return {code(ConfigResourceType::kTopic),        code(ConfigResourceType::kBroker),
          code(ConfigResourceType::kBrokerLogger), code(ConfigResourceType::kClientMetrics),
          code(ConfigResourceType::kGroup),        code(ConfigResourceType::kClusterMirror)};
}

}  // namespace

void handle_describe_configs(const ConfigsDeps& deps, const RequestContext&,
                             wire::DescribeConfigsRequest request,
                             Reply<wire::DescribeConfigsResponse> reply) {
  const auto image = deps.metadata.image();
  wire::DescribeConfigsResponse response;
  for (const auto& asked : request.resources) {
    auto& result = response.results.emplace_back();
    result.resource_type = asked.resource_type;
    result.resource_name = asked.resource_name;
    result.error_message = std::nullopt;
    const ConfigResource resource(static_cast<ConfigResourceType>(asked.resource_type),
                                  asked.resource_name);
    auto entries = deps.resolver.describe(*image, resource, asked.configuration_keys);
    if (!entries) {
      result.error_code = to_kafka_error(entries.error());
      result.error_message = entries.error().message;
      continue;
    }
    for (const auto& entry : *entries) result.configs.push_back(line_of(entry, request));
  }
  reply(response);
}

void handle_list_config_resources(const ConfigsDeps& deps, const RequestContext& context,
                                  wire::ListConfigResourcesRequest request,
                                  Reply<wire::ListConfigResourcesResponse> reply) {
  const auto image = deps.metadata.image();
  wire::ListConfigResourcesResponse response;
  for (const std::int8_t type : wanted_types(request, context.version)) {
    if (!is_listable(type)) {
      response.error_code = ErrorCode::UNSUPPORTED_VERSION;
      response.config_resources.clear();
      break;
    }
    for (const auto& name : resources_of(*image, static_cast<ConfigResourceType>(type))) {
      auto& entry = response.config_resources.emplace_back();
      entry.resource_name = name;
      entry.resource_type = type;
    }
  }
  reply(response);
}

}  // namespace kmirror::server
