// RecordView and RecordCursor: the records of a magic-2 batch, walked in place without allocation.
// Owner: any thread; views point into the bytes that were given.
// Sources: Kafka 4.4 DefaultRecord; docs/formats/record-batch.md.
#pragma once

#include <cstdint>
#include <optional>

#include "kmirror/base/result.h"
#include "kmirror/bytes/slice.h"

namespace kmirror {

/// One record as stored. Absolute offset and time: base of the batch plus delta.
struct RecordView {
  RecordView() = default;
  ByteSpan whole;  ///< with its length prefix
  std::int8_t attributes = 0;
  std::int64_t timestamp_delta = 0;
  std::int32_t offset_delta = 0;
  std::optional<ByteSpan> key;
  std::optional<ByteSpan> value;
  std::int32_t header_count = 0;
  ByteSpan headers;  ///< the headers' bytes, without the count
};

struct RecordHeaderView {
  RecordHeaderView() = default;
  ByteSpan key;
  std::optional<ByteSpan> value;
};

class RecordCursor {
 public:
  /// `payload`: the decompressed records after the batch header.
  explicit RecordCursor(ByteSpan payload) : rest_(payload) {}

  /// The next record, or nothing when the payload is used up. Every length is checked, headers
  /// included. Error: INVALID_RECORD naming the field that does not fit.
  [[nodiscard]] Result<std::optional<RecordView>> next();
  [[nodiscard]] std::size_t left_over_bytes() const { return rest_.size(); }

 private:
  ByteSpan rest_;
};

/// Walks the headers of one record.
class HeaderCursor {
 public:
  explicit HeaderCursor(const RecordView& record)
      : rest_(record.headers), left_(record.header_count) {}
  /// The next header, or nothing at the end. Error: INVALID_RECORD (never after RecordCursor).
  [[nodiscard]] Result<std::optional<RecordHeaderView>> next();

 private:
  ByteSpan rest_;
  std::int32_t left_;
};

}  // namespace kmirror
