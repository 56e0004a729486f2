#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "env/split_mix.h"
#include "kmirror/env/errors.h"
#include "kmirror/env/network.h"

namespace kmirror::env {
namespace {

TEST(EndpointTest, TextPutsIpv6InBrackets) {
  EXPECT_EQ(Endpoint("kafka-1.example", 9092).text(), "kafka-1.example:9092");
  EXPECT_EQ(Endpoint("2001:db8::1", 9092).text(), "[2001:db8::1]:9092");
}

TEST(EndpointTest, ParsesWhatTextPrints) {
  for (const Endpoint& endpoint :
       {Endpoint("a", 1), Endpoint("10.0.0.1", 65535), Endpoint("::1", 9092)}) {
    const auto parsed = parse_endpoint(endpoint.text());
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, endpoint);
  }
}

TEST(EndpointTest, RefusesWithTheReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"kafka", "'kafka' is not host:port: the port is missing"},
      {"kafka:", "'kafka:' is not host:port: the port is missing"},
      {":9092", "':9092' is not host:port: the host is missing"},
      {"", "'' is not host:port: the port is missing"},
      {"kafka:65536", "the port '65536' is no number from 0 to 65535"},
      {"kafka:-1", "the port '-1' is no number"},
      {"kafka:90x", "the port '90x' is no number"},
      {"kafka:99999999999", "the port '99999999999' is no number"},
      {"::1:9092", "an IPv6 address must stand in brackets, as in [::1]:9092"},
      {"[::1]", "':' and a port must follow the ']'"},
      {"[::1:9092", "the closing ']' is missing"},
      {"[]:9092", "the host is missing"},
      {"[::1]9092", "':' and a port must follow the ']'"},
      {"SSL://kafka:9092", "an IPv6 address must stand in brackets"},
      {"a b:9092", "the host contains a blank"},
  };
  for (const auto& [text, message] : cases) {
    const auto parsed = parse_endpoint(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_TRUE(is_system(parsed.error(), EINVAL));
    EXPECT_NE(parsed.error().message.find(message), std::string::npos) << parsed.error().message;
  }
}

TEST(EndpointTest, ParsesLists) {
  const auto three = parse_endpoints(" a:1, [::1]:2 ,c:3,");
  ASSERT_TRUE(three) << three.error().message;
  EXPECT_EQ(*three,
            (std::vector<Endpoint>{Endpoint("a", 1), Endpoint("::1", 2), Endpoint("c", 3)}));
  EXPECT_FALSE(parse_endpoints(""));
  EXPECT_FALSE(parse_endpoints(" , "));
  EXPECT_FALSE(parse_endpoints("a:1,b"));
  EXPECT_FALSE(parse_endpoints("a:0"));
}

TEST(RngTest, SameSeedSameNumbers) {
  SplitMix a(7);
  SplitMix b(7);
  SplitMix c(8);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t x = a.next();
    EXPECT_EQ(x, b.next());
    differs = differs || x != c.next();
  }
  EXPECT_TRUE(differs);
}

TEST(RngTest, UuidsAreVersion4AndNeverLookLikeAnOption) {
  SplitMix rng(1);
  std::set<Uuid> seen;
  for (int i = 0; i < 2000; ++i) {
    const Uuid uuid = rng.uuid();
    EXPECT_EQ(uuid.bytes()[6] >> 4, 4);
    EXPECT_EQ(uuid.bytes()[8] >> 6, 2);
    EXPECT_NE(uuid.text().front(), '-');
    seen.insert(uuid);
  }
  EXPECT_EQ(seen.size(), 2000U);
}

}  // namespace
}  // namespace kmirror::env
