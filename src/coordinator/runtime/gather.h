// Gather: collects the answers of several shards on one loop.
// Owner: add() from any thread; everything else runs on the loop it was made with.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "kmirror/base/unique_function.h"
#include "kmirror/env/loop.h"

namespace kmirror::coordinator {

template <class Total>
class Gather : public std::enable_shared_from_this<Gather<Total>> {
 public:
  /// Calls `done` on `loop` after `part_count` calls of add(); after none if that is 0.
  static std::shared_ptr<Gather> make(env::Loop& loop, std::size_t part_count, Total initial,
                                      UniqueFunction<void(Total)> done) {
    auto gather = std::make_shared<Gather>(loop, part_count, std::move(initial), std::move(done));
    if (part_count == 0) loop.post([gather] { gather->done_(std::move(gather->total_)); });
    return gather;
  }
  Gather(env::Loop& loop, std::size_t part_count, Total initial, UniqueFunction<void(Total)> done)
      : loop_(loop), left_(part_count), total_(std::move(initial)), done_(std::move(done)) {}

  /// One part is there; `merge` puts it into the total. Any thread.
  void add(UniqueFunction<void(Total&)> merge) {
    loop_.post([self = this->shared_from_this(), merge = std::move(merge)]() mutable {
      merge(self->total_);
      if (--self->left_ == 0) self->done_(std::move(self->total_));
    });
  }

 private:
  env::Loop& loop_;
  std::size_t left_;
  Total total_;
  UniqueFunction<void(Total)> done_;
};

}  // namespace kmirror::coordinator
