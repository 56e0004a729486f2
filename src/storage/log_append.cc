// Appending: batches as they came from a source, and the part that follower and leader share.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "kmirror/base/check.h"
#include "kmirror/base/log.h"
#include "kmirror/model/error_code.h"
#include "storage/partition_log_impl.h"

namespace kmirror::storage {
namespace {

constexpr std::int64_t kMaxRelativeOffset = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t kMaxSegmentBytes = std::numeric_limits<std::int32_t>::max();
// About 20 KiB of index entries in memory for a log; with a 4 KiB interval they cover 4 MiB.
constexpr std::size_t kIndexEntriesInMemory = 1024;

struct ParsedBatches {
  ParsedBatches() = default;
  std::vector<BatchSummary> batches;
  std::size_t bytes = 0;  ///< of the batches
  std::optional<Error> error;
};

Error corrupt(Offset offset, std::string_view why) {
  return kafka_error(ErrorCode::CORRUPT_MESSAGE,
                     fmt::format("batch at offset {}: {}", offset, why));
}

// Whether a batch may stand where the log ends at `expected`. `first`: of this append.
std::optional<Error> check_place(const BatchSummary& batch, Offset expected, bool first,
                                 bool may_straddle) {
  if (batch.base_offset >= expected) return std::nullopt;
  if (first && may_straddle && batch.last_offset >= expected) return std::nullopt;
  if (!first) {
    return corrupt(batch.base_offset, fmt::format("offsets do not rise: {} is expected", expected));
  }
  return kafka_error(ErrorCode::OFFSET_OUT_OF_RANGE,
                     fmt::format("batch of offsets {} to {}: the log ends at {}", batch.base_offset,
                                 batch.last_offset, expected));
}

// Looks at each whole batch of `bytes`; stops before a partial one, and at the first bad one.
void parse_follower(ByteSpan bytes, Offset expected, bool may_straddle, bool crc_checked,
                    ParsedBatches& out) {
  while (bytes.size() - out.bytes >= kLogOverheadBytes) {
    const ByteSpan rest = bytes.subspan(out.bytes);
    const auto size = batch_size(rest);
    if (size && *size > rest.size()) return;  // partial: the source cuts by bytes
    const auto checked = size ? check_batch(rest) : size;
    if (!checked) {
      out.error = checked.error();
      return;
    }
    const ByteSpan whole = rest.first(*checked);
    BatchSummary batch = summarize(whole, *checked);
    batch.position = out.bytes;
    if (!crc_checked && !BatchHeader(whole).crc_is_valid()) {
      out.error = corrupt(batch.base_offset, "its CRC is wrong");
      return;
    }
    out.error = check_place(batch, expected, out.batches.empty(), may_straddle);
    if (out.error) return;
    if (batch.control) add_control_fields(whole, batch);
    expected = batch.last_offset.next();
    out.bytes += *checked;
    out.batches.push_back(std::move(batch));
  }
}

// The part of `chain` from byte `from`, `size` bytes long.
ByteChain sub_chain(const ByteChain& chain, std::size_t from, std::size_t size) {
  ByteChain out;
  for (const auto& fragment : chain.fragments()) {
    if (size == 0) break;
    if (from >= fragment.size()) {
      from -= fragment.size();
      continue;
    }
    const std::size_t take = std::min(size, fragment.size() - from);
    out.append(fragment.memory.sub(from, take));
    size -= take;
    from = 0;
  }
  return out;
}

Result<Slice> joined(const Slice& head, const Slice& tail) {
  ByteChain both(head);
  both.append(tail);
  return both.flatten();
}

}  // namespace

PartitionLog::FollowerAppend PartitionLog::Impl::append_as_follower(const ByteChain& batches,
                                                                    bool crc_checked) {
  FollowerAppend out;
  out.log_end_offset = end();
  if (!online.load()) {
    out.error = offline_error();
    return out;
  }
  const Offset end_before = end();
  Slice left_over;
  for (const auto& fragment : batches.fragments()) {
    Result<Slice> slice = fragment.memory;
    if (fragment.is_file()) {
      ByteChain range;
      range.append(fragment.file);
      slice = range.flatten();
    }
    // A batch that goes over the border of two fragments is put together; that is rare.
    if (slice && !left_over.empty()) slice = joined(left_over, *slice);
    if (slice) {
      const std::size_t bytes_before = out.bytes;
      const auto appended = append_follower_slice(*slice, crc_checked, out);
      const std::size_t used = out.bytes - bytes_before;
      if (!appended) {
        out.error = appended.error();
        break;
      }
      left_over = slice->sub(used, slice->size() - used);
    } else {
      out.error = slice.error();
      break;
    }
  }
  out.log_end_offset = end();
  if (out.log_end_offset != end_before) wake_waiters(false);
  return out;
}

Result<void> PartitionLog::Impl::append_follower_slice(const Slice& slice, bool crc_checked,
                                                       FollowerAppend& out) {
  const bool empty = size_bytes.load() == 0 && start() == end();
  ParsedBatches parsed;
  parse_follower(slice.span(), end(), empty, crc_checked, parsed);
  if (!parsed.batches.empty()) {
    if (parsed.batches.front().base_offset < end()) {
      KM_TRY_VOID(start_before(parsed.batches.front().base_offset));
    }
    const ByteChain bytes(slice.sub(0, parsed.bytes));
    const std::uint64_t size_before = size_bytes.load();
    const auto written = append_batches(bytes, parsed.batches);
    out.bytes += static_cast<std::size_t>(size_bytes.load() - size_before);
    for (const auto& batch : parsed.batches) out.batches += batch.last_offset < end() ? 1U : 0U;
    if (!written) return written.error();
  }
  if (parsed.error) return std::move(*parsed.error);
  return {};
}

// The log is empty and its start lies inside the first batch that comes, because the source's start
// does: the batch is stored whole, in a segment that begins before the log start.
Result<void> PartitionLog::Impl::start_before(Offset base) {
  KM_TRY_VOID(retire_files(*active()));
  segments.pop_back();
  segments.push_back(std::make_shared<Segment>(place, base, SegmentSizes{}, nullptr));
  directory_dirty = true;
  publish_view();
  const auto opened = segments.back()->writable();
  if (!opened) {
    fail(opened.error());
    return opened.error();
  }
  return {};
}

Result<bool> PartitionLog::Impl::must_roll(const BatchSummary& next, std::uint64_t segment_bytes,
                                           std::int64_t first_timestamp_ms) {
  const auto settings = config.load();
  const Segment& segment = *active();
  if (next.last_offset - segment.base_offset() > kMaxRelativeOffset) return true;
  if (segment_bytes == 0) return false;
  const std::uint64_t after = segment_bytes + next.size_bytes;
  if (after > static_cast<std::uint64_t>(settings->segment_bytes) || after > kMaxSegmentBytes) {
    return true;
  }
  const auto full = static_cast<std::size_t>(settings->segment_index_bytes);
  if ((segment.offsets().store().size() + 1) * kOffsetEntryBytes > full ||
      (segment.times().store().size() + 1) * kTimeEntryBytes > full) {
    return true;
  }
  return first_timestamp_ms >= 0 && next.max_timestamp_ms >= 0 &&
         next.max_timestamp_ms - first_timestamp_ms > settings->segment_ms;
}

Result<void> PartitionLog::Impl::append_batches(const ByteChain& bytes,
                                                std::span<BatchSummary> batches) {
  std::size_t first = 0;  // of the run that is not written yet
  std::uint64_t run_bytes = 0;
  const auto opened = active()->writable();
  if (!opened) {
    fail(opened.error());
    return opened.error();
  }
  KM_TRY(first_timestamp_ms, active()->first_timestamp_ms());
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const std::uint64_t segment_bytes = active()->size_bytes() + run_bytes;
    KM_TRY(roll_now, must_roll(batches[i], segment_bytes, first_timestamp_ms));
    if (roll_now) {
      if (i > first) {
        KM_TRY_VOID(write_run(sub_chain(bytes, batches[first].position, run_bytes),
                              batches.subspan(first, i - first)));
      }
      KM_TRY_VOID(roll(batches[i].base_offset));
      first = i;
      run_bytes = 0;
    }
    if (roll_now || segment_bytes == 0) first_timestamp_ms = batches[i].max_timestamp_ms;
    run_bytes += batches[i].size_bytes;
  }
  if (first == batches.size()) return {};
  return write_run(sub_chain(bytes, batches[first].position, run_bytes), batches.subspan(first));
}

Result<void> PartitionLog::Impl::write_run(ByteChain bytes, std::span<BatchSummary> batches) {
  Segment& segment = *active();
  KM_TRY(file, segment.writable());
  std::uint64_t position = segment.size_bytes();
  const auto written = file->write_at(position, bytes);
  if (!written) {
    // Whatever part of it arrived is cut off, so that the next append stands on whole batches.
    const auto cut = file->truncate(position);
    if (!cut) take_offline(cut.error());
    fail(written.error());
    return written.error();
  }
  for (auto& batch : batches) {
    batch.position = position;
    position += batch.size_bytes;
    note_batch(batch);
  }
  if (epochs.is_dirty()) {
    const auto saved = write_epochs();
    if (!saved) {
      KM_LOG(kWarn, "storage.epoch_file_behind", "{}: {}; written again later", name(),
             saved.error().message);
    }
  }
  segment.publish_size(position);
  size_bytes.store(sealed_bytes + position);
  publish_end(batches.back().last_offset.next());
  spill_indexes();
  return {};
}

void PartitionLog::Impl::note_batch(const BatchSummary& batch) {
  Segment& segment = *active();
  segment.index_batch(batch, config.load()->index_interval_bytes);
  epochs.assign(batch.leader_epoch, batch.base_offset);
  if (batch.producer_id.get() < 0 && !batch.control) return;
  if (const auto aborted = producers.apply(batch)) segment.transactions().append(*aborted);
}

void PartitionLog::Impl::publish_end(Offset end) {
  max_producer_id.store(producers.max_id().get(), std::memory_order_release);
  log_end.store(end.get(), std::memory_order_release);
  high_watermark.store(end.get(), std::memory_order_release);
  update_last_stable();
}

void PartitionLog::Impl::update_last_stable() {
  const Offset stable = producers.first_unstable_offset().value_or(end());
  last_stable.store(std::max(stable, start()).get(), std::memory_order_release);
}

void PartitionLog::Impl::spill_indexes() {
  if (active()->pending_index_entries() < kIndexEntriesInMemory) return;
  const auto written = active()->write_indexes();
  if (!written) return;  // tried again at the next append; roll reports it
  active() = active()->with_indexes_on_disk();
  publish_view();
}

Result<void> PartitionLog::Impl::roll(Offset base) {
  active()->finish_time_index();
  auto written = active()->write_indexes();
  if (written) written = write_snapshot(end());
  if (!written) {
    fail(written.error());
    return written.error();
  }
  auto next = std::make_shared<Segment>(place, base, SegmentSizes{}, nullptr);
  const auto opened = next->writable();
  if (!opened) {
    fail(opened.error());
    return opened.error();
  }
  sealed_bytes += active()->size_bytes();
  active() = active()->with_indexes_on_disk();
  segments.push_back(std::move(next));
  directory_dirty = true;
  publish_view();
  return {};
}

}  // namespace kmirror::storage
