#include "server/connection_quota.h"

#include <gtest/gtest.h>

namespace kmirror::server {
namespace {

TEST(ConnectionQuota, counts_per_address_and_in_all) {
  ConnectionQuota quota(3, 2, {{"10.0.0.9", 1}});
  EXPECT_TRUE(quota.try_add("10.0.0.1"));
  EXPECT_TRUE(quota.try_add("10.0.0.1"));
  EXPECT_FALSE(quota.try_add("10.0.0.1"));
  EXPECT_FALSE(quota.is_full());
  EXPECT_TRUE(quota.try_add("10.0.0.9"));
  EXPECT_TRUE(quota.is_full());
  EXPECT_FALSE(quota.try_add("10.0.0.9"));
  quota.remove("10.0.0.9");
  EXPECT_FALSE(quota.is_full());
  EXPECT_TRUE(quota.try_add("10.0.0.9"));
  quota.remove("10.0.0.1");
  EXPECT_TRUE(quota.try_add("10.0.0.1"));
  EXPECT_EQ(quota.total(), 3);
}

TEST(ConnectionQuota, an_address_with_a_limit_of_zero_is_shut_out) {
  ConnectionQuota quota(10, 5, {{"10.0.0.9", 0}});
  EXPECT_FALSE(quota.try_add("10.0.0.9"));
  EXPECT_EQ(quota.total(), 0);
}

}  // namespace
}  // namespace kmirror::server
