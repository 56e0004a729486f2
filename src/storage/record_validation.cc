#include "storage/record_validation.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "kmirror/bytes/crc32c.h"
#include "kmirror/bytes/endian.h"
#include "kmirror/compression/compression.h"
#include "kmirror/model/error_code.h"
#include "kmirror/model/record.h"
#include "storage/record_reader.h"

namespace kmirror::storage {
namespace {

Error invalid(std::string why) { return kafka_error(ErrorCode::INVALID_RECORD, std::move(why)); }

Result<void> check_header(const BatchHeader& batch, const LogConfig& config, AppendOrigin origin) {
  if (batch.is_legacy()) {
    return kafka_error(ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT,
                       fmt::format("magic {}: only magic 2 is stored", batch.magic()));
  }
  const bool client = origin == AppendOrigin::kClient;
  if (client && batch.base_offset() != Offset(0)) {
    return invalid(fmt::format("base offset {}, not 0", batch.base_offset()));
  }
  if (!batch.crc_is_valid()) {
    return kafka_error(ErrorCode::CORRUPT_MESSAGE, "the CRC of the batch is wrong");
  }
  if (client && static_cast<std::int64_t>(batch.size()) > config.max_message_bytes) {
    return kafka_error(ErrorCode::MESSAGE_TOO_LARGE,
                       fmt::format("batch of {} bytes: at most {} are allowed", batch.size(),
                                   config.max_message_bytes));
  }
  if (!batch.compression_is_known()) {
    return kafka_error(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE,
                       fmt::format("compression code {}", static_cast<int>(batch.compression())));
  }
  if (!client) return {};
  const std::int64_t offsets = batch.last_offset() - batch.base_offset() + 1;
  if (batch.record_count() <= 0 || offsets != batch.record_count()) {
    return invalid(fmt::format("{} records for {} offsets", batch.record_count(), offsets));
  }
  if (batch.is_control()) return invalid("clients do not write control batches");
  if (batch.has_producer_id() && batch.base_sequence() < 0) {
    return invalid(
        fmt::format("producer {} with sequence {}", batch.producer_id(), batch.base_sequence()));
  }
  return {};
}

bool time_is_allowed(std::int64_t time, std::int64_t now_ms, const LogConfig& config) {
  if (time < 0) return true;
  return time <= now_ms ? now_ms - time <= config.timestamp_before_max_ms
                        : time - now_ms <= config.timestamp_after_max_ms;
}

class RecordChecks {
 public:
  RecordChecks(const BatchHeader& batch, const LogConfig& config, std::int64_t now_ms)
      : batch_(batch),
        config_(config),
        now_ms_(now_ms),
        check_times_(config.timestamp_type == TimestampType::kCreateTime) {}

  /// Errors: the record breaks the batch as a whole.
  Result<void> add(const RecordView& record) {
    if (record.offset_delta != count_) {
      return invalid(fmt::format("record {} has offset delta {}", count_, record.offset_delta));
    }
    if ((record.attributes & 0x7) != 0) return invalid("a compressed record in a batch");
    const std::int64_t time = batch_.base_timestamp_ms() + record.timestamp_delta;
    max_timestamp_ms_ = std::max(max_timestamp_ms_, time);
    if (config_.cleanup_compact && !record.key) {
      errors_.emplace_back(count_, "a compacted topic takes no record without a key");
    } else if (check_times_ && !time_is_allowed(time, now_ms_, config_)) {
      bad_time_ = true;
      errors_.emplace_back(count_,
                           fmt::format("timestamp {} is too far from now, {}", time, now_ms_));
    }
    ++count_;
    return {};
  }

  /// Errors: what the records have in common.
  Result<void> finish(std::vector<RecordError>* record_errors) {
    if (count_ != batch_.record_count()) {
      return invalid(fmt::format("{} records, the header says {}", count_, batch_.record_count()));
    }
    if (check_times_ && batch_.timestamp_type() == TimestampType::kLogAppendTime) {
      return kafka_error(ErrorCode::INVALID_TIMESTAMP, "producers do not set LogAppendTime");
    }
    if (errors_.empty()) return {};
    Error error = kafka_error(bad_time_ ? ErrorCode::INVALID_TIMESTAMP : ErrorCode::INVALID_RECORD,
                              errors_.front().message);
    if (record_errors != nullptr) *record_errors = std::move(errors_);
    return error;
  }
  [[nodiscard]] std::int64_t max_timestamp_ms() const { return max_timestamp_ms_; }

 private:
  const BatchHeader& batch_;
  const LogConfig& config_;
  std::int64_t now_ms_;
  bool check_times_;
  std::int32_t count_ = 0;
  std::int64_t max_timestamp_ms_ = -1;
  bool bad_time_ = false;
  std::vector<RecordError> errors_;
};

// The codec that the topic asks for; nothing for "producer".
std::optional<Compression> target_codec(const LogConfig& config) {
  static const std::map<std::string_view, Compression> names{{"uncompressed", Compression::kNone},
                                                             {"gzip", Compression::kGzip},
                                                             {"snappy", Compression::kSnappy},
                                                             {"lz4", Compression::kLz4},
                                                             {"zstd", Compression::kZstd}};
  const auto found = names.find(config.compression_type);
  if (found == names.end()) return std::nullopt;
  return found->second;
}

// The same records under another codec; CRC and times are set by stamp().
Result<Slice> recompress(const RecordBatchView& batch, const Slice& payload, Compression codec) {
  KM_TRY(packed, compression::compress(codec, payload));
  Bytes out(kBatchHeaderBytes + packed.size());
  const ByteSpan header = batch.bytes().span().first(kBatchHeaderBytes);
  std::copy(header.begin(), header.end(), out.begin());
  std::copy(packed.span().begin(), packed.span().end(), out.begin() + kBatchHeaderBytes);
  store_be(out.data() + batch_at::kLength,
           static_cast<std::int32_t>(out.size() - kLogOverheadBytes));
  const int attributes =
      (batch.attributes() & ~batch_attributes::kCompressionMask) | static_cast<int>(codec);
  store_be(out.data() + batch_at::kAttributes, static_cast<std::int16_t>(attributes));
  store_be(out.data() + batch_at::kCrc, crc32c(ByteSpan(out).subspan(batch_at::kAttributes)));
  return Slice::take(std::move(out));
}

}  // namespace

Result<ValidatedBatch> validate_batch(const RecordBatchView& batch, const LogConfig& config,
                                      AppendOrigin origin, std::int64_t now_ms,
                                      std::vector<RecordError>* record_errors) {
  const BatchHeader header = batch.header();
  KM_TRY_VOID(check_header(header, config, origin));
  ValidatedBatch out;
  out.bytes = batch.bytes();
  out.max_timestamp_ms = batch.max_timestamp_ms();
  // Our own coordinators are trusted with what they wrote; their markers must stay as they are.
  if (origin == AppendOrigin::kClient) {
    KM_TRY(payload, decompressed_payload(batch));
    RecordChecks checks(header, config, now_ms);
    RecordCursor cursor(payload.span());
    for (;;) {
      KM_TRY(record, cursor.next());
      if (!record) break;
      KM_TRY_VOID(checks.add(*record));
    }
    KM_TRY_VOID(checks.finish(record_errors));
    out.max_timestamp_ms = checks.max_timestamp_ms();
    const auto codec = target_codec(config);
    if (codec && *codec != batch.compression()) {
      KM_TRY(packed, recompress(batch, payload, *codec));
      out.bytes = std::move(packed);
    }
  }
  out.summary = summarize(out.bytes.span(), out.bytes.size());
  if (out.summary.control) add_control_fields(out.bytes.span(), out.summary);
  return out;
}

ByteChain stamp(const ValidatedBatch& batch, Offset base_offset, LeaderEpoch epoch,
                std::int64_t log_append_time_ms) {
  const ByteSpan bytes = batch.bytes.span();
  Bytes header(bytes.begin(), bytes.begin() + kBatchHeaderBytes);
  store_be<std::int64_t>(header.data() + batch_at::kBaseOffset, base_offset.get());
  store_be<std::int32_t>(header.data() + batch_at::kLeaderEpoch, epoch.get());
  const BatchHeader before(bytes);
  std::int64_t max_timestamp_ms = batch.max_timestamp_ms;
  int attributes = before.attributes();
  if (log_append_time_ms >= 0) {
    max_timestamp_ms = log_append_time_ms;
    attributes |= batch_attributes::kLogAppendTime;
  }
  // Base offset and epoch lie outside the CRC; attributes and the greatest time do not.
  if (attributes != before.attributes() || max_timestamp_ms != before.max_timestamp_ms()) {
    store_be(header.data() + batch_at::kAttributes, static_cast<std::int16_t>(attributes));
    store_be(header.data() + batch_at::kMaxTimestamp, max_timestamp_ms);
    const std::uint32_t crc = crc32c(bytes.subspan(kBatchHeaderBytes),
                                     crc32c(ByteSpan(header).subspan(batch_at::kAttributes)));
    store_be(header.data() + batch_at::kCrc, crc);
  }
  ByteChain out(Slice::take(std::move(header)));
  out.append(batch.bytes.sub(kBatchHeaderBytes, bytes.size() - kBatchHeaderBytes));
  return out;
}

}  // namespace kmirror::storage
