// LeaderEpochCache: which leader epoch starts at which offset, as the batches of the log say.
// Owner: the log's loop changes it; any thread reads the published entries.
// Invariant: epochs and start offsets rise strictly.
// Sources: Kafka 4.4 LeaderEpochFileCache, LeaderEpochCheckpointFile, KIP-101, KIP-279.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kmirror/base/published.h"
#include "kmirror/base/result.h"
#include "kmirror/storage/partition_log.h"

namespace kmirror::storage {

class LeaderEpochCache {
 public:
  using Entries = std::vector<EpochEntry>;
  LeaderEpochCache() : published_(std::make_shared<const Entries>()) {}

  // ---- any thread ----
  [[nodiscard]] std::shared_ptr<const Entries> entries() const { return published_.load(); }
  /// The answer of OffsetForLeaderEpoch for a log that ends at `log_end`.
  [[nodiscard]] EpochAndEndOffset end_offset_for(LeaderEpoch epoch, Offset log_end) const;
  [[nodiscard]] std::optional<LeaderEpoch> epoch_for(Offset offset) const;
  [[nodiscard]] LeaderEpoch latest() const;

  // ---- the log's loop ----
  /// A batch of `epoch` (>= 0) starts at `start`. Entries that contradict it go. True if changed.
  bool assign(LeaderEpoch epoch, Offset start);
  /// Forgets what starts at or above `offset`. True if changed.
  bool truncate_from_end(Offset offset);
  /// The log starts at `offset` now. True if changed.
  bool truncate_from_start(Offset offset);
  void replace(Entries entries);
  /// True once after each change since the last call or since load: the file is behind.
  [[nodiscard]] bool is_dirty() const { return dirty_; }
  void mark_clean() { dirty_ = false; }

  [[nodiscard]] static std::string to_text(const Entries& entries);
  /// Error (kBadValue of bytes): not a checkpoint of version 0, or entries that do not rise.
  [[nodiscard]] static Result<Entries> parse(std::string_view text);

 private:
  void publish();
  Entries entries_;  // the loop's own copy
  Published<Entries> published_;
  bool dirty_ = false;
};

}  // namespace kmirror::storage
