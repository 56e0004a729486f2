// Exponential backoff with jitter.
// Owner: one task.
#include "kmirror/client/backoff.h"

#include <algorithm>
#include <cmath>

namespace kmirror::client {

std::chrono::milliseconds backoff_delay(const BackoffOptions& options, std::int64_t attempt,
                                        env::Rng& rng) {
  const double max_ms = static_cast<double>(std::max(options.max, options.initial).count());
  // 2^62 is far above any cap; a larger exponent would only lose precision.
  const double exponent = static_cast<double>(std::clamp<std::int64_t>(attempt - 1, 0, 62));
  const double plain_ms =
      std::min(max_ms, static_cast<double>(options.initial.count()) * std::exp2(exponent));
  const double factor = 1.0 - options.jitter + 2.0 * options.jitter * rng.unit();
  const double delay_ms = std::min(max_ms, std::max(0.0, plain_ms * factor));
  return std::chrono::milliseconds(std::llround(delay_ms));
}

}  // namespace kmirror::client
