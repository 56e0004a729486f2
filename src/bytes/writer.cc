#include "kmirror/bytes/writer.h"

#include <bit>

#include <fmt/format.h>

#include "kmirror/base/check.h"

namespace kmirror {
namespace {

constexpr std::size_t kMaxShortString = 32767;
// Chains up to this size are copied into the buffer: a fragment of its own costs more.
constexpr std::size_t kCopyBelow = 512;

std::uint32_t zigzag(std::int32_t value) {
  return (static_cast<std::uint32_t>(value) << 1) ^ static_cast<std::uint32_t>(value >> 31);
}
std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

}  // namespace

void Writer::float64(double value) { integer(std::bit_cast<std::uint64_t>(value)); }

void Writer::unsigned_varint(std::uint32_t value) {
  while (value >= 0x80) {
    buffer_.push_back(static_cast<std::uint8_t>(value | 0x80));
    value >>= 7;
  }
  buffer_.push_back(static_cast<std::uint8_t>(value));
}

void Writer::varint(std::int32_t value) { unsigned_varint(zigzag(value)); }

void Writer::varlong(std::int64_t value) {
  std::uint64_t raw = zigzag(value);
  while (raw >= 0x80) {
    buffer_.push_back(static_cast<std::uint8_t>(raw | 0x80));
    raw >>= 7;
  }
  buffer_.push_back(static_cast<std::uint8_t>(raw));
}

Result<void> Writer::string(std::string_view text, bool flexible) {
  if (flexible) {
    unsigned_varint(static_cast<std::uint32_t>(text.size() + 1));
  } else {
    if (text.size() > kMaxShortString) {
      return bytes_error(BytesErrc::kTooLarge, fmt::format("string of {} bytes", text.size()));
    }
    integer(static_cast<std::int16_t>(text.size()));
  }
  raw(as_bytes(text));
  return {};
}

Result<void> Writer::nullable_string(const std::optional<std::string>& text, bool flexible) {
  if (text) return string(*text, flexible);
  if (flexible) {
    unsigned_varint(0);
  } else {
    integer<std::int16_t>(-1);
  }
  return {};
}

void Writer::array_length(std::size_t count, bool flexible) {
  if (flexible) {
    unsigned_varint(static_cast<std::uint32_t>(count + 1));
  } else {
    integer(static_cast<std::int32_t>(count));
  }
}

void Writer::null_array(bool flexible) {
  if (flexible) {
    unsigned_varint(0);
  } else {
    integer<std::int32_t>(-1);
  }
}

void Writer::bytes(ByteSpan bytes, bool flexible) {
  array_length(bytes.size(), flexible);
  raw(bytes);
}

void Writer::null_bytes(bool flexible) { null_array(flexible); }

void Writer::chain(ByteChain chain, bool flexible) {
  array_length(chain.size(), flexible);
  append(std::move(chain));
}

void Writer::append(ByteChain chain) {
  if (chain.size() <= kCopyBelow && !chain.has_files()) {
    for (const auto& fragment : chain.fragments()) raw(fragment.memory.span());
    return;
  }
  flush_buffer();
  chain_.append(std::move(chain));
}

void Writer::flush_buffer() {
  if (buffer_.empty()) return;
  chain_.append(Slice::take(std::move(buffer_)));
  buffer_ = {};
}

ByteChain Writer::take() {
  flush_buffer();
  ByteChain out = std::move(chain_);
  chain_ = {};
  return out;
}

Slice Writer::take_slice() {
  ByteChain out = take();
  KM_CHECK(!out.has_files(), "a message of {} bytes holds a file range", out.size());
  return *out.flatten();
}

std::size_t unsigned_varint_size(std::uint32_t value) {
  std::size_t size = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++size;
  }
  return size;
}

std::size_t varint_size(std::int32_t value) { return unsigned_varint_size(zigzag(value)); }

std::size_t varlong_size(std::int64_t value) {
  std::uint64_t raw = zigzag(value);
  std::size_t size = 1;
  while (raw >= 0x80) {
    raw >>= 7;
    ++size;
  }
  return size;
}

}  // namespace kmirror
