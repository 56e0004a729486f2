#include "server/handlers/fetch_plan.h"

#include <algorithm>
#include <utility>

namespace kmirror::server {
namespace {

constexpr ApiVersion kFirstByTopicId{13};
constexpr std::int32_t kInitialEpoch = 0;
constexpr std::int32_t kFinalEpoch = -1;
constexpr std::int8_t kReadCommitted = 1;

void set_limits(FetchPlan& plan, const wire::FetchRequest& request, std::int32_t broker_max_bytes) {
  const std::int32_t max_bytes = std::clamp(request.max_bytes, 0, broker_max_bytes);
  plan.max_bytes = static_cast<std::size_t>(max_bytes);
  plan.min_bytes = static_cast<std::size_t>(std::clamp(request.min_bytes, 0, max_bytes));
  plan.max_wait = std::chrono::milliseconds(std::max(request.max_wait_ms, 0));
  plan.isolation = request.isolation_level == kReadCommitted ? storage::Isolation::kReadCommitted
                                                             : storage::Isolation::kReadUncommitted;
}

void plan_full(FetchPlan& plan, FetchSessionCache& sessions, const wire::FetchRequest& request) {
  if (request.session_id != 0) sessions.remove(request.session_id);
  plan.wants_session = request.session_epoch == kInitialEpoch;
  plan.listed.update(request, plan.by_id);
  plan.partitions = plan.listed.in_order();
}

void plan_incremental(FetchPlan& plan, FetchSessionCache& sessions,
                      const wire::FetchRequest& request, env::Instant now) {
  auto session = sessions.find(request.session_id);
  if (session == nullptr) {
    plan.error = ErrorCode::FETCH_SESSION_ID_NOT_FOUND;
    return;
  }
  if (session->epoch != request.session_epoch) {
    plan.error = ErrorCode::INVALID_FETCH_SESSION_EPOCH;
    return;
  }
  if (session->by_id != plan.by_id) {
    plan.error = ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR;
    return;
  }
  session->partitions.update(request, plan.by_id);
  session->epoch = FetchSessionCache::next_epoch(session->epoch);
  session->last_used = now;
  plan.partitions = session->partitions.in_order();
  if (plan.partitions.empty()) {
    // Nothing is left to watch: the session ends, and the answer says so with id 0.
    sessions.remove(request.session_id);
    return;
  }
  plan.session = std::move(session);
}

}  // namespace

FetchPlan plan_fetch(FetchSessionCache& sessions, const wire::FetchRequest& request,
                     ApiVersion version, std::int32_t broker_max_bytes, env::Instant now) {
  FetchPlan plan;
  plan.version = version;
  plan.by_id = version >= kFirstByTopicId;
  set_limits(plan, request, broker_max_bytes);
  const bool is_full =
      request.session_epoch == kInitialEpoch || request.session_epoch == kFinalEpoch;
  if (is_full) {
    plan_full(plan, sessions, request);
  } else {
    plan_incremental(plan, sessions, request, now);
  }
  return plan;
}

}  // namespace kmirror::server
