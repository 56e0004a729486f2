// CRC-32 (IEEE 802.3, as zlib and gzip use it): the checksum of message formats 0 and 1.
#pragma once

#include <cstdint>

#include "kmirror/bytes/slice.h"

namespace kmirror {

/// The checksum of `bytes`; pass an earlier result as `previous` to go on.
[[nodiscard]] std::uint32_t crc32(ByteSpan bytes, std::uint32_t previous = 0);

}  // namespace kmirror
