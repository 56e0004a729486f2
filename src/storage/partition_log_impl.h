// PartitionLog::Impl: the state of one log and the steps that change it, one file a concern:
// log_open, log_recovery (start), log_append, log_append_leader (writing), log_read, log_time
// (reading), log_truncate, log_retention, log_flush.
// Owner: the log's loop, except for what is marked "any thread".
// Invariants: see partition_log.h. `segments` is the loop's own copy of the published view.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kmirror/base/published.h"
#include "kmirror/storage/partition_log.h"
#include "storage/leader_epoch_cache.h"
#include "storage/producer_state.h"
#include "storage/segment.h"

namespace kmirror::storage {

/// True for "the disk is full": the log stays online and the caller may try again.
[[nodiscard]] bool is_no_space(const Error& error);
/// True for "the file is not there".
[[nodiscard]] bool is_not_found(const Error& error);

class PartitionLog::Impl {
 public:
  using Segments = std::vector<std::shared_ptr<Segment>>;

  Impl(env::Environment& environment, Identity id, LogConfig config_value);

  // ---- log_open.cc ----
  [[nodiscard]] Result<void> open(OpenOptions options);
  [[nodiscard]] Result<void> load_segments();
  [[nodiscard]] Result<void> check_partition_metadata();
  [[nodiscard]] Result<void> load_epochs(bool clean);
  [[nodiscard]] Result<Offset> read_log_end() const;
  [[nodiscard]] Result<void> start_empty_at(Offset offset);

  // ---- log_recovery.cc ----
  /// Checks the tail from the recovery point on and cuts it at the first broken batch; after a
  /// clean stop only indexes that are not there are made again. Returns the offset from which on
  /// transaction indexes have to be made again.
  [[nodiscard]] Result<Offset> recover(Offset recovery_point, bool clean);
  [[nodiscard]] bool index_is_missing(const Segment& segment) const;
  [[nodiscard]] Result<bool> tail_is_sound(const Segment& segment, Offset next_base) const;
  /// Loads the newest snapshot at or below `snapshot_limit` and replays the log from there to
  /// `end`. Aborted transactions that a transaction index lacks at its end are added to it.
  [[nodiscard]] Result<void> rebuild_producers(Offset snapshot_limit, Offset end);
  [[nodiscard]] Result<Offset> load_newest_snapshot(Offset limit);
  /// Whether the epoch entries agree with the log; if not, they are made again from it.
  [[nodiscard]] Result<void> verify_epochs(LeaderEpochCache::Entries entries, Offset end);

  // ---- log_append.cc ----
  [[nodiscard]] FollowerAppend append_as_follower(const ByteChain& batches, bool crc_checked);
  [[nodiscard]] Result<void> append_follower_slice(const Slice& slice, bool crc_checked,
                                                   FollowerAppend& out);
  /// Appends batches whose bytes are `bytes`, in order, rolling where needed. `batches[i].position`
  /// counts from the start of `bytes`. One vectored write a segment.
  [[nodiscard]] Result<void> append_batches(const ByteChain& bytes,
                                            std::span<BatchSummary> batches);
  [[nodiscard]] Result<void> write_run(ByteChain bytes, std::span<BatchSummary> batches);
  [[nodiscard]] Result<bool> must_roll(const BatchSummary& next, std::uint64_t segment_bytes,
                                       std::int64_t first_timestamp_ms);
  [[nodiscard]] Result<void> start_before(Offset base);
  void note_batch(const BatchSummary& batch);
  void publish_end(Offset end);
  [[nodiscard]] Result<void> roll(Offset base);
  /// Index entries that were kept in memory long enough move to their files.
  void spill_indexes();

  // ---- log_append_leader.cc ----
  [[nodiscard]] Result<AppendInfo> append_as_leader(const Slice& records, LeaderEpoch epoch,
                                                    AppendOrigin origin,
                                                    std::vector<RecordError>* record_errors);

  // ---- log_read.cc (any thread) ----
  [[nodiscard]] Result<ReadResult> read(const ReadRequest& request) const;
  [[nodiscard]] Result<ReadResult> read_in(const LogView& view, const ReadRequest& request) const;
  [[nodiscard]] Result<std::vector<AbortedTransaction>> aborted_between(const LogView& view,
                                                                        std::size_t first_segment,
                                                                        Offset from,
                                                                        Offset upper) const;
  // ---- log_time.cc (any thread) ----
  [[nodiscard]] Result<TimestampAndOffset> offset_for_timestamp(std::int64_t timestamp_ms,
                                                                Offset limit) const;
  [[nodiscard]] Result<TimestampAndOffset> offset_for_max_timestamp() const;

  // ---- log_truncate.cc ----
  [[nodiscard]] Result<void> truncate_to(Offset offset);
  [[nodiscard]] Result<void> truncate_fully_and_start_at(Offset offset);
  [[nodiscard]] Result<void> cut_segments(Offset offset);
  [[nodiscard]] Result<void> remove_snapshots_above(Offset offset);
  /// What every truncation ends with: markers, syncs, published offsets, waiters.
  [[nodiscard]] Result<void> finish_truncation(Offset new_end);
  [[nodiscard]] Result<void> mark_checkpoint_limit(Offset limit);
  void recovery_point_saved(Offset saved);

  // ---- log_retention.cc ----
  [[nodiscard]] Result<bool> advance_log_start_offset(Offset offset);
  [[nodiscard]] Result<int> apply_retention(std::int64_t now_ms);
  [[nodiscard]] Result<std::size_t> expired_segments(std::int64_t now_ms,
                                                     std::int64_t retention_ms);
  /// Takes the first `count` segments out of the log; their files wait under ".deleted".
  [[nodiscard]] Result<void> remove_oldest(std::size_t count);
  [[nodiscard]] Result<void> retire_files(const Segment& segment);
  [[nodiscard]] std::vector<std::string> take_deletable_files(std::int64_t now_ms);
  void release_idle_files();

  // ---- log_flush.cc ----
  [[nodiscard]] FlushTask start_flush();
  void flush_done(const FlushTask& task);
  [[nodiscard]] Result<void> close_clean();
  [[nodiscard]] Result<std::string> schedule_delete();
  [[nodiscard]] Result<void> write_snapshot(Offset offset);
  [[nodiscard]] Result<void> write_epochs();
  /// Replaces a small file without waiting for the disk.
  [[nodiscard]] Result<void> replace_file(const std::string& path, ByteSpan bytes);

  // ---- shared ----
  [[nodiscard]] Error offline_error() const;
  /// ENOSPC passes through; any other disk error takes the log offline.
  void fail(const Error& error);
  void take_offline(const Error& reason);
  void publish_view();
  void update_last_stable();
  void wake_waiters(bool all);
  [[nodiscard]] std::shared_ptr<Segment>& active() { return segments.back(); }
  [[nodiscard]] Offset end() const { return Offset(log_end.load(std::memory_order_acquire)); }
  [[nodiscard]] Offset start() const { return Offset(log_start.load(std::memory_order_acquire)); }
  [[nodiscard]] std::string name() const;

  env::Environment& env;
  Identity identity;
  std::shared_ptr<const LogPlace> place;
  std::function<void(const Error&)> on_offline;
  std::function<void(Offset)> on_truncated;

  // Any thread.
  Published<LogConfig> config;
  Published<LogView> view;
  LeaderEpochCache epochs;
  std::atomic<std::int64_t> log_start{0};
  std::atomic<std::int64_t> log_end{0};
  std::atomic<std::int64_t> high_watermark{0};
  std::atomic<std::int64_t> last_stable{0};
  std::atomic<std::int64_t> recovery_point{0};
  std::atomic<std::int64_t> max_producer_id{-1};
  /// Set by a truncation until a recovery point from after it is in the checkpoint file.
  static constexpr Offset kNoLimit{std::numeric_limits<std::int64_t>::max()};
  std::atomic<std::int64_t> checkpoint_limit{kNoLimit.get()};
  std::atomic<std::uint64_t> size_bytes{0};
  std::atomic<bool> online{true};

  // The log's loop.
  Segments segments;
  ProducerState producers;
  std::set<Offset> snapshots;
  struct Waiter {
    Waiter() = default;
    Offset seen_log_end;
    Offset seen_last_stable;
    UniqueFunction<void()> wake;
  };
  std::map<WaitId, Waiter> waiters;
  WaitId next_wait_id = 1;
  struct Garbage {
    Garbage() = default;
    std::int64_t due_ms = 0;
    std::vector<std::string> paths;
  };
  std::vector<Garbage> garbage;
  /// Counts truncations: a flush that began before one proves nothing after it.
  std::uint64_t generation = 1;
  bool directory_dirty = true;
  bool epochs_need_sync = false;
  bool warned_of_future_time = false;
  /// What the segments below the active one hold, so that the total need not be added up anew.
  std::uint64_t sealed_bytes = 0;
};

/// The cleaner's door to a log.
struct PartitionLogInside {
  [[nodiscard]] static PartitionLog::Impl& of(PartitionLog& log) { return *log.impl_; }
};

}  // namespace kmirror::storage
