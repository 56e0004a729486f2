// SplitMix64: 64 random bits a call, from a counter, so that any thread may call it without a lock.
// Owner: any thread. Not for keys or passwords.
// Sources: Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators (OOPSLA 2014).
#pragma once

#include <atomic>

#include "kmirror/env/clock.h"

namespace kmirror::env {

class SplitMix final : public Rng {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}

  [[nodiscard]] std::uint64_t next() override {
    std::uint64_t z = state_.fetch_add(kStep, std::memory_order_relaxed) + kStep;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ULL;
  std::atomic<std::uint64_t> state_;
};

}  // namespace kmirror::env
