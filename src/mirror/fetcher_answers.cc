// What fetch answers and append outcomes do to the partitions of a fetcher.
// Owner: the fetcher's loop.
#include <algorithm>

#include "kmirror/base/log.h"
#include "mirror/fetcher_impl.h"

namespace kmirror::mirror {
namespace {

/// A batch above this is nonsense: the frame limit of the connection could not carry it.
constexpr std::size_t kLargestBatchBytes = 200UL << 20;
constexpr int kShortAnswersBeforeFailure = 3;

}  // namespace

using Impl = MirrorFetcherThread::Impl;
using Phase = PartitionFetch::Phase;

void Impl::take_answer(wire::FetchResponse answer) {
  std::map<NodeId, env::Endpoint> brokers;
  for (const auto& broker : answer.node_endpoints) {
    if (broker.port <= 0 || broker.port > 65'535) continue;
    brokers[broker.node_id] = env::Endpoint(broker.host, static_cast<std::uint16_t>(broker.port));
  }
  for (auto& topic : answer.responses) {
    const std::string name =
        topic.topic.empty() ? session_.topic_name(topic.topic_id) : topic.topic;
    for (auto& partition : topic.partitions) {
      const FetchPtr fetch = find(TopicPartition(name, partition.partition_index));
      // Not in the session (any more): a late answer (G52).
      if (!fetch || fetch->phase != Phase::kFetching) continue;
      take_partition(partition, fetch, brokers);
    }
  }
}

void Impl::take_partition(const wire::FetchResponse::PartitionData& answer, const FetchPtr& fetch,
                          const std::map<NodeId, env::Endpoint>& brokers) {
  AskedPosition asked;
  asked.assignment = fetch->assignment.number;
  asked.offset = fetch->asked_offset;
  asked.current_leader_epoch = fetch->assignment.source_epoch;
  FetchStatus status;
  status.assignment = fetch->assignment.number;
  status.next_offset = fetch->next_offset;
  status.own_epoch = fetch->assignment.own_epoch;
  PartitionPlan plan = plan_partition(answer, asked, status);
  if (!plan.is_ours) return;
  if (plan.source_high_watermark >= Offset(0)) {
    fetch->assignment.progress->source_high_watermark.store(plan.source_high_watermark.get(),
                                                            std::memory_order_relaxed);
  }
  fetch->next_offset = plan.batches.next_offset;
  if (plan.batches.last_epoch >= LeaderEpoch{0}) fetch->last_epoch = plan.batches.last_epoch;
  const bool moves_start = plan.source_log_start > fetch->assignment.log->log_start_offset();
  if (!plan.batches.good.empty() || moves_start) {
    AppendJob job;
    job.fetch = fetch;
    job.batches = plan.batches.good;
    job.expected = asked.offset;
    job.source_log_start = plan.source_log_start;
    dispatch_.add(std::move(job));
  }
  if (plan.problem == FetchProblem::kNone) {
    after_good_answer(*fetch, plan);
    if (plan.batches.needed_bytes > 0) {
      ask_for_more(fetch, plan.batches.needed_bytes);
    } else {
      fetch->short_answers = 0;
      fetch->max_bytes = 0;
      put_in_session(*fetch);
    }
  } else {
    take_problem(fetch, plan, brokers);
  }
}

void Impl::after_good_answer(PartitionFetch& fetch, const PartitionPlan& plan) {
  PartitionProgress& progress = *fetch.assignment.progress;
  const std::int64_t now_ms = environment_.clock.wall_ms();
  progress.last_fetch_ms.store(now_ms, std::memory_order_relaxed);
  if (fetch.next_offset >= plan.source_high_watermark) {
    progress.caught_up_ms.store(now_ms, std::memory_order_relaxed);
  }
  // An answer without records says that there are none (G71); with records the append decides.
  const bool is_empty = plan.batches.good.empty() && plan.batches.needed_bytes == 0;
  if (is_empty) report_progress(fetch);
}

void Impl::report_progress(PartitionFetch& fetch) {
  if (fetch.has_progress) return;
  fetch.has_progress = true;
  sink_(FetchEvent(FetchEvent::Kind::kProgress, fetch.assignment));
}

/// Not one whole batch arrived: the next request asks for as much as the first one needs (G24).
void Impl::ask_for_more(const FetchPtr& fetch, std::size_t needed_bytes) {
  const bool is_nonsense =
      needed_bytes > kLargestBatchBytes || ++fetch->short_answers > kShortAnswersBeforeFailure;
  if (is_nonsense) {
    fail(fetch, MirrorFailure::kRetriable,
         fmt::format("the batch at offset {} claims {} bytes and never arrives whole",
                     fetch->next_offset, needed_bytes));
    return;
  }
  fetch->max_bytes = static_cast<std::int32_t>(
      std::max(needed_bytes, 2 * static_cast<std::size_t>(position_of(*fetch).max_bytes)));
  put_in_session(*fetch);
}

void Impl::take_problem(const FetchPtr& fetch, const PartitionPlan& plan,
                        const std::map<NodeId, env::Endpoint>& brokers) {
  const FetchAssignment& assignment = fetch->assignment;
  switch (plan.problem) {
    case FetchProblem::kNone:
      return;
    case FetchProblem::kCorrupt:
    case FetchProblem::kOther:
      return fail(fetch, MirrorFailure::kRetriable, plan.message);
    case FetchProblem::kNotAuthorized:
      return fail(fetch, MirrorFailure::kSourceUnreachable,
                  fmt::format("not authorized to READ topic {} at the source",
                              assignment.topic_partition.topic));
    case FetchProblem::kBusy:
      return delay(fetch, plan.message);
    case FetchProblem::kOutOfRange:
      session_.remove(assignment.topic_partition);
      fetch->phase = Phase::kOutOfRange;
      return;
    case FetchProblem::kDiverged:
      session_.remove(assignment.topic_partition);
      fetch->phase = Phase::kDiverged;
      fetch->diverging = storage::EpochAndEndOffset(plan.epoch, plan.end_offset);
      return;
    case FetchProblem::kLeaderMoved: {
      FetchEvent event(FetchEvent::Kind::kLeaderMoved, assignment);
      event.leader = plan.leader.value_or(NodeId{-1});
      event.epoch = plan.epoch;
      event.brokers = brokers;
      event.message = plan.message;
      return end(fetch, std::move(event));
    }
    case FetchProblem::kSourceEpochAhead:
    case FetchProblem::kStaleMetadata: {
      FetchEvent event(FetchEvent::Kind::kStaleMetadata, assignment);
      event.epoch = plan.epoch;
      event.message = plan.message;
      return end(fetch, std::move(event));
    }
    case FetchProblem::kOwnEpochBehind: {
      FetchEvent event(FetchEvent::Kind::kOwnEpochBehind, assignment);
      event.epoch = plan.epoch;
      event.message = plan.message;
      return end(fetch, std::move(event));
    }
  }
}

void Impl::take_outcome(AppendOutcome outcome) {
  const FetcherCounters& counters = options_.counters;
  if (counters.record_bytes != nullptr) counters.record_bytes->add(outcome.bytes);
  if (counters.batches != nullptr) counters.batches->add(outcome.batches);
  if (outcome.was_revoked) return;
  PartitionFetch& fetch = *outcome.fetch;
  if (!outcome.error) {
    if (outcome.bytes > 0) report_progress(fetch);
    return;
  }
  // Already let go of for a problem of the same answer: that event is on its way.
  if (is_current(outcome.fetch)) {
    fail(outcome.fetch, MirrorFailure::kRetriable, std::move(*outcome.error));
  }
}

void Impl::delay(const FetchPtr& fetch, const std::string& why) {
  KM_LOG(kDebug, "mirror.fetch_delayed", "mirror {} {}: {}", options_.mirror,
         fetch->assignment.topic_partition, why);
  session_.remove(fetch->assignment.topic_partition);
  fetch->phase = Phase::kDelayed;
  fetch->delayed_until = environment_.clock.now() + options_.fetch_backoff;
}

void Impl::end(const FetchPtr& fetch, FetchEvent event) {
  remove(fetch);
  when_idle(*fetch, [this, event = std::move(event)]() mutable { sink_(std::move(event)); });
}

void Impl::fail(const FetchPtr& fetch, MirrorFailure failure, std::string message) {
  FetchEvent event(FetchEvent::Kind::kFailed, fetch->assignment);
  event.failure = failure;
  event.message = std::move(message);
  end(fetch, std::move(event));
}

void Impl::fail_all(MirrorFailure failure, const std::string& message) {
  while (!fetches_.empty()) {
    const FetchPtr fetch = fetches_.begin()->second;
    fail(fetch, failure, message);
  }
}

}  // namespace kmirror::mirror
