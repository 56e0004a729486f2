// PartitionReader: the batches of one partition of a cluster, one after the other, as stored.
// Owner: the command's task.
#pragma once

#include <deque>
#include <optional>

#include "cli/command.h"
#include "kmirror/model/record_batch.h"

namespace kmirror::cli {

struct PartitionEnds {
  PartitionEnds() = default;
  Offset start;
  Offset end;  ///< the high watermark
};
/// Log start and end of a partition, asked of its leader. Errors: the network's; the broker's code.
[[nodiscard]] env::Awaitable<Result<PartitionEnds>> partition_ends(client::AdminClient& admin,
                                                                   NodeId leader,
                                                                   TopicPartition partition);

class PartitionReader {
 public:
  /// Reads from `ends.start` up to `ends.end`. `admin` outlives the reader.
  PartitionReader(client::AdminClient& admin, NodeId leader, TopicPartition partition,
                  PartitionEnds ends);
  /// The next whole batch, nothing at the end. Errors: the network's; the broker's code; broken
  /// bytes.
  [[nodiscard]] env::Awaitable<Result<std::optional<RecordBatchView>>> next();

 private:
  [[nodiscard]] env::Awaitable<Result<void>> fetch();

  client::AdminClient& admin_;
  NodeId leader_;
  TopicPartition partition_;
  PartitionEnds ends_;
  Offset position_;
  std::int32_t max_bytes_;
  std::deque<RecordBatchView> batches_;
};

}  // namespace kmirror::cli
