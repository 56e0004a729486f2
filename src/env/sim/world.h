// What the parts of the simulation share: the event queue, the loops, the trace.
// Owner: the test's thread.
#pragma once

#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <map>

#include "env/split_mix.h"
#include "kmirror/env/sim.h"

namespace kmirror::env {

/// Things that will happen, by time and then by the order in which they were asked for.
class EventQueue {
 public:
  using Key = std::pair<Instant, std::uint64_t>;

  Key add(Instant when, UniqueFunction<void()> work);
  void remove(const Key& key) { events_.erase(key); }
  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] Instant next_time() const { return events_.begin()->first.first; }
  [[nodiscard]] UniqueFunction<void()> pop();

 private:
  std::uint64_t sequence_ = 0;
  std::map<Key, UniqueFunction<void()>> events_;
};

class SimLoop final : public Loop {
 public:
  SimLoop(SimWorld::Impl& world, std::size_t index);
  ~SimLoop() override;

  void post(UniqueFunction<void()> work) override;
  [[nodiscard]] bool is_current() const override;
  [[nodiscard]] std::size_t index() const override { return index_; }
  [[nodiscard]] boost::asio::io_context& context() override { return context_; }
  /// Runs one piece of work; false if there is none.
  bool run_one();

 private:
  SimWorld::Impl& world_;
  std::size_t index_;
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
};

class SimClock final : public Clock {
 public:
  explicit SimClock(EventQueue& queue) : queue_(queue) {}
  [[nodiscard]] Instant now() const override { return now_; }
  [[nodiscard]] std::int64_t wall_ms() const override;
  [[nodiscard]] Awaitable<void> sleep_until(Instant when) override;
  [[nodiscard]] std::unique_ptr<Timer> call_at(const boost::asio::any_io_executor& executor,
                                               Instant when, UniqueFunction<void()> work) override;

  void advance_to(Instant when) { now_ = std::max(now_, when); }
  void jump_wall(std::int64_t by_ms) { wall_offset_ms_ += by_ms; }

 private:
  EventQueue& queue_;
  // Not 0, so that "long ago" can be computed.
  Instant now_{std::chrono::hours(1)};
  std::int64_t wall_offset_ms_ = 1'700'000'000'000;
};

/// Runs what it is given in order, each piece some time after the one before, on no loop.
class SimDiskPool final : public DiskPool {
 public:
  SimDiskPool(SimWorld::Impl& world, Duration latency) : world_(world), latency_(latency) {}
  ~SimDiskPool() override { *alive_ = false; }
  void submit(UniqueFunction<void()> work) override;

 private:
  SimWorld::Impl& world_;
  Duration latency_;
  Instant busy_until_{};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

struct SimWorld::Impl {
  Impl(SimWorld& world, std::uint64_t world_seed);

  /// One piece of work of a loop drawn by chance; false if no loop has any.
  bool run_ready();
  /// Moves time to the next event at or before `limit` and runs it; false if there is none.
  bool run_event(Instant limit);
  void mix(std::uint64_t value);
  void note(std::string_view line);
  EventQueue::Key after(Duration delay, UniqueFunction<void()> work) {
    return queue.add(clock.now() + delay, std::move(work));
  }

  std::uint64_t seed;
  EventQueue queue;
  SimClock clock{queue};
  SplitMix test_rng;
  SplitMix schedule_rng;
  SplitMix fault_rng;
  std::vector<SimLoop*> loops;
  /// What runs now: a loop, a disk pool, or null for the test's own code, which may use any loop.
  const void* running = nullptr;
  std::uint64_t hash;
  std::uint64_t pieces_at_this_time = 0;
  bool keeps_trace = false;
  std::vector<std::string> trace;
  SimNetwork network;
};

}  // namespace kmirror::env
