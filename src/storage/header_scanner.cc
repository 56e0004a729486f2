#include "storage/header_scanner.h"

#include <algorithm>

namespace kmirror::storage {
namespace {
// Control batches are below 100 bytes; a bigger one is of a kind that means nothing to us.
constexpr std::size_t kLargestControlBatch = 2048;
}  // namespace

Result<ByteSpan> WindowReader::at(std::uint64_t position, std::size_t wanted) {
  const auto left = static_cast<std::size_t>(
      std::min<std::uint64_t>(end_ - position, std::max(window_bytes_, wanted)));
  wanted = std::min(wanted, left);
  const bool inside =
      position >= window_position_ && position + wanted <= window_position_ + window_filled_;
  if (!inside) {
    window_.resize(std::max(window_.size(), left));
    KM_TRY(count, file_->read_at(position, {window_.data(), left}));
    window_position_ = position;
    window_filled_ = count;
  }
  const auto skip = static_cast<std::size_t>(position - window_position_);
  return ByteSpan(window_).subspan(skip, window_filled_ - skip);
}

Result<std::optional<BatchSummary>> HeaderScanner::next() {
  if (position_ >= window_.end()) return std::optional<BatchSummary>{};
  KM_TRY(head, window_.at(position_, kBatchHeaderBytes));
  KM_TRY(size, check_batch_head(head, window_.end() - position_));
  BatchSummary summary = summarize(head, size);
  summary.position = position_;
  if (summary.control && size <= kLargestControlBatch) {
    KM_TRY(whole, window_.at(position_, size));
    if (whole.size() >= size) add_control_fields(whole.first(size), summary);
  }
  position_ += size;
  return std::optional<BatchSummary>{std::move(summary)};
}

}  // namespace kmirror::storage
