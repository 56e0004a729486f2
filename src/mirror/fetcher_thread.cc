// Life of a fetcher: waiting for work, connecting, rounds of fetching, closing.
// Owner: the fetcher's loop.
#include "kmirror/mirror/fetcher_thread.h"

#include <algorithm>

#include "kmirror/base/log.h"
#include "kmirror/wire/fetch_request.h"
#include "kmirror/wire/metadata_request.h"
#include "kmirror/wire/metadata_response.h"
#include "mirror/fetcher_impl.h"

namespace kmirror::mirror {
namespace {

constexpr std::chrono::milliseconds kReconnectInitial{50};
constexpr std::chrono::milliseconds kReconnectMax{1'000};
constexpr std::chrono::milliseconds kCloseTimeout{1'000};
constexpr std::chrono::seconds kLongWait{3'600};

}  // namespace

using Impl = MirrorFetcherThread::Impl;

Impl::Impl(env::Environment& environment, env::Loop& loop, storage::LogManager& logs,
           FetcherOptions options, Sink sink)
    : environment_(environment),
      loop_(loop),
      options_(std::move(options)),
      sink_(std::move(sink)),
      tasks_(loop),
      wake_(loop),
      backoff_(client::BackoffOptions(kReconnectInitial, kReconnectMax)),
      dispatch_(loop, logs, [this](AppendOutcome outcome) { take_outcome(std::move(outcome)); }) {}

void Impl::start() { tasks_.spawn("mirror fetcher", run()); }

env::Awaitable<void> Impl::stop() {
  stopping_ = true;
  wake_.set();
  co_await tasks_.join();
  for (auto& [partition, fetch] : fetches_) fetch->revoked.store(true, std::memory_order_release);
  co_await dispatch_.drained();
  fetches_.clear();
}

void Impl::assign(std::vector<FetchAssignment> assignments) {
  for (FetchAssignment& assignment : assignments) {
    const TopicPartition partition = assignment.topic_partition;
    if (const FetchPtr old = find(partition)) remove(old);
    fetches_[partition] = std::make_shared<PartitionFetch>(std::move(assignment));
  }
  wake_.set();
}

void Impl::unassign(const std::vector<TopicPartition>& partitions, UniqueFunction<void()> done) {
  // The last of the partitions to fall idle runs `done`.
  auto shared = std::make_shared<UniqueFunction<void()>>(std::move(done));
  auto left = std::make_shared<std::size_t>(1);
  const auto one_less = [shared, left] {
    if (--*left == 0) (*shared)();
  };
  for (const TopicPartition& partition : partitions) {
    const FetchPtr fetch = find(partition);
    if (!fetch) continue;
    fetch->revoked.store(true, std::memory_order_release);
    remove(fetch);
    ++*left;
    when_idle(*fetch, one_less);
  }
  one_less();
  wake_.set();
}

void Impl::set_own_epoch(const TopicPartition& partition, LeaderEpoch epoch) {
  if (const FetchPtr fetch = find(partition)) fetch->assignment.own_epoch = epoch;
}

void Impl::remove(const FetchPtr& fetch) {
  const TopicPartition& partition = fetch->assignment.topic_partition;
  fetch->phase = PartitionFetch::Phase::kLetGo;
  session_.remove(partition);
  fetches_.erase(partition);
}

Impl::FetchPtr Impl::find(const TopicPartition& partition) const {
  const auto found = fetches_.find(partition);
  return found == fetches_.end() ? nullptr : found->second;
}

bool Impl::is_current(const FetchPtr& fetch) const {
  return fetch->phase != PartitionFetch::Phase::kLetGo;
}

env::Awaitable<void> Impl::run() {
  while (!stopping_) {
    if (fetches_.empty()) {
      // An idle fetcher is stopped by its manager; until then it keeps its connection.
      wake_.reset();
      const env::Instant deadline = environment_.clock.now() + kLongWait;
      co_await wake_.wait_until(environment_.clock, deadline);
      continue;
    }
    if (!is_connected()) {
      Result<void> connected = co_await connect();
      if (!connected) {
        note_failure(connected.error());
        if (!fetches_.empty()) co_await pause(backoff_.next(environment_.rng));
        continue;
      }
    }
    co_await serve_connection();
  }
  co_await close_session();
  if (connection_) connection_->close();
}

/// Settles and fetches until the connection fails, nothing is assigned, or the fetcher stops.
env::Awaitable<void> Impl::serve_connection() {
  while (!stopping_ && !fetches_.empty()) {
    wake_.reset();
    wake_delayed();
    Result<void> done;
    if (!fetch_outstanding_ && environment_.clock.now() < quiet_until_) {
      const env::Instant quiet = quiet_until_;
      co_await wake_.wait_until(environment_.clock, quiet);
    } else if (!fetch_outstanding_ && needs_settling()) {
      done = co_await settle();
    } else if (!fetch_outstanding_ && session_.empty()) {
      // Everything is delayed.
      const env::Instant next = next_wake();
      co_await wake_.wait_until(environment_.clock, next);
    } else {
      done = co_await fetch_round();
    }
    if (!done) {
      connection_->close();
      session_.reset();
      fetch_outstanding_ = false;
      note_failure(done.error());
      if (!fetches_.empty()) co_await pause(backoff_.next(environment_.rng));
      co_return;
    }
  }
}

env::Awaitable<void> Impl::pause(std::chrono::milliseconds time) {
  wake_.reset();
  const env::Instant until = environment_.clock.now() + time;
  while (!stopping_ && environment_.clock.now() < until) {
    const bool woken = co_await wake_.wait_until(environment_.clock, until);
    wake_.reset();
    if (!woken) break;
  }
}

env::Awaitable<Result<void>> Impl::connect() {
  session_.reset();
  client::ConnectionOptions options = options_.connection;
  const env::Endpoint to = options_.source;
  KM_CO_TRY(opened, co_await client::Connection::open(environment_, loop_, to, std::move(options)));
  connection_ = std::move(opened);
  Result<void> verified = co_await verify_cluster();
  co_return verified;
}

/// The cluster id is checked on every new connection, before any other answer is believed (G73).
env::Awaitable<Result<void>> Impl::verify_cluster() {
  if (options_.source_cluster_id.empty()) co_return Result<void>();
  wire::MetadataRequest request;
  request.allow_auto_topic_creation = false;
  const Result<ApiVersion> version = connection_->version_for<wire::MetadataRequest>();
  if (!version) co_return version.error();
  const ApiVersion chosen = *version;
  KM_CO_TRY(answer, co_await connection_->call(std::move(request), chosen));
  if (answer.cluster_id == options_.source_cluster_id) co_return Result<void>();
  connection_->close();
  std::string message = fmt::format(
      "{} belongs to cluster {}, the source of mirror {} is cluster {}", options_.source.text(),
      answer.cluster_id.value_or("(none)"), options_.mirror, options_.source_cluster_id);
  fail_all(MirrorFailure::kTerminal, message);
  co_return kafka_error(ErrorCode::INCONSISTENT_CLUSTER_ID, std::move(message));
}

void Impl::note_failure(const Error& error) {
  if (options_.counters.connect_failures != nullptr) options_.counters.connect_failures->add();
  const env::Instant now = environment_.clock.now();
  if (!unreachable_since_) {
    unreachable_since_ = now;
    KM_LOG(kWarn, "mirror.source_unreachable", "mirror {}: {}", options_.mirror, error.message);
    // The leaders may be elsewhere already.
    if (!fetches_.empty()) {
      FetchEvent event(FetchEvent::Kind::kConnectionLost, fetches_.begin()->second->assignment);
      event.message = error.message;
      sink_(std::move(event));
    }
  }
  const bool is_refused = client::is_authorization_error(error);
  if (is_refused || now - *unreachable_since_ >= options_.unreachable_grace) {
    fail_all(MirrorFailure::kSourceUnreachable, error.message);
  }
}

bool Impl::needs_settling() const {
  return std::any_of(fetches_.begin(), fetches_.end(), [](const auto& entry) {
    const auto phase = entry.second->phase;
    return phase == PartitionFetch::Phase::kNew || phase == PartitionFetch::Phase::kOutOfRange ||
           phase == PartitionFetch::Phase::kDiverged;
  });
}

void Impl::wake_delayed() {
  const env::Instant now = environment_.clock.now();
  for (auto& [partition, fetch] : fetches_) {
    if (fetch->phase != PartitionFetch::Phase::kDelayed || fetch->delayed_until > now) continue;
    put_in_session(*fetch);
  }
}

env::Instant Impl::next_wake() const {
  env::Instant next = environment_.clock.now() + options_.fetch_backoff;
  for (const auto& [partition, fetch] : fetches_) {
    if (fetch->phase == PartitionFetch::Phase::kDelayed) {
      next = std::min(next, fetch->delayed_until);
    }
  }
  return next;
}

FetchLimits Impl::limits() const {
  FetchLimits limits;
  limits.max_wait_ms = static_cast<std::int32_t>(options_.fetch_wait_max.count());
  limits.min_bytes = options_.fetch_min_bytes;
  limits.max_bytes = options_.response_max_bytes;
  return limits;
}

FetchPosition Impl::position_of(const PartitionFetch& fetch) const {
  FetchPosition position;
  position.topic_id = fetch.assignment.source_topic_id;
  position.offset = fetch.next_offset;
  position.last_fetched_epoch = fetch.last_epoch;
  position.current_leader_epoch = fetch.assignment.source_epoch;
  // A few partitions may use up the whole answer; many share it.
  const auto share = options_.response_max_bytes /
                     static_cast<std::int32_t>(std::max<std::size_t>(fetches_.size(), 1));
  position.max_bytes = std::max({options_.partition_max_bytes, share, fetch.max_bytes});
  return position;
}

void Impl::put_in_session(PartitionFetch& fetch) {
  fetch.phase = PartitionFetch::Phase::kFetching;
  fetch.asked_offset = fetch.next_offset;
  session_.set(fetch.assignment.topic_partition, position_of(fetch));
}

env::Awaitable<Result<void>> Impl::send_fetch() {
  const Result<ApiVersion> highest = connection_->version_for<wire::FetchRequest>();
  if (!highest) co_return highest.error();
  const ApiVersion version = session_.usable_version(*highest);
  wire::FetchRequest request = session_.next_request(version, limits());
  const env::Instant deadline =
      environment_.clock.now() + options_.fetch_wait_max + options_.answer_timeout;
  KM_CO_TRY_VOID(co_await connection_->send(std::move(request), version, deadline));
  fetch_outstanding_ = true;
  co_return Result<void>();
}

/// Fetches until something needs a look between requests: new partitions, a divergence, a stop.
env::Awaitable<Result<void>> Impl::fetch_round() {
  if (!fetch_outstanding_) KM_CO_TRY_VOID(co_await send_fetch());
  const env::Instant deadline =
      environment_.clock.now() + options_.fetch_wait_max + options_.answer_timeout;
  KM_CO_TRY(answer, co_await connection_->receive<wire::FetchRequest>(deadline));
  fetch_outstanding_ = false;
  unreachable_since_.reset();
  backoff_.reset();
  if (answer.throttle_time_ms > 0) {
    quiet_until_ = environment_.clock.now() + std::chrono::milliseconds(answer.throttle_time_ms);
  }
  if (options_.counters.throttle_ms != nullptr) {
    options_.counters.throttle_ms->set(answer.throttle_time_ms);
  }
  const FetchSession::Verdict verdict = session_.accept(answer);
  if (verdict == FetchSession::Verdict::kRefused) {
    co_return kafka_error(answer.error_code,
                          fmt::format("{} (Fetch): {}", options_.source.text(), answer.error_code));
  }
  // Two answers in memory, not three.
  co_await dispatch_.drained();
  if (verdict == FetchSession::Verdict::kUse) take_answer(std::move(answer));
  wake_delayed();
  const bool may_send = !stopping_ && !needs_settling() && !session_.empty() &&
                        quiet_until_ <= environment_.clock.now();
  Result<void> sent;
  if (may_send) sent = co_await send_fetch();
  dispatch_.dispatch();
  co_return sent;
}

env::Awaitable<void> Impl::close_session() {
  if (!is_connected()) co_return;
  const env::Instant deadline = environment_.clock.now() +
                                (fetch_outstanding_ ? options_.fetch_wait_max : kCloseTimeout) +
                                kCloseTimeout;
  if (fetch_outstanding_) {
    auto last = co_await connection_->receive<wire::FetchRequest>(deadline);
    if (!last || session_.accept(*last) != FetchSession::Verdict::kUse) co_return;
  }
  if (session_.session_id() == 0) co_return;
  const Result<ApiVersion> highest = connection_->version_for<wire::FetchRequest>();
  if (!highest) co_return;
  const ApiVersion version = session_.usable_version(*highest);
  wire::FetchRequest request = session_.close_request();
  auto closed = co_await connection_->call(std::move(request), version, kCloseTimeout);
  if (!closed) {
    KM_LOG(kDebug, "mirror.session_not_closed", "mirror {}: {}", options_.mirror,
           closed.error().message);
  }
}

MirrorFetcherThread::MirrorFetcherThread(env::Environment& environment, env::Loop& loop,
                                         storage::LogManager& logs, FetcherOptions options,
                                         Sink sink)
    : impl_(std::make_unique<Impl>(environment, loop, logs, std::move(options), std::move(sink))) {}
MirrorFetcherThread::~MirrorFetcherThread() = default;
void MirrorFetcherThread::start() { impl_->start(); }
env::Awaitable<void> MirrorFetcherThread::stop() { co_await impl_->stop(); }
void MirrorFetcherThread::assign(std::vector<FetchAssignment> assignments) {
  impl_->assign(std::move(assignments));
}
void MirrorFetcherThread::unassign(const std::vector<TopicPartition>& partitions,
                                   UniqueFunction<void()> done) {
  impl_->unassign(partitions, std::move(done));
}
void MirrorFetcherThread::set_own_epoch(const TopicPartition& partition, LeaderEpoch epoch) {
  impl_->set_own_epoch(partition, epoch);
}
void MirrorFetcherThread::set_response_max_bytes(std::int32_t bytes) {
  impl_->set_response_max_bytes(bytes);
}
std::size_t MirrorFetcherThread::partition_count() const { return impl_->partition_count(); }
bool MirrorFetcherThread::is_connected() const { return impl_->is_connected(); }

}  // namespace kmirror::mirror
