#include "storage/record_reader.h"

#include "kmirror/bytes/byte_chain.h"
#include "kmirror/compression/compression.h"
#include "kmirror/model/error_code.h"
#include "kmirror/model/record.h"

namespace kmirror::storage {
namespace {
// The records of one batch, opened: as large as the largest request may be.
constexpr std::size_t kMaxPayloadBytes = 104'857'600;
}  // namespace

Result<RecordBatchView> load_batch(const env::File& file, const BatchSummary& summary) {
  auto slab = std::make_shared<Slab>(summary.size_bytes);
  KM_TRY(count, file.read_at(summary.position, {slab->data(), slab->size()}));
  const ByteSpan bytes{slab->data(), count};
  return RecordBatchView::parse(Slice(std::move(slab), bytes));
}

Result<Slice> decompressed_payload(const RecordBatchView& batch) {
  return compression::decompress(batch.compression(), batch.payload(), kMaxPayloadBytes);
}

Result<std::optional<TimestampOffset>> first_record_since(const RecordBatchView& batch,
                                                          std::int64_t timestamp_ms, Offset from) {
  if (batch.magic() < 2) {
    // The inner messages of a wrapper are not opened: the wrapper's last offset stands for them.
    if (batch.max_timestamp_ms() < timestamp_ms || batch.last_offset() < from) {
      return std::optional<TimestampOffset>{};
    }
    return std::optional<TimestampOffset>{
        TimestampOffset(batch.max_timestamp_ms(), batch.last_offset())};
  }
  KM_TRY(payload, decompressed_payload(batch));
  const bool append_time = batch.timestamp_type() == TimestampType::kLogAppendTime;
  RecordCursor cursor(payload.span());
  for (;;) {
    KM_TRY(record, cursor.next());
    if (!record) return std::optional<TimestampOffset>{};
    const Offset offset = batch.base_offset() + record->offset_delta;
    const std::int64_t time = append_time ? batch.max_timestamp_ms()
                                          : batch.base_timestamp_ms() + record->timestamp_delta;
    if (time < timestamp_ms || offset < from) continue;
    return std::optional<TimestampOffset>{TimestampOffset(time, offset)};
  }
}

}  // namespace kmirror::storage
