// Reader: takes Kafka's primitive types off a contiguous frame, never past its end.
// Owner: one task. Every length is checked against what remains before anything is allocated.
// Sources: Kafka protocol guide, "Protocol Primitive Types"; KIP-482 for the compact forms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kmirror/base/result.h"
#include "kmirror/bytes/endian.h"
#include "kmirror/bytes/slice.h"

namespace kmirror {

enum class BytesErrc {
  kTruncated = 1,  ///< the frame ends inside a value
  kBadLength = 2,  ///< a length that is negative where it must not be, or beyond the frame
  kBadVarint = 3,  ///< a varint longer than its type
  kBadValue = 4,   ///< a null where the schema has none, or an order that is not allowed
  kTooLarge = 5,   ///< a value too long for its length field, on encoding
};
[[nodiscard]] const boost::system::error_category& bytes_category();
[[nodiscard]] inline Error bytes_error(BytesErrc code, std::string text) {
  return {ErrorCodeBase(static_cast<int>(code), bytes_category()), std::move(text)};
}

class Reader {
 public:
  explicit Reader(Slice frame) : frame_(std::move(frame)) {}

  [[nodiscard]] std::size_t remaining() const { return frame_.size() - position_; }
  [[nodiscard]] std::size_t position() const { return position_; }

  /// Big-endian integer. Error: kTruncated.
  template <class T>
    requires std::is_integral_v<T>
  [[nodiscard]] Result<T> integer() {
    if (remaining() < sizeof(T)) [[unlikely]]
      return truncated(sizeof(T));
    const T value = load_be<T>(frame_.data() + position_);
    position_ += sizeof(T);
    return value;
  }
  [[nodiscard]] Result<bool> boolean();
  [[nodiscard]] Result<double> float64();
  /// Unsigned LEB128, at most 32 bits. Errors: kTruncated, kBadVarint.
  [[nodiscard]] Result<std::uint32_t> unsigned_varint();
  /// Zigzag LEB128 of 32 and 64 bits. Errors: kTruncated, kBadVarint.
  [[nodiscard]] Result<std::int32_t> varint();
  [[nodiscard]] Result<std::int64_t> varlong();

  /// The next `count` bytes as a slice that shares the frame's memory. Error: kTruncated.
  [[nodiscard]] Result<Slice> slice(std::size_t count);
  [[nodiscard]] Result<void> skip(std::size_t count);

  /// Length-prefixed strings and bytes; `flexible` selects the compact form (unsigned varint of
  /// length + 1). Null is nullopt. Errors: kTruncated, kBadLength, kBadVarint.
  [[nodiscard]] Result<std::optional<std::string>> nullable_string(bool flexible);
  [[nodiscard]] Result<std::string> string(bool flexible);
  [[nodiscard]] Result<std::optional<Slice>> nullable_bytes(bool flexible);
  [[nodiscard]] Result<Slice> bytes(bool flexible);

  /// The number of elements of an array, null as nullopt. `min_element_bytes` is the least an
  /// element can take (0 counts as 1... an element of no bytes at all is not allowed to be more
  /// than what the frame could index); a count that cannot fit in the frame is kBadLength.
  [[nodiscard]] Result<std::optional<std::size_t>> array_length(bool flexible,
                                                                std::size_t min_element_bytes);

 private:
  [[nodiscard]] Error truncated(std::size_t wanted) const;
  [[nodiscard]] Result<std::optional<std::size_t>> length(bool flexible, bool wide);

  Slice frame_;
  std::size_t position_ = 0;
};

}  // namespace kmirror
