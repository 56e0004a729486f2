// Kafka's checkpoint files: a version line "0", a line with the number of entries, one line an
// entry. Sources: Kafka 4.4 CheckpointFile, OffsetCheckpointFile; docs/formats/log.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/env/file.h"
#include "kmirror/model/types.h"

namespace kmirror::storage {

/// The largest checkpoint we read: 100,000 partitions of 270 bytes each.
inline constexpr std::size_t kMaxCheckpointBytes = 27'000'000;

[[nodiscard]] std::string checkpoint_text(const std::vector<std::string>& lines);
/// The entry lines. Error (kBadValue): wrong version, or not as many lines as it says.
[[nodiscard]] Result<std::vector<std::string>> parse_checkpoint(std::string_view text);
/// Splits at runs of spaces.
[[nodiscard]] std::vector<std::string_view> split_fields(std::string_view line);
/// A decimal number from 0 to `max`, or nothing.
[[nodiscard]] std::optional<std::int64_t> parse_number(std::string_view text, std::int64_t max);

using OffsetCheckpoint = std::map<TopicPartition, Offset>;

/// Lines "topic partition offset".
[[nodiscard]] std::string to_text(const OffsetCheckpoint& offsets);
[[nodiscard]] Result<OffsetCheckpoint> parse_offset_checkpoint(std::string_view text);
/// The checkpoint at `path`. A file that is not there or cannot be understood counts as empty, with
/// one warning for the latter: the log itself tells the rest. Errors: the disk's.
[[nodiscard]] Result<OffsetCheckpoint> read_offset_checkpoint(env::FileSystem& files,
                                                              const std::string& path);

}  // namespace kmirror::storage
