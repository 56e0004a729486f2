// Appending as leader: batches of clients and of our own coordinators get their offsets here.
#include <algorithm>

#include <fmt/format.h>

#include "kmirror/model/error_code.h"
#include "storage/partition_log_impl.h"
#include "storage/record_validation.h"

namespace kmirror::storage {
namespace {

Result<std::vector<RecordBatchView>> split(const Slice& records, AppendOrigin origin) {
  std::vector<RecordBatchView> batches;
  BatchIterator it(records);
  for (;;) {
    KM_TRY(batch, it.next());
    if (!batch) break;
    batches.push_back(std::move(*batch));
  }
  if (it.left_over_bytes() > 0) {
    return kafka_error(ErrorCode::CORRUPT_MESSAGE,
                       fmt::format("{} bytes after the last whole batch", it.left_over_bytes()));
  }
  if (batches.empty()) return kafka_error(ErrorCode::INVALID_RECORD, "no batch to append");
  if (origin == AppendOrigin::kClient && batches.size() != 1) {
    return kafka_error(ErrorCode::INVALID_RECORD,
                       fmt::format("{} batches where one is allowed", batches.size()));
  }
  return batches;
}

}  // namespace

// All batches are looked at before the first is stored: the append takes place as a whole or not at
// all. Several batches of one producer in one append come from our coordinators only, without
// sequences, so each can be checked against the state before.
Result<AppendInfo> PartitionLog::Impl::append_as_leader(const Slice& records, LeaderEpoch epoch,
                                                        AppendOrigin origin,
                                                        std::vector<RecordError>* record_errors) {
  if (!online.load()) return offline_error();
  const auto settings = config.load();
  const std::int64_t now_ms = env.clock.wall_ms();
  KM_TRY(batches, split(records, origin));
  AppendInfo info;
  info.first_offset = end();
  Offset next = end();
  ByteChain bytes;
  std::vector<BatchSummary> summaries;
  for (const auto& batch : batches) {
    KM_TRY(valid, validate_batch(batch, *settings, origin, now_ms, record_errors));
    if (batch.has_producer_id()) {
      if (const BatchMemory* old = producers.find_duplicate(valid.summary);
          old != nullptr && origin == AppendOrigin::kClient) {
        info.first_offset = old->first_offset();
        info.last_offset = old->last_offset;
        info.max_timestamp_ms = old->timestamp_ms;
        info.duplicate = true;
        return info;
      }
      KM_TRY_VOID(producers.check(valid.summary, origin));
    }
    if (settings->timestamp_type == TimestampType::kLogAppendTime) info.log_append_time_ms = now_ms;
    const ByteChain stamped = stamp(valid, next, epoch, info.log_append_time_ms);
    BatchSummary summary = summarize(stamped.fragments().front().memory.span(), valid.bytes.size());
    summary.control_type = valid.summary.control_type;
    summary.coordinator_epoch = valid.summary.coordinator_epoch;
    summary.position = bytes.size();
    next = summary.last_offset.next();
    info.max_timestamp_ms = std::max(info.max_timestamp_ms, summary.max_timestamp_ms);
    bytes.append(stamped);
    summaries.push_back(std::move(summary));
  }
  if (static_cast<std::int64_t>(bytes.size()) > settings->segment_bytes) {
    return kafka_error(ErrorCode::RECORD_LIST_TOO_LARGE,
                       fmt::format("{} bytes do not fit in a segment of {}", bytes.size(),
                                   settings->segment_bytes));
  }
  KM_TRY_VOID(append_batches(bytes, summaries));
  info.last_offset = next - 1;
  info.bytes = bytes.size();
  wake_waiters(false);
  return info;
}

}  // namespace kmirror::storage
