// The inside of MirrorFetcherThread, split over fetcher_thread.cc (life, connection, rounds),
// fetcher_answers.cc (what answers do to partitions) and fetcher_settle.cc (comparing our log with
// the source's before the first fetch and after a divergence). Owner: the fetcher's loop.
// Invariant: at most one request is outstanding; partitions are settled only while none is.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kmirror/client/backoff.h"
#include "kmirror/env/async.h"
#include "kmirror/mirror/fetcher_thread.h"
#include "kmirror/wire/fetch_response.h"
#include "mirror/append_dispatch.h"
#include "mirror/fetch_response_plan.h"
#include "mirror/fetch_session.h"
#include "mirror/partition_fetch.h"
#include "mirror/truncation.h"

namespace kmirror::mirror {

class MirrorFetcherThread::Impl {
 public:
  using FetchPtr = std::shared_ptr<PartitionFetch>;

  Impl(env::Environment& environment, env::Loop& loop, storage::LogManager& logs,
       FetcherOptions options, Sink sink);

  void start();
  env::Awaitable<void> stop();
  void assign(std::vector<FetchAssignment> assignments);
  void unassign(const std::vector<TopicPartition>& partitions, UniqueFunction<void()> done);
  void set_own_epoch(const TopicPartition& partition, LeaderEpoch epoch);
  void set_response_max_bytes(std::int32_t bytes) { options_.response_max_bytes = bytes; }
  [[nodiscard]] std::size_t partition_count() const { return fetches_.size(); }
  [[nodiscard]] bool is_connected() const { return connection_ && connection_->is_open(); }

 private:
  // fetcher_thread.cc
  env::Awaitable<void> run();
  env::Awaitable<void> serve_connection();
  env::Awaitable<Result<void>> connect();
  env::Awaitable<Result<void>> verify_cluster();
  env::Awaitable<Result<void>> fetch_round();
  env::Awaitable<Result<void>> send_fetch();
  env::Awaitable<void> close_session();
  env::Awaitable<void> pause(std::chrono::milliseconds time);
  void note_failure(const Error& error);
  [[nodiscard]] bool needs_settling() const;
  void wake_delayed();
  [[nodiscard]] env::Instant next_wake() const;
  [[nodiscard]] FetchLimits limits() const;
  [[nodiscard]] FetchPosition position_of(const PartitionFetch& fetch) const;
  void put_in_session(PartitionFetch& fetch);

  // fetcher_answers.cc
  void take_answer(wire::FetchResponse answer);
  void take_partition(const wire::FetchResponse::PartitionData& answer, const FetchPtr& fetch,
                      const std::map<NodeId, env::Endpoint>& brokers);
  void after_good_answer(PartitionFetch& fetch, const PartitionPlan& plan);
  void take_problem(const FetchPtr& fetch, const PartitionPlan& plan,
                    const std::map<NodeId, env::Endpoint>& brokers);
  void take_outcome(AppendOutcome outcome);
  void ask_for_more(const FetchPtr& fetch, std::size_t needed_bytes);
  void report_progress(PartitionFetch& fetch);
  void delay(const FetchPtr& fetch, const std::string& why);
  /// Lets go of the partition and sends `event` once its appends are done.
  void end(const FetchPtr& fetch, FetchEvent event);
  void fail(const FetchPtr& fetch, MirrorFailure failure, std::string message);
  void fail_all(MirrorFailure failure, const std::string& message);
  void remove(const FetchPtr& fetch);

  // fetcher_settle.cc
  env::Awaitable<Result<void>> settle();
  env::Awaitable<Result<void>> settle_new(std::vector<FetchPtr> fetches);
  env::Awaitable<Result<void>> search_divergence(std::vector<FetchPtr> fetches);
  env::Awaitable<Result<void>> ask_epoch_ends(std::map<TopicPartition, DivergenceSearch>& searches,
                                              std::vector<FetchPtr>& fetches);
  void conclude_search(const FetchPtr& fetch, const DivergenceSearch& search);
  env::Awaitable<Result<void>> check_tails(std::vector<FetchPtr> fetches);
  env::Awaitable<Result<void>> check_tail_group(std::vector<FetchPtr> group,
                                                std::vector<Slice> tails, bool alone);
  bool judge_tail(const FetchPtr& fetch, const Slice& ours,
                  const wire::FetchResponse::PartitionData& answer);
  env::Awaitable<Result<void>> ask_range(FetchPtr fetch);
  env::Awaitable<Result<std::optional<Offset>>> list_offset(FetchPtr fetch, std::int64_t timestamp);
  env::Awaitable<Result<void>> restart_at(FetchPtr fetch, Offset source_start);
  env::Awaitable<Result<Slice>> read_tail(FetchPtr fetch);
  [[nodiscard]] FetchPtr find(const TopicPartition& partition) const;
  [[nodiscard]] bool is_current(const FetchPtr& fetch) const;
  /// Sorts an error code of a request other than Fetch, which carries no hint.
  void take_error(const FetchPtr& fetch, ErrorCode code, const char* api);

  env::Environment& environment_;
  env::Loop& loop_;
  FetcherOptions options_;
  Sink sink_;
  env::TaskGroup tasks_;
  env::AsyncEvent wake_;  ///< set when there is something to do for the task
  std::unique_ptr<client::Connection> connection_;
  client::Backoff backoff_;
  std::optional<env::Instant> unreachable_since_;
  FetchSession session_;
  AppendDispatch dispatch_;
  std::map<TopicPartition, FetchPtr> fetches_;
  bool fetch_outstanding_ = false;
  env::Instant quiet_until_;  ///< the broker asked for silence until then (KIP-219)
  std::int32_t rotation_ = 0;
  bool stopping_ = false;
};

}  // namespace kmirror::mirror
