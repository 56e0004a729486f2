// RefusalLog: says which requests and connections were refused, without letting a scanner fill the
// disk. Owner: one loop. At most kLines lines in kWindow; what was left out is counted in the next
// line.
#pragma once

#include <cstdint>
#include <string>

#include "kmirror/env/clock.h"

namespace kmirror::server {

class RefusalLog {
 public:
  static constexpr std::uint32_t kLines = 20;
  static constexpr std::chrono::seconds kWindow{10};

  explicit RefusalLog(const env::Clock& clock) : clock_(clock) {}

  /// Writes one warning, event server.request_refused, if there is room for it. True if it did.
  bool say(const std::string& text);

 private:
  const env::Clock& clock_;
  env::Instant window_start_;
  std::uint32_t lines_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace kmirror::server
