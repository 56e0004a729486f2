#include "kmirror/model/record.h"

#include <fmt/format.h>

#include "kmirror/model/error_code.h"

namespace kmirror {
namespace {

Error invalid(std::string_view field) {
  return kafka_error(ErrorCode::INVALID_RECORD,
                     fmt::format("record: {} does not fit in its bytes", field));
}

// Zigzag varints of up to 32 and 64 bits; false at the end of the bytes or if one is too long.
bool take_varlong(ByteSpan& rest, std::int64_t& value, unsigned bits) {
  std::uint64_t raw = 0;
  std::size_t at = 0;
  for (unsigned shift = 0; shift < bits; shift += 7) {
    if (at == rest.size()) return false;
    const std::uint8_t byte = rest[at++];
    raw |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) != 0) continue;
    if (bits == 32 && raw > 0xffffffffULL) return false;
    value = static_cast<std::int64_t>((raw >> 1) ^ (~(raw & 1) + 1));
    rest = rest.subspan(at);
    return true;
  }
  return false;
}

bool take_varint(ByteSpan& rest, std::int32_t& value) {
  std::int64_t wide = 0;
  if (!take_varlong(rest, wide, 32)) return false;
  value = static_cast<std::int32_t>(wide);
  return true;
}

// A varint length and as many bytes; -1 is null.
bool take_bytes(ByteSpan& rest, std::optional<ByteSpan>& out) {
  std::int32_t length = 0;
  if (!take_varint(rest, length)) return false;
  if (length == -1) {
    out.reset();
    return true;
  }
  if (length < 0 || static_cast<std::size_t>(length) > rest.size()) return false;
  out = rest.first(static_cast<std::size_t>(length));
  rest = rest.subspan(static_cast<std::size_t>(length));
  return true;
}

bool take_header(ByteSpan& rest, RecordHeaderView& header) {
  std::optional<ByteSpan> key;
  if (!take_bytes(rest, key) || !key) return false;
  header.key = *key;
  return take_bytes(rest, header.value);
}

}  // namespace

Result<std::optional<RecordView>> RecordCursor::next() {
  if (rest_.empty()) return std::optional<RecordView>{};
  ByteSpan rest = rest_;
  std::int32_t length = 0;
  if (!take_varint(rest, length) || length < 0 || static_cast<std::size_t>(length) > rest.size()) {
    return invalid("its length");
  }
  const std::size_t prefix = rest_.size() - rest.size();
  RecordView record;
  record.whole = rest_.first(prefix + static_cast<std::size_t>(length));
  ByteSpan body = rest.first(static_cast<std::size_t>(length));
  if (body.empty()) return invalid("the attributes field");
  record.attributes = static_cast<std::int8_t>(body[0]);
  body = body.subspan(1);
  if (!take_varlong(body, record.timestamp_delta, 64)) return invalid("the timestamp delta");
  if (!take_varint(body, record.offset_delta)) return invalid("the offset delta");
  if (!take_bytes(body, record.key)) return invalid("the key");
  if (!take_bytes(body, record.value)) return invalid("the value");
  if (!take_varint(body, record.header_count) || record.header_count < 0) {
    return invalid("the header count");
  }
  record.headers = body;
  RecordHeaderView header;
  for (std::int32_t i = 0; i < record.header_count; ++i) {
    if (!take_header(body, header)) return invalid("a header");
  }
  if (!body.empty()) return invalid("what follows the headers");
  rest_ = rest_.subspan(record.whole.size());
  return std::optional<RecordView>{record};
}

Result<std::optional<RecordHeaderView>> HeaderCursor::next() {
  if (left_ <= 0) return std::optional<RecordHeaderView>{};
  RecordHeaderView header;
  if (!take_header(rest_, header)) return invalid("a header");
  --left_;
  return std::optional<RecordHeaderView>{header};
}

}  // namespace kmirror
