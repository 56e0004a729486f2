// Reading the records of a stored batch: one batch in memory, decompressed if need be.
// Owner: any thread.
#pragma once

#include <functional>

#include "storage/segment.h"

namespace kmirror::storage {

/// The whole batch that `summary` describes. Errors: the system's, CORRUPT_MESSAGE.
[[nodiscard]] Result<RecordBatchView> load_batch(const env::File& file,
                                                 const BatchSummary& summary);

/// The records' bytes of a magic-2 batch, decompressed. Errors: as compression::decompress().
[[nodiscard]] Result<Slice> decompressed_payload(const RecordBatchView& batch);

/// The first record of a batch, in offset order, whose time is >= `timestamp_ms` and whose offset
/// is
/// >= `from`; of a magic 0 or 1 message the message itself. Nothing if there is none.
[[nodiscard]] Result<std::optional<TimestampOffset>> first_record_since(
    const RecordBatchView& batch, std::int64_t timestamp_ms, Offset from);

}  // namespace kmirror::storage
