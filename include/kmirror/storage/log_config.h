// LogConfig: the topic settings a partition log needs, already resolved and checked.
// Sources: Kafka 4.4 TopicConfig, LogConfig.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "kmirror/model/record_batch.h"

namespace kmirror::storage {

struct LogConfig {
  LogConfig() = default;
  std::int64_t segment_bytes = 1'073'741'824;
  std::int64_t segment_ms = 604'800'000;
  std::int64_t segment_index_bytes = 10'485'760;
  std::int64_t index_interval_bytes = 4096;
  std::int64_t retention_ms = 604'800'000;  ///< -1: no limit
  std::int64_t retention_bytes = -1;        ///< -1: no limit
  std::int64_t max_message_bytes = 1'048'588;
  bool cleanup_compact = false;
  bool cleanup_delete = true;
  double min_cleanable_dirty_ratio = 0.5;
  std::int64_t min_compaction_lag_ms = 0;
  std::int64_t max_compaction_lag_ms = std::numeric_limits<std::int64_t>::max();
  std::int64_t delete_retention_ms = 86'400'000;
  std::int64_t file_delete_delay_ms = 60'000;
  TimestampType timestamp_type = TimestampType::kCreateTime;
  std::int64_t timestamp_before_max_ms = std::numeric_limits<std::int64_t>::max();
  std::int64_t timestamp_after_max_ms = 3'600'000;
  std::string compression_type = "producer";
  /// A mirror that is not STOPPED: retention by time and size waits, the start follows the source,
  /// producer state is tracked but never refuses (decisions 3.8, 3.14).
  bool is_mirror = false;
  friend bool operator==(const LogConfig&, const LogConfig&) = default;
};

}  // namespace kmirror::storage
