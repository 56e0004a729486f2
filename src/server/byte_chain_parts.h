// take_front: cuts a byte chain into pieces, so that progress shows while a long answer is sent.
// Owner: one task.
#pragma once

#include <cstddef>

#include "kmirror/bytes/byte_chain.h"

namespace kmirror::server {

/// Moves the first `max_bytes` of `chain` (or all of it) into the result; the rest stays. Memory
/// and file ranges are shared, not copied. `max_bytes` >= 1.
[[nodiscard]] ByteChain take_front(ByteChain& chain, std::size_t max_bytes);

}  // namespace kmirror::server
