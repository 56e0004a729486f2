// One task per mirror: when its source is asked, and what it means that it does not answer.
// Owner: loop 0.
// Sources: spec F.10; decisions 3.15, 3.18; cases G29, G55, G72, G73.
#include "kmirror/base/log.h"
#include "kmirror/wire/incremental_alter_configs_request.h"
#include "kmirror/wire/incremental_alter_configs_response.h"
#include "kmirror/wire/metadata_response.h"
#include "mirror/manager_impl.h"

namespace kmirror::mirror {
namespace {

/// Refreshes out of turn are at least this far apart.
constexpr std::chrono::milliseconds kEarlyPace{100};
constexpr std::chrono::minutes kIdleFetcher{10};
constexpr std::int8_t kSet = 0;

}  // namespace

using Impl = MirrorMetadataManager::Impl;

void Impl::request_refresh(Mirror& mirror) {
  mirror.wants_refresh = true;
  mirror.wake.set();
}

void Impl::refresh_soon(const std::string& name) {
  const MirrorPtr mirror = find_mirror(name);
  if (!mirror) return;
  mirror->next_regular = std::min(mirror->next_regular, now());
  mirror->wake.set();
}

Result<client::AdminOptions> Impl::source_of(const std::string& name) const {
  const MirrorPtr mirror = find_mirror(name);
  if (!mirror) {
    return kafka_error(ErrorCode::UNKNOWN_CLUSTER_MIRROR,
                       fmt::format("there is no mirror '{}'", name));
  }
  client::AdminOptions options;
  options.bootstrap = mirror->settings.endpoints;
  options.connection = mirror->settings.connection;
  return options;
}

/// New settings start anew: old backoffs answered the old ones (G72).
void Impl::reconnect(Mirror& mirror) {
  mirror.reconnect = true;
  mirror.failure_backoff.reset();
  mirror.unreachable_since.reset();
  mirror.earliest_early = now();
  std::vector<PartitionPtr> fetching;
  for (const auto& [where, partition] : mirror.partitions) {
    if (partition->assignment != 0) fetching.push_back(partition);
    if (partition->state() == MirrorState::kFailed && partition->is_unreachable) retry(partition);
  }
  for (const PartitionPtr& partition : fetching) {
    partition->assignment = 0;
    partition->is_releasing = true;
  }
  std::weak_ptr<bool> alive = alive_;
  fetchers_.remove_mirror(mirror.name, [this, alive, fetching] {
    for (const PartitionPtr& partition : fetching) partition->is_releasing = false;
    if (alive.expired()) return;
    for (const PartitionPtr& partition : fetching) {
      for (auto& waiting : std::exchange(partition->on_released, {})) waiting();
      start_fetching(partition);
    }
  });
}

env::Awaitable<void> Impl::run_mirror(MirrorPtr mirror) {
  while (!mirror->is_gone && !is_stopping_) {
    const bool is_regular = now() >= mirror->next_regular;
    const bool is_early = mirror->wants_refresh && now() >= mirror->earliest_early;
    if (!is_regular && !is_early) {
      mirror->wake.reset();
      const env::Instant until = mirror->wants_refresh
                                     ? std::min(mirror->next_regular, mirror->earliest_early)
                                     : mirror->next_regular;
      co_await mirror->wake.wait_until(deps_.environment.clock, until);
      const bool cancelled = co_await env::task_cancelled();
      if (cancelled) break;
      continue;
    }
    mirror->wants_refresh = false;
    const Result<void> done = co_await refresh(mirror, is_regular);
    if (mirror->is_gone || is_stopping_) break;
    after_refresh(*mirror, done, is_regular);
  }
  mirror->admin.reset();
}

void Impl::after_refresh(Mirror& mirror, const Result<void>& done, bool is_regular) {
  const std::chrono::milliseconds interval(
      deps_.configs.broker_integer(*image_, "mirror.metadata.refresh.interval.ms"));
  if (is_regular) mirror.next_regular = now() + interval;
  if (!done) {
    note_unreachable(mirror, done.error());
    // Not the whole interval: the source may be back in a second.
    mirror.wants_refresh = true;
    mirror.earliest_early = now() + mirror.failure_backoff.next(deps_.environment.rng);
    return;
  }
  note_reachable(mirror, is_regular);
  resume_awaiting(mirror);
  if (is_regular) fetchers_.reap(kIdleFetcher);
  if (!mirror.wants_refresh) mirror.early_backoff.reset();
  const auto pace =
      mirror.wants_refresh ? mirror.early_backoff.next(deps_.environment.rng) : kEarlyPace;
  mirror.earliest_early = now() + std::max(pace, kEarlyPace);
}

void Impl::note_unreachable(Mirror& mirror, const Error& error) {
  error_counter("kmirror_mirror_topic_metadata_refresh_errors_total",
                "Refreshes of source metadata that failed.")
      .add();
  const bool is_first = !mirror.unreachable_since.has_value();
  if (is_first) {
    mirror.unreachable_since = now();
    KM_LOG(kWarn, "mirror.refresh_failed", "mirror {}: {}", mirror.name, error.message);
  }
  mirror.unreachable_why = error.message;
  const bool is_refused = client::is_authorization_error(error);
  const bool grace_is_over =
      is_refused || now() - *mirror.unreachable_since >= mirror.settings.fetcher.unreachable_grace;
  for (const auto& [where, partition] : mirror.partitions) {
    // An alignment says at once what it waits for; a partition that mirrors may bridge a restart.
    const bool aligns = partition->state() == MirrorState::kLogAlignment;
    const bool waits = partition->state() == MirrorState::kMirroring && partition->awaits_metadata;
    if (aligns || (waits && grace_is_over)) {
      fail(partition, MirrorFailure::kSourceUnreachable, error.message);
    }
  }
}

void Impl::note_reachable(Mirror& mirror, bool is_regular) {
  const bool was_unreachable = mirror.unreachable_since.has_value();
  if (was_unreachable) {
    KM_LOG(kInfo, "mirror.source_reachable", "mirror {}: the source answers again", mirror.name);
  }
  mirror.unreachable_since.reset();
  mirror.failure_backoff.reset();
  if (!was_unreachable && !is_regular) return;
  // What failed for want of a connection need not wait out its backoff.
  for (const auto& [where, partition] : mirror.partitions) {
    const bool waits = partition->state() == MirrorState::kFailed && partition->is_unreachable;
    if (waits && is_retried(partition->stored.status, policy())) retry(partition);
  }
}

env::Awaitable<Result<void>> Impl::refresh(MirrorPtr mirror, bool is_regular) {
  if (std::exchange(mirror->reconnect, false)) mirror->admin.reset();
  if (!mirror->admin) {
    client::AdminOptions options;
    options.bootstrap = mirror->settings.endpoints;
    options.connection = mirror->settings.connection;
    mirror->admin =
        std::make_unique<client::AdminClient>(deps_.environment, loop_, std::move(options));
  }
  std::optional<std::vector<std::string>> names(std::in_place);
  for (const auto& [where, partition] : mirror->partitions) {
    if (names->empty() || names->back() != where.topic) names->push_back(where.topic);
  }
  KM_CO_TRY(answer, co_await mirror->admin->metadata(std::move(names)));
  if (mirror->is_gone) co_return Result<void>();
  std::string cluster_id = answer.cluster_id.value_or("");
  KM_CO_TRY_VOID(co_await check_cluster(mirror, std::move(cluster_id)));
  if (mirror->is_gone || mirror->cluster_mismatch) co_return Result<void>();
  learn(*mirror, answer, is_regular);
  co_await grow(mirror);
  co_await raise_epochs(mirror);
  if (is_regular && !mirror->is_gone) KM_CO_TRY_VOID(co_await discover(mirror));
  if (!mirror->is_gone) KM_CO_TRY_VOID(co_await align(mirror));
  co_return Result<void>();
}

/// The cluster id is checked before anything else in an answer is believed (G73).
env::Awaitable<Result<void>> Impl::check_cluster(MirrorPtr mirror, std::string cluster_id) {
  const std::string& expected = mirror->settings.source_cluster_id;
  const bool was_mismatch = std::exchange(mirror->cluster_mismatch, false);
  std::string fault;
  if (!cluster_id.empty() && cluster_id == image_->cluster_id) {
    fault = fmt::format("the source of mirror {} is this cluster itself ({})", mirror->name,
                        cluster_id);
  } else if (!expected.empty() && cluster_id != expected) {
    fault = fmt::format("{} belongs to cluster {}, the source of mirror {} is cluster {}",
                        mirror->settings.bootstrap, cluster_id, mirror->name, expected);
  }
  if (!fault.empty()) {
    mirror->cluster_mismatch = true;
    mirror->reconnect = true;
    if (!was_mismatch) KM_LOG(kError, "mirror.wrong_cluster", "{}", fault);
    for (const auto& [where, partition] : mirror->partitions) {
      const MirrorState state = partition->state();
      const bool uses_source = state == MirrorState::kMirroring ||
                               state == MirrorState::kLogAlignment ||
                               state == MirrorState::kEpochFencing || state == MirrorState::kFailed;
      if (uses_source && partition->stored.status.retry_attempt >= 0) {
        fail(partition, MirrorFailure::kTerminal, fault);
      }
    }
    co_return Result<void>();
  }
  if (!expected.empty() || cluster_id.empty()) co_return Result<void>();
  wire::IncrementalAlterConfigsRequest request;
  auto& resource = request.resources.emplace_back();
  resource.resource_type = static_cast<std::int8_t>(metadata::ConfigResourceType::kClusterMirror);
  resource.resource_name = mirror->name;
  auto& config = resource.configs.emplace_back();
  config.name = "source.cluster.id";
  config.config_operation = kSet;
  config.value = cluster_id;
  using Response = wire::IncrementalAlterConfigsResponse;
  UniqueFunction<void(UniqueFunction<void(Response)>)> begin =
      [this, request = std::move(request)](UniqueFunction<void(Response)> done) mutable {
        deps_.metadata.incremental_alter_configs(std::move(request), true, std::move(done));
      };
  KM_CO_TRY(response, co_await answered<Response>(std::move(begin)));
  for (const auto& result : response.responses) {
    if (result.error_code == ErrorCode::NONE) continue;
    KM_LOG(kWarn, "mirror.cluster_id_not_stored", "mirror {}: {} {}", mirror->name,
           result.error_code, result.error_message.value_or(""));
  }
  // The listener has seen the new value by now; this only helps if it could not be stored.
  mirror->settings.source_cluster_id = cluster_id;
  configure_fetchers(*mirror);
  co_return Result<void>();
}

}  // namespace kmirror::mirror
