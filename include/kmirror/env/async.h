// What coroutines need from Asio, in one header: spawning, hopping between loops, waiting with a
// deadline. Include it in .cc files only.
// Owner: each type says. Sources: docs/decisions/0002-coroutine-rules.md.
#pragma once

#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "kmirror/base/check.h"
#include "kmirror/base/result.h"
#include "kmirror/base/unique_function.h"
#include "kmirror/env/awaitable.h"
#include "kmirror/env/clock.h"
#include "kmirror/env/loop.h"

namespace kmirror::env {

/// A wake-up call on one loop. All calls come from the loop that owns it.
/// set() wakes every waiter, now and until reset().
class AsyncEvent {
 public:
  explicit AsyncEvent(Loop& owner);
  ~AsyncEvent();
  AsyncEvent(const AsyncEvent&) = delete;
  AsyncEvent& operator=(const AsyncEvent&) = delete;

  void set();
  void reset();
  [[nodiscard]] bool is_set() const;
  /// True when set; false at `deadline` or when the task is cancelled.
  [[nodiscard]] Awaitable<bool> wait_until(Clock& clock, Instant deadline);
  /// Waits without a deadline: only where something else bounds the wait (say what at the call).
  [[nodiscard]] Awaitable<void> wait();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Tasks of one owner on one loop: started here, cancelled together, joined before the owner dies.
/// An exception that escapes a task aborts the process with the task's name: tasks return normally.
class TaskGroup {
 public:
  explicit TaskGroup(Loop& loop);
  ~TaskGroup();  ///< all tasks must have ended (checked): await join() first
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  /// Starts `task` on the group's loop. Owner loop only. `name` appears in the abort message.
  /// After cancel() nothing is started any more.
  void spawn(std::string name, Awaitable<void> task);
  /// Asks every task to end: its waits return early with operation_aborted. Owner loop only.
  void cancel();
  [[nodiscard]] bool is_cancelled() const;
  [[nodiscard]] std::size_t size() const;
  /// Returns when no task runs. Bounded by the tasks' own deadlines.
  [[nodiscard]] Awaitable<void> join();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// A value that comes later from a callback, on whatever thread. One waiter.
/// complete() may come before or after wait(); a second complete() is ignored.
template <class T>
class Completion;

/// Runs `work` on `target` and yields its value on the calling coroutine's own executor. `work` is a
/// plain function object, never a coroutine. If `target` is the caller's loop it still goes through
/// the queue, so that order stays first come, first served.
template <class T>
[[nodiscard]] Awaitable<T> call_on(Loop& target, UniqueFunction<T()> work);

/// Runs `work` on a pool thread and yields its value on the caller's executor.
template <class T>
[[nodiscard]] Awaitable<T> run_on(DiskPool& pool, UniqueFunction<T()> work);

/// The result of `operation`, or timed_out (system category) when `deadline` passes first; the
/// operation is then cancelled and its late result dropped. `what` is for the message.
template <class T>
[[nodiscard]] Awaitable<Result<T>> with_deadline(Clock& clock, Instant deadline,
                                                 Awaitable<Result<T>> operation, std::string what);

}  // namespace kmirror::env
