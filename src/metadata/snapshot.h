// Snapshots of the metadata: files <end offset>-<epoch>.checkpoint beside the log, in Kafka's
// format: a header control batch, batches of records, a footer control batch. Owner: writing: a
// disk pool thread, on an immutable image; reading: start-up. Invariants: a file under its final
// name is whole and durable; it is never changed. Sources: KIP-630; Kafka 4.4 Snapshots,
// RecordsSnapshotWriter; docs/formats/metadata.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/bytes/slice.h"
#include "kmirror/env/file.h"
#include "kmirror/metadata/image.h"
#include "metadata/image_builder.h"

namespace kmirror::metadata {

struct SnapshotId {
  SnapshotId() = default;
  SnapshotId(Offset end, LeaderEpoch e) : end_offset(end), epoch(e) {}
  Offset end_offset;  ///< the first offset that is not in it
  LeaderEpoch epoch;
  [[nodiscard]] std::string file_name() const;
  /// Nothing for another kind of file.
  [[nodiscard]] static std::optional<SnapshotId> parse(std::string_view file_name);
  friend auto operator<=>(const SnapshotId&, const SnapshotId&) = default;
};

/// Calls `take` with every record that leads to `image`, in an order that can be replayed.
void for_each_record(const MetadataImage& image, const std::function<void(const Slice&)>& take);

/// Writes the snapshot of `image` into `directory`, mode 0600, durable on return. Blocking. Returns
/// its size in bytes. Errors: the system's; a half-written file keeps another name.
[[nodiscard]] Result<std::uint64_t> write_snapshot(env::FileSystem& files,
                                                   const std::string& directory, SnapshotId id,
                                                   const MetadataImage& image,
                                                   std::int64_t last_timestamp_ms);

/// Replays the snapshot into `builder`, which must be empty. Blocking. Errors: CORRUPT_MESSAGE
/// naming the file and what is wrong (checksum, header or footer missing, record out of place);
/// those of ImageBuilder::replay.
[[nodiscard]] Result<void> read_snapshot(env::FileSystem& files, const std::string& directory,
                                         SnapshotId id, ImageBuilder& builder);

/// The snapshots in `directory`, oldest first. Half-written ones are removed. Blocking.
[[nodiscard]] Result<std::vector<SnapshotId>> find_snapshots(env::FileSystem& files,
                                                             const std::string& directory);

}  // namespace kmirror::metadata
