// FetchSession: the reader's side of an incremental fetch session with one broker: which positions
// to tell the broker, and what its answer means for the session. No I/O. Owner: one fetch task.
// Invariant: positions live here, the session is only an optimisation that the broker may drop at
// any time; a request names what changed since the last one the broker took in. Sources: KIP-227,
// KIP-516; Kafka 4.4 FetchSessionHandler, FetchMetadata; cases G53, G54.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "kmirror/model/types.h"
#include "kmirror/wire/fetch_request.h"
#include "kmirror/wire/fetch_response.h"

namespace kmirror::mirror {

/// The highest Fetch version that names topics instead of ids.
inline constexpr ApiVersion kLastFetchVersionWithNames{12};

struct FetchPosition {
  FetchPosition() = default;
  Uuid topic_id;  ///< the source's; zero if it has none
  Offset offset;
  LeaderEpoch last_fetched_epoch = kNoLeaderEpoch;
  LeaderEpoch current_leader_epoch = kNoLeaderEpoch;
  std::int32_t max_bytes = 1'048'576;
  friend bool operator==(const FetchPosition&, const FetchPosition&) = default;
};

struct FetchLimits {
  FetchLimits() = default;
  std::int32_t max_wait_ms = 500;
  std::int32_t min_bytes = 1;
  std::int32_t max_bytes = 10'485'760;
};

class FetchSession {
 public:
  enum class Verdict {
    kUse,      ///< partitions in the answer count
    kRenew,    ///< the broker lost or refused the session: nothing in the answer counts; ask anew
    kRefused,  ///< another top-level error
  };

  FetchSession() = default;

  /// Fetches `partition` from now on, or from another position.
  void set(const TopicPartition& partition, const FetchPosition& position);
  /// Stops fetching it; unknown partitions are ignored.
  void remove(const TopicPartition& partition);
  /// After a lost connection: the next request is a full one.
  void reset();

  [[nodiscard]] bool empty() const { return positions_.empty(); }
  [[nodiscard]] const std::map<TopicPartition, FetchPosition>& positions() const {
    return positions_;
  }
  /// True if the next request names every partition.
  [[nodiscard]] bool next_is_full() const { return epoch_ == kInitialEpoch; }
  [[nodiscard]] std::int32_t session_id() const { return session_id_; }
  [[nodiscard]] std::int32_t session_epoch() const { return epoch_; }

  /// `highest`, or at most 12 while a partition's topic has no id.
  [[nodiscard]] ApiVersion usable_version(ApiVersion highest) const;

  /// The next request. `version` as usable_version() gives it; a step from names to ids or back
  /// makes the request a full one. Records what the broker will know, so send it or reset().
  [[nodiscard]] wire::FetchRequest next_request(ApiVersion version, const FetchLimits& limits);
  /// A request that ends the session at the broker; only if session_id() is not 0.
  [[nodiscard]] wire::FetchRequest close_request() const;
  /// Takes in the answer to the last request.
  [[nodiscard]] Verdict accept(const wire::FetchResponse& answer);
  /// The name of a topic in an answer of a version with ids; empty if we do not fetch it.
  [[nodiscard]] std::string topic_name(const Uuid& topic_id) const;

 private:
  static constexpr std::int32_t kNoSession = 0;
  static constexpr std::int32_t kInitialEpoch = 0;
  static constexpr std::int32_t kFinalEpoch = -1;

  void add_full(wire::FetchRequest& request);
  void add_changes(wire::FetchRequest& request);
  void add_forgotten(wire::FetchRequest& request) const;

  std::map<TopicPartition, FetchPosition> positions_;
  std::set<TopicPartition> changed_;                 ///< since the last request
  std::map<TopicPartition, Uuid> forgotten_;         ///< since the last request; with the id then
  std::unordered_map<Uuid, std::string> names_;      ///< of topics with an id
  std::map<std::string, std::size_t> topic_counts_;  ///< partitions fetched, by topic
  std::size_t without_id_ = 0;                       ///< partitions whose topic has no id
  std::size_t rotation_ = 0;
  std::int32_t session_id_ = kNoSession;
  std::int32_t epoch_ = kInitialEpoch;
  bool by_id_ = false;
};

}  // namespace kmirror::mirror
