// Order of the checks of one batch: length, magic, CRC, offsets, epochs.
// Owner: any one task.
#include "mirror/batch_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "kmirror/model/batch_header.h"

namespace kmirror::mirror {
namespace {

/// Why `batch` cannot follow a log that ends at `expected`; empty if it can.
std::string corruption(const BatchHeader& batch, Offset expected) {
  if (!batch.crc_is_valid()) {
    return fmt::format("CRC of the batch at offset {} is wrong", batch.base_offset());
  }
  if (batch.last_offset() < expected) {
    return fmt::format("batch {}..{} lies below the end of the log, {}", batch.base_offset(),
                       batch.last_offset(), expected);
  }
  // Before magic 2 a compressed batch stores its last offset only.
  if (!batch.is_legacy() && batch.base_offset() < expected) {
    return fmt::format("batch {}..{} overlaps the end of the log, {}", batch.base_offset(),
                       batch.last_offset(), expected);
  }
  return {};
}

void stop(CheckedBatches& checked, CheckStop why, LeaderEpoch epoch, std::string reason) {
  checked.stop = why;
  checked.stop_epoch = epoch;
  checked.reason = std::move(reason);
}

/// Checks one batch; true if it is good.
bool take(CheckedBatches& checked, const BatchHeader& batch, const BatchCheckInput& input) {
  std::string wrong = corruption(batch, checked.next_offset);
  if (!wrong.empty()) {
    stop(checked, CheckStop::kCorrupt, kNoLeaderEpoch, std::move(wrong));
    return false;
  }
  const LeaderEpoch epoch = batch.partition_leader_epoch();
  if (input.asked_epoch >= LeaderEpoch{0} && epoch > input.asked_epoch) {
    stop(checked, CheckStop::kSourceEpochAhead, epoch, {});
    return false;
  }
  if (input.own_epoch >= LeaderEpoch{0} && epoch > input.own_epoch) {
    stop(checked, CheckStop::kOwnEpochBehind, epoch, {});
    return false;
  }
  ++checked.batch_count;
  checked.next_offset = batch.next_offset();
  if (epoch >= LeaderEpoch{0}) checked.last_epoch = epoch;
  checked.max_timestamp_ms = std::max(checked.max_timestamp_ms, batch.max_timestamp_ms());
  return true;
}

}  // namespace

CheckedBatches check_batches(const BatchCheckInput& input) {
  CheckedBatches checked;
  checked.next_offset = input.expected;
  ByteSpan rest = input.records.span();
  while (rest.size() >= kLogOverheadBytes) {
    const Result<std::size_t> announced = batch_size(rest);
    if (announced && *announced > rest.size()) break;  // a partial batch at the end
    const Result<std::size_t> size = announced ? check_batch(rest) : announced;
    if (!size) {
      stop(checked, CheckStop::kCorrupt, kNoLeaderEpoch,
           fmt::format("at log end offset {}: {}", checked.next_offset, size.error().message));
      break;
    }
    if (!take(checked, BatchHeader(rest.first(*size)), input)) break;
    rest = rest.subspan(*size);
  }
  const std::size_t good_bytes = input.records.size() - rest.size();
  checked.good = input.records.sub(0, good_bytes);
  const bool is_cut = checked.stop == CheckStop::kNone && !rest.empty();
  if (is_cut && good_bytes == 0) {
    const Result<std::size_t> size = batch_size(rest);
    // Not even the length arrived: ask for at least the smallest useful amount.
    checked.needed_bytes = size ? *size : kBatchHeaderBytes;
  }
  return checked;
}

}  // namespace kmirror::mirror
