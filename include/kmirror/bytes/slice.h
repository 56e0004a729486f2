// Slab: a ref-counted block of memory. Slice: a part of one, kept alive by it.
// Owner: a Slab may be written only by the one who allocated it, before it is shared; afterwards
// it is immutable and any thread may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kmirror {

using Bytes = std::vector<std::uint8_t>;
using ByteSpan = std::span<const std::uint8_t>;

class Slab {
 public:
  /// Memory of `size_bytes` bytes, not cleared.
  explicit Slab(std::size_t size_bytes)
      : data_(std::make_unique_for_overwrite<std::uint8_t[]>(size_bytes)), size_(size_bytes) {}
  [[nodiscard]] std::uint8_t* data() { return data_.get(); }
  [[nodiscard]] const std::uint8_t* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::unique_ptr<std::uint8_t[]> data_;
  std::size_t size_;
};

/// A view that keeps its memory alive. Copying is cheap and does not copy bytes. A Slice that lives
/// longer than one request pins the whole slab: copy it then, and say so at the call.
class Slice {
 public:
  Slice() = default;
  /// `owner` is whatever keeps `bytes` alive (a Slab, a vector, a mapping).
  Slice(std::shared_ptr<const void> owner, ByteSpan bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  [[nodiscard]] static Slice copy_of(ByteSpan bytes);
  [[nodiscard]] static Slice copy_of(std::string_view text);
  [[nodiscard]] static Slice take(Bytes bytes);

  [[nodiscard]] const std::uint8_t* data() const { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] ByteSpan span() const { return bytes_; }
  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  /// The part from `offset`, `count` bytes long; both must lie inside (checked).
  [[nodiscard]] Slice sub(std::size_t offset, std::size_t count) const;
  [[nodiscard]] const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::shared_ptr<const void> owner_;
  ByteSpan bytes_;
};

[[nodiscard]] inline ByteSpan as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// Lower-case hexadecimal, and back; from_hex aborts on bad input and is for tests and constants.
[[nodiscard]] std::string to_hex(ByteSpan bytes);
[[nodiscard]] Bytes from_hex(std::string_view text);

}  // namespace kmirror
