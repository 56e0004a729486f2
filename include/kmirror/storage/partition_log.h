// PartitionLog: one partition's log in Kafka's on-disk layout: segments, indexes, epochs,
// producers. Owner: one loop for life; only that loop calls the methods under "writer". Methods
// under "reader" may be called from any thread at any time: they use atomics and published,
// immutable views. Invariants: log start <= last stable offset <= high watermark <= log end; no
// byte of a segment file below its size is ever overwritten (truncation shortens the file and goes
// on in a new segment). Sources: Kafka 4.4 UnifiedLog, LocalLog, LogSegment; decisions 3.2-3.21;
// docs/formats/log.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/base/unique_function.h"
#include "kmirror/bytes/byte_chain.h"
#include "kmirror/env/environment.h"
#include "kmirror/model/record_batch.h"
#include "kmirror/model/types.h"
#include "kmirror/storage/log_config.h"

namespace kmirror::storage {

enum class Isolation { kReadUncommitted, kReadCommitted, kLogEnd };

enum class AppendOrigin {
  kClient,       ///< Produce: every check
  kCoordinator,  ///< our own internal topics and markers
};

struct AppendInfo {
  AppendInfo() = default;
  Offset first_offset = kNoOffset;
  Offset last_offset = kNoOffset;
  std::int64_t log_append_time_ms = -1;  ///< -1 under CreateTime
  std::int64_t max_timestamp_ms = -1;
  std::size_t bytes = 0;
  bool duplicate = false;  ///< an idempotent repeat: nothing was stored, offsets are the old ones
};

/// One record of a refused batch: its place in the batch, from 0, and what is wrong with it.
struct RecordError {
  RecordError() = default;
  RecordError(std::int32_t index, std::string text)
      : batch_index(index), message(std::move(text)) {}
  std::int32_t batch_index = 0;
  std::string message;
  friend bool operator==(const RecordError&, const RecordError&) = default;
};

struct AbortedTransaction {
  AbortedTransaction() = default;
  ProducerId producer_id = kNoProducerId;
  Offset first_offset;
  friend bool operator==(const AbortedTransaction&, const AbortedTransaction&) = default;
};

struct ReadResult {
  ReadResult() = default;
  ByteChain records;  ///< file ranges, whole batches unless cut by max_bytes
  Offset high_watermark;
  Offset last_stable_offset;
  Offset log_start_offset;
  Offset log_end_offset;
  std::vector<AbortedTransaction> aborted;  ///< filled for kReadCommitted only
};

struct ReadRequest {
  ReadRequest() = default;
  Offset from;
  std::size_t max_bytes = 1'048'576;
  bool at_least_one_batch = true;  ///< the first batch comes whole even if above max_bytes
  Isolation isolation = Isolation::kReadUncommitted;
};

struct EpochAndEndOffset {
  EpochAndEndOffset() = default;
  EpochAndEndOffset(LeaderEpoch e, Offset o) : epoch(e), end_offset(o) {}
  LeaderEpoch epoch = kNoLeaderEpoch;
  Offset end_offset = kNoOffset;
  friend bool operator==(const EpochAndEndOffset&, const EpochAndEndOffset&) = default;
};
struct EpochEntry {
  EpochEntry() = default;
  EpochEntry(LeaderEpoch e, Offset o) : epoch(e), start_offset(o) {}
  LeaderEpoch epoch = kNoLeaderEpoch;
  Offset start_offset = kNoOffset;
  friend bool operator==(const EpochEntry&, const EpochEntry&) = default;
};

struct TimestampAndOffset {
  TimestampAndOffset() = default;
  std::int64_t timestamp_ms = -1;
  Offset offset = kNoOffset;
  LeaderEpoch epoch = kNoLeaderEpoch;
};

struct ActiveProducer {
  ActiveProducer() = default;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch = kNoProducerEpoch;
  std::int32_t last_sequence = -1;
  std::int64_t last_timestamp_ms = -1;
  std::int32_t coordinator_epoch = -1;
  Offset current_transaction_first_offset = kNoOffset;  ///< -1: no open transaction
};

class PartitionLog {
 public:
  class Impl;  // inside the room
  struct Identity {
    Identity() = default;
    TopicPartition topic_partition;
    Uuid topic_id;
    std::string directory;  ///< <log.dir>/<topic>-<partition>
  };
  using WaitId = std::uint64_t;

  /// Opens an existing directory, or makes one. `clean` says that the log directory was shut down
  /// cleanly; otherwise the tail from the recovery point on is checked, cut at the first broken
  /// batch, and indexes, epochs and producer state are rebuilt. Blocking: run it in the disk pool.
  /// Errors: system errors with the path; a partition.metadata of another topic id.
  struct OpenOptions {
    OpenOptions() = default;
    bool clean = false;
    Offset log_start_offset;               ///< from log-start-offset-checkpoint
    Offset recovery_point;                 ///< from recovery-point-offset-checkpoint
    std::optional<Offset> high_watermark;  ///< from replication-offset-checkpoint
    /// Called once, on the owner loop, when a disk error took this log offline (not for ENOSPC).
    std::function<void(const Error& reason)> on_offline;
    /// Called on the owner loop after each truncation: checkpoints above `new_end` are void.
    std::function<void(Offset new_end)> on_truncated;
  };
  [[nodiscard]] static Result<std::shared_ptr<PartitionLog>> open(env::Environment& environment,
                                                                  Identity identity,
                                                                  LogConfig config,
                                                                  OpenOptions options);
  PartitionLog(const PartitionLog&) = delete;
  PartitionLog& operator=(const PartitionLog&) = delete;
  ~PartitionLog();

  // ---- writer: owner loop only ----

  /// Appends batches from a client or coordinator: checks them (CRC, magic 2, offsets 0…n-1,
  /// sequence window, size, timestamps, compaction key), assigns offsets, stamps `epoch`, appends.
  /// Visible to readers on return (one replica: the high watermark follows at once), in the page
  /// cache; durable only after flush(). Errors, nothing appended: CORRUPT_MESSAGE, INVALID_RECORD,
  /// MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, UNSUPPORTED_FOR_MESSAGE_FORMAT, INVALID_TIMESTAMP,
  /// OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, KAFKA_STORAGE_ERROR, system errors
  /// (ENOSPC: the partial write was cut off).
  /// `record_errors` (may be null) receives what is wrong with single records (Produce v8 and
  /// newer).
  [[nodiscard]] Result<AppendInfo> append_as_leader(
      Slice records, LeaderEpoch epoch, AppendOrigin origin,
      std::vector<RecordError>* record_errors = nullptr);
  /// Appends batches as they came, from offset log end on (a gap upwards is legal). Checks length,
  /// magic, CRC (unless `crc_checked`), offsets strictly rising; drops a partial last batch. Bytes
  /// are stored unchanged. Errors: OFFSET_OUT_OF_RANGE if the first batch ends below the log end,
  /// CORRUPT_MESSAGE naming the offset: batches before the bad one are appended, see `appended`.
  struct FollowerAppend {
    FollowerAppend() = default;
    std::size_t bytes = 0;
    std::size_t batches = 0;
    Offset log_end_offset;
    std::optional<Error> error;  ///< why the rest was not appended
  };
  [[nodiscard]] FollowerAppend append_as_follower(const ByteChain& batches, bool crc_checked);
  /// Cuts everything at and above `offset` (decisions 3.14, 3.21). No-op if it is not below the
  /// end. Afterwards epochs, transaction index, producer state, high watermark and checkpoints
  /// agree.
  [[nodiscard]] Result<void> truncate_to(Offset offset);
  /// Drops everything; the log is empty at `offset`.
  [[nodiscard]] Result<void> truncate_fully_and_start_at(Offset offset);
  /// Moves the start up to min(offset, high watermark); whole segments below go (deleted after
  /// file.delete.delay.ms by the disk pool). True if it moved. Error: OFFSET_OUT_OF_RANGE above the
  /// high watermark.
  [[nodiscard]] Result<bool> advance_log_start_offset(Offset offset);
  void update_config(LogConfig config);
  [[nodiscard]] Result<void> roll();
  /// Retention by time and size; returns the number of segments removed. `now_ms`: wall clock.
  [[nodiscard]] Result<int> apply_retention(std::int64_t now_ms);
  /// Expires producers without an open transaction that were idle longer than `expiry_ms`.
  void expire_producers(std::int64_t now_ms, std::int64_t expiry_ms);
  /// Calls `wake` once, on the owner loop, when high watermark, last stable offset or log end moves
  /// beyond what is passed; at once if it already has. Returns an id for remove_waiter.
  WaitId add_waiter(Offset seen_log_end, Offset seen_last_stable, UniqueFunction<void()> wake);
  void remove_waiter(WaitId id);
  /// What flush() will make durable: take it on the owner loop, run it in the disk pool, then tell
  /// the log on the owner loop. Error from run(): the log directory must go offline.
  struct FlushTask {
    FlushTask() = default;
    Offset up_to;
    std::uint64_t generation = 0;  ///< a truncation in between makes the task worthless
    std::vector<std::shared_ptr<env::File>> files;
    std::string directory;  ///< to be synced too; empty: no file was made or renamed
    env::FileSystem* file_system = nullptr;
    [[nodiscard]] Result<void> run() const;
  };
  [[nodiscard]] FlushTask start_flush();
  void flush_done(const FlushTask& task);
  /// Writes epoch file, producer snapshot and index ends for a clean stop. Blocking.
  [[nodiscard]] Result<void> close_clean();
  /// Renames the directory to a name that ends in "-delete" and stops serving; returns the new
  /// path, whose files are to be removed later.
  [[nodiscard]] Result<std::string> schedule_delete();
  /// Stops serving after a disk error in this log directory. Waiters are woken.
  void take_offline(const Error& reason);
  /// Files that retention or truncation renamed to ".deleted" and that may be removed at `now_ms`
  /// (wall clock). The caller removes them, in the disk pool. They are handed out once.
  [[nodiscard]] std::vector<std::string> take_deletable_files(std::int64_t now_ms);
  /// To be told that the checkpoint file now holds recovery point `saved`, taken from this log.
  void recovery_point_saved(Offset saved);
  /// Closes files that nobody read since the last call, so that idle segments hold no descriptor.
  void release_idle_files();

  // ---- reader: any thread ----

  [[nodiscard]] const TopicPartition& topic_partition() const;
  [[nodiscard]] const Uuid& topic_id() const;
  [[nodiscard]] const std::string& directory() const;
  [[nodiscard]] std::shared_ptr<const LogConfig> config() const;
  [[nodiscard]] Offset log_start_offset() const;
  [[nodiscard]] Offset log_end_offset() const;
  [[nodiscard]] Offset high_watermark() const;
  [[nodiscard]] Offset last_stable_offset() const;
  [[nodiscard]] Offset recovery_point() const;  ///< everything below is durable
  /// After a truncation: what any checkpoint of this log may count up to. Nothing once
  /// recovery_point_saved() was called for a point from after it.
  [[nodiscard]] std::optional<Offset> checkpoint_limit() const;
  [[nodiscard]] std::uint64_t size_bytes() const;
  [[nodiscard]] std::size_t segment_count() const;
  /// False after a disk error or delete; reads and appends then fail with KAFKA_STORAGE_ERROR.
  [[nodiscard]] bool is_online() const;
  /// Batches from the first whose last offset >= from, up to the isolation's limit. Error:
  /// OFFSET_OUT_OF_RANGE below the start or above the log end.
  [[nodiscard]] Result<ReadResult> read(const ReadRequest& request) const;
  /// First record with timestamp >= `timestamp_ms` below `limit`; epoch and offset -1 if none.
  [[nodiscard]] Result<TimestampAndOffset> offset_for_timestamp(std::int64_t timestamp_ms,
                                                                Offset limit) const;
  /// The first offset that has the greatest timestamp (KIP-734).
  [[nodiscard]] Result<TimestampAndOffset> offset_for_max_timestamp() const;
  /// KIP-279's answer: the greatest epoch <= `epoch` and where it ends.
  [[nodiscard]] EpochAndEndOffset end_offset_for_epoch(LeaderEpoch epoch) const;
  [[nodiscard]] std::optional<LeaderEpoch> epoch_for_offset(Offset offset) const;
  [[nodiscard]] LeaderEpoch latest_epoch() const;  ///< -1 if the log has none
  [[nodiscard]] std::vector<EpochEntry> epoch_entries() const;
  /// Producers as of the last append, by id. Owner loop only.
  [[nodiscard]] std::vector<ActiveProducer> active_producers() const;
  /// Open transactions: producers whose first offset is set, by first offset. Owner loop only.
  [[nodiscard]] std::vector<ActiveProducer> open_transactions() const;
  /// The greatest producer id ever seen in this log (kept across truncation), -1 if none.
  [[nodiscard]] ProducerId max_producer_id_seen() const;

 private:
  explicit PartitionLog(std::unique_ptr<Impl> impl);
  friend struct PartitionLogInside;  // the cleaner's door, inside the room
  std::unique_ptr<Impl> impl_;
};

}  // namespace kmirror::storage
