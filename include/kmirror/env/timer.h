// A call later on a loop, for rooms that do without Asio.
#pragma once

#include <memory>

#include "kmirror/base/unique_function.h"
#include "kmirror/env/clock.h"
#include "kmirror/env/loop.h"

namespace kmirror::env {

/// Runs `work` once on `loop`, at or after `when`, unless the returned timer is destroyed first.
/// Called, and the timer destroyed, on `loop` itself.
[[nodiscard]] std::unique_ptr<Timer> call_at(Clock& clock, Loop& loop, Instant when,
                                             UniqueFunction<void()> work);

}  // namespace kmirror::env
