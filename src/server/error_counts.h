// ErrorCounts: which error codes an answer carries and how often, for the metric ErrorsPerSec.
// Owner: any thread. Sources: Kafka 4.4 AbstractResponse.errorCounts.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "kmirror/model/error_code.h"

namespace kmirror::server {

class ErrorCounts {
 public:
  void add(ErrorCode code);
  [[nodiscard]] const std::vector<std::pair<ErrorCode, std::uint32_t>>& all() const {
    return counts_;
  }

 private:
  std::vector<std::pair<ErrorCode, std::uint32_t>> counts_;  // few different ones: searched
};

/// Every field of type ErrorCode in `response`, at any depth. Defined for all responses of the
/// table.
template <class Response>
[[nodiscard]] ErrorCounts count_errors(const Response& response);

}  // namespace kmirror::server
