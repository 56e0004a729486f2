#include "kmirror/wire/header.h"

#include "kmirror/wire/api_table.h"
#include "kmirror/wire/api_versions_request.h"

namespace kmirror::wire {
namespace {

bool is_flexible(ApiKey key, ApiVersion version) {
  const ApiInfo* api = find_api(key);
  return api != nullptr && api->is_flexible(version);
}

}  // namespace

ApiVersion request_header_version(ApiKey key, ApiVersion version) {
  return ApiVersion(is_flexible(key, version) ? 2 : 1);
}

ApiVersion response_header_version(ApiKey key, ApiVersion version) {
  if (key == ApiVersionsRequest::kApiKey) return ApiVersion(0);
  return ApiVersion(is_flexible(key, version) ? 1 : 0);
}

Result<RequestHeader> decode_request_header(Reader& reader) {
  // Key and version stand in front in every version of the header: look at them in a copy.
  Reader peek = reader;
  KM_TRY(key, peek.integer<std::int16_t>());
  KM_TRY(version, peek.integer<std::int16_t>());
  ApiVersion header = request_header_version(ApiKey(key), ApiVersion(version));
  if (ApiKey(key) == ApiVersionsRequest::kApiKey &&
      ApiVersion(version) > ApiVersionsRequest::kMaxVersion) {
    header = RequestHeader::kMinVersion;
  }
  return RequestHeader::decode(reader, header);
}

Result<ResponseHeader> decode_response_header(Reader& reader, ApiKey key, ApiVersion version) {
  return ResponseHeader::decode(reader, response_header_version(key, version));
}

}  // namespace kmirror::wire
