#include "golden/wire/samples.h"

#include <fstream>
#include <iterator>

#include "golden/wire/random_filler.h"
#include "kmirror/base/check.h"

namespace kmirror::wire::test {

std::size_t RandomFiller::below(std::size_t bound) { return random_() % bound; }

std::size_t RandomFiller::length() {
  const bool is_long = kind_ == SampleKind::kLong && below(6) == 0;
  return is_long ? 128 + below(300) : below(9);
}

std::size_t RandomFiller::array_size() {
  switch (kind_) {
    case SampleKind::kDefaults:
    case SampleKind::kNulls:
      return 0;
    case SampleKind::kLong:
      return depth_ <= 1 ? 120 + below(20) : below(2);
    case SampleKind::kMixed:
      return below(4);
  }
  return 0;
}

std::string RandomFiller::text() {
  static constexpr const char* kWords[] = {"\"", "\\", "\n", "\x7f", "é", "漢", "😀"};
  std::string out;
  const std::size_t count =
      kind_ == SampleKind::kLong && below(200) == 0 ? std::size_t{17000} : length();
  while (out.size() < count) {
    if (below(3) == 0) {
      out += kWords[below(std::size(kWords))];
    } else {
      out += static_cast<char>('a' + below(26));
    }
  }
  return out;
}

Bytes RandomFiller::bytes(std::size_t count) {
  Bytes out(count);
  for (auto& byte : out) byte = static_cast<std::uint8_t>(random_());
  return out;
}

void RandomFiller::unknown_tags(std::vector<UnknownTaggedField>& into) {
  if (kind_ == SampleKind::kNulls) return;
  std::size_t tag = 5000;
  for (std::size_t count = below(3); count > 0; --count) {
    tag += 1 + below(100);
    into.emplace_back(static_cast<std::uint32_t>(tag), bytes(below(5)));
  }
}

std::vector<Sample> make_samples(std::uint64_t seed, std::string_view part) {
  static constexpr SampleKind kKinds[] = {
      SampleKind::kDefaults, SampleKind::kNulls, SampleKind::kLong,  SampleKind::kMixed,
      SampleKind::kMixed,    SampleKind::kMixed, SampleKind::kMixed, SampleKind::kMixed};
  std::mt19937_64 random(seed);
  std::vector<Sample> samples;
  for (const MessageCodec& codec : registry()) {
    if (codec.name.find(part) == std::string_view::npos) continue;
    for (int version = codec.min.get(); version <= codec.max.get(); ++version) {
      for (const SampleKind kind : kKinds) {
        const ApiVersion api_version(static_cast<std::int16_t>(version));
        auto made = codec.make(random, kind, api_version);
        KM_CHECK(made.has_value(), "{} version {}: {}", codec.name, version, made.error().message);
        Sample sample;
        sample.name = codec.name;
        sample.version = api_version;
        sample.bytes = std::move(made->bytes);
        sample.json = std::move(made->json);
        samples.push_back(std::move(sample));
      }
    }
  }
  return samples;
}

void write_samples(const std::string& path, const std::vector<Sample>& samples) {
  std::ofstream file(path, std::ios::binary);
  for (const Sample& sample : samples) {
    Writer writer;
    KM_CHECK(writer.string(sample.name, false).has_value(), "name of {}", sample.name.size());
    writer.integer(sample.version.get());
    writer.bytes(sample.bytes, false);
    writer.bytes(as_bytes(sample.json), false);
    const Slice bytes = writer.take_slice();
    file << bytes.text();
  }
  file.close();
  KM_CHECK(!file.fail(), "cannot write {}", path);
}

std::vector<Sample> read_samples(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  KM_CHECK(file.is_open(), "cannot read {}", path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Reader reader(Slice::copy_of(text));
  std::vector<Sample> samples;
  while (reader.remaining() > 0) {
    Sample sample;
    sample.name = *reader.string(false);
    sample.version = ApiVersion(*reader.integer<std::int16_t>());
    const Slice bytes = *reader.bytes(false);
    sample.bytes.assign(bytes.span().begin(), bytes.span().end());
    sample.json = std::string(reader.bytes(false)->text());
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace kmirror::wire::test
