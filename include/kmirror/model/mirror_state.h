// MirrorState and the pure transition function of a mirror partition: which state follows which
// event, what a failure leaves behind, when the next retry is due.
// Owner: any thread; everything here is a pure function of its arguments.
// Invariants: next() never makes a transition that is_legal_transition() denies; retry_attempt is
// -1 (not retried), 0 (not failed) or 1 … max attempts. Sources: spec B.1-B.6; decisions section 2
// and 3.1, 3.18, 3.19; Kafka 4.4 ExponentialBackoff.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kmirror/base/result.h"

namespace kmirror {

/// The actual state of one mirror partition. The values are the codes of the records and of
/// Read/WriteMirrorStates v1.
enum class MirrorState : std::int8_t {
  kUnknown = -1,      ///< no record
  kLogAlignment = 0,  ///< cutting the log to the last mirror position
  kEpochFencing = 1,  ///< raising the leader epoch above the source's
  kUleRecovery = 2,   ///< waiting for replicas after an unclean election at the source
  kMirroring = 3,
  kPausing = 4,
  kPaused = 5,
  kStopping = 6,
  kStopped = 7,  ///< writable
  kFailed = 8,
};
inline constexpr std::array<MirrorState, 10> kAllMirrorStates{
    MirrorState::kUnknown,     MirrorState::kLogAlignment, MirrorState::kEpochFencing,
    MirrorState::kUleRecovery, MirrorState::kMirroring,    MirrorState::kPausing,
    MirrorState::kPaused,      MirrorState::kStopping,     MirrorState::kStopped,
    MirrorState::kFailed};

/// Upper-case name: "LOG_ALIGNMENT". A value outside the enum is "UNKNOWN".
[[nodiscard]] std::string_view name(MirrorState state);
/// The state of a code; nothing if there is none.
[[nodiscard]] std::optional<MirrorState> mirror_state_from_code(std::int8_t code);
/// The state of a name, names of earlier generations (PREPARING, PREPARING_MIRRORING,
/// LOG_TRUNCATION, INITIALIZING) included; nothing if there is none.
[[nodiscard]] std::optional<MirrorState> parse_mirror_state(std::string_view text);

/// The code the seed generation (Read/WriteMirrorStates v0) has for `state`: 0, 1, 2, 4, 8, or 16
/// for PAUSING, PAUSED and UNKNOWN.
[[nodiscard]] std::int8_t seed_code(MirrorState state);
/// The state of a seed generation code (16: kUnknown); nothing if there is none.
[[nodiscard]] std::optional<MirrorState> mirror_state_from_seed_code(std::int8_t code);
/// What DescribeMirrors prints: LOG_ALIGNMENT, EPOCH_FENCING and ULE_RECOVERY as PREPARING, UNKNOWN
/// as INITIALIZING, the others by their own name.
[[nodiscard]] std::string_view seed_name(MirrorState state);

/// True if a partition may go from `from` to `to`: the table of spec B.2 with decision 3.1
/// (STOPPING from every state but STOPPED). Staying and failing are always legal.
[[nodiscard]] bool is_legal_transition(MirrorState from, MirrorState to);

/// What an operator or client may ask for.
enum class MirrorOperation : std::uint8_t { kStart, kStop, kPause, kResume, kDelete, kRecover };
/// True if `operation` may be asked for a partition in `state` (spec B.5, decisions 3.1).
[[nodiscard]] bool is_allowed(MirrorOperation operation, MirrorState state);

/// mirror.failed.retry.*: when a FAILED partition is tried again.
struct MirrorRetryPolicy {
  MirrorRetryPolicy() = default;
  std::chrono::milliseconds initial_backoff{100};
  std::chrono::milliseconds max_backoff{300'000};
  std::int16_t max_attempts = 20;  ///< 0: never retried by itself
};

/// State and failure bookkeeping: what a MirrorPartitionState record keeps, less the epochs.
struct MirrorStatus {
  MirrorStatus() = default;
  explicit MirrorStatus(MirrorState now) : state(now) {}
  MirrorState state = MirrorState::kUnknown;
  /// The state before the first failure of a run of failures; kUnknown if there was none.
  MirrorState previous = MirrorState::kUnknown;
  std::int16_t retry_attempt = 0;            ///< -1: not retried; 0: not failed; 1 … max
  std::optional<std::string> error_message;  ///< of the newest failure
  friend bool operator==(const MirrorStatus&, const MirrorStatus&) = default;
};

enum class MirrorFailure : std::uint8_t {
  kRetriable,          ///< attempts end at max_attempts
  kSourceUnreachable,  ///< connection, authentication, authorization: attempts never end
  kTerminal,           ///< not retried
};

struct MirrorEvent {
  enum class Kind : std::uint8_t {
    kStart,              ///< wanted MIRRORING; from UNKNOWN or STOPPED
    kAligned,            ///< LOG_ALIGNMENT is done
    kEpochBehind,        ///< a batch of the source has an epoch above ours
    kEpochRaised,        ///< the new leader epoch is visible here
    kTruncationForced,   ///< the source cut its log, and unclean elections are supported
    kReplicasConverged,  ///< ULE_RECOVERY is done
    kPause,              ///< wanted PAUSED
    kPauseDone,
    kResume,  ///< wanted MIRRORING again
    kStop,    ///< wanted STOPPED
    kStopDone,
    kFailed,    ///< something went wrong: `failure`, `message`
    kRetry,     ///< the backoff is over
    kRecover,   ///< RecoverMirrorTopics
    kProgress,  ///< the first successful fetch after a failure
    kWrite,     ///< WriteMirrorStates: go to `target`
  };

  MirrorEvent(Kind k) : kind(k) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] static MirrorEvent failed(MirrorFailure failure, std::string message);
  /// A write as it comes over the wire. `attempt` -1: let next() count; 0 forgets failures; above 0
  /// is taken as it is. `non_retriable` only matters for kFailed. `target` kUnknown leaves the
  /// state.
  [[nodiscard]] static MirrorEvent write(MirrorState target, std::int32_t attempt,
                                         bool non_retriable, std::optional<std::string> message);

  Kind kind;
  MirrorFailure failure = MirrorFailure::kRetriable;
  MirrorState target = MirrorState::kUnknown;
  std::int32_t attempt = -1;
  std::optional<std::string> message;
};
[[nodiscard]] std::string_view name(MirrorEvent::Kind kind);

/// The one transition function. Returns the status after `event`; equal to `now` if the event has
/// already happened (stop of a STOPPING partition). Failing keeps `previous` over a run of failures
/// and counts the attempt; what an operator asks for (start, pause, resume, stop, recover) and
/// kProgress forget the run. Error: INVALID_CLUSTER_MIRROR_STATE if `event` is not legal in `now`.
[[nodiscard]] Result<MirrorStatus> next(const MirrorStatus& now, const MirrorEvent& event,
                                        const MirrorRetryPolicy& policy);

/// Where a FAILED partition goes on: its previous state if that may follow FAILED, else the state
/// that leads back to it (spec B.4).
[[nodiscard]] MirrorState retry_target(MirrorState previous);

/// True if `status` is FAILED and will be tried again without an operator.
[[nodiscard]] bool is_retried(const MirrorStatus& status, const MirrorRetryPolicy& policy);

/// How long to wait after the `failures`-th failure in a row (1 …): initial · 2^(failures-1), ±20 %
/// by `random` (0 <= random < 1), never above max_backoff.
[[nodiscard]] std::chrono::milliseconds retry_backoff(std::int64_t failures,
                                                      const MirrorRetryPolicy& policy,
                                                      double random);

}  // namespace kmirror
