#include "coordinator/runtime/partition_io.h"

#include <fmt/format.h>

#include "kmirror/compression/compression.h"

namespace kmirror::coordinator {
namespace {

// Far more than any batch of an internal topic opens to.
constexpr std::size_t kMaxPayloadBytes = 67'108'864;

}  // namespace

Result<LoadedBatch> loaded_batch(const RecordBatchView& batch) {
  LoadedBatch loaded;
  if (batch.is_transactional()) loaded.transaction = batch.producer_id();
  if (batch.is_control()) {
    KM_TRY(type, control_record_type(batch));
    loaded.transaction = batch.producer_id();
    loaded.control = type;
    return loaded;
  }
  // We write them uncompressed; a log taken over from another broker may differ.
  KM_TRY(payload, compression::decompress(batch.compression(), batch.payload(), kMaxPayloadBytes));
  KM_TRY(records, parse_records(batch, std::move(payload)));
  loaded.records.reserve(records.size());
  for (Record& record : records) {
    CoordinatorRecord& one = loaded.records.emplace_back();
    if (record.key) one.key = std::move(*record.key);
    one.value = std::move(record.value);
    one.headers = std::move(record.headers);
  }
  return loaded;
}

}  // namespace kmirror::coordinator
