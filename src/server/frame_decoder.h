// FrameDecoder: takes one request frame off a byte stream, told only how many bytes arrived.
// Owner: one connection's reader. Invariants: never asks for a byte beyond the frame; memory for
// the body is taken only after the length and the first header fields were found acceptable.
// Sources: Kafka protocol guide, "Network"; Kafka 4.4 NetworkReceive.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "kmirror/base/result.h"
#include "kmirror/bytes/slice.h"
#include "kmirror/model/types.h"

namespace kmirror::server {

class FrameDecoder {
 public:
  /// Length, api key, api version and correlation id: every request has at least these.
  static constexpr std::size_t kHeadBytes = 12;

  /// `max_frame_bytes`: socket.request.max.bytes, the largest length (without its own four bytes).
  explicit FrameDecoder(std::int32_t max_frame_bytes) : max_frame_bytes_(max_frame_bytes) {}

  /// Where the next bytes from the stream go: first the head, after reserve() the rest. Empty when
  /// reserve() or take() is due.
  [[nodiscard]] std::span<std::uint8_t> want();
  /// `count` bytes were put there. Error (INVALID_REQUEST): a length below 8, negative or above the
  /// limit; it is found as soon as four bytes are there.
  [[nodiscard]] Result<void> arrived(std::size_t count);

  [[nodiscard]] bool at_start() const { return head_count_ == 0; }  ///< no byte arrived yet
  [[nodiscard]] bool head_is_complete() const { return head_count_ == kHeadBytes; }
  [[nodiscard]] bool is_complete() const {
    return slab_ != nullptr && body_count_ == slab_->size();
  }
  /// The frame's length without its own four bytes. Once the head is complete.
  [[nodiscard]] std::size_t frame_bytes() const;
  [[nodiscard]] ApiKey api_key() const;
  [[nodiscard]] ApiVersion api_version() const;

  /// Allocates exactly frame_bytes(). Once the head is complete.
  void reserve();
  /// The frame without its length. Once complete; the decoder then starts over.
  [[nodiscard]] Slice take();

 private:
  std::int32_t max_frame_bytes_;
  std::array<std::uint8_t, kHeadBytes> head_{};
  std::size_t head_count_ = 0;
  std::shared_ptr<Slab> slab_;
  std::size_t body_count_ = 0;
};

}  // namespace kmirror::server
