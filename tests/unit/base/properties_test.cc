#include <gtest/gtest.h>

#include "kmirror/base/properties.h"

namespace kmirror {
namespace {

std::pair<std::string, std::string> one(std::string_view text) {
  const auto parsed = parse_properties(text);
  EXPECT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->size(), 1U) << text;
  return parsed->empty() ? std::pair<std::string, std::string>{}
                         : std::pair{parsed->front().key, parsed->front().value};
}

TEST(Properties, SeparatorsBlanksAndEscapes) {
  using P = std::pair<std::string, std::string>;
  EXPECT_EQ(one("a=b"), P("a", "b"));
  EXPECT_EQ(one("  a : b c \r\n"), P("a", "b c "));
  EXPECT_EQ(one("a b"), P("a", "b"));
  EXPECT_EQ(one("a"), P("a", ""));
  EXPECT_EQ(one("a\\=b = c=d"), P("a=b", "c=d"));
  EXPECT_EQ(one("k = tab\\tend\\u00e9\\\\"), P("k", "tab\tend\xc3\xa9\\"));
  EXPECT_EQ(one("k = \\ud83d\\ude00"), P("k", "\xf0\x9f\x98\x80"));
  EXPECT_EQ(one("k = a,\\\n     b"), P("k", "a,b"));
}

TEST(Properties, CommentsAreSkippedAndLinesCounted) {
  const auto parsed = parse_properties("# one\n! two\n\nx=1\ny=\\\n2\nz=3\n");
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->size(), 3U);
  EXPECT_EQ((*parsed)[0].line, 4);
  EXPECT_EQ((*parsed)[1].line, 5);
  EXPECT_EQ((*parsed)[1].value, "2");
  EXPECT_EQ((*parsed)[2].line, 7);
}

TEST(Properties, BrokenUnicodeEscapeNamesTheLine) {
  const auto parsed = parse_properties("a=1\nb=\\u12g4\n");
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("line 2"), std::string::npos);
  EXPECT_FALSE(parse_properties("b=\\u12"));
}

}  // namespace
}  // namespace kmirror
