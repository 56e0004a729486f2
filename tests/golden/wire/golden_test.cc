// Every message and version against a foreign codec, in both directions: values and bytes. Kafka's
// own Java codec for all that Kafka has, the one in Python for the mirror protocol.
// Sources: the generated classes of the Kafka version that tests/interop pins.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>

#include "golden/wire/peer_codec.h"

namespace kmirror::wire::test {
namespace {

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const MessageCodec& codec : registry()) all.emplace_back(codec.name);
  return all;
}

std::vector<std::string> names_with(bool (*wanted)(std::string_view), bool answer) {
  std::vector<std::string> some;
  for (const std::string& name : names()) {
    if (wanted(name) == answer) some.push_back(name);
  }
  return some;
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
  const PeerRun& run = java_run();
  ASSERT_EQ(run.failure, "");
  const std::vector<std::string> ours = names_with(&is_ours, true);
  EXPECT_EQ(run.unknown, ours);
  EXPECT_EQ(run.ranges.size() + ours.size(), registry().size());
}

class WireGoldenOf : public testing::TestWithParam<std::string> {};

void expect_no_bad(const PeerRun& run, const std::string& name) {
  ASSERT_EQ(run.failure, "");
  ASSERT_TRUE(run.ranges.contains(name));
  const auto bad = run.bad.find(name);
  if (bad != run.bad.end()) {
    ADD_FAILURE() << bad->second.size() << " samples differ, the first: " << bad->second.front();
  }
}

void expect_same(const MessageCodec& codec, const Sample& sample) {
  SCOPED_TRACE(
      fmt::format("version {} bytes {}", sample.version, to_hex(sample.bytes).substr(0, 2000)));
  const auto back = codec.recode(Slice::copy_of(sample.bytes), sample.version);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->left, 0U);
  EXPECT_EQ(back->size, sample.bytes.size());
  EXPECT_TRUE(back->bytes == sample.bytes) << to_hex(back->bytes).substr(0, 2000);
  EXPECT_TRUE(same(boost::json::parse(back->json), boost::json::parse(sample.json)))
      << back->json << "\n"
      << sample.json;
}

void expect_all_read(const PeerRun& run, const std::string& name, int least_samples) {
  ASSERT_EQ(run.failure, "");
  const MessageCodec* codec = find_message(name);
  ASSERT_NE(codec, nullptr);
  const std::pair<int, int> range(codec->min.get(), codec->max.get());
  ASSERT_EQ(run.ranges.at(name), range);
  std::map<int, int> samples_of_version;
  for (const Sample& sample : run.samples) {
    if (sample.name != name) continue;
    expect_same(*codec, sample);
    if (testing::Test::HasFailure()) return;
    ++samples_of_version[sample.version.get()];
  }
  for (int version = range.first; version <= range.second; ++version) {
    EXPECT_GE(samples_of_version[version], least_samples) << "version " << version;
  }
}

TEST_P(WireGoldenOf, KafkaReadsOurBytes) { expect_no_bad(java_run(), GetParam()); }

TEST_P(WireGoldenOf, WeReadKafkasBytes) { expect_all_read(java_run(), GetParam(), 12); }

class WirePythonOf : public testing::TestWithParam<std::string> {};

TEST_P(WirePythonOf, PythonReadsOurBytes) { expect_no_bad(python_run(), GetParam()); }

TEST_P(WirePythonOf, WeReadPythonsBytes) { expect_all_read(python_run(), GetParam(), 10); }

INSTANTIATE_TEST_SUITE_P(All, WireGoldenOf, testing::ValuesIn(names_with(&is_ours, false)),
                         [](const auto& test) { return test.param; });

INSTANTIATE_TEST_SUITE_P(All, WirePythonOf, testing::ValuesIn(names_with(&is_for_python, true)),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace kmirror::wire::test
