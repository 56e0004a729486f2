#include "server/handlers/log_admin.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "kmirror/metadata/names.h"
#include "server/handlers/owner_calls.h"

namespace kmirror::server {
namespace {

constexpr Offset kUpToHighWatermark{-1};

// ---- DeleteRecords ----

struct Deleted {
  Deleted() = default;
  ErrorCode error = ErrorCode::NONE;
  Offset low_watermark = kNoOffset;
};

Deleted delete_records(storage::PartitionLog& log, Offset offset) {
  Deleted result;
  const Offset target = offset == kUpToHighWatermark ? log.high_watermark() : offset;
  if (target < Offset(0) || target > log.high_watermark()) {
    result.error = ErrorCode::OFFSET_OUT_OF_RANGE;
    return result;
  }
  auto moved = log.advance_log_start_offset(target);
  if (!moved) {
    result.error = to_kafka_error(moved.error());
    return result;
  }
  result.low_watermark = log.log_start_offset();
  return result;
}

ErrorCode why_not_deletable(const LogAdminDeps& deps, const FoundPartition& found,
                            std::int32_t partition) {
  if (found.error != ErrorCode::NONE) return found.error;
  const std::string& topic = found.topic->name;
  if (metadata::is_internal_topic(topic)) return ErrorCode::INVALID_TOPIC_EXCEPTION;
  if (!found.log->config()->cleanup_delete) return ErrorCode::POLICY_VIOLATION;
  if (!deps.guard.partition_is_writable(topic, partition)) return ErrorCode::POLICY_VIOLATION;
  return ErrorCode::NONE;
}

// ---- DescribeLogDirs ----

using LogDirs = wire::DescribeLogDirsResponse;

// Topic and partition to log, for those asked for.
std::vector<std::shared_ptr<storage::PartitionLog>> logs_asked_for(
    const storage::LogManager& logs, const wire::DescribeLogDirsRequest& request) {
  std::vector<std::shared_ptr<storage::PartitionLog>> found;
  if (!request.topics) {
    found = logs.all();
  } else {
    std::set<TopicPartition> asked;
    for (const auto& topic : *request.topics) {
      for (const std::int32_t partition : topic.partitions) asked.emplace(topic.topic, partition);
    }
    for (const auto& place : asked) {
      if (auto log = logs.find(place)) found.push_back(std::move(log));
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a->topic_partition() < b->topic_partition();
  });
  return found;
}

void add_log(LogDirs::DescribeLogDirsResult& result, const storage::PartitionLog& log) {
  const TopicPartition& place = log.topic_partition();
  if (result.topics.empty() || result.topics.back().name != place.topic) {
    result.topics.emplace_back().name = place.topic;
  }
  auto& entry = result.topics.back().partitions.emplace_back();
  entry.partition_index = place.partition;
  entry.partition_size = static_cast<std::int64_t>(log.size_bytes());
}

LogDirs describe_log_dirs(const LogAdminDeps& deps, const wire::DescribeLogDirsRequest& request) {
  std::map<std::string, LogDirs::DescribeLogDirsResult> by_dir;
  for (const auto& dir : deps.logs.config().log_dirs) {
    auto& result = by_dir[dir];
    result.log_dir = dir;
    if (auto free = deps.environment.files.free_bytes(dir)) {
      result.usable_bytes = static_cast<std::int64_t>(*free);
    } else {
      result.error_code = ErrorCode::KAFKA_STORAGE_ERROR;
    }
  }
  for (const auto& log : logs_asked_for(deps.logs, request)) {
    for (auto& [dir, result] : by_dir) {
      const std::string path = fmt::format("{}/{}", dir, log->topic_partition());
      if (by_dir.size() > 1 && !deps.environment.files.exists(path)) continue;
      add_log(result, *log);
      break;
    }
  }
  LogDirs response;
  for (auto& [dir, result] : by_dir) response.results.push_back(std::move(result));
  return response;
}

// ---- DescribeProducers ----

using Producers = wire::DescribeProducersResponse;

void fill(Producers::PartitionResponse& entry,
          const std::vector<storage::ActiveProducer>& producers) {
  for (const auto& producer : producers) {
    auto& state = entry.active_producers.emplace_back();
    state.producer_id = producer.producer_id;
    state.producer_epoch = producer.producer_epoch.get();
    state.last_sequence = producer.last_sequence;
    state.last_timestamp = producer.last_timestamp_ms;
    state.coordinator_epoch = producer.coordinator_epoch;
    state.current_txn_start_offset = producer.current_transaction_first_offset;
  }
}

struct Place {
  std::size_t topic;
  std::size_t partition;
};

}  // namespace

void handle_delete_records(const LogAdminDeps& deps, const RequestContext& context,
                           wire::DeleteRecordsRequest request,
                           Reply<wire::DeleteRecordsResponse> reply) {
  const auto image = deps.metadata.image();
  wire::DeleteRecordsResponse response;
  OwnerCalls<Deleted> calls(deps.logs);
  std::vector<Place> places;
  for (const auto& topic : request.topics) {
    auto& answers = response.topics.emplace_back();
    answers.name = topic.name;
    for (const auto& asked : topic.partitions) {
      auto& entry = answers.partitions.emplace_back();
      entry.partition_index = asked.partition_index;
      entry.low_watermark = kNoOffset;
      FoundPartition found = deps.finder.find(*image, TopicKey::named(topic.name),
                                              asked.partition_index, kNoLeaderEpoch);
      entry.error_code = why_not_deletable(deps, found, asked.partition_index);
      if (entry.error_code != ErrorCode::NONE) continue;
      places.push_back({response.topics.size() - 1, answers.partitions.size() - 1});
      calls.add(std::move(found.log), [offset = asked.offset](storage::PartitionLog& log) {
        return delete_records(log, offset);
      });
    }
  }
  std::move(calls).run(
      *context.loop, [response = std::move(response), places = std::move(places),
                      reply = std::move(reply)](std::vector<Deleted> results) mutable {
        for (std::size_t i = 0; i < results.size(); ++i) {
          auto& entry = response.topics[places[i].topic].partitions[places[i].partition];
          entry.error_code = results[i].error;
          entry.low_watermark = results[i].low_watermark;
        }
        reply(response);
      });
}

void handle_describe_log_dirs(const LogAdminDeps& deps, const RequestContext&,
                              wire::DescribeLogDirsRequest request,
                              Reply<wire::DescribeLogDirsResponse> reply) {
  // Asks the file system and walks every log: not on a loop.
  deps.environment.disk.submit(
      [deps, request = std::move(request), reply = std::move(reply)]() mutable {
        reply(describe_log_dirs(deps, request));
      });
}

void handle_describe_producers(const LogAdminDeps& deps, const RequestContext& context,
                               wire::DescribeProducersRequest request, Reply<Producers> reply) {
  const auto image = deps.metadata.image();
  Producers response;
  OwnerCalls<std::vector<storage::ActiveProducer>> calls(deps.logs);
  std::vector<Place> places;
  for (const auto& topic : request.topics) {
    auto& answers = response.topics.emplace_back();
    answers.name = topic.name;
    for (const std::int32_t index : topic.partition_indexes) {
      auto& entry = answers.partitions.emplace_back();
      entry.partition_index = index;
      FoundPartition found =
          deps.finder.find(*image, TopicKey::named(topic.name), index, kNoLeaderEpoch);
      entry.error_code = found.error;
      if (found.error != ErrorCode::NONE) continue;
      places.push_back({response.topics.size() - 1, answers.partitions.size() - 1});
      calls.add(std::move(found.log),
                [](storage::PartitionLog& log) { return log.active_producers(); });
    }
  }
  std::move(calls).run(
      *context.loop,
      [response = std::move(response), places = std::move(places), reply = std::move(reply)](
          std::vector<std::vector<storage::ActiveProducer>> results) mutable {
        for (std::size_t i = 0; i < results.size(); ++i) {
          fill(response.topics[places[i].topic].partitions[places[i].partition], results[i]);
        }
        reply(response);
      });
}

}  // namespace kmirror::server
