#include "kmirror/model/record_batch.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "kmirror/base/check.h"
#include "kmirror/bytes/crc32c.h"
#include "kmirror/bytes/writer.h"
#include "kmirror/model/record.h"

namespace kmirror {
namespace {

// length, attributes, three deltas, two lengths, header count: one byte each at least.
constexpr std::size_t kSmallestRecordBytes = 7;
constexpr std::int16_t kControlKeyVersion = 0;

Bytes copy(ByteSpan bytes) { return {bytes.begin(), bytes.end()}; }

void put_varint(Bytes& out, std::int64_t value) {
  auto raw = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
  while (raw >= 0x80) {
    out.push_back(static_cast<std::uint8_t>(raw | 0x80));
    raw >>= 7;
  }
  out.push_back(static_cast<std::uint8_t>(raw));
}

void put_bytes(Bytes& out, ByteSpan bytes) {
  put_varint(out, static_cast<std::int64_t>(bytes.size()));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void put_nullable(Bytes& out, const std::optional<Bytes>& bytes) {
  if (!bytes) {
    put_varint(out, -1);
    return;
  }
  put_bytes(out, *bytes);
}

Result<Record> to_record(const RecordBatchView& batch, const RecordView& view) {
  Record record;
  record.offset = batch.base_offset() + view.offset_delta;
  record.timestamp_ms = batch.timestamp_type() == TimestampType::kLogAppendTime
                            ? batch.max_timestamp_ms()
                            : batch.base_timestamp_ms() + view.timestamp_delta;
  if (view.key) record.key = copy(*view.key);
  if (view.value) record.value = copy(*view.value);
  HeaderCursor headers(view);
  for (;;) {
    KM_TRY(header, headers.next());
    if (!header) return record;
    RecordHeader& out = record.headers.emplace_back();
    out.key.assign(header->key.begin(), header->key.end());
    if (header->value) out.value = copy(*header->value);
  }
}

}  // namespace

Result<RecordBatchView> RecordBatchView::parse(Slice bytes) {
  KM_TRY(size, check_batch(bytes.span()));
  if (size == bytes.size()) return RecordBatchView(std::move(bytes));
  return RecordBatchView(bytes.sub(0, size));
}

Slice RecordBatchView::payload() const {
  if (header().is_legacy()) return {};
  return bytes_.sub(kBatchHeaderBytes, bytes_.size() - kBatchHeaderBytes);
}

Result<std::optional<RecordBatchView>> BatchIterator::next() {
  if (rest_.size() < kLogOverheadBytes) return std::optional<RecordBatchView>{};
  KM_TRY(size, batch_size(rest_.span()));
  if (size > rest_.size()) return std::optional<RecordBatchView>{};
  KM_TRY(batch, RecordBatchView::parse(rest_.sub(0, size)));
  rest_ = rest_.sub(size, rest_.size() - size);
  return std::optional<RecordBatchView>{std::move(batch)};
}

Result<std::vector<Record>> parse_records(const RecordBatchView& batch, Slice payload) {
  if (batch.magic() != 2) {
    return kafka_error(
        ErrorCode::INVALID_RECORD,
        fmt::format("batch at offset {} has magic {}, not 2", batch.base_offset(), batch.magic()));
  }
  const auto count = static_cast<std::size_t>(batch.record_count());
  std::vector<Record> records;
  records.reserve(std::min(count, payload.size() / kSmallestRecordBytes));
  RecordCursor cursor(payload.span());
  for (;;) {
    KM_TRY(view, cursor.next());
    if (!view) break;
    KM_TRY(record, to_record(batch, *view));
    records.push_back(std::move(record));
  }
  if (records.size() != count) {
    return kafka_error(ErrorCode::INVALID_RECORD,
                       fmt::format("batch at offset {} holds {} records, its header says {}",
                                   batch.base_offset(), records.size(), count));
  }
  return records;
}

Result<ControlRecordType> control_record_type(const RecordBatchView& batch) {
  return control_record_type(batch.header());
}

Result<ControlRecordType> control_record_type(const BatchHeader& batch) {
  const auto invalid = [&batch](std::string_view why) {
    return kafka_error(ErrorCode::INVALID_RECORD,
                       fmt::format("batch at offset {}: {}", batch.base_offset(), why));
  };
  if (!batch.is_control()) return invalid("not a control batch");
  if (batch.compression() != Compression::kNone) return invalid("a compressed control batch");
  RecordCursor cursor(batch.payload());
  KM_TRY(record, cursor.next());
  if (!record) return invalid("a control batch without a record");
  if (!record->key || record->key->size() < 4) return invalid("a control key below 4 bytes");
  return static_cast<ControlRecordType>(load_be<std::int16_t>(record->key->data() + 2));
}

RecordBatchBuilder::RecordBatchBuilder(Options options) : options_(std::move(options)) {}

void RecordBatchBuilder::add(std::int64_t timestamp_ms, const std::optional<Bytes>& key,
                             const std::optional<Bytes>& value,
                             const std::vector<RecordHeader>& headers,
                             std::optional<std::int32_t> offset_delta) {
  const std::int32_t delta = offset_delta.value_or(last_offset_delta_ + 1);
  KM_CHECK(delta > last_offset_delta_, "offset delta {} after {}", delta, last_offset_delta_);
  if (count_ == 0) base_timestamp_ms_ = timestamp_ms;
  Bytes body;
  body.push_back(0);
  put_varint(body, timestamp_ms - base_timestamp_ms_);
  put_varint(body, delta);
  put_nullable(body, key);
  put_nullable(body, value);
  put_varint(body, static_cast<std::int64_t>(headers.size()));
  for (const auto& header : headers) {
    put_bytes(body, as_bytes(header.key));
    put_nullable(body, header.value);
  }
  put_bytes(records_, body);
  last_offset_delta_ = delta;
  max_timestamp_ms_ = std::max(max_timestamp_ms_, timestamp_ms);
  ++count_;
}

Slice RecordBatchBuilder::build() { return build_compressed(Compression::kNone, records_); }

Slice RecordBatchBuilder::build_compressed(Compression compression, ByteSpan compressed_payload) {
  const std::size_t size = kBatchHeaderBytes + compressed_payload.size();
  KM_CHECK(size - kLogOverheadBytes <= std::numeric_limits<std::int32_t>::max(),
           "a batch of {} bytes", size);
  int attributes = static_cast<int>(compression);
  std::int64_t max_timestamp_ms = max_timestamp_ms_;
  if (options_.timestamp_type == TimestampType::kLogAppendTime) {
    attributes |= batch_attributes::kLogAppendTime;
    max_timestamp_ms = options_.log_append_time_ms;
  }
  if (options_.transactional) attributes |= batch_attributes::kTransactional;
  if (options_.control) attributes |= batch_attributes::kControl;
  Bytes out(size);
  std::uint8_t* p = out.data();
  store_be<std::int64_t>(p + batch_at::kBaseOffset, options_.base_offset.get());
  store_be(p + batch_at::kLength, static_cast<std::int32_t>(size - kLogOverheadBytes));
  store_be<std::int32_t>(p + batch_at::kLeaderEpoch, options_.partition_leader_epoch.get());
  p[kMagicPosition] = 2;
  store_be(p + batch_at::kAttributes, static_cast<std::int16_t>(attributes));
  store_be(p + batch_at::kLastOffsetDelta, std::max(last_offset_delta_, 0));
  store_be(p + batch_at::kBaseTimestamp, base_timestamp_ms_);
  store_be(p + batch_at::kMaxTimestamp, max_timestamp_ms);
  store_be<std::int64_t>(p + batch_at::kProducerId, options_.producer_id.get());
  store_be<std::int16_t>(p + batch_at::kProducerEpoch, options_.producer_epoch.get());
  store_be(p + batch_at::kBaseSequence, options_.base_sequence);
  store_be(p + batch_at::kRecordCount, static_cast<std::int32_t>(count_));
  std::copy(compressed_payload.begin(), compressed_payload.end(), p + batch_at::kRecords);
  const ByteSpan covered{p + batch_at::kAttributes, size - batch_at::kAttributes};
  store_be(p + batch_at::kCrc, crc32c(covered));
  return Slice::take(std::move(out));
}

namespace {

Bytes control_key(ControlRecordType type) {
  Bytes key(4);
  store_be(key.data(), kControlKeyVersion);
  store_be(key.data() + 2, static_cast<std::int16_t>(type));
  return key;
}

}  // namespace

Slice end_transaction_marker(Offset offset, LeaderEpoch epoch, std::int64_t timestamp_ms,
                             ProducerId producer_id, ProducerEpoch producer_epoch, bool commit,
                             std::int32_t coordinator_epoch) {
  RecordBatchBuilder::Options options;
  options.base_offset = offset;
  options.partition_leader_epoch = epoch;
  options.producer_id = producer_id;
  options.producer_epoch = producer_epoch;
  options.transactional = true;
  options.control = true;
  Bytes value(6);  // EndTxnMarker v0: version int16, coordinator epoch int32
  store_be<std::int16_t>(value.data(), 0);
  store_be(value.data() + 2, coordinator_epoch);
  RecordBatchBuilder builder(options);
  builder.add(timestamp_ms,
              control_key(commit ? ControlRecordType::kCommit : ControlRecordType::kAbort), value);
  return builder.build();
}

Slice mirror_pid_reset_batch(Offset offset, LeaderEpoch epoch, std::int64_t timestamp_ms) {
  RecordBatchBuilder::Options options;
  options.base_offset = offset;
  options.partition_leader_epoch = epoch;
  options.control = true;
  const Bytes value{0, 0, 0};  // MirrorPidResetRecord v0: version int16, no tagged fields
  RecordBatchBuilder builder(options);
  builder.add(timestamp_ms, control_key(ControlRecordType::kMirrorPidReset), value);
  return builder.build();
}

}  // namespace kmirror
