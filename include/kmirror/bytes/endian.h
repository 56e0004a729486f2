// Big-endian loads and stores at unaligned addresses, as Kafka's formats use them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace kmirror {

template <class T>
  requires std::is_integral_v<T>
[[nodiscard]] inline T load_be(const std::uint8_t* from) {
  using U = std::make_unsigned_t<T>;
  U value;
  std::memcpy(&value, from, sizeof(value));
  if constexpr (sizeof(T) == 2) value = __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) value = __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) value = __builtin_bswap64(value);
  return static_cast<T>(value);
}

template <class T>
  requires std::is_integral_v<T>
inline void store_be(std::uint8_t* to, T value) {
  using U = std::make_unsigned_t<T>;
  auto u = static_cast<U>(value);
  if constexpr (sizeof(T) == 2) u = __builtin_bswap16(u);
  if constexpr (sizeof(T) == 4) u = __builtin_bswap32(u);
  if constexpr (sizeof(T) == 8) u = __builtin_bswap64(u);
  std::memcpy(to, &u, sizeof(u));
}

}  // namespace kmirror
