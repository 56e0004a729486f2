// Handing partitions to fetchers, taking them back, and what their events mean.
// Owner: loop 0.
// Sources: spec B.3, F.11; cases G23, G52, G55, G57, G71.
#include "kmirror/base/log.h"
#include "mirror/manager_impl.h"

namespace kmirror::mirror {

using Impl = MirrorMetadataManager::Impl;
using Kind = MirrorEvent::Kind;

void Impl::configure_fetchers(const Mirror& mirror) {
  FetcherOptions options = mirror.settings.fetcher;
  options.source_cluster_id = mirror.settings.source_cluster_id;
  fetchers_.set_mirror(mirror.name, std::move(options));
}

FetchAssignment Impl::assignment_of(const Mirror& mirror, const MirrorPartition& of) {
  FetchAssignment assignment;
  assignment.topic_partition = of.where;
  const client::SourceTopic* topic = mirror.source.topic(of.where.topic);
  assignment.source_topic_id = topic == nullptr ? Uuid() : topic->id;
  assignment.source_epoch = of.assigned_epoch;
  assignment.own_epoch = of.own_epoch;
  assignment.log = log_of(of);
  assignment.progress = of.progress;
  assignment.number = of.assignment;
  assignment.may_truncate = deps_.configs.topic_boolean(*image_, of.where.topic,
                                                        "mirror.support.unclean.leader.election");
  assignment.fail_at_gap = mirror.settings.fail_at_gap;
  return assignment;
}

void Impl::start_fetching(const PartitionPtr& partition) {
  if (partition->is_gone || partition->state() != MirrorState::kMirroring) return;
  if (partition->is_releasing) {
    partition->on_released.push_back([this, partition] { start_fetching(partition); });
    return;
  }
  if (partition->assignment != 0) return;
  const MirrorPtr mirror = find_mirror(partition->key.mirror);
  // Without a log yet: log_created() comes back here.
  if (!mirror || !log_of(*partition)) return;
  const client::SourcePartition* source = mirror->source.partition(partition->where);
  const auto endpoint = mirror->source.leader_endpoint(partition->where);
  if (source == nullptr || !endpoint || mirror->settings.source_cluster_id.empty()) {
    return await_metadata(partition, kNoLeaderEpoch, "the source names no leader");
  }
  partition->awaits_metadata = false;
  partition->assignment = ++last_assignment_;
  partition->broker = source->leader;
  partition->assigned_epoch = source->epoch;
  PendingAssign pending;
  pending.mirror = mirror->name;
  pending.broker = source->leader;
  pending.endpoint = *endpoint;
  pending.assignment = assignment_of(*mirror, *partition);
  pending_assigns_.push_back(std::move(pending));
  flush_soon();
  publish_soon();
}

void Impl::release(const PartitionPtr& partition, UniqueFunction<void()> then) {
  if (partition->assignment == 0 && !partition->is_releasing) {
    then();
    return;
  }
  partition->on_released.push_back(std::move(then));
  partition->assignment = 0;
  if (partition->is_releasing) return;
  partition->is_releasing = true;
  std::vector<TopicPartition> one{partition->where};
  std::weak_ptr<bool> alive = alive_;
  fetchers_.unassign(partition->key.mirror, one, [partition, alive] {
    partition->is_releasing = false;
    if (alive.expired()) return;
    for (UniqueFunction<void()>& waiting : std::exchange(partition->on_released, {})) waiting();
  });
}

void Impl::await_metadata(const PartitionPtr& partition, LeaderEpoch wanted, std::string why) {
  partition->awaits_metadata = true;
  partition->wanted_epoch = wanted;
  partition->wanted_why = std::move(why);
  if (const MirrorPtr mirror = find_mirror(partition->key.mirror)) request_refresh(*mirror);
}

void Impl::take_event(const std::string& mirror_name, FetchEvent event) {
  const MirrorPtr mirror = find_mirror(mirror_name);
  const PartitionPtr partition = find(mirror_name, event.topic_partition);
  if (!mirror || !partition || partition->assignment != event.number) return;
  if (event.ends_assignment()) partition->assignment = 0;
  switch (event.kind) {
    case FetchEvent::Kind::kProgress:
      partition->failures = 0;
      mirror->early_backoff.reset();
      if (partition->stored.status.retry_attempt != 0) apply(partition, Kind::kProgress);
      return;
    case FetchEvent::Kind::kFailed:
      return fail(partition, event.failure, std::move(event.message));
    case FetchEvent::Kind::kOwnEpochBehind:
      partition->needed_epoch = std::max(partition->needed_epoch, event.epoch);
      return apply(partition, Kind::kEpochBehind);
    case FetchEvent::Kind::kLeaderMoved:
      return take_leader_move(*mirror, partition, event);
    case FetchEvent::Kind::kStaleMetadata:
      return await_metadata(partition, event.epoch, std::move(event.message));
    case FetchEvent::Kind::kTruncate:
      partition->cut_to = event.offset;
      return apply(partition, Kind::kTruncationForced);
    case FetchEvent::Kind::kGap:
      KM_LOG(kWarn, "mirror.gap",
             "MIRROR_GAP mirror {} {}: the source dropped records {}..{} before they were mirrored",
             mirror_name, partition->where, event.offset, event.to);
      deps_.metrics
          .counter("kmirror_mirror_gap_records_total",
                   "Records that the source dropped before they were mirrored.",
                   {{"mirror_name", mirror_name}})
          .add(static_cast<std::uint64_t>(event.to - event.offset + 1));
      return;
    case FetchEvent::Kind::kConnectionLost:
      return request_refresh(*mirror);
  }
}

void Impl::take_leader_move(Mirror& mirror, const PartitionPtr& partition, FetchEvent& event) {
  for (auto& [node, endpoint] : event.brokers) mirror.source.add_broker(node, std::move(endpoint));
  if (mirror.source.apply_leader_hint(partition->where, event.leader, event.epoch)) {
    start_fetching(partition);
    return;
  }
  await_metadata(partition, kNoLeaderEpoch, std::move(event.message));
}

}  // namespace kmirror::mirror
