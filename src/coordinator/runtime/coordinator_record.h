// CoordinatorRecord: one key and value of an internal topic, as bytes; typed records to and from
// it. Owner: any thread. A key is its type (int16) and then the key message of version 0; a value
// is its version (int16) and then the value message. Sources: Kafka 4.4 CoordinatorRecordSerde;
// docs/formats/coordinator-records.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "kmirror/base/result.h"
#include "kmirror/bytes/reader.h"
#include "kmirror/bytes/writer.h"
#include "kmirror/model/error_code.h"
#include "kmirror/model/record_batch.h"

namespace kmirror::coordinator {

struct CoordinatorRecord {
  CoordinatorRecord() = default;
  Bytes key;
  std::optional<Bytes> value;  ///< nothing: a tombstone
  std::vector<RecordHeader> headers;
  friend bool operator==(const CoordinatorRecord&, const CoordinatorRecord&) = default;
};

namespace detail {
/// `prefix` and then `message`. Error: what encode() says, a text too long for the format mostly.
template <class Message>
[[nodiscard]] Result<Bytes> prefixed(std::int16_t prefix, const Message& message,
                                     ApiVersion version) {
  Writer writer;
  writer.integer<std::int16_t>(prefix);
  KM_TRY_VOID(message.encode(writer, version));
  const Slice bytes = writer.take_slice();
  return Bytes(bytes.span().begin(), bytes.span().end());
}
}  // namespace detail

template <class Key>
[[nodiscard]] Result<CoordinatorRecord> tombstone_of(const Key& key) {
  CoordinatorRecord record;
  KM_TRY(bytes, detail::prefixed(Key::kApiKey.get(), key, ApiVersion(0)));
  record.key = std::move(bytes);
  return record;
}

template <class Key, class Value>
[[nodiscard]] Result<CoordinatorRecord> record_of(const Key& key, const Value& value,
                                                  ApiVersion value_version) {
  KM_TRY(record, tombstone_of(key));
  KM_TRY(bytes, detail::prefixed(value_version.get(), value, value_version));
  record.value = std::move(bytes);
  return record;
}

/// The type a key begins with. Error: fewer than two bytes.
[[nodiscard]] Result<std::int16_t> record_type(ByteSpan key);

/// A key message after its type. Errors: as decode().
template <class Key>
[[nodiscard]] Result<Key> decode_key(ByteSpan key) {
  Reader reader(Slice::copy_of(key));
  KM_TRY_VOID(reader.template integer<std::int16_t>());
  return Key::decode(reader, ApiVersion(0));
}

/// A value message after its version. Errors: UNSUPPORTED_VERSION for one we do not know, else as
/// decode().
template <class Value>
[[nodiscard]] Result<Value> decode_value(ByteSpan value) {
  Reader reader(Slice::copy_of(value));
  KM_TRY(version, reader.template integer<std::int16_t>());
  if (version < Value::kMinVersion.get() || version > Value::kMaxVersion.get()) {
    return kafka_error(ErrorCode::UNSUPPORTED_VERSION,
                       fmt::format("{} has version {}", Value::kName, version));
  }
  return Value::decode(reader, ApiVersion(version));
}

/// One uncompressed batch of `records`, offsets 0 …, create time `wall_ms`.
[[nodiscard]] Slice batch_of(std::span<const CoordinatorRecord> records, std::int64_t wall_ms);
/// How many of `records`, from the first, go into one batch of at most `limit_bytes`; at least one.
[[nodiscard]] std::size_t batch_length(std::span<const CoordinatorRecord> records,
                                       std::size_t limit_bytes);

}  // namespace kmirror::coordinator
