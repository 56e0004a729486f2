// One pair of functions a codec; compression.cc chooses.
#pragma once

#include <fmt/format.h>

#include "kmirror/base/result.h"
#include "kmirror/bytes/slice.h"
#include "kmirror/model/error_code.h"

namespace kmirror::compression {

[[nodiscard]] Result<Slice> gzip_compress(ByteSpan input);
[[nodiscard]] Result<Slice> gzip_decompress(ByteSpan input, std::size_t limit);
[[nodiscard]] Result<Slice> snappy_compress(ByteSpan input);
[[nodiscard]] Result<Slice> snappy_decompress(ByteSpan input, std::size_t limit);
[[nodiscard]] Result<Slice> lz4_compress(ByteSpan input);
[[nodiscard]] Result<Slice> lz4_decompress(ByteSpan input, std::size_t limit);
[[nodiscard]] Result<Slice> zstd_compress(ByteSpan input);
[[nodiscard]] Result<Slice> zstd_decompress(ByteSpan input, std::size_t limit);

inline Error corrupt(const char* codec, std::string_view why) {
  return kafka_error(ErrorCode::CORRUPT_MESSAGE, fmt::format("{}: {}", codec, why));
}
inline Error too_large(const char* codec, std::size_t limit) {
  return kafka_error(ErrorCode::MESSAGE_TOO_LARGE,
                     fmt::format("{}: more than {} bytes after decompression", codec, limit));
}
inline Error cannot_compress(const char* codec) {
  return kafka_error(ErrorCode::UNKNOWN_SERVER_ERROR, fmt::format("{}: cannot compress", codec));
}

/// Output that grows as a decoder needs it, never beyond the limit.
class Output {
 public:
  Output(std::size_t first_guess, std::size_t limit) : limit_(limit) {
    bytes_.resize(std::min(std::max<std::size_t>(first_guess, 256), limit));
  }
  [[nodiscard]] std::uint8_t* free() { return bytes_.data() + used_; }
  [[nodiscard]] std::size_t free_size() const { return bytes_.size() - used_; }
  void add(std::size_t count) { used_ += count; }
  [[nodiscard]] bool is_full() const { return used_ == bytes_.size(); }
  /// Makes room for more; false at the limit.
  [[nodiscard]] bool grow() {
    if (bytes_.size() == limit_) return false;
    bytes_.resize(std::min(bytes_.size() * 2, limit_));
    return true;
  }
  [[nodiscard]] Slice take() {
    bytes_.resize(used_);
    return Slice::take(std::move(bytes_));
  }

 private:
  Bytes bytes_;
  std::size_t used_ = 0;
  std::size_t limit_;
};

}  // namespace kmirror::compression
