// Every message of proto-json/ behind one interface, for tests that go over all of them.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kmirror/wire/message.h"

namespace kmirror::wire::test {

/// What sort of values a made sample has.
enum class SampleKind {
  kDefaults,  ///< a fresh message
  kNulls,     ///< null where it may be, empty arrays
  kLong,      ///< long strings and arrays
  kMixed,     ///< anything, short
};

struct Recoded {
  Recoded() = default;
  std::string json;      ///< the decoded values, as Kafka's JsonConverter would show them
  Bytes bytes;           ///< the same message encoded again
  std::size_t size = 0;  ///< what encoded_size() said
  std::size_t left = 0;  ///< bytes behind the message
};

struct MessageCodec {
  MessageCodec() = default;
  std::string_view name;
  ApiVersion min;
  ApiVersion max;
  ApiVersion flexible_from;
  /// Decodes and drops the result.
  Result<void> (*decode)(const Slice& frame, ApiVersion version) = nullptr;
  Result<Recoded> (*recode)(const Slice& frame, ApiVersion version) = nullptr;
  /// A message with random values, encoded and rendered.
  Result<Recoded> (*make)(std::mt19937_64& random, SampleKind kind, ApiVersion version) = nullptr;
};

/// All of them, by name.
[[nodiscard]] const std::vector<MessageCodec>& registry();
/// Null if there is none.
[[nodiscard]] const MessageCodec* find_message(std::string_view name);

}  // namespace kmirror::wire::test
