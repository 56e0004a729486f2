// The generated field lists: what decoder, encoder and the JSON renderer walk.
// For each struct S there is a Fields<S> with visit(codec, value), which calls
// codec.field(spec, member, default) for every field: first those in order, then the tagged ones by
// tag. A codec decides by version, tag and type what to do with it.
// Sources: KIP-482; the shape of the schemas in proto-json/.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "kmirror/model/types.h"

namespace kmirror::wire {

inline constexpr std::int64_t kNoTag = -1;

/// The rules of one field. Versions are inclusive; a range with from > to is empty.
struct FieldSpec {
  const char* path;  ///< Message.Struct.Field, in Kafka's spelling
  std::int16_t from = 0;
  std::int16_t to = 32767;
  std::int16_t null_from = 32767;
  std::int16_t null_to = 32767;
  std::int64_t tag = kNoTag;
  std::size_t min_element_bytes = 1;  ///< of an array: the least an element takes
  bool ignorable = false;             ///< may be dropped from a version that lacks it
  bool never_flexible = false;        ///< old length form even in a flexible version

  [[nodiscard]] constexpr bool has(std::int16_t version) const {
    return version >= from && version <= to;
  }
  [[nodiscard]] constexpr bool allows_null(std::int16_t version) const {
    return version >= null_from && version <= null_to;
  }
};

/// Specialised by the generated *.fields.h: kStructPath and visit().
template <class Struct>
struct Fields;

/// A struct with every field at Kafka's default.
template <class Struct>
[[nodiscard]] const Struct& default_of() {
  static const Struct value{};
  return value;
}

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// Bytes are a vector too, but no array.
template <class T>
inline constexpr bool kIsArray = false;
template <class T>
inline constexpr bool kIsArray<std::vector<T>> = !std::is_same_v<std::vector<T>, Bytes>;

/// Numbers, their strong types and the error code: what has a fixed width of 1 to 8 bytes.
template <class T>
inline constexpr bool kIsNumber = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <class Tag, class Rep>
inline constexpr bool kIsNumber<Strong<Tag, Rep>> = true;
template <>
inline constexpr bool kIsNumber<Offset> = true;

/// The plain number inside, and back.
template <class T>
[[nodiscard]] constexpr auto plain(T value) {
  if constexpr (std::is_enum_v<T>) {
    return static_cast<std::underlying_type_t<T>>(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    return value.get();
  }
}
template <class T>
using Plain = decltype(plain(std::declval<T>()));

}  // namespace kmirror::wire
