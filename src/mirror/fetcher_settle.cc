// Before the first fetch and after a divergence: does our log agree with the source's, and where
// does the source's begin? Nothing is appended before this says so. Owner: the fetcher's loop.
// Invariant: no fetch is outstanding. Sources: decisions 3.9, 3.10; KIP-320; cases G22, G28, G56,
// G57, G64.
#include <algorithm>

#include "kmirror/base/log.h"
#include "kmirror/wire/fetch_request.h"
#include "kmirror/wire/list_offsets_request.h"
#include "kmirror/wire/list_offsets_response.h"
#include "kmirror/wire/offset_for_leader_epoch_request.h"
#include "kmirror/wire/offset_for_leader_epoch_response.h"
#include "mirror/fetcher_impl.h"
#include "mirror/tail_check.h"

namespace kmirror::mirror {
namespace {

constexpr std::int64_t kEarliest = -2;
constexpr std::int64_t kLatest = -1;
constexpr NodeId kConsumer{-1};
constexpr std::int32_t kSessionless = -1;
constexpr std::size_t kTailGroupBytes = 4UL << 20;
constexpr std::size_t kTailGroupCount = 200;

std::string cut_message(const DivergenceSearch& search, Offset log_end) {
  return fmt::format(
      "the source's log was cut (unclean leader election?): it agrees with ours up to offset {} "
      "only, ours ends at {}; nothing was cut here. Set "
      "mirror.support.unclean.leader.election=true "
      "on the topic and recover it to follow the source",
      search.common_end(), log_end);
}

}  // namespace

using Impl = MirrorFetcherThread::Impl;
using Phase = PartitionFetch::Phase;

env::Awaitable<Result<void>> Impl::settle() {
  std::vector<FetchPtr> fresh;
  std::vector<FetchPtr> diverged;
  std::vector<FetchPtr> out_of_range;
  for (const auto& [partition, fetch] : fetches_) {
    if (fetch->phase == Phase::kNew) fresh.push_back(fetch);
    if (fetch->phase == Phase::kDiverged) diverged.push_back(fetch);
    if (fetch->phase == Phase::kOutOfRange) out_of_range.push_back(fetch);
  }
  // Appends of the last answer decide where our logs end.
  co_await dispatch_.drained();
  for (const FetchPtr& fetch : out_of_range) {
    if (is_current(fetch)) KM_CO_TRY_VOID(co_await ask_range(fetch));
  }
  if (!diverged.empty()) KM_CO_TRY_VOID(co_await search_divergence(std::move(diverged)));
  if (!fresh.empty()) KM_CO_TRY_VOID(co_await settle_new(std::move(fresh)));
  unreachable_since_.reset();
  backoff_.reset();
  co_return Result<void>();
}

env::Awaitable<Result<void>> Impl::settle_new(std::vector<FetchPtr> fetches) {
  std::vector<FetchPtr> with_data;
  for (const FetchPtr& fetch : fetches) {
    const storage::PartitionLog& log = *fetch->assignment.log;
    fetch->next_offset = log.log_end_offset();
    fetch->last_epoch = log.latest_epoch();
    if (log.log_end_offset() > log.log_start_offset()) with_data.push_back(fetch);
  }
  if (!with_data.empty()) {
    std::vector<FetchPtr> copy = with_data;
    KM_CO_TRY_VOID(co_await search_divergence(std::move(copy)));
    std::erase_if(with_data, [](const FetchPtr& fetch) { return fetch->phase != Phase::kNew; });
    KM_CO_TRY_VOID(co_await check_tails(std::move(with_data)));
  }
  for (const FetchPtr& fetch : fetches) {
    if (fetch->phase == Phase::kNew) put_in_session(*fetch);
  }
  co_return Result<void>();
}

env::Awaitable<Result<void>> Impl::search_divergence(std::vector<FetchPtr> fetches) {
  std::map<TopicPartition, DivergenceSearch> searches;
  for (const FetchPtr& fetch : fetches) {
    const FetchAssignment& of = fetch->assignment;
    DivergenceSearch search(of.log->epoch_entries(), of.log->log_end_offset());
    // A fetch answer was the source's first word already.
    if (fetch->phase == Phase::kDiverged) search.answer(fetch->diverging);
    searches.emplace(of.topic_partition, std::move(search));
  }
  for (;;) {
    std::vector<FetchPtr> asking;
    for (const FetchPtr& fetch : fetches) {
      const auto search = searches.find(fetch->assignment.topic_partition);
      const bool asks = is_current(fetch) && search != searches.end() && search->second.question();
      if (asks) asking.push_back(fetch);
    }
    if (asking.empty()) break;
    KM_CO_TRY_VOID(co_await ask_epoch_ends(searches, asking));
  }
  for (const FetchPtr& fetch : fetches) {
    const auto search = searches.find(fetch->assignment.topic_partition);
    if (is_current(fetch) && search != searches.end()) conclude_search(fetch, search->second);
  }
  co_return Result<void>();
}

/// One round of questions. A partition whose question is answered with an error leaves `searches`.
env::Awaitable<Result<void>> Impl::ask_epoch_ends(
    std::map<TopicPartition, DivergenceSearch>& searches, std::vector<FetchPtr>& fetches) {
  wire::OffsetForLeaderEpochRequest request;
  request.replica_id = kConsumer;
  for (const FetchPtr& fetch : fetches) {
    const TopicPartition& where = fetch->assignment.topic_partition;
    if (request.topics.empty() || request.topics.back().topic != where.topic) {
      request.topics.emplace_back().topic = where.topic;
    }
    auto& partition = request.topics.back().partitions.emplace_back();
    partition.partition = where.partition;
    partition.current_leader_epoch = fetch->assignment.source_epoch;
    partition.leader_epoch = *searches.at(where).question();
  }
  const Result<ApiVersion> version = connection_->version_for<wire::OffsetForLeaderEpochRequest>();
  if (!version) co_return version.error();
  const ApiVersion chosen = *version;
  KM_CO_TRY(answer, co_await connection_->call(std::move(request), chosen));
  std::set<TopicPartition> unanswered;
  for (const FetchPtr& fetch : fetches) unanswered.insert(fetch->assignment.topic_partition);
  for (const auto& topic : answer.topics) {
    for (const auto& partition : topic.partitions) {
      const TopicPartition where(topic.topic, partition.partition);
      const auto search = searches.find(where);
      if (unanswered.erase(where) == 0 || search == searches.end()) continue;
      if (partition.error_code == ErrorCode::NONE) {
        search->second.answer(
            storage::EpochAndEndOffset(partition.leader_epoch, partition.end_offset));
        continue;
      }
      searches.erase(search);
      if (const FetchPtr fetch = find(where)) {
        take_error(fetch, partition.error_code, "OffsetForLeaderEpoch");
      }
    }
  }
  for (const TopicPartition& where : unanswered) {
    searches.erase(where);
    if (const FetchPtr fetch = find(where)) {
      take_error(fetch, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "OffsetForLeaderEpoch");
    }
  }
  co_return Result<void>();
}

void Impl::conclude_search(const FetchPtr& fetch, const DivergenceSearch& search) {
  const Offset log_end = fetch->assignment.log->log_end_offset();
  if (search.common_end() >= log_end) {
    // A source whose high watermark lags, or that contradicts itself: ask again later.
    if (fetch->phase != Phase::kNew) delay(fetch, "the source's epochs agree with ours");
    return;
  }
  if (!fetch->assignment.may_truncate) {
    return fail(fetch, MirrorFailure::kTerminal, cut_message(search, log_end));
  }
  FetchEvent event(FetchEvent::Kind::kTruncate, fetch->assignment);
  event.offset = search.common_end();
  event.message =
      fmt::format("the source's log agrees with ours up to offset {} only", search.common_end());
  end(fetch, std::move(event));
}

/// Our last batch, whole; empty if the log has none.
env::Awaitable<Result<Slice>> Impl::read_tail(FetchPtr fetch) {
  const std::shared_ptr<storage::PartitionLog> log = fetch->assignment.log;
  UniqueFunction<Result<Slice>()> read = [log]() -> Result<Slice> {
    storage::ReadRequest request;
    request.from = log->log_end_offset() - 1;
    request.max_bytes = 1;
    request.isolation = storage::Isolation::kLogEnd;
    KM_TRY(result, log->read(request));
    return result.records.flatten();
  };
  Result<Slice> tail = co_await env::run_on<Result<Slice>>(environment_.disk, std::move(read));
  co_return tail;
}

env::Awaitable<Result<void>> Impl::check_tails(std::vector<FetchPtr> fetches) {
  std::vector<FetchPtr> group;
  std::vector<Slice> tails;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    const FetchPtr fetch = fetches[i];
    if (fetch->phase != Phase::kNew) continue;
    Result<Slice> tail = co_await read_tail(fetch);
    if (!is_current(fetch)) continue;
    if (!tail) {
      fail(fetch, MirrorFailure::kRetriable, tail.error().message);
    } else if (!tail->empty() && RecordBatchView::parse(*tail)) {
      bytes += tail->size();
      group.push_back(fetch);
      tails.push_back(std::move(*tail));
    }
    const bool is_full = bytes >= kTailGroupBytes || group.size() >= kTailGroupCount;
    if (!is_full) continue;
    std::vector<FetchPtr> full_group = std::exchange(group, {});
    std::vector<Slice> full_tails = std::exchange(tails, {});
    KM_CO_TRY_VOID(co_await check_tail_group(std::move(full_group), std::move(full_tails), false));
    bytes = 0;
  }
  if (!group.empty()) {
    KM_CO_TRY_VOID(co_await check_tail_group(std::move(group), std::move(tails), false));
  }
  co_return Result<void>();
}

/// Fetches the source's batches at our last batches' offsets, outside of the session. The source
/// sends the first partition's batch whole, whatever its size; others only within our batch's size.
/// So a partition without an answer is asked for once more, `alone`.
env::Awaitable<Result<void>> Impl::check_tail_group(std::vector<FetchPtr> group,
                                                    std::vector<Slice> tails, bool alone) {
  wire::FetchRequest request;
  request.max_wait_ms = 0;
  request.min_bytes = 0;
  request.session_epoch = kSessionless;
  std::map<Uuid, std::string> names;
  bool has_ids = true;
  std::size_t total = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const FetchAssignment& of = group[i]->assignment;
    if (request.topics.empty() || request.topics.back().topic != of.topic_partition.topic) {
      auto& topic = request.topics.emplace_back();
      topic.topic = of.topic_partition.topic;
      topic.topic_id = of.source_topic_id;
      names[of.source_topic_id] = of.topic_partition.topic;
      has_ids = has_ids && !of.source_topic_id.is_zero();
    }
    auto& partition = request.topics.back().partitions.emplace_back();
    partition.partition = of.topic_partition.partition;
    partition.current_leader_epoch = of.source_epoch;
    partition.fetch_offset = BatchHeader(tails[i].span()).base_offset();
    partition.partition_max_bytes = static_cast<std::int32_t>(tails[i].size());
    total += tails[i].size();
  }
  request.max_bytes = static_cast<std::int32_t>(std::min<std::size_t>(total, INT32_MAX));
  const Result<ApiVersion> highest = connection_->version_for<wire::FetchRequest>();
  if (!highest) co_return highest.error();
  const ApiVersion version = has_ids ? *highest : std::min(*highest, kLastFetchVersionWithNames);
  KM_CO_TRY(answer, co_await connection_->call(std::move(request), version));
  if (answer.error_code != ErrorCode::NONE) {
    co_return kafka_error(answer.error_code,
                          fmt::format("{} (Fetch): {}", options_.source.text(), answer.error_code));
  }
  if (answer.throttle_time_ms > 0) {
    quiet_until_ = environment_.clock.now() + std::chrono::milliseconds(answer.throttle_time_ms);
  }
  std::set<TopicPartition> judged;
  for (const auto& topic : answer.responses) {
    const std::string name = topic.topic.empty() ? names[topic.topic_id] : topic.topic;
    for (const auto& partition : topic.partitions) {
      const TopicPartition where(name, partition.partition_index);
      for (std::size_t i = 0; i < group.size(); ++i) {
        if (group[i]->assignment.topic_partition != where || !is_current(group[i])) continue;
        if (judge_tail(group[i], tails[i], partition)) judged.insert(where);
      }
    }
  }
  if (alone) co_return Result<void>();
  for (std::size_t i = 0; i < group.size(); ++i) {
    const FetchPtr fetch = group[i];
    if (!is_current(fetch) || judged.contains(fetch->assignment.topic_partition)) continue;
    std::vector<FetchPtr> one{fetch};
    std::vector<Slice> tail{tails[i]};
    KM_CO_TRY_VOID(co_await check_tail_group(std::move(one), std::move(tail), true));
  }
  co_return Result<void>();
}

/// True if the answer decided about the tail.
bool Impl::judge_tail(const FetchPtr& fetch, const Slice& ours,
                      const wire::FetchResponse::PartitionData& answer) {
  // Below the source's start or above its end there is no batch to compare; the fetch will tell.
  if (answer.error_code == ErrorCode::OFFSET_OUT_OF_RANGE) return true;
  if (answer.error_code != ErrorCode::NONE) {
    take_error(fetch, answer.error_code, "Fetch");
    return true;
  }
  if (!answer.records || answer.records->empty()) return false;
  const Result<Slice> theirs = answer.records->flatten();
  if (!theirs) return false;
  const TailComparison comparison = compare_tail(ours.span(), theirs->span());
  if (comparison.verdict == TailVerdict::kAnother) {
    fail(fetch, MirrorFailure::kTerminal, comparison.message);
  }
  return true;
}

/// Our position is not in the source's log: is it below, above, or was it a passing answer?
env::Awaitable<Result<void>> Impl::ask_range(FetchPtr fetch) {
  KM_CO_TRY(earliest, co_await list_offset(fetch, kEarliest));
  if (!earliest || !is_current(fetch)) co_return Result<void>();
  if (*earliest > fetch->next_offset) {
    const Offset start = *earliest;
    Result<void> restarted = co_await restart_at(fetch, start);
    co_return restarted;
  }
  KM_CO_TRY(latest, co_await list_offset(fetch, kLatest));
  if (!latest || !is_current(fetch)) co_return Result<void>();
  if (*latest >= fetch->next_offset) {
    put_in_session(*fetch);
    co_return Result<void>();
  }
  // Only epochs tell a truncation (G56).
  std::vector<FetchPtr> one{fetch};
  Result<void> searched = co_await search_divergence(std::move(one));
  co_return searched;
}

/// Earliest or latest offset at the source; nothing if an error of the partition was dealt with.
env::Awaitable<Result<std::optional<Offset>>> Impl::list_offset(FetchPtr fetch,
                                                                std::int64_t timestamp) {
  const FetchAssignment& of = fetch->assignment;
  wire::ListOffsetsRequest request;
  request.replica_id = kConsumer;
  auto& topic = request.topics.emplace_back();
  topic.name = of.topic_partition.topic;
  auto& partition = topic.partitions.emplace_back();
  partition.partition_index = of.topic_partition.partition;
  partition.current_leader_epoch = of.source_epoch;
  partition.timestamp = timestamp;
  const Result<ApiVersion> version = connection_->version_for<wire::ListOffsetsRequest>();
  if (!version) co_return version.error();
  const ApiVersion chosen = *version;
  KM_CO_TRY(answer, co_await connection_->call(std::move(request), chosen));
  const bool has_answer = !answer.topics.empty() && !answer.topics.front().partitions.empty();
  const ErrorCode code = has_answer ? answer.topics.front().partitions.front().error_code
                                    : ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
  if (!is_current(fetch)) co_return std::optional<Offset>();
  if (code != ErrorCode::NONE) {
    take_error(fetch, code, "ListOffsets");
    co_return std::optional<Offset>();
  }
  co_return std::optional<Offset>(answer.topics.front().partitions.front().offset);
}

/// The source dropped what comes next for us: go on where its log starts (decisions 3.9).
env::Awaitable<Result<void>> Impl::restart_at(FetchPtr fetch, Offset source_start) {
  const Offset from = fetch->next_offset;
  // An empty log at 0 was never behind: this is where it begins.
  const bool is_gap = from > Offset(0);
  if (is_gap && fetch->assignment.fail_at_gap) {
    fail(fetch, MirrorFailure::kTerminal,
         fmt::format("the source dropped records {}..{} before they were mirrored "
                     "(mirror.gap.policy=fail)",
                     from, source_start - 1));
    co_return Result<void>();
  }
  const std::shared_ptr<storage::PartitionLog> log = fetch->assignment.log;
  UniqueFunction<Result<void>()> restart = [log, fetch, source_start]() -> Result<void> {
    if (fetch->revoked.load(std::memory_order_acquire)) return {};
    return log->truncate_fully_and_start_at(source_start);
  };
  env::Loop& owner = dispatch_.loop_of(*log);
  Result<void> restarted = co_await env::call_on<Result<void>>(owner, std::move(restart));
  if (!is_current(fetch)) co_return Result<void>();
  if (!restarted) {
    fail(fetch, MirrorFailure::kRetriable, restarted.error().message);
    co_return Result<void>();
  }
  fetch->next_offset = source_start;
  fetch->last_epoch = kNoLeaderEpoch;
  if (is_gap) {
    const std::int64_t lost = source_start - from;
    fetch->assignment.progress->gap_records.fetch_add(static_cast<std::uint64_t>(lost),
                                                      std::memory_order_relaxed);
    FetchEvent event(FetchEvent::Kind::kGap, fetch->assignment);
    event.offset = from;
    event.to = source_start - 1;
    sink_(std::move(event));
  }
  put_in_session(*fetch);
  co_return Result<void>();
}

void Impl::take_error(const FetchPtr& fetch, ErrorCode code, const char* api) {
  wire::FetchResponse::PartitionData answer;
  answer.error_code = code;
  PartitionPlan plan = plan_partition(answer, AskedPosition(), FetchStatus());
  plan.message = fmt::format("{}: {}", api, code);
  take_problem(fetch, plan, {});
}

}  // namespace kmirror::mirror
