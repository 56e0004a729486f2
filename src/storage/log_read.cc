// Reading: any thread, from a published view. Only batch headers are looked at; records leave as
// file ranges.
#include <algorithm>

#include <fmt/format.h>

#include "kmirror/model/error_code.h"
#include "storage/partition_log_impl.h"

namespace kmirror::storage {
namespace {

// Where readers have to stop in `segment`: its end, or the first batch at or above `limit`.
Result<std::uint64_t> end_position(const Segment& segment, Offset limit, Offset log_end) {
  const std::uint64_t size = segment.size_bytes();
  if (limit >= log_end) return size;
  KM_TRY(batch, segment.find_batch(limit));
  return batch ? batch->position : size;
}

}  // namespace

Result<ReadResult> PartitionLog::Impl::read(const ReadRequest& request) const {
  // A segment that retention removed between taking the view and opening its file: look again.
  for (int attempt = 0;; ++attempt) {
    if (!online.load()) return offline_error();
    const auto current = view.load();
    auto result = read_in(*current, request);
    if (result || attempt > 0 || !is_not_found(result.error())) return result;
  }
}

Result<ReadResult> PartitionLog::Impl::read_in(const LogView& segments_now,
                                               const ReadRequest& request) const {
  ReadResult out;
  out.log_start_offset = start();
  out.last_stable_offset = Offset(last_stable.load());
  out.log_end_offset = end();
  out.high_watermark = Offset(high_watermark.load());
  if (request.from < out.log_start_offset || request.from > out.log_end_offset) {
    return kafka_error(ErrorCode::OFFSET_OUT_OF_RANGE,
                       fmt::format("{}: offset {} is outside {} to {}", identity.topic_partition,
                                   request.from, out.log_start_offset, out.log_end_offset));
  }
  Offset limit = out.high_watermark;
  if (request.isolation == Isolation::kLogEnd) limit = out.log_end_offset;
  if (request.isolation == Isolation::kReadCommitted) limit = out.last_stable_offset;
  if (request.from >= limit) return out;

  const auto& all = segments_now.segments;
  std::size_t at = segments_now.segment_for(request.from);
  std::optional<BatchSummary> first;
  for (; at < all.size(); ++at) {
    KM_TRY(found, all[at]->find_batch(request.from));
    first = std::move(found);
    if (first) break;
  }
  if (!first || first->base_offset >= limit) return out;
  KM_TRY(end_here, end_position(*all[at], limit, out.log_end_offset));
  std::uint64_t count = end_here - std::min(end_here, first->position);
  if (count > request.max_bytes) {
    count = request.max_bytes;
    if (count < first->size_bytes) count = request.at_least_one_batch ? first->size_bytes : 0;
  }
  if (count > 0) {
    KM_TRY(file, all[at]->file());
    FileRange range;
    range.source = file;
    range.position = first->position;
    range.size = static_cast<std::size_t>(count);
    out.records.append(std::move(range));
  }
  if (request.isolation == Isolation::kReadCommitted) {
    const Offset upper = at + 1 < all.size() ? std::min(limit, all[at + 1]->base_offset()) : limit;
    KM_TRY(aborted, aborted_between(segments_now, at, request.from, upper));
    out.aborted = std::move(aborted);
  }
  return out;
}

// A transaction's entry stands in the segment of its marker: the search goes on from the segment
// that is read until an entry says that nothing below `upper` was open any more.
Result<std::vector<AbortedTransaction>> PartitionLog::Impl::aborted_between(
    const LogView& segments_now, std::size_t first_segment, Offset from, Offset upper) const {
  std::vector<AbortedEntry> entries;
  for (std::size_t i = first_segment; i < segments_now.segments.size(); ++i) {
    KM_TRY(complete, segments_now.segments[i]->transactions().collect(from, upper, entries));
    if (complete) break;
  }
  std::sort(entries.begin(), entries.end(), [](const AbortedEntry& a, const AbortedEntry& b) {
    return a.first_offset < b.first_offset;
  });
  std::vector<AbortedTransaction> out;
  out.reserve(entries.size());
  for (const auto& entry : entries) {
    AbortedTransaction aborted;
    aborted.producer_id = entry.producer_id;
    aborted.first_offset = entry.first_offset;
    out.push_back(aborted);
  }
  return out;
}

}  // namespace kmirror::storage
