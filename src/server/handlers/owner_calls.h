// OwnerCalls: runs one piece of work per partition log on the log's owner loop, one post per loop,
// and brings all results back to the loop that asked. Owner: the asking loop; the pieces run on the
// owners' loops.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "kmirror/base/unique_function.h"
#include "kmirror/env/loop.h"
#include "kmirror/storage/log_manager.h"

namespace kmirror::server {

template <class T>
class OwnerCalls {
 public:
  using Work = UniqueFunction<T(storage::PartitionLog&)>;

  explicit OwnerCalls(const storage::LogManager& logs) : logs_(logs) {}

  /// Adds one piece; returns its place among the results.
  std::size_t add(std::shared_ptr<storage::PartitionLog> log, Work work) {
    auto& group = groups_[&logs_.loop_of(*log)];
    if (group == nullptr) group = std::make_shared<Group>();
    group->calls.push_back(Call{count_, std::move(log), std::move(work), {}});
    return count_++;
  }

  /// Runs all pieces; `done` is called on `home` with the results, in the order of add(). In place
  /// if there is none. `home` must be the calling loop.
  void run(env::Loop& home, UniqueFunction<void(std::vector<T>)> done) && {
    if (groups_.empty()) return done({});
    auto state = std::make_shared<State>();
    state->results.resize(count_);
    state->due = groups_.size();
    state->done = std::move(done);
    for (auto& [owner, group] : groups_) {
      owner->post([group = std::move(group), state, &home] {
        for (auto& call : group->calls) call.result = call.work(*call.log);
        home.post([group, state] { gather(*group, *state); });
      });
    }
  }

 private:
  struct Call {
    std::size_t place = 0;
    std::shared_ptr<storage::PartitionLog> log;
    Work work;
    T result;
  };
  struct Group {
    std::vector<Call> calls;
  };
  struct State {
    std::vector<T> results;
    std::size_t due = 0;
    UniqueFunction<void(std::vector<T>)> done;
  };
  static void gather(Group& group, State& state) {
    for (auto& call : group.calls) state.results[call.place] = std::move(call.result);
    if (--state.due == 0) state.done(std::move(state.results));
  }

  const storage::LogManager& logs_;
  std::map<env::Loop*, std::shared_ptr<Group>> groups_;
  std::size_t count_ = 0;
};

}  // namespace kmirror::server
