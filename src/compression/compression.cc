#include "kmirror/compression/compression.h"

#include "compression/codecs.h"

namespace kmirror::compression {
namespace {

constexpr std::size_t kMagicBytes = 4;
constexpr std::uint8_t kContentSizeFlag = 0x08;
constexpr std::uint8_t kDictionaryFlag = 0x01;

std::uint32_t rotate(std::uint32_t value, int count) {
  return value << count | value >> (32 - count);
}

// XXH32 with seed 0 of fewer than 16 bytes: all that an lz4 frame header needs.
// Sources: xxHash specification, "XXH32", finalization for short input.
std::uint32_t short_xxh32(ByteSpan bytes) {
  constexpr std::uint32_t kPrime1 = 2654435761U;
  constexpr std::uint32_t kPrime2 = 2246822519U;
  constexpr std::uint32_t kPrime3 = 3266489917U;
  constexpr std::uint32_t kPrime4 = 668265263U;
  constexpr std::uint32_t kPrime5 = 374761393U;
  std::uint32_t hash = kPrime5 + static_cast<std::uint32_t>(bytes.size());
  std::size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4) {
    const std::uint32_t word = static_cast<std::uint32_t>(bytes[i]) | bytes[i + 1] << 8 |
                               bytes[i + 2] << 16 | static_cast<std::uint32_t>(bytes[i + 3]) << 24;
    hash = rotate(hash + word * kPrime3, 17) * kPrime4;
  }
  for (; i < bytes.size(); ++i) hash = rotate(hash + bytes[i] * kPrime5, 11) * kPrime1;
  hash = (hash ^ (hash >> 15)) * kPrime2;
  hash = (hash ^ (hash >> 13)) * kPrime3;
  return hash ^ (hash >> 16);
}

}  // namespace

Result<Slice> compress(Compression codec, Slice input) {
  switch (codec) {
    case Compression::kNone:
      return input;
    case Compression::kGzip:
      return gzip_compress(input.span());
    case Compression::kSnappy:
      return snappy_compress(input.span());
    case Compression::kLz4:
      return lz4_compress(input.span());
    case Compression::kZstd:
      return zstd_compress(input.span());
  }
  return kafka_error(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE,
                     fmt::format("compression type {}", static_cast<int>(codec)));
}

Result<Slice> decompress(Compression codec, Slice input, std::size_t output_limit_bytes) {
  switch (codec) {
    case Compression::kNone:
      if (input.size() > output_limit_bytes) return too_large("none", output_limit_bytes);
      return input;
    case Compression::kGzip:
      return gzip_decompress(input.span(), output_limit_bytes);
    case Compression::kSnappy:
      return snappy_decompress(input.span(), output_limit_bytes);
    case Compression::kLz4:
      return lz4_decompress(input.span(), output_limit_bytes);
    case Compression::kZstd:
      return zstd_decompress(input.span(), output_limit_bytes);
  }
  return kafka_error(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE,
                     fmt::format("compression type {}", static_cast<int>(codec)));
}

Result<Slice> decompress_legacy_lz4(Slice input, std::size_t output_limit_bytes) {
  if (input.size() < kMagicBytes + 3) return corrupt("lz4", "cut inside the frame header");
  // Kafka's first writers checksummed magic and descriptor; the frame format wants the descriptor
  // alone. The right checksum is put in place, whatever stands there: it guards nothing else.
  const std::uint8_t flags = input.data()[kMagicBytes];
  const std::size_t descriptor =
      2 + ((flags & kContentSizeFlag) != 0 ? 8 : 0) + ((flags & kDictionaryFlag) != 0 ? 4 : 0);
  if (input.size() <= kMagicBytes + descriptor)
    return corrupt("lz4", "cut inside the frame header");
  Bytes repaired(input.data(), input.data() + input.size());
  const ByteSpan header(repaired.data() + kMagicBytes, descriptor);
  repaired[kMagicBytes + descriptor] = static_cast<std::uint8_t>(short_xxh32(header) >> 8);
  return lz4_decompress(repaired, output_limit_bytes);
}

}  // namespace kmirror::compression
