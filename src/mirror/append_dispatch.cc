// Jobs by loop, run there, outcomes posted back.
// Owner: the fetcher's loop; run() on the loop that owns the logs.
#include "mirror/append_dispatch.h"

#include <utility>

#include "kmirror/model/error_code.h"

namespace kmirror::mirror {
namespace {

AppendOutcome append(AppendJob& job) {
  AppendOutcome outcome;
  outcome.fetch = std::move(job.fetch);
  PartitionFetch& fetch = *outcome.fetch;
  if (fetch.revoked.load(std::memory_order_acquire)) {
    outcome.was_revoked = true;
    return outcome;
  }
  storage::PartitionLog& log = *fetch.assignment.log;
  if (!job.batches.empty()) {
    if (log.log_end_offset() != job.expected) {
      outcome.error = fmt::format("the log ends at offset {}, the batches fetched begin at {}",
                                  log.log_end_offset(), job.expected);
      return outcome;
    }
    auto appended = log.append_as_follower(ByteChain(std::move(job.batches)), true);
    outcome.bytes = appended.bytes;
    outcome.batches = appended.batches;
    if (appended.error) {
      outcome.error = appended.error->message;
      return outcome;
    }
  }
  if (job.source_log_start > log.log_start_offset()) {
    // Beyond our end there is nothing to drop yet: the fetch itself will be out of range.
    const Offset start = std::min(job.source_log_start, log.high_watermark());
    const Result<bool> moved = log.advance_log_start_offset(start);
    if (!moved) outcome.error = moved.error().message;
  }
  return outcome;
}

}  // namespace

AppendDispatch::AppendDispatch(env::Loop& loop, storage::LogManager& logs, Sink sink)
    : state_(std::make_shared<State>(loop)), logs_(logs) {
  state_->sink = std::move(sink);
}

void AppendDispatch::add(AppendJob job) {
  env::Loop& owner = logs_.loop_of(*job.fetch->assignment.log);
  ++job.fetch->appends_under_way;
  auto& [loop, jobs] = waiting_[owner.index()];
  loop = &owner;
  jobs.push_back(std::move(job));
}

std::vector<AppendOutcome> AppendDispatch::run(std::vector<AppendJob> jobs) {
  std::vector<AppendOutcome> outcomes;
  outcomes.reserve(jobs.size());
  for (AppendJob& job : jobs) outcomes.push_back(append(job));
  return outcomes;
}

void AppendDispatch::finish(State& state, std::vector<AppendOutcome> outcomes) {
  for (AppendOutcome& outcome : outcomes) {
    const std::shared_ptr<PartitionFetch> fetch = outcome.fetch;
    --fetch->appends_under_way;
    if (state.sink) state.sink(std::move(outcome));
    if (fetch->appends_under_way == 0 && fetch->on_idle) {
      UniqueFunction<void()> then = std::move(fetch->on_idle);
      fetch->on_idle = nullptr;
      then();
    }
  }
}

void AppendDispatch::dispatch() {
  auto batch = std::exchange(waiting_, {});
  std::vector<AppendJob> own;
  for (auto& [index, work] : batch) {
    auto& [owner, jobs] = work;
    if (owner == &state_->loop) {
      own = std::move(jobs);
      continue;
    }
    ++state_->posts_under_way;
    state_->idle.reset();
    owner->post([state = state_, taken = std::move(jobs)]() mutable {
      std::vector<AppendOutcome> outcomes = run(std::move(taken));
      env::Loop& home = state->loop;
      home.post([state = std::move(state), done = std::move(outcomes)]() mutable {
        finish(*state, std::move(done));
        if (--state->posts_under_way == 0) state->idle.set();
      });
    });
  }
  if (!own.empty()) finish(*state_, run(std::move(own)));
}

env::Awaitable<void> AppendDispatch::drained() {
  const std::shared_ptr<State> state = state_;
  // Bounded: the loops only append, and a stopped loop has nothing posted.
  while (state->posts_under_way > 0) {
    co_await state->idle.wait();
    const bool cancelled = co_await env::task_cancelled();
    if (cancelled) break;
  }
}

}  // namespace kmirror::mirror
