// The mirror state machine: its table, the failure bookkeeping, and a million random events.
#include "kmirror/model/mirror_state.h"

#include <array>
#include <random>

#include <gtest/gtest.h>

#include "kmirror/model/error_code.h"

namespace kmirror {
namespace {

using State = MirrorState;
using Kind = MirrorEvent::Kind;

MirrorStatus after(const MirrorStatus& now, const MirrorEvent& event) {
  auto result = next(now, event, MirrorRetryPolicy());
  EXPECT_TRUE(result) << name(event.kind) << " in " << name(now.state);
  return result ? *result : now;
}

bool refused(State now, Kind kind) {
  const auto result = next(MirrorStatus(now), MirrorEvent(kind), MirrorRetryPolicy());
  return !result && to_kafka_error(result.error()) == ErrorCode::INVALID_CLUSTER_MIRROR_STATE;
}

// The rows of spec B.2 with decision 3.1, written out once more by hand: to, then all legal froms.
struct Row {
  State to;
  std::vector<State> from;
};
const std::vector<Row>& table() {
  static const std::vector<Row> rows{
      {State::kUnknown, {}},
      {State::kLogAlignment, {State::kUnknown, State::kStopped, State::kFailed}},
      {State::kEpochFencing, {State::kMirroring}},
      {State::kUleRecovery, {State::kMirroring}},
      {State::kMirroring,
       {State::kLogAlignment, State::kEpochFencing, State::kUleRecovery, State::kPaused,
        State::kFailed}},
      {State::kPausing, {State::kMirroring}},
      {State::kPaused, {State::kPausing}},
      {State::kStopping,
       {State::kUnknown, State::kLogAlignment, State::kEpochFencing, State::kUleRecovery,
        State::kMirroring, State::kPausing, State::kPaused, State::kFailed}},
      {State::kStopped, {State::kStopping}},
      {State::kFailed,
       {State::kUnknown, State::kLogAlignment, State::kEpochFencing, State::kUleRecovery,
        State::kMirroring, State::kPausing, State::kPaused, State::kStopping, State::kStopped}},
  };
  return rows;
}
bool legal_by_table(State from, State to) {
  if (from == to) return true;
  for (const Row& row : table()) {
    if (row.to == to) return std::find(row.from.begin(), row.from.end(), from) != row.from.end();
  }
  return false;
}

TEST(MirrorState, CodesAndNamesOfTheRecords) {
  EXPECT_EQ(static_cast<int>(State::kUnknown), -1);
  EXPECT_EQ(static_cast<int>(State::kLogAlignment), 0);
  EXPECT_EQ(static_cast<int>(State::kMirroring), 3);
  EXPECT_EQ(static_cast<int>(State::kStopped), 7);
  EXPECT_EQ(static_cast<int>(State::kFailed), 8);
  for (const State state : kAllMirrorStates) {
    EXPECT_EQ(mirror_state_from_code(static_cast<std::int8_t>(state)), state);
    EXPECT_EQ(parse_mirror_state(name(state)), state);
  }
  EXPECT_EQ(mirror_state_from_code(9), std::nullopt);
  EXPECT_EQ(mirror_state_from_code(-2), std::nullopt);
  EXPECT_EQ(parse_mirror_state("PREPARING"), State::kLogAlignment);
  EXPECT_EQ(parse_mirror_state("LOG_TRUNCATION"), State::kLogAlignment);
  EXPECT_EQ(parse_mirror_state("mirroring"), std::nullopt);
}

TEST(MirrorState, SeedGenerationCodesAndNames) {
  EXPECT_EQ(seed_code(State::kLogAlignment), 0);
  EXPECT_EQ(seed_code(State::kEpochFencing), 0);
  EXPECT_EQ(seed_code(State::kMirroring), 1);
  EXPECT_EQ(seed_code(State::kStopping), 2);
  EXPECT_EQ(seed_code(State::kStopped), 4);
  EXPECT_EQ(seed_code(State::kFailed), 8);
  EXPECT_EQ(seed_code(State::kPausing), 16);
  EXPECT_EQ(seed_code(State::kPaused), 16);
  EXPECT_EQ(seed_code(State::kUnknown), 16);
  EXPECT_EQ(mirror_state_from_seed_code(4), State::kStopped);
  EXPECT_EQ(mirror_state_from_seed_code(16), State::kUnknown);
  EXPECT_EQ(mirror_state_from_seed_code(3), std::nullopt);
  EXPECT_EQ(seed_name(State::kUleRecovery), "PREPARING");
  EXPECT_EQ(seed_name(State::kUnknown), "INITIALIZING");
  EXPECT_EQ(seed_name(State::kPaused), "PAUSED");
}

TEST(MirrorState, LegalTransitionsAreTheTable) {
  for (const State from : kAllMirrorStates) {
    for (const State to : kAllMirrorStates) {
      EXPECT_EQ(is_legal_transition(from, to), legal_by_table(from, to))
          << name(from) << " to " << name(to);
    }
  }
}

TEST(MirrorState, StopIsLegalFromEveryStateButStopped) {
  for (const State state : kAllMirrorStates) {
    EXPECT_EQ(is_allowed(MirrorOperation::kStop, state), state != State::kStopped);
    if (state == State::kStopped) {
      EXPECT_TRUE(refused(state, Kind::kStop));
    } else {
      EXPECT_EQ(after(MirrorStatus(state), Kind::kStop).state, State::kStopping) << name(state);
    }
  }
}

TEST(MirrorState, OperationsNeedTheirStates) {
  for (const State state : kAllMirrorStates) {
    EXPECT_EQ(is_allowed(MirrorOperation::kStart, state),
              state == State::kUnknown || state == State::kStopped);
    EXPECT_EQ(is_allowed(MirrorOperation::kPause, state), state == State::kMirroring);
    EXPECT_EQ(is_allowed(MirrorOperation::kResume, state), state == State::kPaused);
    EXPECT_EQ(is_allowed(MirrorOperation::kDelete, state), state == State::kStopped);
    EXPECT_EQ(is_allowed(MirrorOperation::kRecover, state), state == State::kFailed);
  }
}

TEST(MirrorState, LifeOfAHealthyPartition) {
  MirrorStatus s;
  const std::vector<std::pair<Kind, State>> life{{Kind::kStart, State::kLogAlignment},
                                                 {Kind::kAligned, State::kMirroring},
                                                 {Kind::kEpochBehind, State::kEpochFencing},
                                                 {Kind::kEpochRaised, State::kMirroring},
                                                 {Kind::kTruncationForced, State::kUleRecovery},
                                                 {Kind::kReplicasConverged, State::kMirroring},
                                                 {Kind::kPause, State::kPausing},
                                                 {Kind::kPauseDone, State::kPaused},
                                                 {Kind::kResume, State::kMirroring},
                                                 {Kind::kStop, State::kStopping},
                                                 {Kind::kStopDone, State::kStopped},
                                                 {Kind::kStart, State::kLogAlignment}};
  for (const auto& [kind, state] : life) {
    s = after(s, kind);
    EXPECT_EQ(s, MirrorStatus(state));
    EXPECT_EQ(after(s, kind), s) << "repeating " << name(kind) << " changes nothing";
  }
  EXPECT_TRUE(refused(State::kMirroring, Kind::kStart));
  EXPECT_TRUE(refused(State::kPaused, Kind::kEpochBehind));
  EXPECT_TRUE(refused(State::kStopped, Kind::kAligned));
}

TEST(MirrorState, FailuresCountAndKeepTheFirstPreviousState) {
  MirrorStatus s(State::kMirroring);
  s = after(s, MirrorEvent::failed(MirrorFailure::kRetriable, "disk full"));
  EXPECT_EQ(s.state, State::kFailed);
  EXPECT_EQ(s.previous, State::kMirroring);
  EXPECT_EQ(s.retry_attempt, 1);
  EXPECT_EQ(s.error_message, "disk full");
  s = after(s, Kind::kRetry);
  EXPECT_EQ(s.state, State::kMirroring);
  EXPECT_EQ(s.retry_attempt, 1) << "a retry alone proves nothing";
  s = after(s, Kind::kEpochBehind);
  s = after(s, MirrorEvent::failed(MirrorFailure::kRetriable, "bump refused"));
  EXPECT_EQ(s.previous, State::kMirroring) << "the state before the first failure";
  EXPECT_EQ(s.retry_attempt, 2);
  s = after(s, Kind::kRetry);
  s = after(s, Kind::kProgress);
  EXPECT_EQ(s, MirrorStatus(State::kMirroring));
}

TEST(MirrorState, AttemptsEndOnlyForOrdinaryFailures) {
  MirrorRetryPolicy policy;
  policy.max_attempts = 3;
  MirrorStatus ordinary(State::kMirroring);
  MirrorStatus unreachable(State::kMirroring);
  for (int i = 0; i < 10; ++i) {
    const auto a = MirrorEvent::failed(MirrorFailure::kRetriable, "x");
    const auto b = MirrorEvent::failed(MirrorFailure::kSourceUnreachable, "x");
    ordinary = *next(ordinary, a, policy);
    unreachable = *next(unreachable, b, policy);
    EXPECT_EQ(is_retried(ordinary, policy), i < 2);
    EXPECT_TRUE(is_retried(unreachable, policy));
  }
  EXPECT_EQ(ordinary.retry_attempt, 3);
  EXPECT_EQ(unreachable.retry_attempt, 2);
  policy.max_attempts = 0;
  EXPECT_FALSE(is_retried(unreachable, policy));
}

TEST(MirrorState, TerminalFailureWaitsForTheOperator) {
  MirrorStatus s(State::kEpochFencing);
  s = after(s, MirrorEvent::failed(MirrorFailure::kTerminal, "topic was recreated"));
  EXPECT_EQ(s.retry_attempt, -1);
  EXPECT_FALSE(is_retried(s, MirrorRetryPolicy()));
  EXPECT_FALSE(next(s, Kind::kRetry, MirrorRetryPolicy()));
  EXPECT_EQ(after(s, Kind::kRecover), MirrorStatus(State::kMirroring));
}

TEST(MirrorState, AStopOfAFailedPartitionIsNotUndoneByItsOwnRetry) {
  MirrorStatus s(State::kMirroring);
  s = after(s, MirrorEvent::failed(MirrorFailure::kSourceUnreachable, "refused"));
  s = after(s, Kind::kStop);
  EXPECT_EQ(s, MirrorStatus(State::kStopping));
  s = after(s, MirrorEvent::failed(MirrorFailure::kRetriable, "bump refused"));
  EXPECT_EQ(s.previous, State::kStopping);
  EXPECT_EQ(after(s, Kind::kRetry).state, State::kStopping);
}

TEST(MirrorState, RetryTargetsMayFollowFailed) {
  for (const State previous : kAllMirrorStates) {
    EXPECT_TRUE(legal_by_table(State::kFailed, retry_target(previous))) << name(previous);
  }
  EXPECT_EQ(retry_target(State::kUnknown), State::kLogAlignment);
  EXPECT_EQ(retry_target(State::kStopping), State::kStopping);
  EXPECT_EQ(retry_target(State::kPausing), State::kMirroring);
}

TEST(MirrorState, WritesAreCheckedAndCounted) {
  MirrorStatus s(State::kMirroring);
  const MirrorRetryPolicy policy;
  EXPECT_FALSE(next(s, MirrorEvent::write(State::kPaused, -1, false, std::nullopt), policy));
  EXPECT_EQ(after(s, MirrorEvent::write(State::kUnknown, -1, false, std::nullopt)), s);
  s = after(s, MirrorEvent::write(State::kFailed, -1, false, "a"));
  s = after(s, MirrorEvent::write(State::kFailed, -1, false, std::nullopt));
  EXPECT_EQ(s.retry_attempt, 2);
  EXPECT_EQ(s.previous, State::kMirroring);
  EXPECT_EQ(s.error_message, "a");
  s = after(s, MirrorEvent::write(State::kMirroring, 2, false, std::nullopt));
  EXPECT_EQ(s.retry_attempt, 2);
  EXPECT_EQ(s.previous, State::kMirroring);
  EXPECT_EQ(after(s, MirrorEvent::write(State::kMirroring, 0, false, std::nullopt)),
            MirrorStatus(State::kMirroring));
  s = after(s, MirrorEvent::write(State::kFailed, 7, true, "b"));
  EXPECT_EQ(s.retry_attempt, -1) << "non-retryable wins over a number";
  EXPECT_EQ(after(s, MirrorEvent::write(State::kStopping, -1, false, std::nullopt)),
            MirrorStatus(State::kStopping));
}

TEST(MirrorState, BackoffDoublesWithinTwentyPercentAndIsCapped) {
  const MirrorRetryPolicy policy;
  EXPECT_EQ(retry_backoff(1, policy, 0.5).count(), 100);
  EXPECT_EQ(retry_backoff(1, policy, 0.0).count(), 80);
  EXPECT_EQ(retry_backoff(4, policy, 0.5).count(), 800);
  EXPECT_EQ(retry_backoff(4, policy, 0.9999).count(), 960);
  EXPECT_EQ(retry_backoff(20, policy, 0.5).count(), 300'000);
  EXPECT_EQ(retry_backoff(20, policy, 0.9999).count(), 300'000);
  EXPECT_EQ(retry_backoff(1'000'000, policy, 0.0).count(), 240'000);
  EXPECT_EQ(retry_backoff(0, policy, 0.5).count(), 100);
}

MirrorEvent random_event(std::mt19937_64& random) {
  const auto kind = static_cast<Kind>(random() % 16);
  if (kind == Kind::kFailed) {
    return MirrorEvent::failed(static_cast<MirrorFailure>(random() % 3), "m");
  }
  if (kind == Kind::kWrite) {
    const auto target = kAllMirrorStates.at(random() % kAllMirrorStates.size());
    const auto attempt = static_cast<std::int32_t>(random() % 70'000) - 1;
    return MirrorEvent::write(target, random() % 2 == 0 ? -1 : attempt, random() % 8 == 0, "w");
  }
  return {kind};
}

TEST(MirrorState, AMillionRandomEventsNeverMakeAnIllegalTransition) {
  std::mt19937_64 random(20260807);  // NOLINT: the same events every run
  const MirrorRetryPolicy policy;
  MirrorStatus s;
  std::array<int, 10> seen{};
  int refusals = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const MirrorEvent event = random_event(random);
    const auto result = next(s, event, policy);
    if (!result) {
      ++refusals;
      continue;
    }
    ASSERT_TRUE(legal_by_table(s.state, result->state))
        << name(s.state) << " to " << name(result->state) << " by " << name(event.kind);
    ASSERT_GE(result->retry_attempt, -1);
    ASSERT_NE(result->previous, State::kFailed);
    if (result->state == State::kStopped && s.state != State::kStopped) {
      ASSERT_TRUE(event.kind == Kind::kStopDone || event.kind == Kind::kWrite);
    }
    s = *result;
    ++seen.at(static_cast<std::size_t>(static_cast<int>(s.state) + 1));
  }
  EXPECT_GT(refusals, 1000);
  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_GT(seen.at(i), 100) << i;
}

}  // namespace
}  // namespace kmirror
