#include "server/handlers/api_versions.h"

#include <algorithm>

namespace kmirror::server {
namespace {

constexpr ApiVersion kFirstWithNames{3};
constexpr ApiVersion kFirstWithZeroMinimum{4};  // older Java clients refuse a minimum of 0
constexpr ApiVersion kFirstWithNode{5};

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

wire::ApiVersionsResponse::ApiVersion entry_of(const Handler& handler) {
  wire::ApiVersionsResponse::ApiVersion entry;
  entry.api_key = handler.api().key.get();
  entry.min_version = handler.advertised_min_version().get();
  entry.max_version = handler.max_version().get();
  return entry;
}

void add_features(wire::ApiVersionsResponse& response, const metadata::MetadataImage& image,
                  ApiVersion version) {
  for (const auto& [name, level] : image.features) {
    if (level.min > 0 || version >= kFirstWithZeroMinimum) {
      wire::ApiVersionsResponse::SupportedFeatureKey supported;
      supported.name = name;
      supported.min_version = level.min;
      supported.max_version = level.max;
      response.supported_features.push_back(std::move(supported));
    }
    if (level.finalized > 0) {
      wire::ApiVersionsResponse::FinalizedFeatureKey finalized;
      finalized.name = name;
      finalized.min_version_level = level.finalized;
      finalized.max_version_level = level.finalized;
      response.finalized_features.push_back(std::move(finalized));
    }
  }
  // A client believes the finalized levels only with an epoch of 0 or more.
  response.finalized_features_epoch = std::max<std::int64_t>(image.offset, 0);
}

}  // namespace

bool is_software_name(std::string_view text) {
  if (text.empty() || !is_alphanumeric(text.front()) || !is_alphanumeric(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '-' || c == '.'; });
}

ApiVersionsHandler::ApiVersionsHandler(const HandlerTable& table,
                                       const metadata::MetadataEngine& engine, NodeId node_id)
    : Handler(*wire::find_api(wire::ApiVersionsRequest::kApiKey)),
      table_(table),
      metadata_(engine),
      node_id_(node_id) {
  accept_all_versions();
}

void ApiVersionsHandler::start(const RequestContext& context, Reader body, ReplySink sink) {
  if (context.version < min_version() || context.version > max_version()) {
    wire::ApiVersionsResponse response;
    response.error_code = ErrorCode::UNSUPPORTED_VERSION;
    response.api_keys.push_back(entry_of(*this));
    Reply<wire::ApiVersionsResponse> reply(std::move(sink), ApiVersion(0), context.correlation_id);
    return reply(response);
  }
  auto request = wire::ApiVersionsRequest::decode(body, context.version);
  if (!request) return sink.close("cannot decode: " + request.error().message);
  Reply<wire::ApiVersionsResponse> reply(std::move(sink), context.version, context.correlation_id);
  reply(answer(*request, context.version));
}

wire::ApiVersionsResponse ApiVersionsHandler::answer(const wire::ApiVersionsRequest& request,
                                                     ApiVersion version) const {
  wire::ApiVersionsResponse response;
  if (version >= kFirstWithNames && !(is_software_name(request.client_software_name) &&
                                      is_software_name(request.client_software_version))) {
    response.error_code = ErrorCode::INVALID_REQUEST;
    return response;
  }
  const auto image = metadata_.image();
  if (version >= kFirstWithNode && request.cluster_id &&
      (*request.cluster_id != image->cluster_id || request.node_id != node_id_)) {
    // The client reached another broker than the one it meant.
    response.error_code = ErrorCode::REBOOTSTRAP_REQUIRED;
    return response;
  }
  for (const auto& handler : table_.all()) response.api_keys.push_back(entry_of(*handler));
  add_features(response, *image, version);
  return response;
}

}  // namespace kmirror::server
