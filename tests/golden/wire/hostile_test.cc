// Every message and version against bytes that end too early or lie about lengths.
// What must hold: an error or a message, and memory only for what the frame really holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "golden/wire/samples.h"
#include "kmirror/wire/decoder.h"

namespace {

// The largest allocation since the last reset, counted while watched.
std::size_t largest_allocation = 0;

void* allocate(std::size_t size) {
  if (size > largest_allocation) largest_allocation = size;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace kmirror::wire::test {
namespace {

constexpr std::uint64_t kSeed = 7;
// Room for the words of an error.
constexpr std::size_t kErrorTextBytes = 512;
// Elements that are really there may be larger in memory than on the wire, and a growing vector
// takes up to twice what it holds; a length that lies must not add anything to that.
constexpr std::size_t kElementGrowth = 8;
// Enough for every field of every message; the time grows with the square of it.
constexpr std::size_t kMaxBytesToCut = 500;
constexpr std::size_t kMaxBytesToLieIn = 200;

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const MessageCodec& codec : registry()) all.emplace_back(codec.name);
  return all;
}

std::vector<Sample> samples_of(const std::string& name) {
  std::vector<Sample> samples;
  for (Sample& sample : make_samples(kSeed, name)) {
    if (sample.name == name && sample.bytes.size() <= kMaxBytesToCut)
      samples.push_back(std::move(sample));
  }
  return samples;
}

class WireHostileOf : public testing::TestWithParam<std::string> {};

TEST_P(WireHostileOf, EveryTruncationIsAnError) {
  const MessageCodec* codec = find_message(GetParam());
  ASSERT_NE(codec, nullptr);
  for (const Sample& sample : samples_of(GetParam())) {
    const Slice whole = Slice::copy_of(sample.bytes);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      largest_allocation = 0;
      const auto result = codec->decode(whole.sub(0, size), sample.version);
      ASSERT_FALSE(result) << "version " << sample.version.get() << ", " << size << " of "
                           << whole.size() << " bytes of " << to_hex(sample.bytes);
      EXPECT_NE(result.error().message.find(GetParam()), std::string::npos);
    }
  }
}

// Lengths of every width, put over every place: some hit a length, and then lie about it.
TEST_P(WireHostileOf, LyingLengthsAllocateNothingOfTheirOwn) {
  static const Bytes kLies[] = {
      from_hex("7fffffff"),     from_hex("80000000"),   from_hex("fffffffe"),
      from_hex("0fffffff"),     from_hex("ffffffff0f"), from_hex("ffffffff07"),
      from_hex("ffffffffff7f"), from_hex("8080808008"), from_hex("7fff"),
      from_hex("8000"),         from_hex("ffff7f"),
  };
  const MessageCodec* codec = find_message(GetParam());
  ASSERT_NE(codec, nullptr);
  for (const Sample& sample : samples_of(GetParam())) {
    if (sample.bytes.size() > kMaxBytesToLieIn) continue;
    const auto bytes = std::make_shared<Bytes>(sample.bytes);
    const Slice frame(bytes, *bytes);
    for (const Bytes& lie : kLies) {
      for (std::size_t at = 0; at + lie.size() <= bytes->size(); ++at) {
        std::copy(lie.begin(), lie.end(), bytes->begin() + static_cast<std::ptrdiff_t>(at));
        largest_allocation = 0;
        const auto result = codec->decode(frame, sample.version);
        ASSERT_LE(largest_allocation, kElementGrowth * frame.size() + kErrorTextBytes)
            << "version " << sample.version.get() << ", lie at " << at << " of "
            << to_hex(frame.span());
        std::copy_n(sample.bytes.begin() + static_cast<std::ptrdiff_t>(at), lie.size(),
                    bytes->begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
  }
}

// Frames of nothing but the smallest elements: zeros behind an array's length that fills the frame.
TEST_P(WireHostileOf, EmptyElementsStayWithinTheExpansion) {
  constexpr std::size_t kFrameBytes = 1 << 16;
  constexpr std::size_t kLimit = 2 * (kMaxExpansion * kFrameBytes + kFreeElementBytes);
  const MessageCodec* codec = find_message(GetParam());
  ASSERT_NE(codec, nullptr);
  const auto bytes = std::make_shared<Bytes>(kFrameBytes);
  const Slice frame(bytes, *bytes);
  for (int version = codec->min.get(); version <= codec->max.get(); ++version) {
    const ApiVersion api_version(static_cast<std::int16_t>(version));
    for (std::size_t at = 0; at < 24; ++at) {
      for (const Bytes& length :
           {from_hex("0000ffff"), from_hex("00004000"), from_hex("ffff0f"), from_hex("ffff03")}) {
        std::copy(length.begin(), length.end(), bytes->begin() + static_cast<std::ptrdiff_t>(at));
        largest_allocation = 0;
        const auto result = codec->decode(frame, api_version);
        ASSERT_LE(largest_allocation, kLimit) << "version " << version << ", length at " << at;
        std::fill_n(bytes->begin() + static_cast<std::ptrdiff_t>(at), length.size(),
                    std::uint8_t{0});
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, WireHostileOf, testing::ValuesIn(names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace kmirror::wire::test
