// FetchPlan: which partitions one Fetch asks for, after its session was looked up and brought up to
// date, and how much it may return.
// Owner: the loop of the session cache. Sources: KIP-227, KIP-74; Kafka 4.4
// FetchManager.newContext.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kmirror/wire/fetch_request.h"
#include "server/handlers/fetch_session.h"

namespace kmirror::server {

struct FetchPlan {
  FetchPlan() = default;
  FetchPlan(FetchPlan&&) = default;
  FetchPlan& operator=(FetchPlan&&) = default;

  ErrorCode error = ErrorCode::NONE;  ///< of the whole request; nothing is read then
  ApiVersion version;
  bool by_id = false;
  std::shared_ptr<FetchSession> session;  ///< of an incremental fetch: only changes are answered
  bool wants_session = false;             ///< a full fetch that opens one
  FetchPartitionList listed;              ///< of a fetch without a session yet
  std::vector<FetchPartitionPtr> partitions;  ///< in the order to be read
  storage::Isolation isolation = storage::Isolation::kReadUncommitted;
  std::size_t max_bytes = 0;
  std::size_t min_bytes = 0;
  std::chrono::milliseconds max_wait{0};

  [[nodiscard]] bool is_incremental() const { return session != nullptr; }
};

/// Errors in the plan: FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH,
/// FETCH_SESSION_TOPIC_ID_ERROR. A session is advanced to its next epoch here.
/// `broker_max_bytes`: fetch.max.bytes.
[[nodiscard]] FetchPlan plan_fetch(FetchSessionCache& sessions, const wire::FetchRequest& request,
                                   ApiVersion version, std::int32_t broker_max_bytes,
                                   env::Instant now);

}  // namespace kmirror::server
