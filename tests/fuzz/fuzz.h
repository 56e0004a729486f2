// What a fuzz entry defines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kmirror/bytes/slice.h"

/// One input. Returns 0; aborts if what must always hold does not.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace kmirror::fuzz {

/// Good inputs to start from; the same on every call.
[[nodiscard]] std::vector<Bytes> fuzz_seeds();

}  // namespace kmirror::fuzz
