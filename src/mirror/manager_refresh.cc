// What a refresh does with what the source says: leaders and epochs, identity, deletion, growth,
// discovery of topics, the exclude list.
// Owner: loop 0.
// Sources: spec F.10; decisions 3.2, 3.10, 3.24; cases G29, G36, G55, G62, G63. Topic
// configurations, groups and ACLs are kept in step elsewhere.
#include <algorithm>

#include "kmirror/base/log.h"
#include "kmirror/wire/bump_leader_epochs_request.h"
#include "kmirror/wire/bump_leader_epochs_response.h"
#include "kmirror/wire/create_partitions_request.h"
#include "kmirror/wire/create_partitions_response.h"
#include "kmirror/wire/metadata_response.h"
#include "kmirror/wire/start_mirror_topics_request.h"
#include "kmirror/wire/start_mirror_topics_response.h"
#include "kmirror/wire/stop_mirror_topics_request.h"
#include "kmirror/wire/stop_mirror_topics_response.h"
#include "mirror/manager_impl.h"

namespace kmirror::mirror {
namespace {

/// Our epoch is kept this far above the source's, and raised by so much when it comes too near.
constexpr std::int32_t kEpochDistance = 3;
constexpr std::int32_t kEpochIncrement = 10;
/// Regular refreshes in a row that must miss a topic before it counts as deleted.
constexpr int kMissesBeforeDeleted = 2;
constexpr std::size_t kTopicsPerStart = 200;
constexpr std::int32_t kCommandTimeoutMs = 30'000;

void add_bump(wire::BumpLeaderEpochsRequest& request, const TopicPartition& of,
              std::int32_t min_epoch) {
  if (request.topics.empty() || request.topics.back().topic_name != of.topic) {
    request.topics.emplace_back().topic_name = of.topic;
  }
  auto& partition = request.topics.back().partitions.emplace_back();
  partition.partition_index = of.partition;
  partition.min_leader_epoch = LeaderEpoch{min_epoch};
}

bool needs_source_epoch(MirrorState state) {
  return state == MirrorState::kLogAlignment || state == MirrorState::kMirroring ||
         state == MirrorState::kEpochFencing || state == MirrorState::kPaused ||
         state == MirrorState::kFailed;
}

}  // namespace

using Impl = MirrorMetadataManager::Impl;

void Impl::learn(Mirror& mirror, const wire::MetadataResponse& answer, bool is_regular) {
  const client::SourceChanges changes = mirror.source.apply(answer);
  for (const auto& topic : answer.topics) {
    if (topic.name && topic.error_code == ErrorCode::NONE) mirror.missing_rounds.erase(*topic.name);
  }
  learn_identity(mirror, answer);
  learn_refusals(mirror, changes, is_regular);
  for (const TopicPartition& where : changes.leaders) {
    if (const PartitionPtr partition = find(mirror.name, where)) follow_leader(mirror, partition);
  }
}

/// Same name with another id is another topic (G29): never mixed, never retried.
void Impl::learn_identity(Mirror& mirror, const wire::MetadataResponse& answer) {
  for (const auto& topic : answer.topics) {
    if (!topic.name || topic.topic_id.is_zero()) continue;
    for (auto it = mirror.partitions.lower_bound(TopicPartition(*topic.name, 0));
         it != mirror.partitions.end() && it->first.topic == *topic.name; ++it) {
      const PartitionPtr& partition = it->second;
      const bool is_same = partition->key.topic_id == topic.topic_id;
      const bool uses_source = needs_source_epoch(partition->state());
      if (is_same || !uses_source || partition->stored.status.retry_attempt < 0) continue;
      fail(partition, MirrorFailure::kTerminal,
           fmt::format("topic {} was made again at the source: its id is {} there and {} here; "
                       "stop and delete the topic here, then start it anew",
                       *topic.name, topic.topic_id, partition->key.topic_id));
    }
  }
}

void Impl::learn_refusals(Mirror& mirror, const client::SourceChanges& changes, bool is_regular) {
  for (const auto& [topic, code] : changes.refused) {
    std::string message;
    MirrorFailure failure = MirrorFailure::kTerminal;
    if (code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION || code == ErrorCode::UNKNOWN_TOPIC_ID) {
      if (!is_regular || ++mirror.missing_rounds[topic] < kMissesBeforeDeleted) continue;
      message = fmt::format("topic {} was deleted at the source; its data here is kept", topic);
    } else if (code == ErrorCode::TOPIC_AUTHORIZATION_FAILED) {
      failure = MirrorFailure::kSourceUnreachable;
      message = fmt::format("not authorized to DESCRIBE topic {} at the source", topic);
    } else {
      continue;
    }
    for (auto it = mirror.partitions.lower_bound(TopicPartition(topic, 0));
         it != mirror.partitions.end() && it->first.topic == topic; ++it) {
      const MirrorStatus& status = it->second->stored.status;
      const bool is_known = status.error_message == message;
      if (needs_source_epoch(status.state) && !is_known) fail(it->second, failure, message);
    }
  }
}

void Impl::follow_leader(Mirror& mirror, const PartitionPtr& partition) {
  if (partition->assignment == 0) return;
  const client::SourcePartition* source = mirror.source.partition(partition->where);
  const bool is_same =
      source->leader == partition->broker && source->epoch == partition->assigned_epoch;
  if (is_same) return;
  release(partition, [this, partition] { start_fetching(partition); });
}

void Impl::resume_awaiting(Mirror& mirror) {
  for (const auto& [where, partition] : mirror.partitions) {
    if (!partition->awaits_metadata || partition->state() != MirrorState::kMirroring) continue;
    const client::SourcePartition* source = mirror.source.partition(where);
    const LeaderEpoch known = source == nullptr ? kNoLeaderEpoch : source->epoch;
    const bool is_behind = partition->wanted_epoch >= LeaderEpoch{0} && known >= LeaderEpoch{0} &&
                           known < partition->wanted_epoch;
    if (is_behind) {
      partition->awaits_metadata = false;
      fail(partition, MirrorFailure::kRetriable,
           fmt::format("{}; the source's metadata still says {}", partition->wanted_why, known));
      continue;
    }
    start_fetching(partition);  // waits on if there is no leader
  }
}

env::Awaitable<void> Impl::grow(MirrorPtr mirror) {
  wire::CreatePartitionsRequest request;
  request.timeout_ms = kCommandTimeoutMs;
  for (const auto& topic : image_->mirror_topics(mirror->name)) {
    if (topic->desired_mirror_state != metadata::DesiredMirrorState::kMirroring) continue;
    const client::SourceTopic* source = mirror->source.topic(topic->name);
    const bool is_other = source != nullptr && !source->id.is_zero() && source->id != topic->id;
    if (source == nullptr || is_other) continue;
    if (source->partitions.size() <= topic->partitions.size()) continue;
    auto& growing = request.topics.emplace_back();
    growing.name = topic->name;
    growing.count = static_cast<std::int32_t>(source->partitions.size());
    growing.assignments.reset();
  }
  if (request.topics.empty()) co_return;
  using Response = wire::CreatePartitionsResponse;
  UniqueFunction<void(UniqueFunction<void(Response)>)> begin =
      [this, request = std::move(request)](UniqueFunction<void(Response)> done) mutable {
        deps_.metadata.create_partitions(std::move(request), true, std::move(done));
      };
  auto response = co_await answered<Response>(std::move(begin));
  if (!response) co_return;
  for (const auto& result : response->results) {
    if (result.error_code == ErrorCode::NONE) continue;
    KM_LOG(kWarn, "mirror.growth_failed", "mirror {} topic {}: {} {}", mirror->name, result.name,
           result.error_code, result.error_message.value_or(""));
  }
}

/// Every partition within 3 of its source's epoch is raised to source epoch + 10, in one write.
env::Awaitable<void> Impl::raise_epochs(MirrorPtr mirror) {
  wire::BumpLeaderEpochsRequest request;
  for (const auto& [where, partition] : mirror->partitions) {
    const client::SourcePartition* source = mirror->source.partition(where);
    if (source == nullptr || source->epoch < LeaderEpoch{0}) continue;
    if (!needs_source_epoch(partition->state())) continue;
    if (source->epoch.get() <= partition->own_epoch.get() - kEpochDistance) continue;
    add_bump(request, where, source->epoch.get() + kEpochIncrement - 1);
  }
  if (request.topics.empty()) co_return;
  using Response = wire::BumpLeaderEpochsResponse;
  UniqueFunction<void(UniqueFunction<void(Response)>)> begin =
      [this, request = std::move(request)](UniqueFunction<void(Response)> done) mutable {
        deps_.metadata.bump_leader_epochs(std::move(request), std::move(done));
      };
  auto response = co_await answered<Response>(std::move(begin));
  if (response && response->error_code != ErrorCode::NONE) {
    KM_LOG(kWarn, "mirror.epochs_not_raised", "mirror {}: {} {}", mirror->name,
           response->error_code, response->error_message.value_or(""));
  }
}

/// EPOCH_FENCING: one partition's epoch is raised at once.
void Impl::fence(const PartitionPtr& partition) {
  if (partition->needed_epoch <= partition->own_epoch) {
    // After a restart the need is not known any more: the next fetch finds it again.
    return apply(partition, MirrorEvent::Kind::kEpochRaised);
  }
  if (partition->is_bumping) return;
  partition->is_bumping = true;
  if (const MirrorPtr mirror = find_mirror(partition->key.mirror)) request_refresh(*mirror);
  tasks_.spawn("raise leader epoch", bump(partition));
}

env::Awaitable<void> Impl::bump(PartitionPtr partition) {
  wire::BumpLeaderEpochsRequest request;
  add_bump(request, partition->where, partition->needed_epoch.get() + kEpochIncrement - 1);
  using Response = wire::BumpLeaderEpochsResponse;
  UniqueFunction<void(UniqueFunction<void(Response)>)> begin =
      [this, request = std::move(request)](UniqueFunction<void(Response)> done) mutable {
        deps_.metadata.bump_leader_epochs(std::move(request), std::move(done));
      };
  auto response = co_await answered<Response>(std::move(begin));
  partition->is_bumping = false;
  if (!response || partition->is_gone) co_return;
  std::string why = response->error_message.value_or(fmt::format("{}", response->error_code));
  ErrorCode code = response->error_code;
  for (const auto& topic : response->topics) {
    for (const auto& result : topic.partitions) {
      if (result.error_code == ErrorCode::NONE) continue;
      code = result.error_code;
      why = result.error_message.value_or(fmt::format("{}", result.error_code));
    }
  }
  if (code != ErrorCode::NONE) {
    fail(partition, MirrorFailure::kRetriable, "raising the leader epoch: " + why);
    co_return;
  }
  apply(partition, MirrorEvent::Kind::kEpochRaised);
}

env::Awaitable<Result<void>> Impl::discover(MirrorPtr mirror) {
  if (mirror->settings.include.empty()) co_return Result<void>();
  KM_CO_TRY(answer, co_await mirror->admin->metadata(std::nullopt));
  if (mirror->is_gone) co_return Result<void>();
  if (answer.cluster_id.value_or("") != mirror->settings.source_cluster_id) {
    co_return Result<void>();
  }
  co_await start_discovered(mirror, &answer);
  if (!mirror->is_gone) co_await enforce_exclude(mirror);
  co_return Result<void>();
}

/// Topics of the source that match and that nothing here stands against are started.
env::Awaitable<void> Impl::start_discovered(MirrorPtr mirror, wire::MetadataResponse* answer) {
  const auto marks = image_->deleted_here.find(mirror->name);
  std::vector<wire::StartMirrorTopicsRequest> requests;
  for (const auto& topic : answer->topics) {
    if (!topic.name || topic.error_code != ErrorCode::NONE || topic.partitions.empty()) continue;
    if (!mirror->settings.filter.matches(*topic.name)) continue;
    if (marks != image_->deleted_here.end() && marks->second.contains(*topic.name)) continue;
    const auto local = image_->topic(*topic.name);
    if (local && local->is_mirrored()) continue;
    if (requests.empty() || requests.back().topics.size() >= kTopicsPerStart) {
      requests.emplace_back().mirror_name = mirror->name;
    }
    auto& start = requests.back().topics.emplace_back();
    start.topic_name = *topic.name;
    start.topic_id = topic.topic_id;
    start.num_partitions = static_cast<std::int32_t>(topic.partitions.size());
  }
  // The leaders in this answer are as good as those of the next refresh.
  std::set<std::string> wanted;
  for (const auto& request : requests) {
    for (const auto& topic : request.topics) wanted.insert(topic.topic_name);
  }
  static_cast<void>(mirror->source.apply(*answer, &wanted));
  using Response = wire::StartMirrorTopicsResponse;
  for (wire::StartMirrorTopicsRequest& request : requests) {
    UniqueFunction<void(UniqueFunction<void(Response)>)> begin =
        [this, request = std::move(request)](UniqueFunction<void(Response)> done) mutable {
          deps_.metadata.start_mirror_topics(std::move(request), std::move(done));
        };
    auto response = co_await answered<Response>(std::move(begin));
    if (!response || mirror->is_gone) co_return;
    for (const auto& topic : response->topics) {
      if (topic.error_code == ErrorCode::NONE) {
        KM_LOG(kInfo, "mirror.topic_discovered", "mirror {} topic {}", mirror->name,
               topic.topic_name);
      } else {
        KM_LOG(kWarn, "mirror.topic_not_started", "mirror {} topic {}: {} {}", mirror->name,
               topic.topic_name, topic.error_code, topic.error_message.value_or(""));
      }
    }
  }
}

env::Awaitable<void> Impl::enforce_exclude(MirrorPtr mirror) {
  wire::StopMirrorTopicsRequest request;
  request.mirror_name = mirror->name;
  for (const auto& topic : image_->mirror_topics(mirror->name)) {
    if (topic->desired_mirror_state == metadata::DesiredMirrorState::kStopped) continue;
    if (!mirror->settings.filter.excludes(topic->name)) continue;
    request.topics.emplace_back().topic_name = topic->name;
  }
  if (request.topics.empty()) co_return;
  using Response = wire::StopMirrorTopicsResponse;
  UniqueFunction<void(UniqueFunction<void(Response)>)> begin =
      [this, request = std::move(request)](UniqueFunction<void(Response)> done) mutable {
        deps_.metadata.stop_mirror_topics(std::move(request), std::move(done));
      };
  auto response = co_await answered<Response>(std::move(begin));
  if (response && response->error_code != ErrorCode::NONE) {
    KM_LOG(kWarn, "mirror.exclude_not_enforced", "mirror {}: {} {}", mirror->name,
           response->error_code, response->error_message.value_or(""));
  }
}

}  // namespace kmirror::mirror
