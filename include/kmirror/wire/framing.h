// Frames: four bytes of length, then header and body.
// Owner: any one task.
// Sources: Kafka protocol guide, "Network"; KIP-482.
#pragma once

#include <optional>
#include <string>

#include "kmirror/wire/header.h"

namespace kmirror::wire {

inline constexpr std::size_t kFramePrefixBytes = 4;

/// The length that the first four bytes of a frame announce, without themselves. Errors: kTruncated
/// for fewer than four bytes, kBadLength for a negative length or one above `max_bytes`.
[[nodiscard]] Result<std::size_t> frame_length(ByteSpan prefix, std::size_t max_bytes);

namespace detail {

/// A whole frame: the length of header and body in front of them.
template <class Header, class Body>
[[nodiscard]] Result<ByteChain> frame(const Header& header, ApiVersion header_version,
                                      const Body& body, ApiVersion body_version) {
  std::size_t records_bytes = 0;
  KM_TRY(header_bytes, header.encoded_size(header_version));
  KM_TRY(body_bytes, body.encoded_size(body_version, &records_bytes));
  const std::size_t size = header_bytes + body_bytes;
  if (size > 0x7fffffff) {
    return bytes_error(BytesErrc::kTooLarge, std::string(Body::kName) + " of more than 2 GiB");
  }
  Writer writer(kFramePrefixBytes + size - records_bytes);
  writer.integer(static_cast<std::int32_t>(size));
  KM_TRY_VOID(header.encode(writer, header_version));
  KM_TRY_VOID(body.encode(writer, body_version));
  return writer.take();
}

}  // namespace detail

/// The frame of a request, length included; `records` in it are shared, not copied.
/// Errors: those of encode().
template <class Request>
[[nodiscard]] Result<ByteChain> encode_request(const Request& request, ApiVersion version,
                                               std::int32_t correlation_id,
                                               const std::optional<std::string>& client_id) {
  RequestHeader header;
  header.request_api_key = Request::kApiKey.get();
  header.request_api_version = version.get();
  header.correlation_id = correlation_id;
  header.client_id = client_id;
  return detail::frame(header, request_header_version(Request::kApiKey, version), request, version);
}

/// The frame of a response, length included; `records` in it are shared, not copied.
/// Errors: those of encode().
template <class Response>
[[nodiscard]] Result<ByteChain> encode_response(const Response& response, ApiVersion version,
                                                std::int32_t correlation_id) {
  ResponseHeader header;
  header.correlation_id = correlation_id;
  return detail::frame(header, response_header_version(Response::kApiKey, version), response,
                       version);
}

}  // namespace kmirror::wire
