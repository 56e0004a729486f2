#include "coordinator/runtime/coordinator_record.h"

namespace kmirror::coordinator {
namespace {

// Lengths, deltas, attributes and the header count of one record, generously.
constexpr std::size_t kRecordOverheadBytes = 32;

std::size_t estimated_bytes(const CoordinatorRecord& record) {
  std::size_t bytes = kRecordOverheadBytes + record.key.size();
  if (record.value) bytes += record.value->size();
  for (const RecordHeader& header : record.headers) {
    bytes += kRecordOverheadBytes + header.key.size() + (header.value ? header.value->size() : 0);
  }
  return bytes;
}

}  // namespace

Result<std::int16_t> record_type(ByteSpan key) {
  if (key.size() < sizeof(std::int16_t)) {
    return kafka_error(ErrorCode::INVALID_RECORD,
                       fmt::format("a coordinator key of {} bytes has no type", key.size()));
  }
  return load_be<std::int16_t>(key.data());
}

Slice batch_of(std::span<const CoordinatorRecord> records, std::int64_t wall_ms) {
  RecordBatchBuilder builder{RecordBatchBuilder::Options()};
  for (const CoordinatorRecord& record : records) {
    builder.add(wall_ms, record.key, record.value, record.headers);
  }
  return builder.build();
}

std::size_t batch_length(std::span<const CoordinatorRecord> records, std::size_t limit_bytes) {
  std::size_t bytes = kBatchHeaderBytes;
  std::size_t count = 0;
  for (const CoordinatorRecord& record : records) {
    bytes += estimated_bytes(record);
    if (count > 0 && bytes > limit_bytes) break;
    ++count;
  }
  return count;
}

}  // namespace kmirror::coordinator
