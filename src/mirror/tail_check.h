// compare_tail: is the last batch of our log the one the source has at that offset? No I/O.
// Owner: any one task.
// Sources: decisions 3.10; Kafka 4.4 MemoryRecords.filterTo (what a cleaner changes in a batch).
#pragma once

#include <string>

#include "kmirror/bytes/slice.h"
#include "kmirror/model/types.h"

namespace kmirror::mirror {

enum class TailVerdict {
  kSame,
  kAnother,   ///< the source holds another batch there: never append on top
  kUnproven,  ///< no batch there any more, or one that a cleaner rewrote
};

struct TailComparison {
  TailComparison() = default;
  TailVerdict verdict = TailVerdict::kUnproven;
  std::string message;  ///< of kAnother: both headers
};

/// `ours`: our last batch, whole and valid. `theirs`: what the source answered to a fetch at our
/// batch's base offset; only the first batch in it matters, and of that only the header.
[[nodiscard]] TailComparison compare_tail(ByteSpan ours, ByteSpan theirs);

}  // namespace kmirror::mirror
