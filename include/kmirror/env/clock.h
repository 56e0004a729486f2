// Clock and Rng: time and dice are passed in, so that a simulation can own them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "kmirror/base/unique_function.h"
#include "kmirror/env/awaitable.h"
#include "kmirror/model/types.h"

namespace kmirror::env {

/// A moment of the monotonic clock. Only differences mean something.
using Instant = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

/// A call that will come. Destroying it on the executor's loop takes the call back for certain.
class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  virtual ~Timer() = default;
};

class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  /// Never goes back. Any thread.
  [[nodiscard]] virtual Instant now() const = 0;
  /// Milliseconds since 1970-01-01T00:00Z; may jump either way. Any thread.
  [[nodiscard]] virtual std::int64_t wall_ms() const = 0;
  /// Resumes the calling coroutine, on its own executor, at or after `when`. Cancelling the task
  /// ends the wait early; it then returns normally, so look at the task group's state.
  [[nodiscard]] virtual Awaitable<void> sleep_until(Instant when) = 0;
  /// Runs `work` once, on `executor`, at or after `when`, unless the returned timer is destroyed
  /// first. Called and destroyed on the executor's own loop. For env/async.h and timeouts without a
  /// coroutine.
  [[nodiscard]] virtual std::unique_ptr<Timer> call_at(const boost::asio::any_io_executor& executor,
                                                       Instant when,
                                                       UniqueFunction<void()> work) = 0;
};

class Loop;
/// Clock::call_at() on `loop`, for code that does not know Asio. Called and destroyed there.
[[nodiscard]] std::unique_ptr<Timer> call_at(Clock& clock, Loop& loop, Instant when,
                                             UniqueFunction<void()> work);

class Rng {
 public:
  Rng() = default;
  Rng(const Rng&) = delete;
  Rng& operator=(const Rng&) = delete;
  virtual ~Rng() = default;

  /// 64 random bits. Any thread.
  [[nodiscard]] virtual std::uint64_t next() = 0;
  /// Evenly 0 … bound-1; `bound` >= 1.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  /// 0 <= x < 1.
  [[nodiscard]] double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// A random id as Kafka makes them: version 4, and its text does not start with '-'.
  [[nodiscard]] Uuid uuid();
};

}  // namespace kmirror::env
