#include <gtest/gtest.h>

#include "kmirror/cli/mirrors_options.h"

namespace kmirror::cli {
namespace {

Result<MirrorsOptions> parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--bootstrap-server", "127.0.0.1:9092"});
  return parse_mirrors_options(arguments);
}

TEST(MirrorsOptions, StartTakesTopicsAndExclude) {
  const auto options = parse({"--start", "--mirror", "m", "--topics", "a, b.*,", "--exclude=c"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->action, MirrorsAction::kStart);
  EXPECT_EQ(options->topics, (std::vector<std::string>{"a", "b.*"}));
  EXPECT_EQ(options->exclude, (std::vector<std::string>{"c"}));
}

TEST(MirrorsOptions, AllTopicsIsEveryName) {
  const auto options = parse({"--stop", "--mirror", "m", "--all-topics"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->topics, (std::vector<std::string>{".*"}));
}

TEST(MirrorsOptions, EachMistakeIsNamed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes{
      {{}, "no action"},
      {{"--list", "--describe"}, "exactly one action"},
      {{"--start", "--mirror", "m"}, "--start needs --topics"},
      {{"--stop", "--topics", "t"}, "--stop needs --mirror"},
      {{"--create", "--mirror", "m"}, "--mirror-config"},
      {{"--list", "--json"}, "--describe only"},
      {{"--stop", "--mirror", "m", "--topics", "t", "--exclude", "u"}, "--start only"},
      {{"--frobnicate"}, "frobnicate"},
  };
  for (const auto& [arguments, expected] : mistakes) {
    const auto options = parse(arguments);
    ASSERT_FALSE(options) << expected;
    EXPECT_NE(options.error().message.find(expected), std::string::npos)
        << options.error().message << " should mention " << expected;
  }
}

TEST(MirrorsOptions, BootstrapServerIsRequired) {
  EXPECT_FALSE(parse_mirrors_options({"--list"}));
  EXPECT_TRUE(parse_mirrors_options({"--help"}));
}

}  // namespace
}  // namespace kmirror::cli
