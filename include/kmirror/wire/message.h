// What every generated message header needs.
// Owner: any one task. Invariant: no message struct is an aggregate (docs/decisions/0002).
// Sources: KIP-482 (tagged fields).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/bytes/byte_chain.h"
#include "kmirror/bytes/reader.h"
#include "kmirror/bytes/writer.h"
#include "kmirror/model/error_code.h"
#include "kmirror/model/types.h"

namespace kmirror::wire {

/// A tagged field that the schema does not know, kept so that it is written again.
struct UnknownTaggedField {
  UnknownTaggedField() = default;
  UnknownTaggedField(std::uint32_t number, Bytes bytes) : tag(number), data(std::move(bytes)) {}
  std::uint32_t tag = 0;
  Bytes data;
  friend bool operator==(const UnknownTaggedField&, const UnknownTaggedField&) = default;
};

/// kFlexibleFrom of a message that has no flexible version.
inline constexpr ApiVersion kNeverFlexible{32767};

}  // namespace kmirror::wire
