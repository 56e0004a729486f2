#include "server/memory_pool.h"

#include <utility>

#include <gtest/gtest.h>

namespace kmirror::server {
namespace {

TEST(MemoryPool, one_request_may_overdraw_and_then_others_wait) {
  int wakes = 0;
  MemoryPool pool(100, [&wakes] { ++wakes; });
  MemoryUnits small = pool.try_take(99);
  ASSERT_TRUE(small);
  MemoryUnits large = pool.try_take(1'000);
  ASSERT_TRUE(large);
  EXPECT_EQ(pool.taken_bytes(), 1'099);
  EXPECT_FALSE(pool.try_take(1));
  EXPECT_EQ(wakes, 0);
  large.release();
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(pool.taken_bytes(), 99);
  EXPECT_TRUE(pool.try_take(1));
}

TEST(MemoryPool, nobody_is_woken_who_did_not_wait) {
  int wakes = 0;
  MemoryPool pool(100, [&wakes] { ++wakes; });
  { const MemoryUnits units = pool.try_take(50); }
  EXPECT_EQ(wakes, 0);
  EXPECT_EQ(pool.taken_bytes(), 0);
}

TEST(MemoryPool, moved_units_are_given_back_once) {
  MemoryPool pool(100, [] {});
  MemoryUnits first = pool.try_take(10);
  MemoryUnits second = std::move(first);
  second = pool.try_take(20);
  EXPECT_EQ(pool.taken_bytes(), 20);
  second.release();
  second.release();
  EXPECT_EQ(pool.taken_bytes(), 0);
}

TEST(MemoryPool, no_limit_below_zero) {
  MemoryPool pool(-1, [] {});
  const MemoryUnits first = pool.try_take(1'000'000'000'000);
  EXPECT_TRUE(pool.try_take(1'000'000'000'000));
}

}  // namespace
}  // namespace kmirror::server
