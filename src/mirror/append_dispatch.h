// AppendDispatch: takes the good batches of one answer to the loops that own the logs, and brings
// the outcomes back. Owner: the fetcher's loop. Invariant: a log gets its batches in the order of
// dispatch; batches for a log that no longer ends where they begin are dropped. Sources: house
// rules sections 4 and 5; case G52.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kmirror/env/async.h"
#include "kmirror/env/environment.h"
#include "kmirror/storage/log_manager.h"
#include "mirror/partition_fetch.h"

namespace kmirror::mirror {

struct AppendJob {
  AppendJob() = default;
  std::shared_ptr<PartitionFetch> fetch;
  Slice batches;                        ///< checked; may be empty
  Offset expected;                      ///< where the log must end for them
  Offset source_log_start = kNoOffset;  ///< -1: leave the log start
};

struct AppendOutcome {
  AppendOutcome() = default;
  std::shared_ptr<PartitionFetch> fetch;
  std::size_t bytes = 0;
  std::size_t batches = 0;
  std::optional<std::string> error;  ///< why not everything was appended
  bool was_revoked = false;
};

class AppendDispatch {
 public:
  using Sink = UniqueFunction<void(AppendOutcome)>;

  /// `sink` runs on `loop`, once per job.
  AppendDispatch(env::Loop& loop, storage::LogManager& logs, Sink sink);

  /// Adds a job to the next dispatch(). Counts it in the partition's appends_under_way.
  void add(AppendJob job);
  /// Sends what was added; jobs for logs of this loop are done at once.
  void dispatch();
  /// Waits until nothing dispatched is under way. Bounded by the loops' own work.
  [[nodiscard]] env::Awaitable<void> drained();
  [[nodiscard]] env::Loop& loop_of(const storage::PartitionLog& log) const {
    return logs_.loop_of(log);
  }
  [[nodiscard]] bool is_idle() const { return state_->posts_under_way == 0; }

 private:
  struct State {
    explicit State(env::Loop& owner) : loop(owner), idle(owner, true) {}
    env::Loop& loop;
    env::AsyncEvent idle;
    Sink sink;
    int posts_under_way = 0;
  };
  static std::vector<AppendOutcome> run(std::vector<AppendJob> jobs);
  static void finish(State& state, std::vector<AppendOutcome> outcomes);

  std::shared_ptr<State> state_;
  storage::LogManager& logs_;
  std::map<std::size_t, std::pair<env::Loop*, std::vector<AppendJob>>> waiting_;  ///< by loop index
};

}  // namespace kmirror::mirror
