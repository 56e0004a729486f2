// Comparison of two batch headers, with an eye for what a cleaner may have changed.
// Owner: any one task.
#include "mirror/tail_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "kmirror/model/batch_header.h"

namespace kmirror::mirror {
namespace {

std::string describe(const BatchHeader& batch) {
  return fmt::format("offsets {}..{}, epoch {}, CRC {:08x}", batch.base_offset(),
                     batch.last_offset(), batch.partition_leader_epoch(), batch.stored_crc());
}

/// A cleaner keeps offsets, epoch and producer of a batch and drops records, or stamps a delete
/// horizon; CRC and timestamps then change.
bool may_be_cleaned(const BatchHeader& ours, const BatchHeader& theirs) {
  const bool same_origin = ours.base_offset() == theirs.base_offset() &&
                           ours.last_offset() == theirs.last_offset() &&
                           ours.partition_leader_epoch() == theirs.partition_leader_epoch() &&
                           ours.producer_id() == theirs.producer_id() &&
                           ours.producer_epoch() == theirs.producer_epoch() &&
                           ours.base_sequence() == theirs.base_sequence();
  const bool lost_records = ours.record_count() != theirs.record_count();
  const bool has_horizon =
      ours.delete_horizon_ms().has_value() || theirs.delete_horizon_ms().has_value();
  return same_origin && (lost_records || has_horizon);
}

}  // namespace

TailComparison compare_tail(ByteSpan ours, ByteSpan theirs) {
  TailComparison result;
  const BatchHeader our_batch(ours);
  const std::size_t header_bytes =
      our_batch.is_legacy() ? batch_at::kLegacyTimestamp : kBatchHeaderBytes;
  if (theirs.size() < kBatchHeaderBytes && theirs.size() < ours.size()) return result;
  if (std::equal(ours.begin(), ours.begin() + static_cast<std::ptrdiff_t>(header_bytes),
                 theirs.begin())) {
    result.verdict = TailVerdict::kSame;
    return result;
  }
  const Result<std::size_t> size = check_batch(theirs);
  // A broken batch is the fetcher's to report, with its own words.
  if (!size) return result;
  const BatchHeader their_batch(theirs.first(*size));
  if (their_batch.base_offset() > our_batch.last_offset()) return result;
  // Cleaners renumber batches of the old formats.
  if (their_batch.is_legacy() || our_batch.is_legacy()) {
    if (their_batch.is_legacy() != our_batch.is_legacy()) result.verdict = TailVerdict::kAnother;
  } else if (!may_be_cleaned(our_batch, their_batch)) {
    result.verdict = TailVerdict::kAnother;
  }
  if (result.verdict == TailVerdict::kAnother) {
    result.message =
        fmt::format("the source has another batch at our log's tail: ours {}; the source's {}",
                    describe(our_batch), describe(their_batch));
  }
  return result;
}

}  // namespace kmirror::mirror
