// ProgressView: what `kmirror progress` shows, from two looks at a mirror. Pure: values in, text
// out.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace kmirror::cli {

struct TopicProgress {
  TopicProgress() = default;
  std::int64_t source_records = 0;    ///< sum of source offsets that are known
  std::int64_t mirrored_records = 0;  ///< sum of destination offsets that are known
  std::int32_t partitions = 0;
  std::int32_t mirroring = 0;  ///< partitions in state MIRRORING with known offsets
  std::int32_t failed = 0;
  [[nodiscard]] std::int64_t lag() const;
};

/// One look at a mirror.
struct ProgressSample {
  ProgressSample() = default;
  double seconds = 0;      ///< since the first look
  std::int64_t bytes = 0;  ///< of all its logs
  std::map<std::string, TopicProgress> topics;
  [[nodiscard]] std::int64_t source_records() const;
  [[nodiscard]] std::int64_t mirrored_records() const;
  [[nodiscard]] std::int64_t lag() const;
  /// Every partition is in MIRRORING and nothing is missing.
  [[nodiscard]] bool caught_up() const;
  [[nodiscard]] bool any_failed() const;
};

/// One line without line break: records, share, MB/s, lag per topic that has any.
[[nodiscard]] std::string plain_line(const ProgressSample& before, const ProgressSample& now);
/// The same for a terminal: a bar of `width` cells, then records, MB/s and lag.
[[nodiscard]] std::string bar_line(const ProgressSample& before, const ProgressSample& now,
                                   int width);

}  // namespace kmirror::cli
