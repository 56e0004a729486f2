#include "server/timer_queue.h"

#include "kmirror/env/async.h"

namespace kmirror::server {

TimerQueue::TimerQueue(env::Loop& loop, env::Clock& clock)
    : clock_(clock), changed_(std::make_unique<env::AsyncEvent>(loop)) {}

TimerQueue::~TimerQueue() = default;

TimerQueue::Id TimerQueue::add(env::Instant when, UniqueFunction<void()> work) {
  const Id id(when, next_++);
  const bool is_first = timers_.empty() || id < timers_.begin()->first;
  timers_.emplace(id, std::move(work));
  if (is_first) changed_->set();
  return id;
}

void TimerQueue::cancel(const Id& id) { timers_.erase(id); }

void TimerQueue::stop() {
  stopped_ = true;
  timers_.clear();
  changed_->set();
}

env::Awaitable<void> TimerQueue::run() {
  while (!stopped_) {
    while (!timers_.empty() && timers_.begin()->first.first <= clock_.now() && !stopped_) {
      auto due = timers_.extract(timers_.begin());
      due.mapped()();
    }
    if (stopped_) break;
    changed_->reset();
    if (timers_.empty()) {
      // Bounded by the owner: stop() or a cancelled task ends it.
      co_await changed_->wait();
    } else {
      const env::Instant next = timers_.begin()->first.first;
      (void)co_await changed_->wait_until(clock_, next);
    }
    const bool cancelled = co_await env::task_cancelled();
    if (cancelled) break;
  }
}

}  // namespace kmirror::server
