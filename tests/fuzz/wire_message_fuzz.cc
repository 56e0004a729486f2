// Every message and version: two bytes choose the message, one the version, the rest is its frame.
// What must hold: no more than an error; and what decodes, encodes, and then stays the same.
#include "fuzz/fuzz.h"
#include "golden/wire/samples.h"
#include "kmirror/base/check.h"

namespace kmirror::fuzz {
namespace {

constexpr std::uint64_t kSeed = 11;
constexpr std::size_t kHeadBytes = 3;

void run_one(const wire::test::MessageCodec& codec, ApiVersion version, ByteSpan frame) {
  const Slice bytes = Slice::copy_of(frame);
  const auto decoded = codec.decode(bytes, version);
  if (!decoded) {
    KM_CHECK(decoded.error().message.starts_with(codec.name), "an error without its place: {}",
             decoded.error().message);
    return;
  }
  const auto first = codec.recode(bytes, version);
  KM_CHECK(first.has_value(), "{} {}: cannot encode what it decoded: {}", codec.name, version,
           first.error().message);
  KM_CHECK(first->size == first->bytes.size(), "{} {}: size {} of {} bytes", codec.name, version,
           first->size, first->bytes.size());
  const auto second = codec.recode(Slice::copy_of(first->bytes), version);
  KM_CHECK(second.has_value(), "{} {}: cannot read its own bytes: {}", codec.name, version,
           second.error().message);
  KM_CHECK(second->bytes == first->bytes, "{} {}: other bytes the second time", codec.name,
           version);
  KM_CHECK(second->json == first->json, "{} {}: other values the second time", codec.name, version);
  KM_CHECK(second->left == 0, "{} {}: {} bytes left over", codec.name, version, second->left);
}

}  // namespace

std::vector<Bytes> fuzz_seeds() {
  std::vector<Bytes> seeds;
  for (const wire::test::Sample& sample : wire::test::make_samples(kSeed)) {
    if (sample.bytes.size() > 1000) continue;
    const wire::test::MessageCodec* codec = wire::test::find_message(sample.name);
    const auto index = static_cast<std::size_t>(codec - wire::test::registry().data());
    Bytes seed = {static_cast<std::uint8_t>(index >> 8), static_cast<std::uint8_t>(index),
                  static_cast<std::uint8_t>(sample.version.get() - codec->min.get())};
    seed.insert(seed.end(), sample.bytes.begin(), sample.bytes.end());
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

}  // namespace kmirror::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kmirror::fuzz::kHeadBytes) return 0;
  const auto& all = kmirror::wire::test::registry();
  const auto& codec = all[(std::size_t{data[0]} << 8 | data[1]) % all.size()];
  const int versions = codec.max.get() - codec.min.get() + 1;
  const int version = codec.min.get() + data[2] % versions;
  kmirror::fuzz::run_one(codec, kmirror::ApiVersion(static_cast<std::int16_t>(version)),
                         {data + kmirror::fuzz::kHeadBytes, size - kmirror::fuzz::kHeadBytes});
  return 0;
}
