#include "server/handlers/fetch_delay.h"

#include <limits>
#include <map>
#include <utility>

namespace kmirror::server {
namespace {

constexpr Offset kNever{std::numeric_limits<std::int64_t>::max()};

}  // namespace

FetchDelay::FetchDelay(env::Loop& loop, const storage::LogManager& logs,
                       storage::Isolation isolation, UniqueFunction<void()> moved)
    : loop_(loop), logs_(logs), isolation_(isolation), moved_(std::move(moved)) {}

FetchDelay::PerLoop& FetchDelay::of(env::Loop& loop) {
  for (auto& entry : loops_) {
    if (entry.loop == &loop) return entry;
  }
  loops_.emplace_back().loop = &loop;
  return loops_.back();
}

void FetchDelay::watch(const std::vector<std::shared_ptr<storage::PartitionLog>>& logs) {
  if (watched_.empty()) {
    watched_.resize(logs.size());
    for (std::size_t i = 0; i < logs.size(); ++i) watched_[i].log = logs[i];
  }
  std::map<env::Loop*, std::vector<Order>> orders;
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    Watched& entry = watched_[i];
    if (entry.armed) continue;
    entry.armed = true;
    Order order;
    order.index = i;
    order.log = entry.log;
    const bool committed = isolation_ == storage::Isolation::kReadCommitted;
    order.seen_log_end = committed ? kNever : entry.log->high_watermark();
    order.seen_last_stable = committed ? entry.log->last_stable_offset() : kNever;
    orders[&logs_.loop_of(*entry.log)].push_back(std::move(order));
  }
  for (auto& [loop, list] : orders) {
    loop->post([waiters = of(*loop).waiters, list = std::move(list), weak = weak_from_this(),
                home = &loop_] {
      if (waiters->stopped) return;
      for (const Order& order : list) {
        auto wake = [weak, home, index = order.index] {
          home->post([weak, index] {
            if (auto self = weak.lock()) self->log_moved(index);
          });
        };
        const auto id =
            order.log->add_waiter(order.seen_log_end, order.seen_last_stable, std::move(wake));
        waiters->ids.emplace_back(order.log, id);
      }
    });
  }
}

void FetchDelay::log_moved(std::size_t index) {
  watched_[index].armed = false;
  if (stopped_ || call_due_) return;
  call_due_ = true;
  loop_.post([weak = weak_from_this()] {
    auto self = weak.lock();
    if (self == nullptr || self->stopped_) return;
    self->call_due_ = false;
    self->moved_();
  });
}

void FetchDelay::stop() {
  if (stopped_) return;
  stopped_ = true;
  moved_ = nullptr;
  for (auto& entry : loops_) {
    entry.loop->post([waiters = entry.waiters] {
      waiters->stopped = true;
      for (const auto& [log, id] : waiters->ids) log->remove_waiter(id);
      waiters->ids.clear();
    });
  }
}

}  // namespace kmirror::server
