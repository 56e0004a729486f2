#include "kmirror/bytes/reader.h"

#include <bit>

#include <fmt/format.h>

#include "kmirror/base/error_category.h"

namespace kmirror {
namespace {

std::string words(int code) {
  switch (static_cast<BytesErrc>(code)) {
    case BytesErrc::kTruncated:
      return "the frame ends inside a value";
    case BytesErrc::kBadLength:
      return "a length does not fit in the frame";
    case BytesErrc::kBadVarint:
      return "a varint is too long";
    case BytesErrc::kBadValue:
      return "a value is not allowed here";
    case BytesErrc::kTooLarge:
      return "a value is too long for its length field";
  }
  return "unknown";
}

}  // namespace

const boost::system::error_category& bytes_category() {
  static const NamedCategory category("bytes", &words);
  return category;
}

Error Reader::truncated(std::size_t wanted) const {
  return bytes_error(BytesErrc::kTruncated,
                     fmt::format("the frame ends at byte {}: {} wanted, {} left", frame_.size(),
                                 wanted, remaining()));
}

Result<bool> Reader::boolean() {
  KM_TRY(value, integer<std::uint8_t>());
  return value != 0;
}

Result<double> Reader::float64() {
  KM_TRY(bits, integer<std::uint64_t>());
  return std::bit_cast<double>(bits);
}

Result<std::uint32_t> Reader::unsigned_varint() {
  std::uint32_t value = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    if (remaining() == 0) return truncated(1);
    const std::uint8_t byte = frame_.data()[position_++];
    if (shift == 28 && (byte & 0x70) != 0) break;
    value |= static_cast<std::uint32_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return bytes_error(BytesErrc::kBadVarint,
                     fmt::format("varint of more than 32 bits at byte {}", position_));
}

Result<std::int32_t> Reader::varint() {
  KM_TRY(raw, unsigned_varint());
  return static_cast<std::int32_t>((raw >> 1) ^ (~(raw & 1) + 1));
}

Result<std::int64_t> Reader::varlong() {
  std::uint64_t raw = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (remaining() == 0) return truncated(1);
    const std::uint8_t byte = frame_.data()[position_++];
    if (shift == 63 && (byte & 0x7e) != 0) break;
    raw |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return static_cast<std::int64_t>((raw >> 1) ^ (~(raw & 1) + 1));
  }
  return bytes_error(BytesErrc::kBadVarint,
                     fmt::format("varint of more than 64 bits at byte {}", position_));
}

Result<Slice> Reader::slice(std::size_t count) {
  if (remaining() < count) return truncated(count);
  Slice part = frame_.sub(position_, count);
  position_ += count;
  return part;
}

Result<void> Reader::skip(std::size_t count) {
  if (remaining() < count) return truncated(count);
  position_ += count;
  return {};
}

// `wide` selects the 32-bit prefix of bytes and arrays; strings have 16 bits.
Result<std::optional<std::size_t>> Reader::length(bool flexible, bool wide) {
  std::int64_t count = 0;
  if (flexible) {
    KM_TRY(raw, unsigned_varint());
    count = static_cast<std::int64_t>(raw) - 1;
  } else if (wide) {
    KM_TRY(raw, integer<std::int32_t>());
    count = raw;
  } else {
    KM_TRY(raw, integer<std::int16_t>());
    count = raw;
  }
  if (count == -1) return std::optional<std::size_t>{};
  if (count < 0) {
    return bytes_error(BytesErrc::kBadLength,
                       fmt::format("length {} at byte {}", count, position_));
  }
  return std::optional<std::size_t>{static_cast<std::size_t>(count)};
}

Result<std::optional<std::string>> Reader::nullable_string(bool flexible) {
  KM_TRY(count, length(flexible, false));
  if (!count) return std::optional<std::string>{};
  KM_TRY(part, slice(*count));
  return std::optional<std::string>{std::string(part.text())};
}

Result<std::string> Reader::string(bool flexible) {
  KM_TRY(text, nullable_string(flexible));
  if (!text) return bytes_error(BytesErrc::kBadValue, "null where a string must be");
  return std::move(*text);
}

Result<std::optional<Slice>> Reader::nullable_bytes(bool flexible) {
  KM_TRY(count, length(flexible, true));
  if (!count) return std::optional<Slice>{};
  KM_TRY(part, slice(*count));
  return std::optional<Slice>{std::move(part)};
}

Result<Slice> Reader::bytes(bool flexible) {
  KM_TRY(part, nullable_bytes(flexible));
  if (!part) return bytes_error(BytesErrc::kBadValue, "null where bytes must be");
  return std::move(*part);
}

Result<std::optional<std::size_t>> Reader::array_length(bool flexible,
                                                        std::size_t min_element_bytes) {
  KM_TRY(count, length(flexible, true));
  if (!count) return count;
  const std::size_t least = min_element_bytes == 0 ? 1 : min_element_bytes;
  if (*count > remaining() / least) {
    return bytes_error(BytesErrc::kBadLength,
                       fmt::format("array of {} elements in {} bytes", *count, remaining()));
  }
  return count;
}

}  // namespace kmirror
