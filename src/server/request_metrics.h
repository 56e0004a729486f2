// RequestMetrics: Kafka's request metrics per API, kept in the registry.
// Owner: one loop; every loop has its own and they add to the same counters.
// Names: docs/formats/metrics.md. Sources: Kafka 4.4 RequestMetrics, RequestChannel.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "kmirror/base/metrics.h"
#include "kmirror/env/clock.h"
#include "kmirror/wire/api_table.h"
#include "server/error_counts.h"

namespace kmirror::server {

/// When what happened to one request, by the monotonic clock.
struct RequestTimes {
  RequestTimes() = default;
  env::Instant received;  ///< the whole frame is there
  env::Instant started;   ///< the handler begins
  env::Instant returned;  ///< the handler's start() came back
  env::Instant answered;  ///< the answer is there
  env::Instant dequeued;  ///< it is this answer's turn to be written
  env::Instant sent;      ///< the last byte was handed to the system
};

class RequestMetrics {
 public:
  explicit RequestMetrics(metrics::Registry& registry) : registry_(registry) {}

  /// Counts one request that is done: answered, or ended without an answer.
  void record(const wire::ApiInfo& api, ApiVersion version, const RequestTimes& times,
              std::size_t request_bytes, std::size_t response_bytes, const ErrorCounts& errors);

 private:
  struct PerApi;
  PerApi& of(const wire::ApiInfo& api);

  metrics::Registry& registry_;
  std::map<ApiKey, std::shared_ptr<PerApi>> per_api_;
};

}  // namespace kmirror::server
