#include "server/memory_pool.h"

namespace kmirror::server {

void MemoryUnits::release() {
  if (pool_ != nullptr) std::exchange(pool_, nullptr)->give_back(bytes_);
}

MemoryPool::MemoryPool(std::int64_t capacity_bytes, std::function<void()> wake)
    : capacity_bytes_(capacity_bytes), wake_(std::move(wake)) {}

bool MemoryPool::try_once(std::int64_t bytes) {
  std::int64_t taken = taken_bytes_.load();
  while (capacity_bytes_ < 0 || taken < capacity_bytes_) {
    if (taken_bytes_.compare_exchange_weak(taken, taken + bytes)) return true;
  }
  return false;
}

MemoryUnits MemoryPool::try_take(std::int64_t bytes) {
  if (try_once(bytes)) return {this, bytes};
  // The mark comes before the second look: whoever gives back after that look sees the mark.
  somebody_waits_.store(true);
  if (try_once(bytes)) return {this, bytes};
  return {};
}

void MemoryPool::give_back(std::int64_t bytes) {
  taken_bytes_.fetch_sub(bytes);
  if (somebody_waits_.exchange(false)) wake_();
}

std::int64_t MemoryPool::taken_bytes() const { return taken_bytes_.load(); }

}  // namespace kmirror::server
