#include "kmirror/env/clock.h"

#include "kmirror/bytes/endian.h"

namespace kmirror::env {

Uuid Rng::uuid() {
  for (;;) {
    std::array<std::uint8_t, 16> bytes{};
    store_be<std::uint64_t>(bytes.data(), next());
    store_be<std::uint64_t>(bytes.data() + 8, next());
    bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0F) | 0x40);
    bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3F) | 0x80);
    const Uuid uuid(bytes);
    // A leading '-' would look like an option to command line tools.
    if (uuid.text().front() != '-') return uuid;
  }
}

}  // namespace kmirror::env
