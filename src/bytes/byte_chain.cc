#include "kmirror/bytes/byte_chain.h"

#include <cstring>

#include "kmirror/bytes/reader.h"

namespace kmirror {

void ByteChain::append(Slice slice) {
  if (slice.empty()) return;
  size_ += slice.size();
  fragments_.push_back({std::move(slice), {}});
}

void ByteChain::append(FileRange range) {
  if (range.size == 0) return;
  size_ += range.size;
  fragments_.push_back({{}, std::move(range)});
}

void ByteChain::append(ByteChain other) {
  size_ += other.size_;
  if (fragments_.empty()) {
    fragments_ = std::move(other.fragments_);
    return;
  }
  for (auto& fragment : other.fragments_) fragments_.push_back(std::move(fragment));
}

bool ByteChain::has_files() const {
  for (const auto& fragment : fragments_) {
    if (fragment.is_file()) return true;
  }
  return false;
}

Result<Slice> ByteChain::flatten() const {
  if (fragments_.empty()) return Slice{};
  if (fragments_.size() == 1 && !fragments_.front().is_file()) return fragments_.front().memory;
  auto slab = std::make_shared<Slab>(size_);
  std::uint8_t* out = slab->data();
  for (const auto& fragment : fragments_) {
    if (fragment.is_file()) {
      KM_TRY(count, fragment.file.source->read_at(fragment.file.position, {out, fragment.size()}));
      if (count != fragment.size()) {
        return bytes_error(BytesErrc::kTruncated, "the file became shorter than the range to read");
      }
    } else {
      std::memcpy(out, fragment.memory.data(), fragment.size());
    }
    out += fragment.size();
  }
  const ByteSpan span{slab->data(), size_};
  return Slice{std::move(slab), span};
}

bool operator==(const ByteChain& a, const ByteChain& b) {
  if (a.size_ != b.size_) return false;
  const auto left = a.flatten();
  const auto right = b.flatten();
  return left && right && std::memcmp(left->data(), right->data(), a.size_) == 0;
}

}  // namespace kmirror
