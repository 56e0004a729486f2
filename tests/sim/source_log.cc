#include "sim/source_log.h"

#include <algorithm>

#include "kmirror/base/check.h"
#include "kmirror/model/record_batch.h"

namespace kmirror::testing {

Slice patched(const Slice& bytes, std::size_t position, const Bytes& patch) {
  KM_CHECK(position + patch.size() <= bytes.size(), "{} bytes at {}", patch.size(), position);
  Bytes copy(bytes.data(), bytes.data() + bytes.size());
  std::copy(patch.begin(), patch.end(), copy.begin() + static_cast<std::ptrdiff_t>(position));
  return Slice::take(std::move(copy));
}

void SourceLog::append(Slice batch) {
  const auto view = RecordBatchView::parse(batch);
  KM_CHECK(view.has_value(), "no batch: {}", view.error().message);
  KM_CHECK(view->size() == batch.size(), "{} bytes after the batch", batch.size() - view->size());
  append_raw(std::move(batch), view->base_offset(), view->last_offset(),
             view->partition_leader_epoch());
}

void SourceLog::append_raw(Slice bytes, Offset base, Offset last, LeaderEpoch epoch) {
  KM_CHECK(base >= end_ && last >= base, "batch {}-{} at end {}", base, last, end_);
  note_epoch(epoch, base);
  batches_.push_back(Batch{base, last, epoch, std::move(bytes)});
  end_ = last.next();
}

void SourceLog::begin_epoch(LeaderEpoch epoch) { note_epoch(epoch, end_); }

// An epoch that wrote nothing leaves no trace.
void SourceLog::note_epoch(LeaderEpoch epoch, Offset first) {
  if (epoch <= latest_epoch()) return;
  while (!epochs_.empty() && epochs_.back().end_offset >= first) epochs_.pop_back();
  epochs_.emplace_back(epoch, first);
}

void SourceLog::truncate_to(Offset offset) {
  while (!batches_.empty() && batches_.back().last >= offset) batches_.pop_back();
  while (!epochs_.empty() && epochs_.back().end_offset >= offset) epochs_.pop_back();
  end_ = std::min(end_, offset);
  start_ = std::min(start_, end_);
  if (high_watermark_) high_watermark_ = std::min(*high_watermark_, end_);
}

void SourceLog::set_start(Offset offset) {
  start_ = offset;
  std::erase_if(batches_, [&](const Batch& batch) { return batch.last < offset; });
  if (end_ < offset) end_ = offset;
  // The epoch in force at the new start begins there now.
  std::optional<EpochEnd> in_force;
  while (!epochs_.empty() && epochs_.front().end_offset <= offset) {
    in_force = epochs_.front();
    epochs_.erase(epochs_.begin());
  }
  if (in_force) epochs_.insert(epochs_.begin(), EpochEnd(in_force->epoch, offset));
  if (high_watermark_) high_watermark_ = std::max(*high_watermark_, offset);
}

Offset SourceLog::high_watermark() const { return high_watermark_.value_or(end_); }

LeaderEpoch SourceLog::latest_epoch() const {
  return epochs_.empty() ? kNoLeaderEpoch : epochs_.back().epoch;
}

LeaderEpoch SourceLog::epoch_at(Offset offset) const {
  LeaderEpoch epoch = kNoLeaderEpoch;
  for (const EpochEnd& entry : epochs_) {
    if (entry.end_offset > offset) break;
    epoch = entry.epoch;
  }
  return epoch;
}

EpochEnd SourceLog::end_of_epoch(LeaderEpoch asked) const {
  if (asked < LeaderEpoch(0) || asked > latest_epoch()) return {};
  if (asked == latest_epoch()) return {asked, end_};
  const auto higher = std::find_if(epochs_.begin(), epochs_.end(),
                                   [&](const EpochEnd& entry) { return entry.epoch > asked; });
  // Below the oldest known epoch: it ended where that one begins.
  if (higher == epochs_.begin()) return {asked, higher->end_offset};
  return {std::prev(higher)->epoch, higher->end_offset};
}

Bytes SourceLog::read(Offset offset, Offset below, std::size_t most_bytes,
                      bool at_least_one) const {
  Bytes out;
  const auto first = std::find_if(batches_.begin(), batches_.end(),
                                  [&](const Batch& batch) { return batch.last >= offset; });
  if (first == batches_.end() || first->base >= below) return out;
  if (first->bytes.size() > most_bytes) {
    if (!at_least_one) return out;
    most_bytes = first->bytes.size();
  }
  for (auto it = first; it != batches_.end() && it->base < below; ++it) {
    const std::size_t count = std::min(it->bytes.size(), most_bytes - out.size());
    out.insert(out.end(), it->bytes.data(), it->bytes.data() + count);
    if (out.size() == most_bytes) break;
  }
  return out;
}

namespace {

// The batch's own record times where they can be read, else its greatest one for all.
std::vector<TimestampHit> times_of(const SourceLog::Batch& batch) {
  std::vector<TimestampHit> hits;
  const auto view = RecordBatchView::parse(batch.bytes);
  if (!view) return hits;
  if (view->magic() == 2 && view->compression() == Compression::kNone) {
    const auto records = parse_records(*view, view->payload());
    if (records) {
      for (const Record& record : *records) {
        TimestampHit& hit = hits.emplace_back();
        hit.timestamp_ms = record.timestamp_ms;
        hit.offset = record.offset;
        hit.epoch = batch.epoch;
      }
      return hits;
    }
  }
  TimestampHit& hit = hits.emplace_back();
  hit.timestamp_ms = view->max_timestamp_ms();
  hit.offset = view->base_offset();
  hit.epoch = batch.epoch;
  return hits;
}

}  // namespace

TimestampHit SourceLog::find_timestamp(std::int64_t timestamp_ms) const {
  for (const Batch& batch : batches_) {
    for (const TimestampHit& hit : times_of(batch)) {
      if (hit.timestamp_ms >= timestamp_ms && hit.offset >= start_) return hit;
    }
  }
  return {};
}

TimestampHit SourceLog::greatest_timestamp() const {
  TimestampHit greatest;
  for (const Batch& batch : batches_) {
    for (const TimestampHit& hit : times_of(batch)) {
      if (hit.timestamp_ms > greatest.timestamp_ms) greatest = hit;
    }
  }
  return greatest;
}

}  // namespace kmirror::testing
