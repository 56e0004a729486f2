#include "kmirror/wire/record_value.h"

#include <fmt/format.h>

namespace kmirror::wire {
namespace {

Result<std::int16_t> small_number(Reader& reader, const char* what) {
  KM_TRY(value, reader.unsigned_varint());
  if (value > 32767) {
    return bytes_error(BytesErrc::kBadValue, fmt::format("metadata record: {} {}", what, value));
  }
  return static_cast<std::int16_t>(value);
}

}  // namespace

Result<MetadataRecordHead> decode_metadata_head(Reader& reader) {
  KM_TRY(frame_version, reader.unsigned_varint());
  if (frame_version != kMetadataFrameVersion) {
    return bytes_error(BytesErrc::kBadValue,
                       fmt::format("metadata record: frame version {}", frame_version));
  }
  MetadataRecordHead head;
  KM_TRY(key, small_number(reader, "type"));
  KM_TRY(version, small_number(reader, "version"));
  head.api_key = ApiKey(key);
  head.version = ApiVersion(version);
  return head;
}

void encode_metadata_head(Writer& writer, ApiKey key, ApiVersion version) {
  writer.unsigned_varint(kMetadataFrameVersion);
  writer.unsigned_varint(static_cast<std::uint32_t>(key.get()));
  writer.unsigned_varint(static_cast<std::uint32_t>(version.get()));
}

Result<ApiKey> decode_coordinator_type(Reader& reader) {
  KM_TRY(type, reader.integer<std::int16_t>());
  return ApiKey(type);
}

}  // namespace kmirror::wire
