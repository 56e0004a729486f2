// Kafka's error codes as they go over the wire, with name and "may the client retry".
// Sources: error_code.def.
#pragma once

#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "kmirror/base/result.h"

namespace kmirror {

enum class ErrorCode : std::int16_t {
#define KM_ERROR(name, code, retriable) name = code,
#include "kmirror/model/error_code.def"
#undef KM_ERROR
};

/// Kafka's name in upper case; "UNKNOWN_CODE" for a code outside the table.
[[nodiscard]] std::string_view name(ErrorCode code);
/// True if the same request may succeed later. False for a code outside the table.
[[nodiscard]] bool is_retriable(ErrorCode code);

/// The category of errors that carry a Kafka code.
[[nodiscard]] const boost::system::error_category& kafka_category();
/// An Error with a Kafka code; `text` names the thing and the remedy.
[[nodiscard]] Error kafka_error(ErrorCode code, std::string text);
/// The code a client is told for `error`: its own if it has one, else the nearest
/// (bytes errors: CORRUPT_MESSAGE for data, system and storage errors: KAFKA_STORAGE_ERROR,
/// anything else: UNKNOWN_SERVER_ERROR).
[[nodiscard]] ErrorCode to_kafka_error(const Error& error);

}  // namespace kmirror

template <>
struct fmt::formatter<kmirror::ErrorCode> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(kmirror::ErrorCode v, Context& context) const {
    return fmt::formatter<std::string_view>::format(kmirror::name(v), context);
  }
};
