#include "storage/batch_summary.h"

#include "kmirror/bytes/endian.h"
#include "kmirror/model/record.h"

namespace kmirror::storage {

BatchSummary summarize(ByteSpan head, std::size_t size_bytes) {
  const BatchHeader header(head);
  BatchSummary out;
  out.size_bytes = static_cast<std::uint32_t>(size_bytes);
  out.base_offset = header.base_offset();
  out.last_offset = header.last_offset();
  out.leader_epoch = header.partition_leader_epoch();
  out.max_timestamp_ms = header.max_timestamp_ms();
  out.producer_id = header.producer_id();
  out.producer_epoch = header.producer_epoch();
  out.base_sequence = header.base_sequence();
  out.last_sequence = header.last_sequence();
  out.transactional = header.is_transactional();
  out.control = header.is_control();
  return out;
}

void add_control_fields(ByteSpan whole_batch, BatchSummary& summary) {
  const BatchHeader header(whole_batch);
  if (!header.is_control() || header.compression() != Compression::kNone) return;
  RecordCursor cursor(header.payload());
  const auto record = cursor.next();
  if (!record || !*record || !(*record)->key || (*record)->key->size() < 4) return;
  summary.control_type =
      static_cast<ControlRecordType>(load_be<std::int16_t>((*record)->key->data() + 2));
  const bool marker = summary.control_type == ControlRecordType::kAbort ||
                      summary.control_type == ControlRecordType::kCommit;
  // EndTxnMarker: version int16, coordinator epoch int32.
  if (marker && (*record)->value && (*record)->value->size() >= 6) {
    summary.coordinator_epoch = load_be<std::int32_t>((*record)->value->data() + 2);
  }
}

}  // namespace kmirror::storage
