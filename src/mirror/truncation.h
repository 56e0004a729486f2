// DivergenceSearch: finds where our log and the source's last agree, from the source's answers to
// "where does leader epoch E end". No I/O, nothing is cut here.
// Owner: any one task. Invariant: the offset only goes down; every question is about a lower epoch
// than the one before, so the search ends. Sources: KIP-101, KIP-279, KIP-320; Kafka 4.4
// AbstractFetcherThread.getOffsetTruncationState; cases G22, G57.
#pragma once

#include <optional>
#include <vector>

#include "kmirror/model/types.h"
#include "kmirror/storage/partition_log.h"

namespace kmirror::mirror {

class DivergenceSearch {
 public:
  /// `entries`: our epochs, rising; `log_end`: where our log ends.
  DivergenceSearch(std::vector<storage::EpochEntry> entries, Offset log_end);

  /// The epoch to ask the source about next; nothing once the search is over, or if our log has no
  /// epochs.
  [[nodiscard]] std::optional<LeaderEpoch> question() const { return question_; }
  /// Takes in the source's answer: the greatest epoch it has that is not above the question, and
  /// where that one ends. (-1, -1): the source knows no epochs that low, which proves nothing.
  void answer(storage::EpochAndEndOffset said);
  /// Where the logs agree up to; our log end if they do not differ.
  [[nodiscard]] Offset common_end() const { return end_; }

 private:
  [[nodiscard]] storage::EpochAndEndOffset own_end_of(LeaderEpoch epoch) const;

  std::vector<storage::EpochEntry> entries_;
  Offset end_;
  std::optional<LeaderEpoch> question_;
};

}  // namespace kmirror::mirror
