#include "server/refusal_log.h"

#include "kmirror/base/log.h"

namespace kmirror::server {

bool RefusalLog::say(const std::string& text) {
  const env::Instant now = clock_.now();
  if (lines_ == 0 || now - window_start_ >= kWindow) {
    window_start_ = now;
    lines_ = 0;
  }
  if (lines_ == kLines) {
    ++left_out_;
    return false;
  }
  ++lines_;
  if (left_out_ > 0) {
    KM_LOG(kWarn, "server.request_refused", "{} (and {} others before it)", text, left_out_);
    left_out_ = 0;
  } else {
    KM_LOG(kWarn, "server.request_refused", "{}", text);
  }
  return true;
}

}  // namespace kmirror::server
