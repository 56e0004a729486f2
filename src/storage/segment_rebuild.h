// SegmentRebuild: checks the batches of a segment with their CRC from some offset on, cuts the file
// at the first broken one and makes the indexes agree with what is left. Owner: whoever opens the
// log, before anybody else sees it. Sources: Kafka 4.4 LogSegment.recover; docs/formats/log.md.
#pragma once

#include <memory>
#include <string>

#include "storage/segment.h"

namespace kmirror::storage {

class SegmentRebuild {
 public:
  /// `next_base`: where the next segment begins; a batch that reaches it is not ours. `from`:
  /// batches below it were synced and need no look, if the index tells where they end.
  SegmentRebuild(Segment& segment, Offset next_base, Offset from, std::int64_t index_interval_bytes)
      : old_(segment), next_base_(next_base), from_(from), interval_(index_interval_bytes) {}

  /// Errors: the system's. Afterwards the files are as the results below say.
  [[nodiscard]] Result<void> run();
  [[nodiscard]] std::shared_ptr<Segment> take_segment() { return std::move(fresh_); }
  /// Everything from this offset on was read; transaction index entries of it are gone.
  [[nodiscard]] Offset checked_from() const { return checked_from_; }
  [[nodiscard]] bool cut() const { return cut_; }
  /// The cut was made because the next segment begins there, not because a batch is broken.
  [[nodiscard]] bool overlapped() const { return overlapped_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  [[nodiscard]] Result<void> find_start();
  [[nodiscard]] Result<std::size_t> usable_offset_entries() const;
  [[nodiscard]] Result<void> cut_indexes(std::size_t offset_entries);
  [[nodiscard]] Result<std::uint64_t> scan();
  [[nodiscard]] std::optional<std::string> objection(const BatchSummary& batch, ByteSpan whole,
                                                     Offset expected);

  Segment& old_;
  Offset next_base_;
  Offset from_;
  std::int64_t interval_;
  std::uint64_t start_position_ = 0;
  Offset checked_from_;
  std::shared_ptr<Segment> fresh_;
  bool cut_ = false;
  bool overlapped_ = false;
  std::string reason_;
};

/// Shortens a file that may not be there. Errors: the system's.
[[nodiscard]] Result<void> shorten_file(const LogPlace& place, const std::string& path,
                                        std::uint64_t size_bytes);

}  // namespace kmirror::storage
