// MetadataLog: __cluster_metadata-0 of one daemon: a partition log and its snapshots.
// Owner: loop 0, except open() (start-up) and what is marked "disk pool".
// Invariants: one command's records are one batch; the log starts at or below the newest snapshot's
// end; every file has mode 0600, for configurations hold secrets.
// Sources: KIP-595, KIP-630; Kafka 4.4 KafkaRaftLog; decisions 3.17, 3.20;
// docs/formats/metadata.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kmirror/env/environment.h"
#include "kmirror/storage/partition_log.h"
#include "metadata/snapshot.h"

namespace kmirror::metadata {

class MetadataLog {
 public:
  /// Opens or makes the log in `directory`/__cluster_metadata-0, and replays snapshot and log into
  /// `builder`. Everything replayed is durable on return. Blocking. Errors: as
  /// EmbeddedEngine::open.
  [[nodiscard]] static Result<std::unique_ptr<MetadataLog>> open(env::Environment& environment,
                                                                 const std::string& directory,
                                                                 std::int64_t segment_bytes,
                                                                 ImageBuilder& builder);

  /// Appends one batch. In the page cache on return, durable after a flush. Error: ENOSPC, and
  /// nothing was appended; others take the log offline.
  [[nodiscard]] Result<void> append(const std::vector<Slice>& records, std::int64_t timestamp_ms);
  [[nodiscard]] storage::PartitionLog& log() { return *log_; }
  [[nodiscard]] bool is_online() const { return log_->is_online(); }
  [[nodiscard]] std::uint64_t bytes_since_snapshot() const { return bytes_since_snapshot_; }

  /// What a snapshot of `image` needs to be written in the disk pool.
  struct SnapshotTask {
    SnapshotTask() = default;
    SnapshotId id;
    std::int64_t last_timestamp_ms = 0;
    std::uint64_t bytes_before = 0;
  };
  /// Begins a new segment, so that the ones below the snapshot can go, and counts anew.
  [[nodiscard]] Result<SnapshotTask> start_snapshot(const MetadataImage& image);
  /// Disk pool.
  [[nodiscard]] Result<std::uint64_t> write(const SnapshotTask& task,
                                            const MetadataImage& image) const;
  /// After write(): drops the segments below. Returns files that may be removed, in the disk pool.
  [[nodiscard]] Result<std::vector<std::string>> snapshot_written(const SnapshotTask& task);
  /// The snapshot failed: its records count again towards the next one.
  void snapshot_failed(const SnapshotTask& task) { bytes_since_snapshot_ += task.bytes_before; }

  /// Blocking; nothing may be appended afterwards.
  [[nodiscard]] Result<void> close() { return log_->close_clean(); }

 private:
  MetadataLog(env::Environment& environment, std::string directory)
      : environment_(environment), directory_(std::move(directory)) {}
  [[nodiscard]] Result<Offset> load_newest_snapshot(ImageBuilder& builder);
  [[nodiscard]] Result<void> open_log(Offset start, std::int64_t segment_bytes);
  [[nodiscard]] Result<void> replay(Offset from, ImageBuilder& builder);
  [[nodiscard]] Result<void> replay_batch(const RecordBatchView& batch, Offset expected,
                                          ImageBuilder& builder);

  env::Environment& environment_;
  std::string directory_;  ///< …/__cluster_metadata-0
  std::shared_ptr<storage::PartitionLog> log_;
  std::vector<SnapshotId> snapshots_;  ///< oldest first
  std::uint64_t bytes_since_snapshot_ = 0;
  std::int64_t last_timestamp_ms_ = 0;
};

}  // namespace kmirror::metadata
