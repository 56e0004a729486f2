// Loop: one thread that runs short pieces of work one after the other. DiskPool: a few threads for
// work that may wait for a disk.
#pragma once

#include <cstddef>

#include "kmirror/base/unique_function.h"
#include "kmirror/env/awaitable.h"

namespace kmirror::env {

class Loop {
 public:
  Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  virtual ~Loop() = default;

  /// Runs `work` on this loop later, never inside the call. FIFO per posting thread. Any thread.
  virtual void post(UniqueFunction<void()> work) = 0;
  /// True on this loop's own thread (in simulation: while one of this loop's pieces runs).
  [[nodiscard]] virtual bool is_current() const = 0;
  /// 0 … number of loops - 1.
  [[nodiscard]] virtual std::size_t index() const = 0;
  /// For env/async.h; nothing else touches Asio.
  [[nodiscard]] virtual boost::asio::io_context& context() = 0;
};

class DiskPool {
 public:
  DiskPool() = default;
  DiskPool(const DiskPool&) = delete;
  DiskPool& operator=(const DiskPool&) = delete;
  virtual ~DiskPool() = default;

  /// Runs `work` on a pool thread. Work is started in order. Any thread. When 10,000 pieces wait
  /// the call runs `work` in place: a slow disk then slows the callers instead of eating memory.
  virtual void submit(UniqueFunction<void()> work) = 0;
};

}  // namespace kmirror::env
