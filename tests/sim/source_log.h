// SourceLog: the log of one partition of the fake source, as a list of stored batches and a list of
// leader epochs. Answers what a Kafka leader would answer about them.
// Owner: the loop of the fake source. Invariants: batches rise; start <= high watermark <= end.
// Sources: Kafka 4.4 UnifiedLog.read, LocalLog, LeaderEpochFileCache, Partition.readRecords.
#pragma once

#include <optional>
#include <vector>

#include "kmirror/bytes/slice.h"
#include "kmirror/model/types.h"

namespace kmirror::testing {

struct EpochEnd {
  EpochEnd() = default;
  EpochEnd(LeaderEpoch e, Offset o) : epoch(e), end_offset(o) {}
  LeaderEpoch epoch = kNoLeaderEpoch;
  Offset end_offset = kNoOffset;
  friend bool operator==(const EpochEnd&, const EpochEnd&) = default;
};

struct TimestampHit {
  TimestampHit() = default;
  std::int64_t timestamp_ms = -1;
  Offset offset = kNoOffset;
  LeaderEpoch epoch = kNoLeaderEpoch;
};

/// A copy of `bytes` with `patch` at `position`: for batches with a wrong CRC, length or magic.
[[nodiscard]] Slice patched(const Slice& bytes, std::size_t position, const Bytes& patch);

class SourceLog {
 public:
  struct Batch {
    Offset base;
    Offset last;
    LeaderEpoch epoch;
    Slice bytes;
  };

  /// Appends a valid batch; offsets and epoch are read from it. It must not begin below end().
  void append(Slice batch);
  /// Appends bytes that need not be a batch at all, as if they were base…last of `epoch`.
  void append_raw(Slice bytes, Offset base, Offset last, LeaderEpoch epoch);
  /// A leader of `epoch` takes over at the present end.
  void begin_epoch(LeaderEpoch epoch);
  /// Removes every batch that has offsets at or above `offset`, and forgets the epochs from there.
  void truncate_to(Offset offset);
  /// Retention or DeleteRecords: nothing below `offset` is served any more. Above the end the log
  /// is emptied and goes on at `offset`.
  void set_start(Offset offset);
  /// Pins the high watermark; nullopt: it is the end.
  void set_high_watermark(std::optional<Offset> offset) { high_watermark_ = offset; }

  [[nodiscard]] Offset start() const { return start_; }
  [[nodiscard]] Offset end() const { return end_; }
  [[nodiscard]] Offset high_watermark() const;
  [[nodiscard]] const std::vector<Batch>& batches() const { return batches_; }
  /// (epoch, first offset), rising.
  [[nodiscard]] const std::vector<EpochEnd>& epochs() const { return epochs_; }
  [[nodiscard]] LeaderEpoch latest_epoch() const;
  /// The epoch `offset` was written in.
  [[nodiscard]] LeaderEpoch epoch_at(Offset offset) const;

  /// The answer to OffsetForLeaderEpoch: the greatest epoch <= `asked` and where it ends; (-1, -1)
  /// if `asked` is above all.
  [[nodiscard]] EpochEnd end_of_epoch(LeaderEpoch asked) const;
  /// Bytes of whole batches from the one that holds `offset` up to `below`, cut after `most_bytes`
  /// wherever that falls; if the first batch is longer it comes whole with `at_least_one`, else not
  /// at all.
  [[nodiscard]] Bytes read(Offset offset, Offset below, std::size_t most_bytes,
                           bool at_least_one) const;
  /// The first record at or after `timestamp_ms`.
  [[nodiscard]] TimestampHit find_timestamp(std::int64_t timestamp_ms) const;
  /// The record with the greatest timestamp.
  [[nodiscard]] TimestampHit greatest_timestamp() const;

 private:
  void note_epoch(LeaderEpoch epoch, Offset first);

  std::vector<Batch> batches_;
  std::vector<EpochEnd> epochs_;
  Offset start_;
  Offset end_;
  std::optional<Offset> high_watermark_;
};

}  // namespace kmirror::testing
