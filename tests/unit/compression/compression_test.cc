#include <gtest/gtest.h>

#include "kmirror/compression/compression.h"

namespace kmirror::compression {
namespace {

constexpr Compression kCodecs[] = {Compression::kGzip, Compression::kSnappy, Compression::kLz4,
                                   Compression::kZstd};

Slice text(std::size_t size) {
  std::string out;
  while (out.size() < size) out += "record " + std::to_string(out.size() * 7919 % 1000) + ' ';
  out.resize(size);
  return Slice::copy_of(out);
}

ErrorCode code(const Error& error) { return to_kafka_error(error); }

TEST(Compression, RoundTripOfEverySize) {
  for (const Compression codec : kCodecs) {
    for (const std::size_t size : {0UL, 1UL, 100UL, 32768UL, 32769UL, 200000UL}) {
      const Slice input = text(size);
      const auto packed = compress(codec, input);
      ASSERT_TRUE(packed) << packed.error().message;
      const auto unpacked = decompress(codec, *packed, size + 1);
      ASSERT_TRUE(unpacked) << static_cast<int>(codec) << " " << unpacked.error().message;
      EXPECT_EQ(unpacked->text(), input.text()) << static_cast<int>(codec) << " " << size;
    }
  }
}

TEST(Compression, OutputNeverExceedsTheLimit) {
  for (const Compression codec : kCodecs) {
    const auto packed = compress(codec, Slice::copy_of(std::string(5'000'000, 'x')));
    ASSERT_TRUE(packed);
    const auto unpacked = decompress(codec, *packed, 100'000);
    ASSERT_FALSE(unpacked) << static_cast<int>(codec);
    EXPECT_EQ(code(unpacked.error()), ErrorCode::MESSAGE_TOO_LARGE);
    EXPECT_TRUE(decompress(codec, *packed, 5'000'000));
  }
}

TEST(Compression, EveryCutIsCorrupt) {
  for (const Compression codec : kCodecs) {
    const auto packed = compress(codec, text(500));
    ASSERT_TRUE(packed);
    for (std::size_t size = 1; size < packed->size(); ++size) {
      const auto unpacked = decompress(codec, packed->sub(0, size), 10'000);
      // An xerial stream may end after its header: it is then empty.
      if (codec == Compression::kSnappy && size == 16) continue;
      ASSERT_FALSE(unpacked) << static_cast<int>(codec) << " cut at " << size;
      // Cut inside its header an xerial stream reads as a raw block of some absurd length.
      const ErrorCode expected = codec == Compression::kSnappy && size < 16 &&
                                         code(unpacked.error()) == ErrorCode::MESSAGE_TOO_LARGE
                                     ? ErrorCode::MESSAGE_TOO_LARGE
                                     : ErrorCode::CORRUPT_MESSAGE;
      EXPECT_EQ(code(unpacked.error()), expected) << static_cast<int>(codec) << " cut at " << size;
    }
  }
}

TEST(Compression, UnknownCodecIsNamed) {
  const auto unpacked = decompress(static_cast<Compression>(6), text(10), 100);
  ASSERT_FALSE(unpacked);
  EXPECT_EQ(code(unpacked.error()), ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
}

// Case G26: payloads of odd but valid framing.
TEST(Compression, OddFramesOfCaseG26) {
  const auto payload = [](std::string_view hex) { return Slice::take(from_hex(hex)); };
  const std::string record("\x16\0\0\0\x01\x0ahello\0", 12);
  EXPECT_EQ(decompress(Compression::kSnappy, payload("0c2c16000000010a68656c6c6f00"), 100)->text(),
            record);
  EXPECT_EQ(
      decompress(Compression::kSnappy,
                 payload("82534e415050590000000001000000010000000e0c2c16000000010a68656c6c6f00"),
                 100)
          ->text(),
      record);
  EXPECT_EQ(
      decompress(Compression::kSnappy,
                 payload("82534e415050590001000000010000000000000e0c2c16000000010a68656c6c6f00"),
                 100)
          ->text(),
      record);
  const auto two_members =
      decompress(Compression::kGzip,
                 payload("1f8b08000000000002031363606060e4ca48cdc9c9671063600000de5cbe280f000000"
                         "1f8b08000000000002036362e42acf2fca49610000ed4a0a2c09000000"),
                 100);
  ASSERT_TRUE(two_members) << two_members.error().message;
  EXPECT_NE(two_members->text().find("hello"), std::string_view::npos);
  EXPECT_NE(two_members->text().find("world"), std::string_view::npos);
  const Slice legacy = payload(
      "04224d1860401a1f00008000000000000000000000001387a77ab20000ffffffff"
      "0000000568656c6c6f00000000");
  EXPECT_FALSE(decompress(Compression::kLz4, legacy, 100));
  const auto repaired = decompress_legacy_lz4(legacy, 100);
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_TRUE(repaired->text().ends_with("hello"));
}

}  // namespace
}  // namespace kmirror::compression
