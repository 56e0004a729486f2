// FetchDelay: watches the logs of one waiting fetch and calls back when one of them moved. Nothing
// polls: each log's owner loop keeps a waiter.
// Owner: the loop of the fetch makes every call, and gets every call back. Waiters live on the
// loops of their logs and are taken off there when the watch ends. Invariant: after stop() nothing
// is called back any more. Sources: Kafka 4.4 DelayedFetch; house rules section 5.5.
#pragma once

#include <memory>
#include <vector>

#include "kmirror/storage/log_manager.h"

namespace kmirror::server {

class FetchDelay : public std::enable_shared_from_this<FetchDelay> {
 public:
  /// `moved` is called on `loop` after one or more logs moved since they were last watched, at most
  /// once per turn of the loop.
  FetchDelay(env::Loop& loop, const storage::LogManager& logs, storage::Isolation isolation,
             UniqueFunction<void()> moved);

  /// Watches every log of `logs` for anything beyond what it shows now; call it again after `moved`
  /// to watch those again that had moved. The list must be the same each time.
  void watch(const std::vector<std::shared_ptr<storage::PartitionLog>>& logs);
  void stop();

 private:
  struct Watched {
    std::shared_ptr<storage::PartitionLog> log;
    bool armed = false;
  };
  // The waiters of one loop; touched on that loop only.
  struct Waiters {
    std::vector<std::pair<std::shared_ptr<storage::PartitionLog>, storage::PartitionLog::WaitId>>
        ids;
    bool stopped = false;
  };
  struct PerLoop {
    env::Loop* loop = nullptr;
    std::shared_ptr<Waiters> waiters = std::make_shared<Waiters>();
  };
  struct Order {
    std::size_t index = 0;
    std::shared_ptr<storage::PartitionLog> log;
    Offset seen_log_end;
    Offset seen_last_stable;
  };
  [[nodiscard]] PerLoop& of(env::Loop& loop);
  void log_moved(std::size_t index);

  env::Loop& loop_;
  const storage::LogManager& logs_;
  const storage::Isolation isolation_;
  UniqueFunction<void()> moved_;
  std::vector<Watched> watched_;
  std::vector<PerLoop> loops_;
  bool call_due_ = false;
  bool stopped_ = false;
};

}  // namespace kmirror::server
