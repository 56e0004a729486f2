// PosixEnvironment: the real world. Loops with a thread each, a disk pool, the system's clocks,
// files and sockets. The only code of the project that calls the operating system.
// Owner: the thread that made it; environment() may be used from every loop between start() and the
// end of stop().
#pragma once

#include <cstddef>
#include <memory>

#include "kmirror/base/unique_function.h"
#include "kmirror/env/environment.h"

namespace kmirror::env {

struct PosixOptions {
  PosixOptions() = default;
  PosixOptions(std::size_t loops, std::size_t disk_threads)
      : loop_count(loops), disk_thread_count(disk_threads) {}
  std::size_t loop_count = 1;         ///< >= 1
  std::size_t disk_thread_count = 2;  ///< >= 1
};

class PosixEnvironment {
 public:
  /// Makes loops and pool but starts no thread. SIGPIPE is ignored from here on: a peer that goes
  /// away is an error of one write, not the end of the process.
  explicit PosixEnvironment(PosixOptions options);
  /// Calls stop().
  ~PosixEnvironment();
  PosixEnvironment(const PosixEnvironment&) = delete;
  PosixEnvironment& operator=(const PosixEnvironment&) = delete;

  [[nodiscard]] Environment& environment();

  /// Starts the threads. Once.
  void start();
  /// Runs what the disk pool still has, then ends the loops and joins all threads. Tasks that still
  /// wait are destroyed with the environment: join their groups first. May be repeated.
  void stop();

  /// Calls `on_signal(number)` on loop 0 for each SIGTERM, SIGINT and SIGHUP until stop(). Call
  /// once, before or after start(). Error: the system's.
  [[nodiscard]] Result<void> handle_signals(UniqueFunction<void(int)> on_signal);

  /// Runs `task` on `loop` and blocks the calling thread, which must be none of the loops, until it
  /// has ended. For main() and tests. An exception that escapes `task` aborts.
  void run(Loop& loop, Awaitable<void> task);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kmirror::env
