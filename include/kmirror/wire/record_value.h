// What stands in front of the messages that Kafka keeps in its own logs.
// Owner: any one task.
//   __cluster_metadata: frame version 1, api key and version as unsigned varints, then the body.
//   __consumer_offsets, __transaction_state, __mirror_state: a key is the record type as int16 and
//   the key's body; a value is its version as int16 and the body. Control records are the same as
//   values (a version, then the body), both their keys and their values.
// Sources: Kafka 4.4 MetadataRecordSerde, CoordinatorRecordSerde, EndTransactionMarker (behaviour).
#pragma once

#include "kmirror/wire/message.h"

namespace kmirror::wire {

inline constexpr std::uint32_t kMetadataFrameVersion = 1;

struct MetadataRecordHead {
  MetadataRecordHead() = default;
  ApiKey api_key;
  ApiVersion version;
};

/// The front of a __cluster_metadata value; the body follows in `reader`. Errors: those of Reader;
/// kBadValue for another frame version and for a key or version that is out of range.
[[nodiscard]] Result<MetadataRecordHead> decode_metadata_head(Reader& reader);
void encode_metadata_head(Writer& writer, ApiKey key, ApiVersion version);

/// A whole __cluster_metadata value. Errors: those of Record::encode.
template <class Record>
[[nodiscard]] Result<Slice> encode_metadata_record(const Record& record, ApiVersion version) {
  Writer writer;
  encode_metadata_head(writer, Record::kApiKey, version);
  KM_TRY_VOID(record.encode(writer, version));
  return writer.take_slice();
}

/// A whole coordinator key; its version is always 0. Errors: those of Key::encode.
template <class Key>
[[nodiscard]] Result<Slice> encode_coordinator_key(const Key& key) {
  Writer writer;
  writer.integer(Key::kApiKey.get());
  KM_TRY_VOID(key.encode(writer, ApiVersion(0)));
  return writer.take_slice();
}
/// The record type in front of a coordinator key; the key's body (version 0) follows in `reader`.
[[nodiscard]] Result<ApiKey> decode_coordinator_type(Reader& reader);

/// A coordinator value or a control record's key or value: its version, then the body.
template <class Value>
[[nodiscard]] Result<Slice> encode_versioned(const Value& value, ApiVersion version) {
  Writer writer;
  writer.integer(version.get());
  KM_TRY_VOID(value.encode(writer, version));
  return writer.take_slice();
}
/// The counterpart. Errors: those of Value::decode, so UNSUPPORTED_VERSION for a newer version.
template <class Value>
[[nodiscard]] Result<Value> decode_versioned(Reader& reader) {
  KM_TRY(version, reader.integer<std::int16_t>());
  return Value::decode(reader, ApiVersion(version));
}

}  // namespace kmirror::wire
