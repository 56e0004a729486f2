// The real Loop, DiskPool and Clock.
// Owner: made and destroyed by PosixEnvironment; used from any thread as their interfaces say.
#pragma once

#include <utility>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <optional>
#include <thread>

#include "kmirror/env/clock.h"
#include "kmirror/env/loop.h"

namespace kmirror::env {

class PosixLoop final : public Loop {
 public:
  explicit PosixLoop(std::size_t index);
  ~PosixLoop() override;

  void start();
  /// Ends run() as soon as the present piece of work has ended, and joins the thread.
  void stop();

  void post(UniqueFunction<void()> work) override;
  [[nodiscard]] bool is_current() const override;
  [[nodiscard]] std::size_t index() const override { return index_; }
  [[nodiscard]] boost::asio::io_context& context() override { return context_; }

 private:
  std::size_t index_;
  boost::asio::io_context context_{1};  // 1: one thread runs it
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> guard_;
  std::thread thread_;
};

class PosixDiskPool final : public DiskPool {
 public:
  explicit PosixDiskPool(std::size_t threads) : pool_(threads) {}
  void submit(UniqueFunction<void()> work) override;
  /// Runs what was submitted and joins the threads.
  void drain() { pool_.join(); }

 private:
  static constexpr std::size_t kMostWaiting = 10'000;
  std::atomic<std::size_t> waiting_{0};
  boost::asio::thread_pool pool_;
};

class PosixClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override;
  [[nodiscard]] std::int64_t wall_ms() const override;
  [[nodiscard]] Awaitable<void> sleep_until(Instant when) override;
  [[nodiscard]] std::unique_ptr<Timer> call_at(const boost::asio::any_io_executor& executor,
                                               Instant when, UniqueFunction<void()> work) override;
};

}  // namespace kmirror::env
