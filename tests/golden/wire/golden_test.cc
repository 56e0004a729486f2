// Every message and version against Kafka's own Java codec, in both directions: values and bytes.
// Sources: the generated classes of the Kafka version that tests/interop pins.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>

#include "golden/wire/java_codec.h"

namespace kmirror::wire::test {
namespace {

// No Java class: the mirror protocol. tests/golden/wire/pycodec.py judges these.
bool is_ours(std::string_view name) {
  return name.find("Mirror") != std::string_view::npos || name.starts_with("BumpLeaderEpochs");
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const MessageCodec& codec : registry()) all.emplace_back(codec.name);
  return all;
}

// Equal values; fractions may differ in the last bits, because their texts do (the bytes of a
// message say whether they are the same).
bool same(const boost::json::value& a, const boost::json::value& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is_double())
    return std::abs(a.as_double() - b.as_double()) <= 1e-12 * std::abs(a.as_double());
  if (a.is_array()) {
    return std::equal(a.as_array().begin(), a.as_array().end(), b.as_array().begin(),
                      b.as_array().end(), &same);
  }
  if (a.is_object()) {
    if (a.as_object().size() != b.as_object().size()) return false;
    return std::all_of(a.as_object().begin(), a.as_object().end(), [&](const auto& member) {
      const auto* other = b.as_object().if_contains(member.key());
      return other != nullptr && same(member.value(), *other);
    });
  }
  return a == b;
}

TEST(WireGolden, KafkaKnowsAllButTheMirrorProtocol) {
  const JavaRun& run = java_run();
  ASSERT_EQ(run.failure, "");
  std::vector<std::string> ours;
  for (const std::string& name : names()) {
    if (is_ours(name)) ours.push_back(name);
  }
  EXPECT_EQ(run.unknown, ours);
  EXPECT_EQ(run.ranges.size() + ours.size(), registry().size());
}

class WireGoldenOf : public testing::TestWithParam<std::string> {};

TEST_P(WireGoldenOf, KafkaReadsOurBytes) {
  const JavaRun& run = java_run();
  ASSERT_EQ(run.failure, "");
  const auto bad = run.bad.find(GetParam());
  if (bad != run.bad.end()) {
    ADD_FAILURE() << bad->second.size() << " samples differ, the first: " << bad->second.front();
  }
}

TEST_P(WireGoldenOf, WeReadKafkasBytes) {
  const JavaRun& run = java_run();
  ASSERT_EQ(run.failure, "");
  if (is_ours(GetParam())) return;
  const MessageCodec* codec = find_message(GetParam());
  ASSERT_NE(codec, nullptr);
  const std::pair<int, int> range(codec->min.get(), codec->max.get());
  EXPECT_EQ(run.ranges.at(GetParam()), range);
  std::vector<int> samples_of_version(static_cast<std::size_t>(codec->max.get()) + 1);
  for (const Sample& sample : run.samples) {
    if (sample.name != GetParam()) continue;
    SCOPED_TRACE(
        fmt::format("version {} bytes {}", sample.version, to_hex(sample.bytes).substr(0, 2000)));
    const auto back = codec->recode(Slice::copy_of(sample.bytes), sample.version);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->left, 0U);
    EXPECT_EQ(back->size, sample.bytes.size());
    EXPECT_TRUE(back->bytes == sample.bytes) << to_hex(back->bytes).substr(0, 2000);
    EXPECT_TRUE(same(boost::json::parse(back->json), boost::json::parse(sample.json)))
        << back->json << "\n"
        << sample.json;
    ++samples_of_version[static_cast<std::size_t>(sample.version.get())];
    if (HasFailure()) break;
  }
  for (int version = codec->min.get(); version <= codec->max.get(); ++version) {
    EXPECT_GE(samples_of_version[static_cast<std::size_t>(version)], 12) << "version " << version;
  }
}

INSTANTIATE_TEST_SUITE_P(All, WireGoldenOf, testing::ValuesIn(names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace kmirror::wire::test
