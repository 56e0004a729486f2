#include "server/refusal_log.h"

#include <gtest/gtest.h>

#include "kmirror/env/sim.h"

namespace kmirror::server {
namespace {

TEST(RefusalLog, a_flood_is_cut_and_the_next_window_speaks_again) {
  env::SimWorld world(1);
  RefusalLog log(world.clock());
  std::uint32_t lines = 0;
  for (int i = 0; i < 1'000; ++i) lines += log.say("scanner") ? 1 : 0;
  EXPECT_EQ(lines, RefusalLog::kLines);
  world.run_for(RefusalLog::kWindow);
  EXPECT_TRUE(log.say("scanner"));
}

}  // namespace
}  // namespace kmirror::server
