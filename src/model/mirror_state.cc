#include "kmirror/model/mirror_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "kmirror/model/error_code.h"

namespace kmirror {
namespace {

using Kind = MirrorEvent::Kind;
using State = MirrorState;

constexpr std::int8_t kSeedUnknown = 16;
constexpr double kBackoffBase = 2;
constexpr double kBackoffJitter = 0.2;

Error illegal(const MirrorStatus& now, const MirrorEvent& event) {
  const std::string what = event.kind == Kind::kWrite
                               ? fmt::format("going to {}", name(event.target))
                               : fmt::format("{}", name(event.kind));
  return kafka_error(ErrorCode::INVALID_CLUSTER_MIRROR_STATE,
                     fmt::format("{} is not possible in state {}", what, name(now.state)));
}

void forget_failures(MirrorStatus& status) {
  status.previous = State::kUnknown;
  status.retry_attempt = 0;
  status.error_message.reset();
}

std::int16_t counted_attempt(const MirrorStatus& now, MirrorFailure failure,
                             const MirrorRetryPolicy& policy) {
  if (failure == MirrorFailure::kTerminal) return -1;
  const std::int32_t most = failure == MirrorFailure::kSourceUnreachable
                                ? std::max<std::int32_t>(policy.max_attempts - 1, 0)
                                : policy.max_attempts;
  const std::int32_t before = std::max<std::int32_t>(now.retry_attempt, 0);
  return static_cast<std::int16_t>(std::min(most, before + 1));
}

MirrorStatus fail(const MirrorStatus& now, std::int16_t attempt,
                  std::optional<std::string> message) {
  MirrorStatus after = now;
  const bool is_in_run = now.state == State::kFailed || now.previous != State::kUnknown;
  if (!is_in_run) after.previous = now.state;
  after.state = State::kFailed;
  after.retry_attempt = attempt;
  if (message) after.error_message = std::move(message);
  return after;
}

MirrorStatus failed_by_write(const MirrorStatus& now, const MirrorEvent& event,
                             const MirrorRetryPolicy& policy) {
  const bool counts = event.failure == MirrorFailure::kTerminal || event.attempt < 0;
  const std::int32_t most = std::numeric_limits<std::int16_t>::max();
  const std::int16_t attempt = counts ? counted_attempt(now, event.failure, policy)
                                      : static_cast<std::int16_t>(std::min(event.attempt, most));
  return fail(now, attempt, event.message);
}

Result<MirrorStatus> write(const MirrorStatus& now, const MirrorEvent& event,
                           const MirrorRetryPolicy& policy) {
  if (event.target == State::kUnknown) return now;
  if (!is_legal_transition(now.state, event.target)) return illegal(now, event);
  if (event.target == State::kFailed) return failed_by_write(now, event, policy);
  MirrorStatus after = now;
  after.state = event.target;
  const bool ends_run = event.target == State::kStopped || event.target == State::kPaused ||
                        event.target == State::kLogAlignment;
  const bool forgets =
      event.attempt == 0 || (event.attempt < 0 && (ends_run || now.retry_attempt < 0));
  if (forgets) {
    forget_failures(after);
    return after;
  }
  if (event.attempt > 0) {
    const std::int32_t most = std::numeric_limits<std::int16_t>::max();
    after.retry_attempt = static_cast<std::int16_t>(std::min(event.attempt, most));
  }
  if (event.message) after.error_message = event.message;
  return after;
}

/// Goes to `to`, or stays if the event has already happened. `by_operator` forgets failures.
Result<MirrorStatus> go(const MirrorStatus& now, const MirrorEvent& event, bool from_is_right,
                        State to, bool by_operator) {
  if (now.state == to) return now;
  if (!from_is_right) return illegal(now, event);
  MirrorStatus after = now;
  after.state = to;
  if (by_operator) forget_failures(after);
  return after;
}

Result<MirrorStatus> leave_failed(const MirrorStatus& now, const MirrorEvent& event) {
  if (now.state != State::kFailed) return illegal(now, event);
  if (event.kind == Kind::kRetry && now.retry_attempt < 0) return illegal(now, event);
  MirrorStatus after = now;
  after.state = retry_target(now.previous);
  if (event.kind == Kind::kRecover) forget_failures(after);
  return after;
}

Result<MirrorStatus> progress(const MirrorStatus& now, const MirrorEvent& event) {
  if (now.state != State::kMirroring) return illegal(now, event);
  MirrorStatus after = now;
  forget_failures(after);
  return after;
}

}  // namespace

std::string_view name(MirrorState state) {
  switch (state) {
    case State::kUnknown:
      return "UNKNOWN";
    case State::kLogAlignment:
      return "LOG_ALIGNMENT";
    case State::kEpochFencing:
      return "EPOCH_FENCING";
    case State::kUleRecovery:
      return "ULE_RECOVERY";
    case State::kMirroring:
      return "MIRRORING";
    case State::kPausing:
      return "PAUSING";
    case State::kPaused:
      return "PAUSED";
    case State::kStopping:
      return "STOPPING";
    case State::kStopped:
      return "STOPPED";
    case State::kFailed:
      return "FAILED";
  }
  return "UNKNOWN";
}

std::optional<MirrorState> mirror_state_from_code(std::int8_t code) {
  for (const State state : kAllMirrorStates) {
    if (static_cast<std::int8_t>(state) == code) return state;
  }
  return std::nullopt;
}

std::optional<MirrorState> parse_mirror_state(std::string_view text) {
  for (const State state : kAllMirrorStates) {
    if (name(state) == text) return state;
  }
  if (text == "PREPARING" || text == "PREPARING_MIRRORING" || text == "LOG_TRUNCATION") {
    return State::kLogAlignment;
  }
  if (text == "INITIALIZING") return State::kUnknown;
  return std::nullopt;
}

std::int8_t seed_code(MirrorState state) {
  switch (state) {
    case State::kLogAlignment:
    case State::kEpochFencing:
    case State::kUleRecovery:
      return 0;
    case State::kMirroring:
      return 1;
    case State::kStopping:
      return 2;
    case State::kStopped:
      return 4;
    case State::kFailed:
      return 8;
    case State::kUnknown:
    case State::kPausing:
    case State::kPaused:
      break;
  }
  return kSeedUnknown;
}

std::optional<MirrorState> mirror_state_from_seed_code(std::int8_t code) {
  switch (code) {
    case 0:
      return State::kLogAlignment;
    case 1:
      return State::kMirroring;
    case 2:
      return State::kStopping;
    case 4:
      return State::kStopped;
    case 8:
      return State::kFailed;
    case kSeedUnknown:
      return State::kUnknown;
    default:
      return std::nullopt;
  }
}

std::string_view seed_name(MirrorState state) {
  if (state == State::kUnknown) return "INITIALIZING";
  return seed_code(state) == 0 ? "PREPARING" : name(state);
}

bool is_legal_transition(MirrorState from, MirrorState to) {
  if (from == to) return true;
  switch (to) {
    case State::kUnknown:
      return false;
    case State::kLogAlignment:
      return from == State::kUnknown || from == State::kStopped || from == State::kFailed;
    case State::kEpochFencing:
    case State::kUleRecovery:
    case State::kPausing:
      return from == State::kMirroring;
    case State::kMirroring:
      return from == State::kLogAlignment || from == State::kEpochFencing ||
             from == State::kUleRecovery || from == State::kPaused || from == State::kFailed;
    case State::kPaused:
      return from == State::kPausing;
    case State::kStopping:
      return from != State::kStopped;
    case State::kStopped:
      return from == State::kStopping;
    case State::kFailed:
      return true;
  }
  return false;
}

bool is_allowed(MirrorOperation operation, MirrorState state) {
  switch (operation) {
    case MirrorOperation::kStart:
      return state == State::kUnknown || state == State::kStopped;
    case MirrorOperation::kStop:
      return state != State::kStopped;
    case MirrorOperation::kPause:
      return state == State::kMirroring;
    case MirrorOperation::kResume:
      return state == State::kPaused;
    case MirrorOperation::kDelete:
      return state == State::kStopped;
    case MirrorOperation::kRecover:
      return state == State::kFailed;
  }
  return false;
}

MirrorEvent MirrorEvent::failed(MirrorFailure failure, std::string message) {
  MirrorEvent event(Kind::kFailed);
  event.failure = failure;
  event.message = std::move(message);
  return event;
}

MirrorEvent MirrorEvent::write(MirrorState target, std::int32_t attempt, bool non_retriable,
                               std::optional<std::string> message) {
  MirrorEvent event(Kind::kWrite);
  event.target = target;
  event.attempt = attempt;
  event.failure = non_retriable ? MirrorFailure::kTerminal : MirrorFailure::kRetriable;
  event.message = std::move(message);
  return event;
}

std::string_view name(MirrorEvent::Kind kind) {
  constexpr std::array<std::string_view, 16> kNames{
      "start",        "aligned",           "epoch behind",
      "epoch raised", "truncation forced", "replicas converged",
      "pause",        "pause done",        "resume",
      "stop",         "stop done",         "failed",
      "retry",        "recover",           "progress",
      "write"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Result<MirrorStatus> next(const MirrorStatus& now, const MirrorEvent& event,
                          const MirrorRetryPolicy& policy) {
  const State s = now.state;
  switch (event.kind) {
    case Kind::kStart:
      return go(now, event, s == State::kUnknown || s == State::kStopped, State::kLogAlignment,
                true);
    case Kind::kAligned:
      return go(now, event, s == State::kLogAlignment, State::kMirroring, false);
    case Kind::kEpochBehind:
      return go(now, event, s == State::kMirroring, State::kEpochFencing, false);
    case Kind::kEpochRaised:
      return go(now, event, s == State::kEpochFencing, State::kMirroring, false);
    case Kind::kTruncationForced:
      return go(now, event, s == State::kMirroring, State::kUleRecovery, false);
    case Kind::kReplicasConverged:
      return go(now, event, s == State::kUleRecovery, State::kMirroring, false);
    case Kind::kPause:
      return go(now, event, s == State::kMirroring, State::kPausing, true);
    case Kind::kPauseDone:
      return go(now, event, s == State::kPausing, State::kPaused, false);
    case Kind::kResume:
      return go(now, event, s == State::kPaused, State::kMirroring, true);
    case Kind::kStop:
      return go(now, event, s != State::kStopped, State::kStopping, true);
    case Kind::kStopDone:
      return go(now, event, s == State::kStopping, State::kStopped, true);
    case Kind::kFailed:
      return fail(now, counted_attempt(now, event.failure, policy), event.message);
    case Kind::kRetry:
    case Kind::kRecover:
      return leave_failed(now, event);
    case Kind::kProgress:
      return progress(now, event);
    case Kind::kWrite:
      return write(now, event, policy);
  }
  return illegal(now, event);
}

MirrorState retry_target(MirrorState previous) {
  switch (previous) {
    case State::kMirroring:
    case State::kEpochFencing:  // found again by the next fetch
    case State::kPausing:       // still wanted PAUSED, so it pauses again
    case State::kPaused:
      return State::kMirroring;
    case State::kStopping:
    case State::kStopped:
      return State::kStopping;
    case State::kUnknown:
    case State::kLogAlignment:
    case State::kUleRecovery:
    case State::kFailed:
      break;
  }
  return State::kLogAlignment;
}

bool is_retried(const MirrorStatus& status, const MirrorRetryPolicy& policy) {
  return status.state == State::kFailed && status.retry_attempt >= 0 &&
         status.retry_attempt < policy.max_attempts;
}

std::chrono::milliseconds retry_backoff(std::int64_t failures, const MirrorRetryPolicy& policy,
                                        double random) {
  const double most = static_cast<double>(policy.max_backoff.count());
  const double doublings = static_cast<double>(std::clamp<std::int64_t>(failures - 1, 0, 62));
  const double exact =
      static_cast<double>(policy.initial_backoff.count()) * std::pow(kBackoffBase, doublings);
  const double jittered =
      std::min(exact, most) * (1 - kBackoffJitter + 2 * kBackoffJitter * random);
  return std::chrono::milliseconds(std::llround(std::min(jittered, most)));
}

}  // namespace kmirror
