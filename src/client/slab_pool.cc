// Receive slabs that come home by a post when their last slice dies.
// Owner: the pool's loop; only the deleter runs elsewhere, and it touches nothing but the loop.
#include "kmirror/client/slab_pool.h"

#include <vector>

namespace kmirror::client {
namespace {

constexpr std::size_t kSmallestPooledBytes = 64UL << 10;
constexpr std::size_t kGrainBytes = 256UL << 10;

}  // namespace

struct SlabPool::State {
  State(env::Loop& loop, std::size_t limit_bytes) : owner(loop), max_idle_bytes(limit_bytes) {}
  env::Loop& owner;
  std::size_t max_idle_bytes;
  std::size_t idle_bytes = 0;
  std::vector<std::unique_ptr<Slab>> idle;

  void put(std::unique_ptr<Slab> slab) {
    if (idle_bytes + slab->size() > max_idle_bytes) return;
    idle_bytes += slab->size();
    idle.push_back(std::move(slab));
  }

  /// The smallest idle slab of at least that size; null if there is none.
  std::unique_ptr<Slab> fitting(std::size_t size_bytes) {
    auto best = idle.end();
    for (auto it = idle.begin(); it != idle.end(); ++it) {
      if ((*it)->size() < size_bytes) continue;
      if (best == idle.end() || (*it)->size() < (*best)->size()) best = it;
    }
    if (best == idle.end()) return nullptr;
    std::unique_ptr<Slab> slab = std::move(*best);
    idle.erase(best);
    idle_bytes -= slab->size();
    return slab;
  }

  void drop_one() {
    if (idle.empty()) return;
    idle_bytes -= idle.back()->size();
    idle.pop_back();
  }
};

namespace {

/// Runs where the last slice dies; sends the slab back to the loop that owns the pool.
template <class State>
struct Returner {
  std::weak_ptr<State> pool;
  env::Loop* owner;
  void operator()(Slab* raw) const {
    std::unique_ptr<Slab> slab(raw);
    if (owner->is_current()) {
      if (auto state = pool.lock()) state->put(std::move(slab));
      return;
    }
    if (pool.expired()) return;
    owner->post([weak = pool, back = std::move(slab)]() mutable {
      if (auto state = weak.lock()) state->put(std::move(back));
    });
  }
};

}  // namespace

SlabPool::SlabPool(env::Loop& owner, std::size_t max_idle_bytes)
    : state_(std::make_shared<State>(owner, max_idle_bytes)) {}
SlabPool::~SlabPool() = default;

std::size_t SlabPool::idle_bytes() const { return state_->idle_bytes; }

std::shared_ptr<Slab> SlabPool::take(std::size_t size_bytes) {
  if (size_bytes < kSmallestPooledBytes || state_->max_idle_bytes == 0) {
    return std::make_shared<Slab>(size_bytes);
  }
  std::unique_ptr<Slab> slab = state_->fitting(size_bytes);
  if (!slab) {
    // Answers of one connection have much the same size: a slab that was too small will be again.
    state_->drop_one();
    slab = std::make_unique<Slab>((size_bytes / kGrainBytes + 1) * kGrainBytes);
  }
  return {slab.release(), Returner<State>{state_, &state_->owner}};
}

}  // namespace kmirror::client
