// BatchHeader: the header fields of one stored batch, read in place from bytes somebody else keeps.
// For hot paths and parsers; RecordBatchView is the same with ownership.
// Owner: any thread. Invariant: the bytes passed check_batch().
// Sources: Kafka 4.4 DefaultRecordBatch, LegacyRecord, AbstractLegacyRecordBatch;
// docs/formats/record-batch.md.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "kmirror/base/result.h"
#include "kmirror/bytes/endian.h"
#include "kmirror/bytes/slice.h"
#include "kmirror/model/types.h"

namespace kmirror {

enum class Compression : std::int8_t { kNone = 0, kGzip = 1, kSnappy = 2, kLz4 = 3, kZstd = 4 };
enum class TimestampType : std::int8_t { kCreateTime = 0, kLogAppendTime = 1 };

/// Bytes before a batch's length field counts: base offset and the length itself.
inline constexpr std::size_t kLogOverheadBytes = 12;
inline constexpr std::size_t kBatchHeaderBytes = 61;
inline constexpr std::size_t kMagicPosition = 16;
/// The smallest batch of magic 0 and of magic 1: header with null key and null value.
inline constexpr std::size_t kSmallestV0Bytes = 26;
inline constexpr std::size_t kSmallestV1Bytes = 34;

/// Where the fields of a magic-2 batch stand.
namespace batch_at {
inline constexpr std::size_t kBaseOffset = 0;
inline constexpr std::size_t kLength = 8;
inline constexpr std::size_t kLeaderEpoch = 12;
inline constexpr std::size_t kCrc = 17;
inline constexpr std::size_t kAttributes = 21;  ///< the CRC covers everything from here on
inline constexpr std::size_t kLastOffsetDelta = 23;
inline constexpr std::size_t kBaseTimestamp = 27;
inline constexpr std::size_t kMaxTimestamp = 35;
inline constexpr std::size_t kProducerId = 43;
inline constexpr std::size_t kProducerEpoch = 51;
inline constexpr std::size_t kBaseSequence = 53;
inline constexpr std::size_t kRecordCount = 57;
inline constexpr std::size_t kRecords = 61;
static_assert(kRecords == kBatchHeaderBytes);
// Magic 0 and 1.
inline constexpr std::size_t kLegacyCrc = 12;
inline constexpr std::size_t kLegacyAttributes = 17;
inline constexpr std::size_t kLegacyTimestamp = 18;
}  // namespace batch_at

/// Bits of the attributes field.
namespace batch_attributes {
inline constexpr std::int16_t kCompressionMask = 0x07;
inline constexpr std::int16_t kLogAppendTime = 0x08;
inline constexpr std::int16_t kTransactional = 0x10;
inline constexpr std::int16_t kControl = 0x20;
inline constexpr std::int16_t kDeleteHorizon = 0x40;
}  // namespace batch_attributes

/// Size in bytes of the batch that starts with `head` (>= 12 bytes): its length field plus 12.
/// Error (CORRUPT_MESSAGE): that is below the smallest batch of any magic (26), or `head` is short.
[[nodiscard]] Result<std::size_t> batch_size(ByteSpan head);

/// Checks the first batch of `bytes` as RecordBatchView::parse() does and returns its size.
[[nodiscard]] Result<std::size_t> check_batch(ByteSpan bytes);

/// base + delta as sequence numbers count: past 2^31-1 comes 0.
[[nodiscard]] constexpr std::int32_t add_sequence(std::int32_t sequence, std::int32_t delta) {
  constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
  return sequence > kMax - delta ? delta - (kMax - sequence) - 1 : sequence + delta;
}

/// The same where only the start of the batch has been read: `head` holds its first 61 bytes, or
/// all of it if it is shorter; `available_bytes` is how many bytes there are from its start on.
[[nodiscard]] Result<std::size_t> check_batch_head(ByteSpan head, std::uint64_t available_bytes);

class BatchHeader {
 public:
  /// `bytes`: one whole batch that passed check_batch(), or a head that passed check_batch_head()
  /// (then size, payload and CRC mean nothing); must outlive this.
  explicit BatchHeader(ByteSpan bytes) : bytes_(bytes) {}

  [[nodiscard]] ByteSpan bytes() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] std::int8_t magic() const {
    return static_cast<std::int8_t>(bytes_[kMagicPosition]);
  }
  [[nodiscard]] bool is_legacy() const { return magic() < 2; }
  [[nodiscard]] Offset base_offset() const {
    return Offset(load<std::int64_t>(batch_at::kBaseOffset));
  }
  [[nodiscard]] Offset last_offset() const {
    return is_legacy() ? base_offset()
                       : base_offset() + load<std::int32_t>(batch_at::kLastOffsetDelta);
  }
  [[nodiscard]] Offset next_offset() const { return last_offset().next(); }
  [[nodiscard]] LeaderEpoch partition_leader_epoch() const {
    return is_legacy() ? kNoLeaderEpoch : LeaderEpoch(load<std::int32_t>(batch_at::kLeaderEpoch));
  }
  [[nodiscard]] std::uint32_t stored_crc() const {
    return load<std::uint32_t>(is_legacy() ? batch_at::kLegacyCrc : batch_at::kCrc);
  }
  [[nodiscard]] bool crc_is_valid() const;
  [[nodiscard]] std::int16_t attributes() const {
    return is_legacy() ? static_cast<std::int16_t>(bytes_[batch_at::kLegacyAttributes])
                       : load<std::int16_t>(batch_at::kAttributes);
  }
  [[nodiscard]] Compression compression() const {
    return static_cast<Compression>(attributes() & batch_attributes::kCompressionMask);
  }
  /// False for codes above zstd's, and for zstd and above in magic 0 and 1.
  [[nodiscard]] bool compression_is_known() const {
    const int code = attributes() & batch_attributes::kCompressionMask;
    return code <= (is_legacy() ? 3 : 4);
  }
  [[nodiscard]] TimestampType timestamp_type() const {
    return magic() > 0 && has(batch_attributes::kLogAppendTime) ? TimestampType::kLogAppendTime
                                                                : TimestampType::kCreateTime;
  }
  [[nodiscard]] bool is_transactional() const {
    return !is_legacy() && has(batch_attributes::kTransactional);
  }
  [[nodiscard]] bool is_control() const { return !is_legacy() && has(batch_attributes::kControl); }
  [[nodiscard]] std::optional<std::int64_t> delete_horizon_ms() const {
    if (is_legacy() || !has(batch_attributes::kDeleteHorizon)) return std::nullopt;
    return base_timestamp_ms();
  }
  /// The field as stored: with a delete horizon it holds the horizon. -1 for magic 0.
  [[nodiscard]] std::int64_t base_timestamp_ms() const {
    if (is_legacy()) return legacy_timestamp_ms();
    return load<std::int64_t>(batch_at::kBaseTimestamp);
  }
  [[nodiscard]] std::int64_t max_timestamp_ms() const {
    if (is_legacy()) return legacy_timestamp_ms();
    return load<std::int64_t>(batch_at::kMaxTimestamp);
  }
  [[nodiscard]] ProducerId producer_id() const {
    return is_legacy() ? kNoProducerId : ProducerId(load<std::int64_t>(batch_at::kProducerId));
  }
  [[nodiscard]] bool has_producer_id() const { return producer_id().get() >= 0; }
  [[nodiscard]] ProducerEpoch producer_epoch() const {
    return is_legacy() ? kNoProducerEpoch
                       : ProducerEpoch(load<std::int16_t>(batch_at::kProducerEpoch));
  }
  [[nodiscard]] std::int32_t base_sequence() const {
    return is_legacy() ? -1 : load<std::int32_t>(batch_at::kBaseSequence);
  }
  [[nodiscard]] std::int32_t last_sequence() const {
    const std::int32_t base = base_sequence();
    return base < 0 ? -1 : add_sequence(base, load<std::int32_t>(batch_at::kLastOffsetDelta));
  }
  [[nodiscard]] std::int32_t record_count() const {
    return is_legacy() ? 1 : load<std::int32_t>(batch_at::kRecordCount);
  }
  /// The records after the header as stored (magic 2); empty for magic 0 and 1.
  [[nodiscard]] ByteSpan payload() const {
    return is_legacy() ? ByteSpan{} : bytes_.subspan(kBatchHeaderBytes);
  }

 private:
  template <class T>
  [[nodiscard]] T load(std::size_t at) const {
    return load_be<T>(bytes_.data() + at);
  }
  [[nodiscard]] bool has(std::int16_t bit) const { return (attributes() & bit) != 0; }
  [[nodiscard]] std::int64_t legacy_timestamp_ms() const {
    return magic() == 0 ? -1 : load<std::int64_t>(batch_at::kLegacyTimestamp);
  }
  ByteSpan bytes_;
};

}  // namespace kmirror
