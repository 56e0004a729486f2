// What the mirror tool prints: tables and JSON in the KIP's forms. Pure: values in, text out.
// Sources: spec H (columns, widths, messages of kafka-cluster-mirrors.sh).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kmirror::cli {

struct MirrorRow {
  MirrorRow() = default;
  std::string mirror;
  std::int32_t topic_count = 0;
  std::string source_cluster_id;
  std::string source_bootstrap;
};

struct PartitionRow {
  PartitionRow() = default;
  std::string mirror;
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t source_offset = -1;       ///< source high watermark, -1: not known
  std::int64_t destination_offset = -1;  ///< log end here, -1: not known
  std::string state;
  std::int16_t retry_attempt = 0;  ///< -1: not retried
  std::optional<std::string> error;
  /// Source minus destination, never below 0; -1 if either is not known.
  [[nodiscard]] std::int64_t lag() const;
};

/// Left-aligned in `width` columns; a longer text keeps its right end after "...".
[[nodiscard]] std::string column(std::string_view text, std::size_t width);

/// Rows are sorted by mirror (and topic, partition). Each table ends with a line break.
[[nodiscard]] std::string list_table(std::vector<MirrorRow> rows);
[[nodiscard]] std::string describe_table(std::vector<PartitionRow> rows);
/// `max_attempts` is the broker's mirror.failed.retry.max.attempts.
[[nodiscard]] std::string failed_table(std::vector<PartitionRow> rows, std::int32_t max_attempts);
/// A flat array, one object a partition; "[]" for none.
[[nodiscard]] std::string describe_json(std::vector<PartitionRow> rows);
/// "[a, b]" as Java prints a list.
[[nodiscard]] std::string java_list(const std::vector<std::string>& items);

}  // namespace kmirror::cli
