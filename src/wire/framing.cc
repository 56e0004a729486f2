#include "kmirror/wire/framing.h"

#include <fmt/format.h>

namespace kmirror::wire {

Result<std::size_t> frame_length(ByteSpan prefix, std::size_t max_bytes) {
  if (prefix.size() < kFramePrefixBytes) {
    return bytes_error(BytesErrc::kTruncated,
                       fmt::format("frame length of {} bytes", prefix.size()));
  }
  const auto length = load_be<std::int32_t>(prefix.data());
  if (length < 0 || static_cast<std::size_t>(length) > max_bytes) {
    return bytes_error(BytesErrc::kBadLength,
                       fmt::format("frame of {} bytes; the limit is {}", length, max_bytes));
  }
  return static_cast<std::size_t>(length);
}

}  // namespace kmirror::wire
