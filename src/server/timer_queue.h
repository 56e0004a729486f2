// TimerQueue: calls functions of one loop at their deadlines; one sleeping task for all of them.
// Owner: one loop makes every call. Functions run on that loop, never inside add() or cancel().
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "kmirror/base/unique_function.h"
#include "kmirror/env/awaitable.h"
#include "kmirror/env/clock.h"
#include "kmirror/env/loop.h"

namespace kmirror::env {
class AsyncEvent;
}

namespace kmirror::server {

class TimerQueue {
 public:
  using Id = std::pair<env::Instant, std::uint64_t>;

  TimerQueue(env::Loop& loop, env::Clock& clock);
  ~TimerQueue();
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;

  /// Calls `work` once at or after `when`. Not called at all after stop().
  Id add(env::Instant when, UniqueFunction<void()> work);
  /// Forgets a timer; one that is gone is ignored.
  void cancel(const Id& id);
  [[nodiscard]] std::size_t size() const { return timers_.size(); }

  /// The task that calls them: spawn it once on the owner loop; it ends after stop() or when it is
  /// cancelled. The queue must outlive it.
  [[nodiscard]] env::Awaitable<void> run();
  void stop();

 private:
  env::Clock& clock_;
  std::unique_ptr<env::AsyncEvent> changed_;
  std::map<Id, UniqueFunction<void()>> timers_;
  std::uint64_t next_ = 0;
  bool stopped_ = false;
};

}  // namespace kmirror::server
