#include "kmirror/model/types.h"

#include <cstring>
#include <limits>

#include "kmirror/base/check.h"

namespace kmirror {
namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int base64_digit(char c) {
  const char* found = std::strchr(kAlphabet, c);
  return c != '\0' && found != nullptr ? static_cast<int>(found - kAlphabet) : -1;
}

}  // namespace

std::string Uuid::text() const {
  std::string out;
  out.reserve(22);
  unsigned bits = 0;
  unsigned count = 0;
  for (const std::uint8_t byte : bytes_) {
    bits = bits << 8 | byte;
    count += 8;
    while (count >= 6) {
      count -= 6;
      out += kAlphabet[(bits >> count) & 63];
    }
  }
  out += kAlphabet[(bits << (6 - count)) & 63];
  return out;
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() == 24 && text.ends_with("==")) text.remove_suffix(2);
  if (text.size() != 22) return std::nullopt;
  std::array<std::uint8_t, 16> bytes{};
  unsigned bits = 0;
  unsigned count = 0;
  std::size_t at = 0;
  for (const char c : text) {
    const int digit = base64_digit(c);
    if (digit < 0) return std::nullopt;
    bits = bits << 6 | static_cast<unsigned>(digit);
    count += 6;
    if (count >= 8 && at < bytes.size()) {
      count -= 8;
      bytes[at++] = static_cast<std::uint8_t>(bits >> count);
    }
  }
  return Uuid(bytes);
}

std::int32_t java_hash_code(std::string_view utf8) {
  // Java hashes UTF-16 units, so characters beyond ASCII are decoded first. Broken UTF-8 counts
  // byte by byte: such a name cannot exist in Kafka.
  std::uint32_t hash = 0;
  const auto unit = [&hash](std::uint32_t u) { hash = hash * 31 + u; };
  for (std::size_t i = 0; i < utf8.size();) {
    const auto b = static_cast<std::uint8_t>(utf8[i]);
    const std::size_t length = b < 0x80 ? 1 : b < 0xc0 ? 1 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : 4;
    if (length == 1 || i + length > utf8.size()) {
      unit(b);
      ++i;
      continue;
    }
    std::uint32_t code = b & (0xffU >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) {
      code = code << 6 | (static_cast<std::uint8_t>(utf8[i + k]) & 0x3fU);
    }
    if (code >= 0x10000) {
      unit(0xd800 + ((code - 0x10000) >> 10));
      unit(0xdc00 + ((code - 0x10000) & 0x3ff));
    } else {
      unit(code);
    }
    i += length;
  }
  return static_cast<std::int32_t>(hash);
}

std::int32_t partition_for_hash(std::int32_t hash, std::int32_t count) {
  KM_CHECK(count >= 1, "partition count {}", count);
  const std::int32_t positive =
      hash == std::numeric_limits<std::int32_t>::min() ? 0 : (hash < 0 ? -hash : hash);
  return positive % count;
}

}  // namespace kmirror

std::size_t std::hash<kmirror::Uuid>::operator()(const kmirror::Uuid& v) const noexcept {
  std::size_t high = 0;
  std::size_t low = 0;
  std::memcpy(&high, v.bytes().data(), 8);
  std::memcpy(&low, v.bytes().data() + 8, 8);
  return high ^ (low * 0x9e3779b97f4a7c15ULL);
}
