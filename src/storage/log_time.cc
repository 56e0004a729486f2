// Offsets by time: any thread. The time index narrows the search to one stretch of a segment; there
// the records are opened.
#include <algorithm>

#include "storage/header_scanner.h"
#include "storage/partition_log_impl.h"
#include "storage/record_reader.h"

namespace kmirror::storage {
namespace {

// The first record of `segment` with a time >= `timestamp_ms` and an offset >= `from`.
Result<std::optional<TimestampOffset>> search(const Segment& segment, std::int64_t timestamp_ms,
                                              Offset from, LeaderEpoch& epoch) {
  // Everything up to the last index entry below the time is older.
  KM_TRY(older, segment.times().lookup(timestamp_ms - 1));
  KM_TRY(start, segment.find_batch(std::max(older.offset, from)));
  if (!start) return std::optional<TimestampOffset>{};
  KM_TRY(file, segment.file());
  HeaderScanner scanner(file, start->position, segment.size_bytes());
  for (;;) {
    KM_TRY(batch, scanner.next());
    if (!batch) return std::optional<TimestampOffset>{};
    if (batch->max_timestamp_ms < timestamp_ms) continue;
    KM_TRY(whole, load_batch(*file, *batch));
    KM_TRY(record, first_record_since(whole, timestamp_ms, from));
    if (!record) continue;
    epoch = batch->leader_epoch;
    return record;
  }
}

}  // namespace

Result<TimestampAndOffset> PartitionLog::Impl::offset_for_timestamp(std::int64_t timestamp_ms,
                                                                    Offset limit) const {
  if (!online.load()) return offline_error();
  const auto current = view.load();
  TimestampAndOffset out;
  for (const auto& segment : current->segments) {
    KM_TRY(newest, segment->max_timestamp_ms());
    if (newest < timestamp_ms || newest < 0) continue;
    LeaderEpoch epoch = kNoLeaderEpoch;
    KM_TRY(found, search(*segment, timestamp_ms, start(), epoch));
    if (!found) continue;
    if (found->offset >= limit) break;
    out.timestamp_ms = found->timestamp_ms;
    out.offset = found->offset;
    out.epoch = epoch;
    break;
  }
  return out;
}

Result<TimestampAndOffset> PartitionLog::Impl::offset_for_max_timestamp() const {
  if (!online.load()) return offline_error();
  const auto current = view.load();
  std::int64_t greatest = -1;
  for (const auto& segment : current->segments) {
    KM_TRY(newest, segment->max_timestamp_ms());
    greatest = std::max(greatest, newest);
  }
  if (greatest < 0) return TimestampAndOffset{};
  return offset_for_timestamp(greatest, end());
}

}  // namespace kmirror::storage
