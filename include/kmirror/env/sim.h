// SimWorld: a whole site in one thread and in virtual time. Loops, clocks, dice, disks and the
// network are simulated; the same seed gives the same run.
// Owner: the test's thread. Invariants: time moves only when no loop has work; which loop runs next
// is drawn from the seed, the order within a loop is first come, first served.
// Sources: docs/decisions/0002-coroutine-rules.md; the design of the seams in docs/architecture.md.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kmirror/base/unique_function.h"
#include "kmirror/env/environment.h"
#include "kmirror/env/sim_disk.h"
#include "kmirror/env/sim_network.h"

namespace kmirror::env {

class SimWorld {
 public:
  explicit SimWorld(std::uint64_t seed);
  /// Everything that runs in the world must be gone: processes first, then the world.
  ~SimWorld();
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  [[nodiscard]] std::uint64_t seed() const;
  /// The virtual clock all processes share.
  [[nodiscard]] Clock& clock();
  /// Dice for the test itself; the world's own and each process's are others.
  [[nodiscard]] Rng& rng();
  [[nodiscard]] SimNetwork& network();
  /// Moves the wall clock of all processes by `by_ms`; the monotonic clock does not notice.
  void jump_wall_clock(std::int64_t by_ms);

  /// Runs until `done()` holds; looks after every piece of work. False if `limit` of virtual time
  /// passes first, or if nothing is left that could happen.
  [[nodiscard]] bool run_until(const std::function<bool()>& done, Duration limit);
  /// Runs for `duration` of virtual time.
  void run_for(Duration duration);
  /// Runs `task` on `loop`, and the world with it, until the task ends. Aborts if it has not ended
  /// after `limit` of virtual time, or throws.
  void run(Loop& loop, Awaitable<void> task, Duration limit = std::chrono::hours(24));
  /// Calls `work` after `delay` of virtual time, outside every loop: for faults by timetable.
  void schedule(Duration delay, UniqueFunction<void()> work);

  /// A number made of everything that has happened: equal for equal runs.
  [[nodiscard]] std::uint64_t trace_hash() const;
  /// Adds a line to the trace (and to the number above).
  void note(std::string_view line);
  /// Keeps the lines of the trace from now on: network, disk and notes, with the virtual time.
  void keep_trace();
  [[nodiscard]] const std::vector<std::string>& trace() const;

  struct Impl;
  [[nodiscard]] Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

struct SimProcessOptions {
  SimProcessOptions() = default;
  std::size_t loop_count = 1;
  /// How long the disk pool takes for one piece of work.
  Duration disk_latency = std::chrono::microseconds(100);
};

/// One process on one host with one disk: the Environment of one daemon or client.
/// Life: construct, run, destroy; or crash(), destroy what ran in it, destroy it, make a new one
/// with the same host and disk.
class SimProcess {
 public:
  /// `host` is its name in the network. The disk outlives the process.
  SimProcess(SimWorld& world, std::string host, SimDisk& disk,
             SimProcessOptions options = SimProcessOptions());
  ~SimProcess();
  SimProcess(const SimProcess&) = delete;
  SimProcess& operator=(const SimProcess&) = delete;

  [[nodiscard]] Environment& environment();
  [[nodiscard]] Loop& loop(std::size_t index = 0);
  [[nodiscard]] const std::string& host() const;

  /// The process dies, and with kPowerCut… the machine: connections break, the disk keeps what
  /// `crash` says. What ran in it still runs but reaches nothing: every file and network call of
  /// this process fails from now on, so that its owner can be taken down in order.
  void crash(SimCrash crash);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kmirror::env
