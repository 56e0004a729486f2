// CRC-32C (Castagnoli) as Kafka's record batches use it; SSE4.2, three lanes at once.
#pragma once

#include <cstdint>

#include "kmirror/bytes/slice.h"

namespace kmirror {

/// The checksum of `bytes`; pass an earlier result as `previous` to go on.
[[nodiscard]] std::uint32_t crc32c(ByteSpan bytes, std::uint32_t previous = 0);

}  // namespace kmirror
