// Published<T>: an immutable snapshot that one thread replaces and any thread reads.
// A mutex is held only to copy a shared_ptr: std::atomic<std::shared_ptr> of libstdc++ 12 is
// reported as a data race by TSan.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace kmirror {

template <class T>
class Published {
 public:
  Published() = default;
  explicit Published(std::shared_ptr<const T> initial) : current_(std::move(initial)) {}

  /// The newest snapshot, or null if none was published. Any thread.
  [[nodiscard]] std::shared_ptr<const T> load() const {
    std::lock_guard lock(mutex_);
    return current_;
  }

  /// Makes `next` visible to every later load(). Any thread. The old snapshot is released outside
  /// the lock, so that its destructor never runs under it.
  void store(std::shared_ptr<const T> next) {
    {
      std::lock_guard lock(mutex_);
      current_.swap(next);
    }
    next.reset();
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> current_;
};

}  // namespace kmirror
