#include "coordinator/runtime/timer_queue.h"

#include <algorithm>
#include <vector>

namespace kmirror::coordinator {

TimerId TimerQueue::schedule(std::chrono::milliseconds delay, UniqueFunction<void()> work) {
  const TimerId id = next_id_++;
  const env::Instant when = clock_.now() + std::max(delay, std::chrono::milliseconds(0));
  calls_.emplace(std::pair(when, id), std::move(work));
  instants_.emplace(id, when);
  arm_earliest();
  return id;
}

void TimerQueue::cancel(TimerId& id) {
  const auto found = instants_.find(id);
  id = 0;
  if (found == instants_.end()) return;
  calls_.erase(std::pair(found->second, found->first));
  instants_.erase(found);
  // The armed timer stays: a wake-up with nothing due costs less than arming again for every
  // heartbeat.
}

void TimerQueue::run_due() {
  const env::Instant now = clock_.now();
  const TimerId first_new = next_id_;
  while (!calls_.empty()) {
    const auto first = calls_.begin();
    const auto [when, id] = first->first;
    if (when > now || id >= first_new) break;
    UniqueFunction<void()> work = std::move(first->second);
    calls_.erase(first);
    instants_.erase(id);
    work();
  }
  arm_earliest();
}

void TimerQueue::clear() {
  calls_.clear();
  instants_.clear();
  armed_.reset();
  armed_for_ = env::Instant::max();
}

void TimerQueue::arm_earliest() {
  if (calls_.empty()) return;
  const env::Instant earliest = calls_.begin()->first.first;
  if (armed_for_ <= earliest) return;
  armed_for_ = earliest;
  armed_ = arm_(earliest, [this] {
    armed_for_ = env::Instant::max();
    run_due();
  });
}

}  // namespace kmirror::coordinator
