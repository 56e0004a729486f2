// Sample data for a first look: six topics that cover what a mirror must copy.
// Pure: makes batches; sending them is the command's work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/model/record_batch.h"

namespace kmirror::cli {

struct SampleTopic {
  SampleTopic() = default;
  SampleTopic(std::string topic_name, Compression codec, bool compact)
      : name(std::move(topic_name)), compression(codec), compacted(compact) {}
  std::string name;
  Compression compression = Compression::kNone;
  bool compacted = false;  ///< keys repeat, so that the cleaner leaves gaps
};

inline constexpr std::int32_t kSamplePartitions = 4;  ///< of each topic: 24 in all

/// sample-plain, -gzip, -snappy, -lz4, -zstd and -compacted.
[[nodiscard]] const std::vector<SampleTopic>& sample_topics();

/// One Produce batch of `count` records, the first of which is number `first` of its partition. The
/// same arguments give the same bytes. Values are orders as JSON, 120 to 400 bytes; every tenth
/// record has headers.
[[nodiscard]] Result<Slice> sample_batch(const SampleTopic& topic, std::int32_t partition,
                                         std::int64_t first, std::int64_t count,
                                         std::int64_t base_timestamp_ms);

}  // namespace kmirror::cli
