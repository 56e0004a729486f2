// Kafka's nouns as types that cannot be mixed up.
// Sources: Kafka 4.4 message definitions (entityType), KIP-516 for topic ids.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kmirror/base/strong.h"
#include "kmirror/bytes/slice.h"

namespace kmirror {

/// A position in a partition's log, counted in records from 0. -1 is "none" on the wire.
class Offset {
 public:
  constexpr Offset() = default;
  constexpr explicit Offset(std::int64_t value) : value_(value) {}
  [[nodiscard]] constexpr std::int64_t get() const { return value_; }
  [[nodiscard]] constexpr Offset next() const { return Offset(value_ + 1); }
  friend constexpr Offset operator+(Offset a, std::int64_t count) {
    return Offset(a.value_ + count);
  }
  friend constexpr Offset operator-(Offset a, std::int64_t count) {
    return Offset(a.value_ - count);
  }
  /// The distance in offsets.
  friend constexpr std::int64_t operator-(Offset a, Offset b) { return a.value_ - b.value_; }
  friend constexpr auto operator<=>(Offset, Offset) = default;

 private:
  std::int64_t value_ = 0;
};
inline constexpr Offset kNoOffset{-1};

/// Counts the leaders a partition has had; -1 is "none" or "do not check" on the wire.
using LeaderEpoch = Strong<struct LeaderEpochTag, std::int32_t>;
inline constexpr LeaderEpoch kNoLeaderEpoch{-1};

using NodeId = Strong<struct NodeIdTag, std::int32_t>;
using ProducerId = Strong<struct ProducerIdTag, std::int64_t>;
inline constexpr ProducerId kNoProducerId{-1};
using ProducerEpoch = Strong<struct ProducerEpochTag, std::int16_t>;
inline constexpr ProducerEpoch kNoProducerEpoch{-1};

/// A request or record version of one message.
using ApiVersion = Strong<struct ApiVersionTag, std::int16_t>;
using ApiKey = Strong<struct ApiKeyTag, std::int16_t>;

/// 128 bits; printed as Kafka prints it: 22 characters of URL-safe base64 without padding.
class Uuid {
 public:
  constexpr Uuid() = default;
  constexpr explicit Uuid(std::array<std::uint8_t, 16> bytes) : bytes_(bytes) {}
  [[nodiscard]] constexpr const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
  [[nodiscard]] constexpr bool is_zero() const { return bytes_ == std::array<std::uint8_t, 16>{}; }
  [[nodiscard]] std::string text() const;
  /// Nothing if `text` is not such a string.
  [[nodiscard]] static std::optional<Uuid> parse(std::string_view text);
  friend constexpr auto operator<=>(const Uuid&, const Uuid&) = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

struct TopicPartition {
  TopicPartition() = default;
  TopicPartition(std::string topic_name, std::int32_t partition_index)
      : topic(std::move(topic_name)), partition(partition_index) {}
  std::string topic;
  std::int32_t partition = 0;
  friend auto operator<=>(const TopicPartition&, const TopicPartition&) = default;
};

struct TopicIdPartition {
  TopicIdPartition() = default;
  TopicIdPartition(Uuid id, std::int32_t partition_index)
      : topic_id(id), partition(partition_index) {}
  Uuid topic_id;
  std::int32_t partition = 0;
  friend auto operator<=>(const TopicIdPartition&, const TopicIdPartition&) = default;
};

/// Java's String.hashCode of ASCII/UTF-8-decoded text, as Kafka hashes group and mirror names.
[[nodiscard]] std::int32_t java_hash_code(std::string_view utf8);
/// Kafka's Utils.abs(hash) % count: MIN_VALUE counts as 0. `count` >= 1.
[[nodiscard]] std::int32_t partition_for_hash(std::int32_t hash, std::int32_t count);

}  // namespace kmirror

template <>
struct std::hash<kmirror::Offset> {
  std::size_t operator()(kmirror::Offset v) const noexcept {
    return std::hash<std::int64_t>{}(v.get());
  }
};
template <>
struct std::hash<kmirror::Uuid> {
  std::size_t operator()(const kmirror::Uuid& v) const noexcept;
};
template <>
struct std::hash<kmirror::TopicPartition> {
  std::size_t operator()(const kmirror::TopicPartition& v) const noexcept {
    return std::hash<std::string>{}(v.topic) * 31 + static_cast<std::size_t>(v.partition);
  }
};
template <>
struct std::hash<kmirror::TopicIdPartition> {
  std::size_t operator()(const kmirror::TopicIdPartition& v) const noexcept {
    return std::hash<kmirror::Uuid>{}(v.topic_id) * 31 + static_cast<std::size_t>(v.partition);
  }
};

template <>
struct fmt::formatter<kmirror::Offset> : fmt::formatter<std::int64_t> {
  template <class Context>
  auto format(kmirror::Offset v, Context& context) const {
    return fmt::formatter<std::int64_t>::format(v.get(), context);
  }
};
template <>
struct fmt::formatter<kmirror::Uuid> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const kmirror::Uuid& v, Context& context) const {
    return fmt::formatter<std::string>::format(v.text(), context);
  }
};
template <>
struct fmt::formatter<kmirror::TopicPartition> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const kmirror::TopicPartition& v, Context& context) const {
    return fmt::formatter<std::string>::format(fmt::format("{}-{}", v.topic, v.partition), context);
  }
};
