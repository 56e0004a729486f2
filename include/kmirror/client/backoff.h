// Backoff: how long to wait before the next attempt; grows by doubling, with jitter.
// Owner: one task. Sources: Kafka 4.4 ExponentialBackoff; spec B.4.
#pragma once

#include <chrono>
#include <cstdint>

#include "kmirror/env/clock.h"

namespace kmirror::client {

struct BackoffOptions {
  BackoffOptions() = default;
  BackoffOptions(std::chrono::milliseconds initial_delay, std::chrono::milliseconds max_delay)
      : initial(initial_delay), max(max_delay) {}
  std::chrono::milliseconds initial{100};
  std::chrono::milliseconds max{10'000};
  double jitter = 0.2;  ///< the delay is spread evenly over ±20 %, and never exceeds `max`
};

/// The wait before attempt number `attempt` + 1 after `attempt` failures (>= 1; below counts as 1).
[[nodiscard]] std::chrono::milliseconds backoff_delay(const BackoffOptions& options,
                                                      std::int64_t attempt, env::Rng& rng);

/// Counts failures in a row.
class Backoff {
 public:
  Backoff() = default;
  explicit Backoff(BackoffOptions options) : options_(options) {}
  /// Notes one more failure and returns the wait before the next attempt.
  [[nodiscard]] std::chrono::milliseconds next(env::Rng& rng) {
    return backoff_delay(options_, ++failures_, rng);
  }
  void reset() { failures_ = 0; }
  [[nodiscard]] std::int64_t failures() const { return failures_; }

 private:
  BackoffOptions options_;
  std::int64_t failures_ = 0;
};

}  // namespace kmirror::client
