#include "kmirror/metadata/topic_filter.h"

#include <gtest/gtest.h>

#include "kmirror/model/error_code.h"

namespace kmirror::metadata {
namespace {

TEST(TopicFilterTest, ExpressionsMatchWholeNamesAndExcludeWins) {
  const Result<TopicFilter> filter = TopicFilter::parse("orders, log-.*", "__.*,log-debug");
  ASSERT_TRUE(filter);
  EXPECT_TRUE(filter->matches("orders"));
  EXPECT_FALSE(filter->matches("orders2"));
  EXPECT_FALSE(filter->matches("xorders"));
  EXPECT_TRUE(filter->matches("log-1"));
  EXPECT_FALSE(filter->matches("log-debug"));
  EXPECT_TRUE(filter->includes("log-debug"));
  EXPECT_TRUE(filter->excludes("__consumer_offsets"));
}

TEST(TopicFilterTest, AnEmptyIncludeListMatchesNothing) {
  EXPECT_FALSE(TopicFilter::parse("", "__.*")->matches("a"));
  EXPECT_FALSE(TopicFilter().matches("a"));
  EXPECT_FALSE(TopicFilter::parse(" , ", "")->matches(""));
}

TEST(TopicFilterTest, AlternativesStayInsideTheAnchors) {
  const Result<TopicFilter> filter = TopicFilter::parse("a|b", "");
  EXPECT_TRUE(filter->matches("a"));
  EXPECT_TRUE(filter->matches("b"));
  EXPECT_FALSE(filter->matches("ab"));
  EXPECT_FALSE(filter->matches("a\n"));
}

TEST(TopicFilterTest, ABrokenExpressionIsNamed) {
  const Result<TopicFilter> filter = TopicFilter::parse("ok", "a(b");
  ASSERT_FALSE(filter);
  EXPECT_EQ(to_kafka_error(filter.error()), ErrorCode::INVALID_REGULAR_EXPRESSION);
  EXPECT_NE(filter.error().message.find("a(b"), std::string::npos);
}

AclImage acl(std::int8_t type, std::string name, std::string principal, std::int8_t operation,
             std::int8_t permission) {
  AclImage image;
  image.resource_type = type;
  image.resource_name = std::move(name);
  image.principal = std::move(principal);
  image.operation = operation;
  image.permission_type = permission;
  return image;
}

TEST(AclIncludeRulesTest, FieldsFilterAndMissingOnesAreAny) {
  const Result<AclIncludeRules> rules =
      AclIncludeRules::parse("topic;log-.*;Read;allow;User:a, group");
  ASSERT_TRUE(rules);
  EXPECT_TRUE(rules->matches(acl(2, "log-1", "User:a", 3, 3)));
  EXPECT_FALSE(rules->matches(acl(2, "log-1", "User:b", 3, 3)));
  EXPECT_FALSE(rules->matches(acl(2, "log-1", "User:a", 4, 3)));
  EXPECT_FALSE(rules->matches(acl(2, "log-1", "User:a", 3, 2)));
  EXPECT_FALSE(rules->matches(acl(2, "xlog-1", "User:a", 3, 3)));
  EXPECT_TRUE(rules->matches(acl(3, "anything", "User:z", 8, 2)));
  EXPECT_FALSE(rules->matches(acl(4, "kafka-cluster", "User:a", 3, 3)));
}

TEST(AclIncludeRulesTest, StarTakesEverything) {
  const Result<AclIncludeRules> rules = AclIncludeRules::parse("*");
  EXPECT_TRUE(rules->matches(acl(2, "*", "User:*", 2, 3)));
  EXPECT_TRUE(rules->matches(acl(64, "m", "User:a", 5, 2)));
  EXPECT_FALSE(AclIncludeRules::parse("")->matches(acl(2, "a", "User:a", 3, 3)));
}

TEST(AclIncludeRulesTest, WrongWordsAreErrors) {
  EXPECT_FALSE(AclIncludeRules::parse("topics"));
  EXPECT_FALSE(AclIncludeRules::parse("topic;a;LOOK"));
  EXPECT_FALSE(AclIncludeRules::parse("topic;a;READ;MAYBE"));
  EXPECT_FALSE(AclIncludeRules::parse("topic;a;READ;ALLOW;User:a;b"));
  EXPECT_FALSE(AclIncludeRules::parse("topic;(;READ"));
  EXPECT_TRUE(AclIncludeRules::parse("topic;a;IdempotentWrite"));
}

}  // namespace
}  // namespace kmirror::metadata
