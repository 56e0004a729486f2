// LOG_ALIGNMENT: loop check, last mirror position, cutting our log to it; and the cut of
// ULE_RECOVERY. Owner: loop 0; logs are cut on their own loops. Sources: spec A.10, B.3, F.3, F.8;
// decisions 3.10.
#include <algorithm>

#include "kmirror/base/log.h"
#include "kmirror/wire/describe_cluster_mirrors_request.h"
#include "kmirror/wire/describe_cluster_mirrors_response.h"
#include "mirror/manager_impl.h"

namespace kmirror::mirror {
namespace {

using Lookup = wire::DescribeClusterMirrorsResponse;

/// The last mirror position that the source stored for this partition; (-1, -1) if it has none.
storage::EpochAndEndOffset position_in(const Lookup& answer, const Uuid& topic_id,
                                       std::int32_t partition) {
  storage::EpochAndEndOffset best;
  for (const auto& topic : answer.lookup_results) {
    if (topic.topic_id != topic_id) continue;
    for (const auto& found : topic.partitions) {
      if (found.partition_index != partition || found.last_mirror_epoch < best.epoch) continue;
      best = storage::EpochAndEndOffset(found.last_mirror_epoch, found.last_mirror_offset);
    }
  }
  return best;
}

/// Where our log must end so that everything left is shared history with the source.
Offset end_for(const storage::PartitionLog& log, const storage::EpochAndEndOffset& position) {
  Offset end = log.log_end_offset();
  if (position.epoch >= LeaderEpoch{0}) {
    const storage::EpochAndEndOffset own = log.end_offset_for_epoch(position.epoch);
    // No epoch that low: all of it is of later epochs, which only this side has.
    end = std::min(end, own.epoch < LeaderEpoch{0} ? log.log_start_offset() : own.end_offset);
  }
  if (position.end_offset >= Offset(0)) end = std::min(end, position.end_offset);
  return end;
}

bool is_active(const std::string& state) {
  return state != "STOPPED" && state != "STOPPING" && state != "UNKNOWN";
}

}  // namespace

using Impl = MirrorMetadataManager::Impl;

env::Awaitable<Result<void>> Impl::align(MirrorPtr mirror) {
  std::vector<PartitionPtr> waiting;
  for (const auto& [where, partition] : mirror->partitions) {
    const bool is_ready = partition->state() == MirrorState::kLogAlignment &&
                          !partition->is_writing && partition->events.empty();
    // A log that is not there yet comes back through log_created().
    if (is_ready && log_of(*partition)) waiting.push_back(partition);
  }
  if (waiting.empty()) co_return Result<void>();
  Lookup answer;
  KM_CO_TRY_VOID(co_await look_up(mirror, &waiting, &answer));
  std::size_t count = 0;
  for (const PartitionPtr& partition : waiting) {
    if (partition->is_gone || partition->state() != MirrorState::kLogAlignment) continue;
    if (const auto loop = find_loop(answer, partition->where)) {
      fail(partition, MirrorFailure::kRetriable,
           fmt::format("Detected mirror loop for mirror {}: the source mirrors topic {} from this "
                       "cluster with its mirror {}",
                       mirror->name, partition->where.topic, *loop));
      continue;
    }
    co_await align_one(partition, &answer);
    if (++count % 1'000 == 0) co_await env::yield_now();
  }
  co_return Result<void>();
}

/// Asks the source for its mirrors and for the positions up to which it mirrored us. A source
/// without that API (any stock Kafka) has none: the mirror is one-way.
env::Awaitable<Result<void>> Impl::look_up(MirrorPtr mirror,
                                           const std::vector<PartitionPtr>* waiting,
                                           Lookup* answer) {
  using Request = wire::DescribeClusterMirrorsRequest;
  const Result<ApiVersion> version = co_await mirror->admin->version_for<Request>();
  if (!version) {
    const bool is_absent = to_kafka_error(version.error()) == ErrorCode::UNSUPPORTED_VERSION;
    if (is_absent) co_return Result<void>();
    co_return version.error();
  }
  Request request;
  request.mirror_names.reset();
  request.cluster_id = image_->cluster_id;
  for (const PartitionPtr& partition : *waiting) {
    if (request.last_mirror_epoch_lookups.empty() ||
        request.last_mirror_epoch_lookups.back().topic_id != partition->key.topic_id) {
      request.last_mirror_epoch_lookups.emplace_back().topic_id = partition->key.topic_id;
    }
    request.last_mirror_epoch_lookups.back().partitions.push_back(partition->key.partition);
  }
  KM_CO_TRY(said, co_await mirror->admin->call(std::move(request)));
  if (said.error_code != ErrorCode::NONE) {
    co_return kafka_error(
        said.error_code,
        fmt::format("DescribeClusterMirrors: {}",
                    said.error_message.value_or(fmt::format("{}", said.error_code))));
  }
  *answer = std::move(said);
  co_return Result<void>();
}

/// The mirror of the source that has this cluster as its source and actively mirrors the topic.
std::optional<std::string> Impl::find_loop(const Lookup& answer, const TopicPartition& of) const {
  for (const auto& mirror : answer.mirrors) {
    if (mirror.source_cluster_id != image_->cluster_id) continue;
    for (const auto& topic : mirror.topics) {
      if (topic.topic_name != of.topic) continue;
      for (const auto& partition : topic.partitions) {
        if (partition.partition_index == of.partition && is_active(partition.state_value)) {
          return mirror.mirror_name;
        }
      }
    }
  }
  return std::nullopt;
}

/// Cuts our log to the position both sides share. The source's word counts first; else, for a
/// mirror that is started again, what we stored when it was stopped. Without either nothing is cut:
/// the fetcher compares epochs and tail before it appends anything.
env::Awaitable<void> Impl::align_one(PartitionPtr partition, const Lookup* answer) {
  const std::shared_ptr<storage::PartitionLog> log = log_of(*partition);
  if (!log) co_return;
  storage::EpochAndEndOffset position =
      position_in(*answer, partition->key.topic_id, partition->key.partition);
  if (position.epoch < LeaderEpoch{0}) {
    position = storage::EpochAndEndOffset(partition->stored.last_mirror_epoch,
                                          partition->stored.last_mirror_offset);
  }
  const Offset end = end_for(*log, position);
  if (end < log->log_end_offset()) {
    KM_LOG(kWarn, "mirror.log_cut",
           "mirror {} {}: cut from {} to {}, the last position both clusters share (epoch {}, "
           "offset {})",
           partition->key.mirror, partition->where, log->log_end_offset(), end, position.epoch,
           position.end_offset);
    UniqueFunction<Result<void>()> cut = [log, end] { return log->truncate_to(end); };
    env::Loop& owner = deps_.logs.loop_of(*log);
    const Result<void> done = co_await env::call_on<Result<void>>(owner, std::move(cut));
    if (!done) {
      fail(partition, MirrorFailure::kRetriable, done.error().message);
      co_return;
    }
  }
  apply(partition, MirrorEvent::Kind::kAligned);
}

/// ULE_RECOVERY: with one replica the cut itself is the convergence.
void Impl::cut_for_recovery(const PartitionPtr& partition) {
  const Offset end = std::exchange(partition->cut_to, kNoOffset);
  const std::shared_ptr<storage::PartitionLog> log = log_of(*partition);
  if (end < Offset(0) || !log) {
    // After a restart the point is not known any more: the next fetch finds it again.
    return apply(partition, MirrorEvent::Kind::kReplicasConverged);
  }
  env::Loop& owner = deps_.logs.loop_of(*log);
  std::weak_ptr<bool> alive = alive_;
  owner.post([this, alive, partition, log, end] {
    const Result<void> done = log->truncate_to(end);
    loop_.post([this, alive, partition, end, done] {
      if (alive.expired()) return;
      if (!done) return fail(partition, MirrorFailure::kRetriable, done.error().message);
      KM_LOG(kWarn, "mirror.log_cut",
             "mirror {} {}: cut to {} after an unclean election at the source",
             partition->key.mirror, partition->where, end);
      apply(partition, MirrorEvent::Kind::kReplicasConverged);
    });
  });
}

}  // namespace kmirror::mirror
