// Writer: puts Kafka's primitive types into a ByteChain; big byte chains are joined, not copied.
// Owner: one task.
// Sources: Kafka protocol guide, "Protocol Primitive Types"; KIP-482 for the compact forms.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kmirror/bytes/byte_chain.h"
#include "kmirror/bytes/endian.h"
#include "kmirror/bytes/reader.h"

namespace kmirror {

class Writer {
 public:
  /// `expected_bytes`: how much memory to reserve first; a hint.
  explicit Writer(std::size_t expected_bytes = 256) { buffer_.reserve(expected_bytes); }

  /// Bytes written so far.
  [[nodiscard]] std::size_t size() const { return chain_.size() + buffer_.size(); }

  template <class T>
    requires std::is_integral_v<T>
  void integer(T value) {
    const std::size_t at = buffer_.size();
    buffer_.resize(at + sizeof(T));
    store_be<T>(buffer_.data() + at, value);
  }
  void boolean(bool value) { buffer_.push_back(value ? 1 : 0); }
  void float64(double value);
  void unsigned_varint(std::uint32_t value);
  void varint(std::int32_t value);
  void varlong(std::int64_t value);
  void raw(ByteSpan bytes) { buffer_.insert(buffer_.end(), bytes.begin(), bytes.end()); }

  /// Errors: kTooLarge for a string of more than 32,767 bytes in the non-compact form.
  [[nodiscard]] Result<void> string(std::string_view text, bool flexible);
  [[nodiscard]] Result<void> nullable_string(const std::optional<std::string>& text, bool flexible);
  void bytes(ByteSpan bytes, bool flexible);
  void null_bytes(bool flexible);
  /// The bytes of `chain` follow their length; memory and file ranges are shared, not copied.
  void chain(ByteChain chain, bool flexible);
  void array_length(std::size_t count, bool flexible);
  void null_array(bool flexible);
  /// Joins `chain` without a length.
  void append(ByteChain chain);

  /// Hands over everything written; the writer is empty afterwards.
  [[nodiscard]] ByteChain take();
  /// The same in one slice; for messages without file ranges (checked).
  [[nodiscard]] Slice take_slice();

 private:
  void flush_buffer();
  Bytes buffer_;
  ByteChain chain_;
};

/// Sizes in bytes of the variable-length integers, for encoded_size().
[[nodiscard]] std::size_t unsigned_varint_size(std::uint32_t value);
[[nodiscard]] std::size_t varint_size(std::int32_t value);
[[nodiscard]] std::size_t varlong_size(std::int64_t value);

}  // namespace kmirror
