// Fakes of this room's tests: a clock that the test moves, and a log in memory under one shard.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "coordinator/runtime/partition_io.h"
#include "coordinator/runtime/shard.h"
#include "kmirror/base/check.h"

namespace kmirror::coordinator::testing {

class FakeClock final : public env::Clock {
 public:
  [[nodiscard]] env::Instant now() const override { return env::Instant(elapsed_); }
  [[nodiscard]] std::int64_t wall_ms() const override {
    return kEpochMs + std::chrono::duration_cast<std::chrono::milliseconds>(elapsed_).count();
  }
  [[nodiscard]] env::Awaitable<void> sleep_until(env::Instant) override;
  [[nodiscard]] std::unique_ptr<env::Timer> call_at(const boost::asio::any_io_executor&,
                                                    env::Instant, UniqueFunction<void()>) override;
  void advance(std::chrono::milliseconds by) { elapsed_ += by; }

  static constexpr std::int64_t kEpochMs = 1'700'000'000'000;

 private:
  env::Duration elapsed_{0};
};

/// Counts up: ids differ and are the same every run.
class FakeRng final : public env::Rng {
 public:
  [[nodiscard]] std::uint64_t next() override { return ++counter_ * 0x9E3779B97F4A7C15ULL; }

 private:
  std::uint64_t counter_ = 0;
};

/// A shard's context over a vector of records. Appends can be made to fail, durability to wait.
class MemoryContext final : public ShardContext {
 public:
  MemoryContext() : timers_(clock_, [](env::Instant, UniqueFunction<void()>) { return nullptr; }) {}

  [[nodiscard]] AppendOutcome append(std::span<const CoordinatorRecord> records) override {
    AppendOutcome outcome;
    ++append_count;
    for (const CoordinatorRecord& record : records) {
      if (fail_after && outcome.appended_count >= *fail_after) {
        outcome.error = kafka_error(append_error, "no space left on device");
        return outcome;
      }
      log.push_back(record);
      ++outcome.appended_count;
    }
    return outcome;
  }
  void when_durable(UniqueFunction<void(ErrorCode)> then) override {
    if (hold_answers) {
      held.push_back(std::move(then));
    } else {
      then(ErrorCode::NONE);
    }
  }
  void release(ErrorCode code = ErrorCode::NONE) {
    auto all = std::exchange(held, {});
    for (auto& then : all) then(code);
  }
  [[nodiscard]] TimerQueue& timers() override { return timers_; }
  [[nodiscard]] FakeClock& clock() override { return clock_; }
  [[nodiscard]] env::Rng& rng() override { return rng_; }

  /// Moves time forward in steps of at most 10 ms, running what falls due.
  void advance(std::chrono::milliseconds by) {
    constexpr std::chrono::milliseconds kStep(10);
    while (by.count() > 0) {
      const auto step = std::min(by, kStep);
      clock_.advance(step);
      by -= step;
      timers_.run_due();
    }
  }

  std::vector<CoordinatorRecord> log;
  std::size_t append_count = 0;
  std::optional<std::size_t> fail_after;  ///< records of each append that still succeed
  ErrorCode append_error = ErrorCode::KAFKA_STORAGE_ERROR;
  bool hold_answers = false;
  std::vector<UniqueFunction<void(ErrorCode)>> held;

 private:
  FakeClock clock_;
  FakeRng rng_;
  TimerQueue timers_;
};

}  // namespace kmirror::coordinator::testing
