#include "kmirror/bytes/slice.h"

#include "kmirror/base/check.h"

namespace kmirror {

Slice Slice::take(Bytes bytes) {
  auto owner = std::make_shared<const Bytes>(std::move(bytes));
  const ByteSpan span{owner->data(), owner->size()};
  return {std::move(owner), span};
}

Slice Slice::copy_of(ByteSpan bytes) { return take(Bytes(bytes.begin(), bytes.end())); }

Slice Slice::copy_of(std::string_view text) { return copy_of(as_bytes(text)); }

Slice Slice::sub(std::size_t offset, std::size_t count) const {
  KM_CHECK(offset <= size() && count <= size() - offset, "slice of {} bytes: {} at {}", size(),
           count, offset);
  return {owner_, bytes_.subspan(offset, count)};
}

std::string to_hex(ByteSpan bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::uint8_t b : bytes) {
    out += kDigits[b >> 4];
    out += kDigits[b & 15];
  }
  return out;
}

Bytes from_hex(std::string_view text) {
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    KM_CHECK(false, "not a hexadecimal digit: {}", c);
    return 0;
  };
  KM_CHECK(text.size() % 2 == 0, "odd number of hexadecimal digits: {}", text.size());
  Bytes out(text.size() / 2);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::uint8_t>(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  }
  return out;
}

}  // namespace kmirror
