// FrameDecoder: what is refused before any memory is taken, and how frames come out of any split.
#include "server/frame_decoder.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "kmirror/model/error_code.h"

namespace kmirror::server {
namespace {

constexpr std::int32_t kMax = 104'857'600;

// Feeds `bytes` in pieces of `step`; stops at the first error.
Result<void> feed(FrameDecoder& decoder, ByteSpan bytes, std::size_t step, std::size_t& fed) {
  fed = 0;
  while (fed < bytes.size()) {
    if (decoder.head_is_complete() && decoder.want().empty()) {
      if (decoder.is_complete()) break;
      decoder.reserve();
      if (decoder.is_complete()) break;
    }
    const auto into = decoder.want();
    const std::size_t count = std::min({step, into.size(), bytes.size() - fed});
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(fed), count, into.begin());
    fed += count;
    KM_TRY_VOID(decoder.arrived(count));
  }
  return {};
}

TEST(FrameDecoder, takes_a_frame_from_any_split_and_starts_over) {
  const Bytes frame = from_hex("0000000c001200630000000700017400");
  for (std::size_t step = 1; step <= frame.size(); ++step) {
    FrameDecoder decoder(kMax);
    for (int round = 0; round < 2; ++round) {
      std::size_t fed = 0;
      ASSERT_TRUE(feed(decoder, frame, step, fed)) << step;
      EXPECT_EQ(fed, frame.size());
      ASSERT_TRUE(decoder.is_complete());
      EXPECT_EQ(decoder.api_key(), ApiKey(18));
      EXPECT_EQ(decoder.api_version(), ApiVersion(99));
      EXPECT_EQ(to_hex(decoder.take().span()), "001200630000000700017400");
      EXPECT_TRUE(decoder.at_start());
    }
  }
}

TEST(FrameDecoder, never_asks_beyond_the_frame) {
  FrameDecoder decoder(kMax);
  EXPECT_EQ(decoder.want().size(), FrameDecoder::kHeadBytes);
  const Bytes frame = from_hex("0000000a00120000000000010001");
  std::size_t fed = 0;
  ASSERT_TRUE(feed(decoder, frame, 3, fed));
  EXPECT_TRUE(decoder.is_complete());
  EXPECT_TRUE(decoder.want().empty());
}

TEST(FrameDecoder, refuses_lengths_as_soon_as_four_bytes_are_there) {
  // A TLS hello, the greatest length, a negative one, one too short, one above the limit (G05).
  for (const char* hex : {"16030102", "7fffffff", "80000000", "00000007", "06400001"}) {
    FrameDecoder decoder(kMax);
    std::size_t fed = 0;
    const auto result = feed(decoder, from_hex(hex), 1, fed);
    ASSERT_FALSE(result) << hex;
    EXPECT_EQ(fed, 4U) << hex;
    EXPECT_EQ(to_kafka_error(result.error()), ErrorCode::INVALID_REQUEST);
  }
}

TEST(FrameDecoder, takes_the_greatest_length_without_reserving_it) {
  FrameDecoder decoder(kMax);
  std::size_t fed = 0;
  ASSERT_TRUE(feed(decoder, from_hex("06400000000300010000"), 10, fed));
  EXPECT_FALSE(decoder.head_is_complete());
}

}  // namespace
}  // namespace kmirror::server
