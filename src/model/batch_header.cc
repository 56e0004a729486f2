#include "kmirror/model/batch_header.h"

#include <algorithm>

#include <fmt/format.h>

#include "kmirror/bytes/crc32.h"
#include "kmirror/bytes/crc32c.h"
#include "kmirror/model/error_code.h"

namespace kmirror {
namespace {

template <class... Args>
Error corrupt(fmt::format_string<Args...> text, Args&&... args) {
  return kafka_error(ErrorCode::CORRUPT_MESSAGE, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace

Result<std::size_t> batch_size(ByteSpan head) {
  if (head.size() < kLogOverheadBytes) {
    return corrupt("a batch needs {} bytes before its size is known, {} are there",
                   kLogOverheadBytes, head.size());
  }
  const auto length = load_be<std::int32_t>(head.data() + batch_at::kLength);
  constexpr auto kLeast = static_cast<std::int32_t>(kSmallestV0Bytes - kLogOverheadBytes);
  if (length < kLeast) {
    return corrupt("batch at offset {}: length {} is below {}", load_be<std::int64_t>(head.data()),
                   length, kLeast);
  }
  return static_cast<std::size_t>(length) + kLogOverheadBytes;
}

Result<std::size_t> check_batch(ByteSpan bytes) { return check_batch_head(bytes, bytes.size()); }

Result<std::size_t> check_batch_head(ByteSpan bytes, std::uint64_t available_bytes) {
  KM_TRY(size, batch_size(bytes));
  const auto offset = load_be<std::int64_t>(bytes.data());
  if (size > available_bytes || bytes.size() < std::min(size, kBatchHeaderBytes)) {
    return corrupt("batch at offset {}: {} bytes long, {} are there", offset, size,
                   std::min<std::uint64_t>(available_bytes, bytes.size()));
  }
  const auto magic = static_cast<std::int8_t>(bytes[kMagicPosition]);
  if (magic < 0 || magic > 2) return corrupt("batch at offset {}: magic {}", offset, magic);
  const std::size_t least =
      magic == 2 ? kBatchHeaderBytes : (magic == 1 ? kSmallestV1Bytes : kSmallestV0Bytes);
  if (size < least) {
    return corrupt("batch at offset {}: {} bytes are too few for magic {}", offset, size, magic);
  }
  if (offset < 0) return corrupt("batch with the negative offset {}", offset);
  if (magic < 2) return size;
  const auto delta = load_be<std::int32_t>(bytes.data() + batch_at::kLastOffsetDelta);
  if (delta < 0 || offset >= std::numeric_limits<std::int64_t>::max() - delta) {
    return corrupt("batch at offset {}: last offset delta {}", offset, delta);
  }
  const auto count = load_be<std::int32_t>(bytes.data() + batch_at::kRecordCount);
  if (count < 0) return corrupt("batch at offset {}: record count {}", offset, count);
  return size;
}

bool BatchHeader::crc_is_valid() const {
  if (is_legacy()) return crc32(bytes_.subspan(kMagicPosition)) == stored_crc();
  return crc32c(bytes_.subspan(batch_at::kAttributes)) == stored_crc();
}

}  // namespace kmirror
