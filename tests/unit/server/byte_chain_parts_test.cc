#include "server/byte_chain_parts.h"

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

namespace kmirror::server {
namespace {

class Letters final : public ByteSource {
 public:
  Result<std::size_t> read_at(std::uint64_t position, std::span<std::uint8_t> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<std::uint8_t>('a' + (position + i) % 26);
    }
    return out.size();
  }
};

ByteChain sample() {
  ByteChain chain(Slice::copy_of(std::string_view("012345")));
  FileRange range;
  range.source = std::make_shared<Letters>();
  range.position = 2;
  range.size = 10;
  chain.append(range);
  chain.append(Slice::copy_of(std::string_view("xyz")));
  return chain;
}

TEST(TakeFront, every_split_keeps_all_bytes_in_order) {
  const std::string whole = "012345cdefghijklxyz";
  for (std::size_t step = 1; step <= whole.size() + 1; ++step) {
    ByteChain chain = sample();
    std::string joined;
    while (!chain.empty()) {
      const ByteChain piece = take_front(chain, step);
      ASSERT_LE(piece.size(), step);
      ASSERT_GT(piece.size(), 0U);
      joined += std::string(piece.flatten()->text());
    }
    EXPECT_EQ(joined, whole) << step;
  }
}

}  // namespace
}  // namespace kmirror::server
