// What coroutines need from Asio, in one header: spawning, hopping between loops, waiting with a
// deadline. Include it in .cc files only.
// Owner: each type says. Invariants: a cancelled task can still run, but none of its waits here
// lasts any longer; no call resumes a coroutine inside itself.
// Sources: docs/decisions/0002-coroutine-rules.md.
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
#include "kmirror/env/errors.h"
#include "kmirror/env/loop.h"

namespace kmirror::env {

/// A wake-up call on one loop. All calls come from the loop that owns it.
/// set() wakes every waiter, now and until reset(). Destroying it ends every wait.
class AsyncEvent {
 public:
  /// May be made on any thread.
  explicit AsyncEvent(Loop& owner, bool initially_set = false);
  ~AsyncEvent();
  AsyncEvent(const AsyncEvent&) = delete;
  AsyncEvent& operator=(const AsyncEvent&) = delete;

  void set();
  void reset();
  [[nodiscard]] bool is_set() const;
  /// True when set (also if reset() follows before the waiter runs); false at `deadline` or when
  /// the task is cancelled or the event destroyed.
  [[nodiscard]] Awaitable<bool> wait_until(Clock& clock, Instant deadline);
  /// Waits without a deadline: only where something else bounds the wait (say what at the call).
  /// Returns early when the task is cancelled or the event destroyed.
  [[nodiscard]] Awaitable<void> wait();

  struct State;

 private:
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

  /// Starts `task` on the group's loop, not inside the call. Owner loop only. `name` appears in the
  /// abort message. After cancel() nothing is started any more: the task is destroyed unstarted.
  void spawn(std::string name, Awaitable<void> task);
  /// Asks every task to end: its waits, the present one and all later ones, return early with
  /// operation_aborted. Owner loop only.
  void cancel();
  [[nodiscard]] bool is_cancelled() const;
  [[nodiscard]] std::size_t size() const;
  /// Returns when no task runs. Bounded by the tasks' own deadlines; cancelling the joining task
  /// does not shorten it. Owner loop only; never from a task of the group itself.
  [[nodiscard]] Awaitable<void> join();

  struct State;

 private:
  std::shared_ptr<State> state_;
};

/// True if the calling task was cancelled; loops that wait must look and end.
[[nodiscard]] Awaitable<bool> task_cancelled();

/// Lets everything else that is ready on this loop run first. For loops over user-sized data.
[[nodiscard]] Awaitable<void> yield_now();

/// Clock::sleep_until() of now + `duration`.
[[nodiscard]] Awaitable<void> pause_for(Clock& clock, Duration duration);

/// A value that comes later from a callback, on whatever thread. Copies share the value: one side
/// keeps a copy to complete(), the other waits; at most one waiter at a time, always on one loop.
/// complete() may come before or after wait(); a second complete() is ignored.
template <class T>
class Completion;

/// Runs `work` on `target` and yields its value on the calling coroutine's own executor. `work` is
/// a plain function object, never a coroutine. If `target` is the caller's loop it still goes
/// through the queue, so that order stays first come, first served. Cancelling the task does not
/// end this wait: `work` runs and its value comes back.
template <class T>
[[nodiscard]] Awaitable<T> call_on(Loop& target, UniqueFunction<T()> work);

/// Runs `work` on a pool thread and yields its value on the caller's executor. Not ended by cancel.
template <class T>
[[nodiscard]] Awaitable<T> run_on(DiskPool& pool, UniqueFunction<T()> work);

/// The result of `operation`, or timed_out (system category) when `deadline` passes first; the
/// operation is then cancelled, and when it has ended its late result is dropped. It may therefore
/// use objects of the caller's frame. `what` is for the message.
template <class T>
[[nodiscard]] Awaitable<Result<T>> with_deadline(Clock& clock, Instant deadline,
                                                 Awaitable<Result<T>> operation, std::string what);

}  // namespace kmirror::env

#include "kmirror/env/async_impl.h"
