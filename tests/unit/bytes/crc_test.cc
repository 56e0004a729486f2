#include <gtest/gtest.h>

#include "kmirror/bytes/crc32.h"
#include "kmirror/bytes/crc32c.h"

namespace kmirror {
namespace {

Bytes filled(std::size_t size, std::uint8_t first, int step) {
  Bytes out(size);
  int value = first;
  for (auto& b : out) {
    b = static_cast<std::uint8_t>(value);
    value += step;
  }
  return out;
}

// RFC 3720, appendix B.4.
TEST(Crc32c, KnownVectors) {
  EXPECT_EQ(crc32c(as_bytes("")), 0U);
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32c(filled(32, 0, 0)), 0x8a9136aaU);
  EXPECT_EQ(crc32c(filled(32, 0xff, 0)), 0x62a8ab43U);
  EXPECT_EQ(crc32c(filled(32, 0, 1)), 0x46dd794eU);
  EXPECT_EQ(crc32c(filled(32, 31, -1)), 0x113fdb5cU);
}

std::uint32_t bit_by_bit(ByteSpan bytes, std::uint32_t polynomial) {
  std::uint32_t crc = 0xffffffffU;
  for (const std::uint8_t b : bytes) {
    crc ^= b;
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
  }
  return ~crc;
}

TEST(Crc32c, EveryLengthAndSplitAgreesWithTheDefinition) {
  Bytes data(10'000);
  std::uint32_t x = 1;
  for (auto& b : data) {
    x = x * 1664525 + 1013904223;
    b = static_cast<std::uint8_t>(x >> 24);
  }
  for (const std::size_t n : {0UL, 1UL, 7UL, 8UL, 9UL, 63UL, 1024UL, 3071UL, 3072UL, 3073UL, 6143UL,
                              6144UL, 6151UL, 9999UL}) {
    const ByteSpan part = ByteSpan(data).subspan(1, n);
    EXPECT_EQ(crc32c(part), bit_by_bit(part, 0x82f63b78)) << n;
    EXPECT_EQ(crc32(part), bit_by_bit(part, 0xedb88320)) << n;
    const std::size_t half = n / 3;
    EXPECT_EQ(crc32c(part.subspan(half), crc32c(part.first(half))), crc32c(part)) << n;
    EXPECT_EQ(crc32(part.subspan(half), crc32(part.first(half))), crc32(part)) << n;
  }
}

TEST(Crc32, KnownVectors) {
  EXPECT_EQ(crc32(as_bytes("")), 0U);
  EXPECT_EQ(crc32(as_bytes("123456789")), 0xcbf43926U);
}

}  // namespace
}  // namespace kmirror
