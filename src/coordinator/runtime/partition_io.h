// PartitionWriter and PartitionLoader: what a shard needs of the log under it.
// Owner: the loop that owns the log. Sources: Kafka 4.4 PartitionWriter, CoordinatorLoader.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "coordinator/runtime/coordinator_record.h"
#include "kmirror/base/result.h"
#include "kmirror/base/unique_function.h"
#include "kmirror/model/record_batch.h"
#include "kmirror/model/types.h"

namespace kmirror::coordinator {

class PartitionWriter {
 public:
  PartitionWriter() = default;
  PartitionWriter(const PartitionWriter&) = delete;
  PartitionWriter& operator=(const PartitionWriter&) = delete;
  virtual ~PartitionWriter() = default;

  /// Appends one batch with offsets 0 … and returns the new log end. Errors: as
  /// PartitionLog::append_as_leader, nothing appended.
  [[nodiscard]] virtual Result<Offset> append(Slice batch) = 0;
  /// Makes everything appended before the call durable, then calls `done` on the owner loop, later.
  virtual void flush(UniqueFunction<void(Result<void>)> done) = 0;
};

/// One batch as the loader reads it.
struct LoadedBatch {
  LoadedBatch() = default;
  ProducerId transaction = kNoProducerId;    ///< of a transactional batch; else -1
  std::optional<ControlRecordType> control;  ///< set: an end marker, no records
  std::vector<CoordinatorRecord> records;
};

/// The coordinator records of one stored batch. A transactional batch keeps its producer id.
/// Errors: CORRUPT_MESSAGE, INVALID_RECORD, UNSUPPORTED_COMPRESSION_TYPE.
[[nodiscard]] Result<LoadedBatch> loaded_batch(const RecordBatchView& batch);

class PartitionLoader {
 public:
  PartitionLoader() = default;
  PartitionLoader(const PartitionLoader&) = delete;
  PartitionLoader& operator=(const PartitionLoader&) = delete;
  virtual ~PartitionLoader() = default;

  /// Reads the whole log, in order and in bounded pieces: each to `on_batches`, then `done` once;
  /// both on the owner loop, never inside the call. The loader stays until then or until cancel().
  virtual void load(UniqueFunction<void(std::vector<LoadedBatch>)> on_batches,
                    UniqueFunction<void(Result<void>)> done) = 0;
  /// Calls nothing any more.
  virtual void cancel() = 0;
};

}  // namespace kmirror::coordinator
