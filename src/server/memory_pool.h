// MemoryPool: the bytes that all requests in work may take together. A request takes its bytes
// before its body is read and gives them back when its answer is sent. Owner: any thread; atomics
// only. Invariant: what is taken stays below the capacity plus one request. Sources: Kafka 4.4
// SimpleMemoryPool (not strict), queued.max.request.bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace kmirror::server {

class MemoryPool;

/// Bytes taken from a pool; given back when this goes away.
class MemoryUnits {
 public:
  MemoryUnits() = default;
  MemoryUnits(MemoryPool* pool, std::int64_t bytes) : pool_(pool), bytes_(bytes) {}
  MemoryUnits(MemoryUnits&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryUnits& operator=(MemoryUnits&& other) noexcept {
    release();
    pool_ = std::exchange(other.pool_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~MemoryUnits() { release(); }
  void release();
  [[nodiscard]] explicit operator bool() const { return pool_ != nullptr; }

 private:
  MemoryPool* pool_ = nullptr;
  std::int64_t bytes_ = 0;
};

class MemoryPool {
 public:
  /// `capacity_bytes` < 0: no limit. `wake` is called, on whatever thread gives bytes back, when
  /// somebody was refused before; the waiters then try again.
  MemoryPool(std::int64_t capacity_bytes, std::function<void()> wake);

  /// Takes `bytes` if anything at all is left: one request may overdraw, so that none is too big
  /// for the pool. Empty units if nothing is left; `wake` will then be called later.
  [[nodiscard]] MemoryUnits try_take(std::int64_t bytes);
  [[nodiscard]] std::int64_t taken_bytes() const;

 private:
  friend class MemoryUnits;
  void give_back(std::int64_t bytes);
  [[nodiscard]] bool try_once(std::int64_t bytes);

  const std::int64_t capacity_bytes_;
  std::function<void()> wake_;
  std::atomic<std::int64_t> taken_bytes_{0};
  std::atomic<bool> somebody_waits_{false};
};

}  // namespace kmirror::server
