#include <array>
#include <cstring>

#include <snappy.h>

#include "compression/codecs.h"
#include "kmirror/bytes/endian.h"

namespace kmirror::compression {
namespace {

// snappy-java's stream header: magic, then two words (version, lowest compatible version).
constexpr std::array<std::uint8_t, 8> kXerialMagic{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
constexpr std::size_t kXerialHeaderBytes = 16;
constexpr std::size_t kXerialBlockBytes = 32 * 1024;

const char* chars(const std::uint8_t* bytes) { return reinterpret_cast<const char*>(bytes); }

bool is_xerial(ByteSpan input) {
  return input.size() >= kXerialHeaderBytes &&
         std::memcmp(input.data(), kXerialMagic.data(), kXerialMagic.size()) == 0;
}

// Appends one raw snappy block to `out`.
Result<void> append_block(ByteSpan block, std::size_t limit, Bytes& out) {
  std::size_t size = 0;
  if (!snappy::GetUncompressedLength(chars(block.data()), block.size(), &size)) {
    return corrupt("snappy", "broken length");
  }
  if (size > limit - out.size()) return too_large("snappy", limit);
  // A length is a promise of the sender: memory is taken only for blocks that hold.
  if (!snappy::IsValidCompressedBuffer(chars(block.data()), block.size())) {
    return corrupt("snappy", "broken block");
  }
  const std::size_t at = out.size();
  out.resize(at + size);
  if (!snappy::RawUncompress(chars(block.data()), block.size(),
                             reinterpret_cast<char*>(out.data() + at))) {
    return corrupt("snappy", "broken block");
  }
  return {};
}

}  // namespace

Result<Slice> snappy_compress(ByteSpan input) {
  Bytes out(kXerialHeaderBytes);
  std::memcpy(out.data(), kXerialMagic.data(), kXerialMagic.size());
  store_be<std::int32_t>(out.data() + 8, 1);
  store_be<std::int32_t>(out.data() + 12, 1);
  while (!input.empty()) {
    const ByteSpan block = input.first(std::min(input.size(), kXerialBlockBytes));
    input = input.subspan(block.size());
    const std::size_t at = out.size();
    out.resize(at + 4 + snappy::MaxCompressedLength(block.size()));
    std::size_t size = 0;
    snappy::RawCompress(chars(block.data()), block.size(),
                        reinterpret_cast<char*>(out.data() + at + 4), &size);
    store_be<std::int32_t>(out.data() + at, static_cast<std::int32_t>(size));
    out.resize(at + 4 + size);
  }
  return Slice::take(std::move(out));
}

Result<Slice> snappy_decompress(ByteSpan input, std::size_t limit) {
  Bytes out;
  if (!is_xerial(input)) {
    KM_TRY_VOID(append_block(input, limit, out));
    return Slice::take(std::move(out));
  }
  ByteSpan rest = input.subspan(kXerialHeaderBytes);
  while (!rest.empty()) {
    if (rest.size() < 4) return corrupt("snappy", "cut inside a block length");
    const std::int32_t length = load_be<std::int32_t>(rest.data());
    rest = rest.subspan(4);
    if (length < 0 || static_cast<std::size_t>(length) > rest.size()) {
      return corrupt("snappy", "block length beyond the input");
    }
    const auto size = static_cast<std::size_t>(length);
    KM_TRY_VOID(append_block(rest.first(size), limit, out));
    rest = rest.subspan(size);
  }
  return Slice::take(std::move(out));
}

}  // namespace kmirror::compression
