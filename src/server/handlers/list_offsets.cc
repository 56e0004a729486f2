#include "server/handlers/list_offsets.h"

#include <algorithm>
#include <set>
#include <utility>

#include "server/handlers/leader_epochs.h"

namespace kmirror::server {
namespace {

constexpr ApiVersion kFirstWithEpoch{4};
constexpr std::int8_t kReadCommitted = 1;

// Timestamps with a meaning of their own, and the first version that knows them.
constexpr std::int64_t kLatest = -1;
constexpr std::int64_t kEarliest = -2;
constexpr std::int64_t kMaxTimestamp = -3;
constexpr std::int64_t kEarliestLocal = -4;
constexpr std::int64_t kLatestTiered = -5;
constexpr std::int64_t kEarliestPendingUpload = -6;

bool version_knows(std::int64_t timestamp, ApiVersion version) {
  switch (timestamp) {
    case kLatest:
    case kEarliest:
      return true;
    case kMaxTimestamp:
      return version >= ApiVersion(7);
    case kEarliestLocal:
      return version >= ApiVersion(8);
    case kLatestTiered:
      return version >= ApiVersion(9);
    case kEarliestPendingUpload:
      return version >= ApiVersion(11);
    default:
      return timestamp >= 0;
  }
}

using Asked = wire::ListOffsetsRequest::ListOffsetsPartition;
using Told = wire::ListOffsetsResponse::ListOffsetsPartitionResponse;

Result<storage::TimestampAndOffset> position(const FoundPartition& found, std::int64_t timestamp,
                                             bool committed) {
  const storage::PartitionLog& log = *found.log;
  const Offset limit = committed ? log.last_stable_offset() : log.high_watermark();
  storage::TimestampAndOffset answer;  // -1 everywhere: nothing found
  switch (timestamp) {
    case kLatest:
      answer.offset = limit;
      answer.epoch = found.leader_epoch;
      return answer;
    case kEarliest:
    case kEarliestLocal:
      answer.offset = log.log_start_offset();
      answer.epoch = epoch_at(log, found.leader_epoch, answer.offset);
      return answer;
    case kMaxTimestamp:
      return log.offset_for_max_timestamp();
    case kLatestTiered:
    case kEarliestPendingUpload:
      return answer;  // nothing is ever tiered here
    default:
      return log.offset_for_timestamp(timestamp, limit);
  }
}

void fill(Told& entry, const Asked& asked, const FoundPartition& found, bool committed,
          ApiVersion version) {
  auto answer = position(found, asked.timestamp, committed);
  if (!answer) {
    entry.error_code = to_kafka_error(answer.error());
    return;
  }
  entry.offset = answer->offset;
  entry.timestamp = answer->timestamp_ms;
  if (version >= kFirstWithEpoch) entry.leader_epoch = answer->epoch;
}

wire::ListOffsetsResponse list(const ListOffsetsDeps& deps, const wire::ListOffsetsRequest& request,
                               ApiVersion version) {
  const auto image = deps.metadata.image();
  const bool committed = request.isolation_level == kReadCommitted;
  std::set<TopicPartition> seen;
  std::set<TopicPartition> twice;
  for (const auto& topic : request.topics) {
    for (const auto& asked : topic.partitions) {
      TopicPartition place(topic.name, asked.partition_index);
      if (!seen.insert(place).second) twice.insert(std::move(place));
    }
  }
  wire::ListOffsetsResponse response;
  for (const auto& topic : request.topics) {
    auto& answers = response.topics.emplace_back();
    answers.name = topic.name;
    for (const auto& asked : topic.partitions) {
      auto& entry = answers.partitions.emplace_back();
      entry.partition_index = asked.partition_index;
      if (twice.contains(TopicPartition(topic.name, asked.partition_index))) {
        entry.error_code = ErrorCode::INVALID_REQUEST;
        continue;
      }
      if (!version_knows(asked.timestamp, version)) {
        entry.error_code = ErrorCode::UNSUPPORTED_VERSION;
        continue;
      }
      const FoundPartition found = deps.finder.find(
          *image, TopicKey::named(topic.name), asked.partition_index, asked.current_leader_epoch);
      entry.error_code = found.error;
      if (found.error == ErrorCode::NONE) fill(entry, asked, found, committed, version);
    }
  }
  return response;
}

bool reads_segments(const wire::ListOffsetsRequest& request) {
  for (const auto& topic : request.topics) {
    for (const auto& asked : topic.partitions) {
      if (asked.timestamp >= 0 || asked.timestamp == kMaxTimestamp) return true;
    }
  }
  return false;
}

}  // namespace

void handle_list_offsets(const ListOffsetsDeps& deps, const RequestContext& context,
                         wire::ListOffsetsRequest request, Reply<wire::ListOffsetsResponse> reply) {
  if (!reads_segments(request)) return reply(list(deps, request, context.version));
  deps.disk.submit([deps, request = std::move(request), version = context.version,
                    reply = std::move(reply)]() mutable { reply(list(deps, request, version)); });
}

void handle_offset_for_leader_epoch(const ListOffsetsDeps& deps, const RequestContext&,
                                    wire::OffsetForLeaderEpochRequest request,
                                    Reply<wire::OffsetForLeaderEpochResponse> reply) {
  const auto image = deps.metadata.image();
  wire::OffsetForLeaderEpochResponse response;
  for (const auto& topic : request.topics) {
    auto& answers = response.topics.emplace_back();
    answers.topic = topic.topic;
    for (const auto& asked : topic.partitions) {
      auto& entry = answers.partitions.emplace_back();
      entry.partition = asked.partition;
      const FoundPartition found = deps.finder.find(*image, TopicKey::named(topic.topic),
                                                    asked.partition, asked.current_leader_epoch);
      entry.error_code = found.error;
      if (found.error != ErrorCode::NONE) continue;
      const storage::EpochAndEndOffset end =
          end_offset_for_epoch(*found.log, found.leader_epoch, asked.leader_epoch);
      entry.leader_epoch = end.epoch;
      entry.end_offset = end.end_offset;
    }
  }
  reply(response);
}

}  // namespace kmirror::server
