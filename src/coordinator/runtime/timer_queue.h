// TimerQueue: many cancellable calls of one shard over one timer of the environment.
// Owner: the shard's loop. Invariant: a call runs at most once, and never after cancel() or
// clear(). Sources: Kafka 4.4 CoordinatorTimer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "kmirror/base/unique_function.h"
#include "kmirror/env/clock.h"

namespace kmirror::coordinator {

/// 0 is no timer.
using TimerId = std::uint64_t;

class TimerQueue {
 public:
  /// Asks to be woken at an instant; destroying the result takes the wish back. May return null
  /// where somebody else calls run_due().
  using Arm =
      std::function<std::unique_ptr<env::Timer>(env::Instant when, UniqueFunction<void()> wake)>;
  TimerQueue(env::Clock& clock, Arm arm) : clock_(clock), arm_(std::move(arm)) {}
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;

  /// Runs `work` once, `delay` from now or a little later. Negative delays count as 0.
  [[nodiscard]] TimerId schedule(std::chrono::milliseconds delay, UniqueFunction<void()> work);
  /// Takes a call back and sets `id` to 0. Nothing happens if it has run or is 0.
  void cancel(TimerId& id);
  /// Runs what is due, in order of time. Work that it schedules runs with the next call.
  void run_due();
  void clear();
  [[nodiscard]] std::size_t size() const { return calls_.size(); }

 private:
  void arm_earliest();

  env::Clock& clock_;
  Arm arm_;
  TimerId next_id_ = 1;
  std::map<std::pair<env::Instant, TimerId>, UniqueFunction<void()>> calls_;
  std::unordered_map<TimerId, env::Instant> instants_;
  std::unique_ptr<env::Timer> armed_;
  env::Instant armed_for_ = env::Instant::max();
};

}  // namespace kmirror::coordinator
