// Names of the files of one partition directory, and the place they lie in.
// Sources: Kafka 4.4 LogFileUtils, UnifiedLog; docs/formats/log.md.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kmirror/env/file.h"
#include "kmirror/model/types.h"

namespace kmirror::storage {

inline constexpr std::string_view kLogSuffix = ".log";
inline constexpr std::string_view kOffsetIndexSuffix = ".index";
inline constexpr std::string_view kTimeIndexSuffix = ".timeindex";
inline constexpr std::string_view kTransactionIndexSuffix = ".txnindex";
inline constexpr std::string_view kSnapshotSuffix = ".snapshot";
/// An empty file whose name says: checkpoints from before a truncation count only up to this
/// offset.
inline constexpr std::string_view kUnsyncedSuffix = ".unsynced";
// Second suffixes, after one of the above.
inline constexpr std::string_view kDeletedSuffix = ".deleted";
inline constexpr std::string_view kCleanedSuffix = ".cleaned";
inline constexpr std::string_view kSwapSuffix = ".swap";
/// Names the segments that a swap file stands for; see docs/formats/log.md.
inline constexpr std::string_view kMergedSuffix = ".merged";
inline constexpr std::string_view kEpochFileName = "leader-epoch-checkpoint";
inline constexpr std::string_view kPartitionMetadataName = "partition.metadata";

/// The directory of a partition, shared by its segments. Outlived by the file system.
struct LogPlace {
  LogPlace(env::FileSystem& f, std::string d, bool s)
      : files(f), directory(std::move(d)), secret(s) {}
  env::FileSystem& files;
  std::string directory;
  bool secret;  ///< files get mode 0600

  [[nodiscard]] std::string path(std::string_view name) const {
    return directory + '/' + std::string(name);
  }
  /// "<directory>/<offset in 20 digits><suffix>"
  [[nodiscard]] std::string path(Offset base, std::string_view suffix) const;
};

struct SegmentFileName {
  SegmentFileName() = default;
  Offset base;
  std::string_view suffix;  ///< from the first dot on, a view into the parsed name
};
/// Nothing if `name` does not start with exactly 20 digits of an offset and a dot.
[[nodiscard]] std::optional<SegmentFileName> parse_segment_file_name(std::string_view name);

}  // namespace kmirror::storage
