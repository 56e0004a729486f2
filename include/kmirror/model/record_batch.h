// RecordBatchView: one stored batch (magic 2) or one legacy message (magic 0, 1) looked at in
// place; iteration over a run of batches; reading and building records. Owner: any thread; views
// share the slice's memory. Sources: Kafka 4.4 DefaultRecordBatch, DefaultRecord, LegacyRecord,
// KIP-98, KIP-534; docs/formats/record-batch.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/bytes/byte_chain.h"
#include "kmirror/model/batch_header.h"
#include "kmirror/model/error_code.h"
#include "kmirror/model/types.h"

namespace kmirror {

class RecordBatchView {
 public:
  /// Looks at the first batch of `bytes`. Checks length and magic, not the CRC. Errors
  /// (CORRUPT_MESSAGE): truncated, length too small or beyond `bytes`, magic below 0 or above 2,
  /// base offset negative, last offset delta negative or past the greatest offset, record count
  /// negative.
  [[nodiscard]] static Result<RecordBatchView> parse(Slice bytes);

  [[nodiscard]] const Slice& bytes() const { return bytes_; }  ///< exactly this batch
  [[nodiscard]] BatchHeader header() const { return BatchHeader(bytes_.span()); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] std::int8_t magic() const { return header().magic(); }
  /// For magic 0 and 1 a compressed wrapper's own offset is its last one; base_offset() of it is
  /// the wrapper's offset as stored. last_offset() is right for every magic.
  [[nodiscard]] Offset base_offset() const { return header().base_offset(); }
  [[nodiscard]] Offset last_offset() const { return header().last_offset(); }
  [[nodiscard]] Offset next_offset() const { return header().next_offset(); }
  /// -1 for magic 0 and 1.
  [[nodiscard]] LeaderEpoch partition_leader_epoch() const {
    return header().partition_leader_epoch();
  }
  [[nodiscard]] std::uint32_t stored_crc() const { return header().stored_crc(); }
  [[nodiscard]] bool crc_is_valid() const { return header().crc_is_valid(); }
  [[nodiscard]] std::int16_t attributes() const { return header().attributes(); }
  [[nodiscard]] Compression compression() const { return header().compression(); }
  [[nodiscard]] bool compression_is_known() const { return header().compression_is_known(); }
  [[nodiscard]] TimestampType timestamp_type() const { return header().timestamp_type(); }
  [[nodiscard]] bool is_transactional() const { return header().is_transactional(); }
  [[nodiscard]] bool is_control() const { return header().is_control(); }
  [[nodiscard]] std::optional<std::int64_t> delete_horizon_ms() const {
    return header().delete_horizon_ms();
  }
  [[nodiscard]] std::int64_t base_timestamp_ms() const { return header().base_timestamp_ms(); }
  [[nodiscard]] std::int64_t max_timestamp_ms() const { return header().max_timestamp_ms(); }
  [[nodiscard]] ProducerId producer_id() const { return header().producer_id(); }
  [[nodiscard]] ProducerEpoch producer_epoch() const { return header().producer_epoch(); }
  [[nodiscard]] std::int32_t base_sequence() const { return header().base_sequence(); }
  /// Wraps past 2^31-1 to 0 as Kafka's does; -1 without a sequence.
  [[nodiscard]] std::int32_t last_sequence() const { return header().last_sequence(); }
  [[nodiscard]] bool has_producer_id() const { return header().has_producer_id(); }
  /// As the header says; 1 for magic 0 and 1.
  [[nodiscard]] std::int32_t record_count() const { return header().record_count(); }
  /// The records' bytes after the header, compressed as stored (magic 2 only).
  [[nodiscard]] Slice payload() const;

 private:
  explicit RecordBatchView(Slice bytes) : bytes_(std::move(bytes)) {}
  Slice bytes_;
};

/// Walks batch after batch. A partial batch at the end is left over, not an error.
class BatchIterator {
 public:
  explicit BatchIterator(Slice bytes) : rest_(std::move(bytes)) {}
  /// The next whole batch, or nothing at the end or before a partial one; an error as parse()
  /// gives.
  [[nodiscard]] Result<std::optional<RecordBatchView>> next();
  [[nodiscard]] std::size_t left_over_bytes() const { return rest_.size(); }

 private:
  Slice rest_;
};

struct RecordHeader {
  RecordHeader() = default;
  std::string key;
  std::optional<Bytes> value;
  friend bool operator==(const RecordHeader&, const RecordHeader&) = default;
};

struct Record {
  Record() = default;
  Offset offset;
  std::int64_t timestamp_ms = -1;
  std::optional<Bytes> key;
  std::optional<Bytes> value;
  std::vector<RecordHeader> headers;
  friend bool operator==(const Record&, const Record&) = default;
};

/// The records of an uncompressed magic-2 payload (decompress first). `payload` must hold exactly
/// `batch.record_count()` records. Errors (INVALID_RECORD / CORRUPT_MESSAGE): any field that does
/// not fit, negative lengths, wrong count, bytes left over. Timestamps honour LogAppendTime.
[[nodiscard]] Result<std::vector<Record>> parse_records(const RecordBatchView& batch,
                                                        Slice payload);

enum class ControlRecordType : std::int16_t {
  kAbort = 0,
  kCommit = 1,
  kLeaderChange = 2,
  kSnapshotHeader = 3,
  kSnapshotFooter = 4,
  kKraftVersion = 5,
  kKraftVoters = 6,
  kMirrorPidReset = 7,
};
/// The type of a control batch's first record: reads only its key. Errors: not a control batch, or
/// a key shorter than 4 bytes. A type outside the enum is returned as it is.
[[nodiscard]] Result<ControlRecordType> control_record_type(const RecordBatchView& batch);
[[nodiscard]] Result<ControlRecordType> control_record_type(const BatchHeader& batch);

/// Builds one magic-2 batch. add() in offset order; build() computes lengths and CRC.
class RecordBatchBuilder {
 public:
  struct Options {
    Options() = default;
    Offset base_offset;
    LeaderEpoch partition_leader_epoch = kNoLeaderEpoch;
    TimestampType timestamp_type = TimestampType::kCreateTime;
    std::int64_t log_append_time_ms = -1;
    ProducerId producer_id = kNoProducerId;
    ProducerEpoch producer_epoch = kNoProducerEpoch;
    std::int32_t base_sequence = -1;
    bool transactional = false;
    bool control = false;
  };
  explicit RecordBatchBuilder(Options options);
  /// `offset_delta` defaults to "one more than the last".
  void add(std::int64_t timestamp_ms, const std::optional<Bytes>& key,
           const std::optional<Bytes>& value, const std::vector<RecordHeader>& headers = {},
           std::optional<std::int32_t> offset_delta = std::nullopt);
  [[nodiscard]] std::size_t record_count() const { return count_; }
  [[nodiscard]] std::size_t estimated_bytes() const { return kBatchHeaderBytes + records_.size(); }
  /// An uncompressed batch. The builder is spent afterwards.
  [[nodiscard]] Slice build();
  /// The same with a payload that the caller compressed from payload().
  [[nodiscard]] const Bytes& payload() const { return records_; }
  [[nodiscard]] Slice build_compressed(Compression compression, ByteSpan compressed_payload);

 private:
  Options options_;
  Bytes records_;
  std::size_t count_ = 0;
  std::int32_t last_offset_delta_ = -1;
  std::int64_t base_timestamp_ms_ = -1;
  std::int64_t max_timestamp_ms_ = -1;
};

/// One batch with the single control record of an ABORT or COMMIT marker (KIP-98).
[[nodiscard]] Slice end_transaction_marker(Offset offset, LeaderEpoch epoch,
                                           std::int64_t timestamp_ms, ProducerId producer_id,
                                           ProducerEpoch producer_epoch, bool commit,
                                           std::int32_t coordinator_epoch);
/// One control batch of type 7 with producer id -1, not transactional (decisions section 2).
[[nodiscard]] Slice mirror_pid_reset_batch(Offset offset, LeaderEpoch epoch,
                                           std::int64_t timestamp_ms);

}  // namespace kmirror
