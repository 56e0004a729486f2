#include "cli/partition_reader.h"

#include <fmt/format.h>

#include "kmirror/wire/fetch_request.h"
#include "kmirror/wire/fetch_response.h"
#include "kmirror/wire/list_offsets_request.h"
#include "kmirror/wire/list_offsets_response.h"

namespace kmirror::cli {
namespace {

constexpr std::int32_t kFirstMaxBytes = 4 << 20;
constexpr std::int32_t kLastMaxBytes = 256 << 20;
constexpr std::int64_t kEarliest = -2;
constexpr std::int64_t kLatest = -1;
// By topic name: works with every broker, ids or not.
constexpr ApiVersion kFetchByName{12};

env::Awaitable<Result<Offset>> list_offset(client::AdminClient& admin, NodeId leader,
                                           TopicPartition partition, std::int64_t timestamp) {
  wire::ListOffsetsRequest request;
  request.replica_id = NodeId(-1);
  wire::ListOffsetsRequest::ListOffsetsTopic topic;
  topic.name = partition.topic;
  wire::ListOffsetsRequest::ListOffsetsPartition item;
  item.partition_index = partition.partition;
  item.timestamp = timestamp;
  topic.partitions.push_back(std::move(item));
  request.topics.push_back(std::move(topic));
  KM_CO_TRY(response, co_await admin.call_on(leader, std::move(request)));
  if (response.topics.size() != 1 || response.topics.front().partitions.size() != 1) {
    co_return kafka_error(ErrorCode::UNKNOWN_SERVER_ERROR,
                          fmt::format("ListOffsets for {}: no answer in the response", partition));
  }
  const auto& answer = response.topics.front().partitions.front();
  if (answer.error_code != ErrorCode::NONE) {
    co_return kafka_error(answer.error_code,
                          fmt::format("ListOffsets for {}: {}", partition, answer.error_code));
  }
  co_return answer.offset;
}

}  // namespace

env::Awaitable<Result<PartitionEnds>> partition_ends(client::AdminClient& admin, NodeId leader,
                                                     TopicPartition partition) {
  PartitionEnds ends;
  KM_CO_TRY(start, co_await list_offset(admin, leader, partition, kEarliest));
  ends.start = start;
  KM_CO_TRY(end, co_await list_offset(admin, leader, partition, kLatest));
  ends.end = end;
  co_return ends;
}

PartitionReader::PartitionReader(client::AdminClient& admin, NodeId leader,
                                 TopicPartition partition, PartitionEnds ends)
    : admin_(admin),
      leader_(leader),
      partition_(std::move(partition)),
      ends_(ends),
      position_(ends.start),
      max_bytes_(kFirstMaxBytes) {}

env::Awaitable<Result<std::optional<RecordBatchView>>> PartitionReader::next() {
  while (batches_.empty() && position_ < ends_.end) {
    KM_CO_TRY_VOID(co_await fetch());
  }
  if (batches_.empty()) co_return std::optional<RecordBatchView>();
  RecordBatchView batch = batches_.front();
  batches_.pop_front();
  co_return std::optional<RecordBatchView>(std::move(batch));
}

env::Awaitable<Result<void>> PartitionReader::fetch() {
  wire::FetchRequest request;
  request.max_wait_ms = 500;
  request.min_bytes = 1;
  request.max_bytes = max_bytes_;
  wire::FetchRequest::FetchTopic topic;
  topic.topic = partition_.topic;
  wire::FetchRequest::FetchPartition item;
  item.partition = partition_.partition;
  item.fetch_offset = position_;
  item.partition_max_bytes = max_bytes_;
  topic.partitions.push_back(std::move(item));
  request.topics.push_back(std::move(topic));
  KM_CO_TRY(response, co_await admin_.call_on(leader_, std::move(request), kFetchByName));
  if (response.error_code != ErrorCode::NONE || response.responses.size() != 1 ||
      response.responses.front().partitions.size() != 1) {
    co_return kafka_error(response.error_code,
                          fmt::format("Fetch of {}: {}", partition_, response.error_code));
  }
  const auto& data = response.responses.front().partitions.front();
  if (data.error_code != ErrorCode::NONE) {
    co_return kafka_error(data.error_code, fmt::format("Fetch of {} at {}: {}", partition_,
                                                       position_, data.error_code));
  }
  KM_CO_TRY(bytes, data.records.value_or(ByteChain()).flatten());
  BatchIterator iterator(bytes);
  const Offset before = position_;
  while (true) {
    KM_CO_TRY(batch, iterator.next());
    if (!batch) break;
    if (batch->next_offset() <= position_) continue;
    if (position_ >= ends_.end) break;
    position_ = batch->next_offset();
    batches_.push_back(std::move(*batch));
  }
  // A batch bigger than the limit on a broker that cuts it: ask for more.
  if (position_ == before && bytes.size() > 0 && max_bytes_ < kLastMaxBytes) max_bytes_ *= 2;
  // Nothing at all below the high watermark: compacted away up to the end.
  if (position_ == before && bytes.size() == 0) position_ = ends_.end;
  co_return Result<void>();
}

}  // namespace kmirror::cli
