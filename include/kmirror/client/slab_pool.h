// SlabPool: big receive buffers used again and again, so that a fetch costs no page faults.
// Owner: one loop takes; a slab comes back from any thread when its last slice dies, by a post to
// the owner loop. The pool may die before its slabs.
#pragma once

#include <cstddef>
#include <memory>

#include "kmirror/bytes/slice.h"
#include "kmirror/env/loop.h"

namespace kmirror::client {

class SlabPool {
 public:
  /// Keeps at most `max_idle_bytes` of unused slabs; what comes back beyond that is freed.
  SlabPool(env::Loop& owner, std::size_t max_idle_bytes);
  ~SlabPool();
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  /// A slab of at least `size_bytes` bytes, not cleared; below 64 KiB it is of exactly that size
  /// and not pooled. Owner loop. Memory is used only as far as the slab is written.
  [[nodiscard]] std::shared_ptr<Slab> take(std::size_t size_bytes);
  [[nodiscard]] std::size_t idle_bytes() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace kmirror::client
