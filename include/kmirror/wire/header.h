// Request and response headers: which version of them goes with which API version.
// Owner: any one task.
// Sources: RequestHeader.json, ResponseHeader.json; KIP-482; KIP-511 (ApiVersions is answered with
// the oldest header, because the client may not know what the server speaks).
#pragma once

#include "kmirror/wire/request_header.h"
#include "kmirror/wire/response_header.h"

namespace kmirror::wire {

/// 2 for a flexible version of the API, else 1. For a key that is not in the API table: 1.
[[nodiscard]] ApiVersion request_header_version(ApiKey key, ApiVersion version);
/// 1 for a flexible version of the API, else 0; always 0 for ApiVersions.
[[nodiscard]] ApiVersion response_header_version(ApiKey key, ApiVersion version);

/// Takes the header off the front of a request frame; the body is what then remains.
/// An ApiVersions request of a version above ours is read no further than its client id: its header
/// may have a form we do not know, and the answer does not depend on the rest. A key that is not in
/// the API table is read in the same way; the caller refuses it. Errors: those of Reader.
[[nodiscard]] Result<RequestHeader> decode_request_header(Reader& reader);
/// Takes the header off the front of a response frame to a request of `key` and `version`.
[[nodiscard]] Result<ResponseHeader> decode_response_header(Reader& reader, ApiKey key,
                                                            ApiVersion version);

}  // namespace kmirror::wire
