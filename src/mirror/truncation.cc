// KIP-279's question and answer game, played on a copy of the epoch list.
// Owner: any one task.
#include "mirror/truncation.h"

#include <algorithm>

namespace kmirror::mirror {

DivergenceSearch::DivergenceSearch(std::vector<storage::EpochEntry> entries, Offset log_end)
    : entries_(std::move(entries)), end_(log_end) {
  if (!entries_.empty()) question_ = entries_.back().epoch;
}

/// Our own answer to the same question: the greatest epoch not above `epoch`, and where it ends.
storage::EpochAndEndOffset DivergenceSearch::own_end_of(LeaderEpoch epoch) const {
  storage::EpochAndEndOffset found;
  for (std::size_t i = 0; i < entries_.size() && entries_[i].epoch <= epoch; ++i) {
    found.epoch = entries_[i].epoch;
    found.end_offset =
        i + 1 < entries_.size() ? std::min(entries_[i + 1].start_offset, end_) : end_;
  }
  return found;
}

void DivergenceSearch::answer(storage::EpochAndEndOffset said) {
  if (!question_) return;
  const LeaderEpoch asked = *question_;
  question_.reset();
  if (said.end_offset < Offset(0)) return;
  if (said.epoch < LeaderEpoch{0}) {
    end_ = std::min(end_, said.end_offset);
    return;
  }
  const storage::EpochAndEndOffset own = own_end_of(said.epoch);
  if (own.epoch == said.epoch) {
    end_ = std::min({end_, own.end_offset, said.end_offset});
    return;
  }
  if (own.epoch < LeaderEpoch{0}) {
    // Everything we have is of epochs above the source's answer.
    end_ = std::min(end_, said.end_offset);
    return;
  }
  // We lack that epoch: what we have above our next lower one is ours alone; ask about that one.
  end_ = std::min(end_, own.end_offset);
  while (!entries_.empty() && entries_.back().epoch > own.epoch) entries_.pop_back();
  if (own.epoch < asked) question_ = own.epoch;
}

}  // namespace kmirror::mirror
