#include "server/handlers/fetch_read.h"

#include <algorithm>
#include <utility>

namespace kmirror::server {
namespace {

constexpr ApiVersion kFirstWithLeader{12};
constexpr ApiVersion kFirstWithZstd{10};

using PartitionData = wire::FetchResponse::PartitionData;
using storage::Isolation;

void look_up(FetchPartition& partition, const metadata::MetadataImage& image,
             const PartitionFinder& finder) {
  if (partition.found_at == image.offset && partition.found.log != nullptr &&
      partition.found.log->is_online()) {
    return;
  }
  partition.found =
      finder.find(image, partition.topic, partition.partition, partition.current_leader_epoch);
  partition.found_at = image.offset;
}

PartitionData failed(const FetchPartition& partition, ErrorCode error, ApiVersion version) {
  PartitionData data;
  data.partition_index = partition.partition;
  data.error_code = error;
  data.high_watermark = kNoOffset;
  data.aborted_transactions = std::nullopt;
  data.records.emplace();
  if (version >= kFirstWithLeader &&
      (error == ErrorCode::NOT_LEADER_OR_FOLLOWER || error == ErrorCode::FENCED_LEADER_EPOCH)) {
    data.current_leader.leader_id = partition.found.leader;
    data.current_leader.leader_epoch = partition.found.leader_epoch;
  }
  return data;
}

PartitionData without_records(const FetchPartition& partition) {
  const storage::PartitionLog& log = *partition.found.log;
  PartitionData data;
  data.partition_index = partition.partition;
  data.high_watermark = log.high_watermark();
  data.last_stable_offset = log.last_stable_offset();
  data.log_start_offset = log.log_start_offset();
  data.aborted_transactions = std::nullopt;
  data.records.emplace();
  return data;
}

Offset limit_of(const storage::PartitionLog& log, Isolation isolation) {
  return isolation == Isolation::kReadCommitted ? log.last_stable_offset() : log.high_watermark();
}

// What the log says about the epoch of the client's last record; nullopt if both agree.
std::optional<Result<storage::EpochAndEndOffset>> divergence(const FetchPartition& partition) {
  const storage::PartitionLog& log = *partition.found.log;
  const LeaderEpoch epoch = partition.last_fetched_epoch;
  if (epoch < LeaderEpoch(0)) return std::nullopt;
  if (epoch == log.latest_epoch() && partition.fetch_offset <= log.log_end_offset()) {
    return std::nullopt;
  }
  const storage::EpochAndEndOffset end = log.end_offset_for_epoch(epoch);
  if (end.epoch == kNoLeaderEpoch || end.end_offset == kNoOffset) {
    return Result<storage::EpochAndEndOffset>(kafka_error(
        ErrorCode::OFFSET_OUT_OF_RANGE, "the epoch of the last fetched record is not known"));
  }
  if (end.epoch < epoch || end.end_offset < partition.fetch_offset) {
    return Result<storage::EpochAndEndOffset>(end);
  }
  return std::nullopt;
}

// True if a session's client knows all there is to tell about the partition.
bool is_unchanged(const FetchPartition& partition, Isolation isolation) {
  if (partition.found.error != ErrorCode::NONE) return false;
  const storage::PartitionLog& log = *partition.found.log;
  const Offset limit = limit_of(log, isolation);
  return partition.fetch_offset == limit && partition.told_high_watermark == log.high_watermark() &&
         partition.told_log_start == log.log_start_offset() && !divergence(partition);
}

PartitionData with_records(storage::ReadResult read, const FetchPartition& partition,
                           Isolation isolation) {
  PartitionData data;
  data.partition_index = partition.partition;
  data.high_watermark = read.high_watermark;
  data.last_stable_offset = read.last_stable_offset;
  data.log_start_offset = read.log_start_offset;
  data.records = std::move(read.records);
  data.aborted_transactions = std::nullopt;
  if (isolation == Isolation::kReadCommitted) {
    auto& aborted = data.aborted_transactions.emplace();
    for (const auto& transaction : read.aborted) {
      auto& entry = aborted.emplace_back();
      entry.producer_id = transaction.producer_id;
      entry.first_offset = transaction.first_offset;
    }
  }
  return data;
}

struct Limit {
  std::size_t left;
  bool at_least_one = true;
};

PartitionData read_partition(const FetchPartition& partition, const FetchPlan& plan, Limit& limit) {
  if (partition.found.error != ErrorCode::NONE) {
    return failed(partition, partition.found.error, plan.version);
  }
  const storage::PartitionLog& log = *partition.found.log;
  if (plan.version < kFirstWithZstd && log.config()->compression_type == "zstd") {
    return failed(partition, ErrorCode::UNSUPPORTED_COMPRESSION_TYPE, plan.version);
  }
  if (const auto differs = divergence(partition)) {
    if (!*differs) return failed(partition, to_kafka_error(differs->error()), plan.version);
    PartitionData data = without_records(partition);
    data.diverging_epoch.epoch = (**differs).epoch;
    data.diverging_epoch.end_offset = (**differs).end_offset;
    return data;
  }
  const auto wanted = static_cast<std::size_t>(std::max(partition.max_bytes, 0));
  storage::ReadRequest request;
  request.from = partition.fetch_offset;
  request.max_bytes = std::min(wanted, limit.left);
  request.at_least_one_batch = limit.at_least_one;
  request.isolation = plan.isolation;
  if (request.max_bytes == 0 && !limit.at_least_one) {
    if (request.from < log.log_start_offset() || request.from > log.log_end_offset()) {
      return failed(partition, ErrorCode::OFFSET_OUT_OF_RANGE, plan.version);
    }
    return without_records(partition);
  }
  auto read = log.read(request);
  if (!read) return failed(partition, to_kafka_error(read.error()), plan.version);
  return with_records(std::move(*read), partition, plan.isolation);
}

bool is_worth_telling(const FetchPlan& plan, const FetchPartition& partition,
                      const PartitionData& data, std::size_t record_bytes) {
  return !plan.is_incremental() || record_bytes > 0 || data.error_code != ErrorCode::NONE ||
         data.diverging_epoch.epoch != kNoLeaderEpoch ||
         data.high_watermark != partition.told_high_watermark ||
         data.log_start_offset != partition.told_log_start;
}

}  // namespace

FetchRead read_fetch(const FetchPlan& plan, const metadata::MetadataImage& image,
                     const PartitionFinder& finder) {
  FetchRead result;
  Limit limit{plan.max_bytes};
  for (const auto& partition : plan.partitions) {
    look_up(*partition, image, finder);
    if (plan.is_incremental() && is_unchanged(*partition, plan.isolation)) continue;
    PartitionData data = read_partition(*partition, plan, limit);
    const std::size_t bytes = data.records ? data.records->size() : 0;
    if (bytes > 0) limit.at_least_one = false;
    limit.left -= std::min(limit.left, bytes);
    result.bytes += bytes;
    if (data.error_code != ErrorCode::NONE || data.diverging_epoch.epoch != kNoLeaderEpoch) {
      result.must_answer = true;
    }
    if (!is_worth_telling(plan, *partition, data, bytes)) continue;
    FetchRead::Entry entry;
    entry.partition = partition;
    entry.data = std::move(data);
    entry.record_bytes = bytes;
    result.entries.push_back(std::move(entry));
  }
  return result;
}

}  // namespace kmirror::server
