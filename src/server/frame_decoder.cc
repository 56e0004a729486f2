#include "server/frame_decoder.h"

#include <algorithm>

#include <fmt/format.h>

#include "kmirror/base/check.h"
#include "kmirror/bytes/endian.h"
#include "kmirror/model/error_code.h"

namespace kmirror::server {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::int32_t kSmallestFrame = FrameDecoder::kHeadBytes - kLengthBytes;

}  // namespace

std::span<std::uint8_t> FrameDecoder::want() {
  if (head_count_ < kHeadBytes) return std::span(head_).subspan(head_count_);
  if (slab_ == nullptr) return {};
  return {slab_->data() + body_count_, slab_->size() - body_count_};
}

Result<void> FrameDecoder::arrived(std::size_t count) {
  KM_CHECK(count <= want().size(), "{} bytes arrived, {} wanted", count, want().size());
  if (slab_ != nullptr) {
    body_count_ += count;
    return {};
  }
  head_count_ += count;
  if (head_count_ < kLengthBytes) return {};
  const auto length = load_be<std::int32_t>(head_.data());
  if (length < kSmallestFrame || length > max_frame_bytes_) {
    return kafka_error(ErrorCode::INVALID_REQUEST,
                       fmt::format("a request of {} bytes; {} to {} (socket.request.max.bytes) are "
                                   "accepted",
                                   length, kSmallestFrame, max_frame_bytes_));
  }
  return {};
}

std::size_t FrameDecoder::frame_bytes() const {
  KM_CHECK(head_is_complete(), "only {} bytes of the head", head_count_);
  return static_cast<std::size_t>(load_be<std::int32_t>(head_.data()));
}

ApiKey FrameDecoder::api_key() const { return ApiKey(load_be<std::int16_t>(head_.data() + 4)); }

ApiVersion FrameDecoder::api_version() const {
  return ApiVersion(load_be<std::int16_t>(head_.data() + 6));
}

void FrameDecoder::reserve() {
  slab_ = std::make_shared<Slab>(frame_bytes());
  body_count_ = kHeadBytes - kLengthBytes;
  std::copy(head_.begin() + kLengthBytes, head_.end(), slab_->data());
}

Slice FrameDecoder::take() {
  KM_CHECK(is_complete(), "the frame is not complete");
  const ByteSpan bytes(slab_->data(), slab_->size());
  Slice frame(std::move(slab_), bytes);
  slab_ = nullptr;
  head_count_ = 0;
  body_count_ = 0;
  return frame;
}

}  // namespace kmirror::server
