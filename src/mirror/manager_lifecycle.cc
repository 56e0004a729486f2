// Loading stored states, following metadata, timers, stop.
// Owner: loop 0.
#include "kmirror/base/log.h"
#include "mirror/manager_impl.h"

namespace kmirror::mirror {
namespace {

constexpr std::chrono::milliseconds kLoadRetry{200};
constexpr std::chrono::seconds kLongWait{3'600};

}  // namespace

using Impl = MirrorMetadataManager::Impl;

Impl::Impl(MirrorDeps deps)
    : deps_(deps),
      loop_(*deps.environment.loops[0]),
      node_id_(deps.configs.node_id()),
      tasks_(loop_),
      fetchers_(deps.environment, deps.logs, deps.metrics, node_id_,
                [this](const std::string& mirror, FetchEvent event) {
                  take_event(mirror, std::move(event));
                }),
      timer_wake_(loop_),
      stop_wake_(loop_),
      lag_rows_(std::make_shared<Published<std::vector<LagRow>>>()) {
  stopped_.store(std::make_shared<const std::set<TopicIdPartition>>());
  lag_rows_->store(std::make_shared<const std::vector<LagRow>>());
}

Impl::~Impl() = default;

void Impl::start() {
  std::weak_ptr<bool> alive = alive_;
  deps_.metrics.add_collector([this, alive](std::vector<metrics::Sample>& samples) {
    if (const auto guard = alive.lock()) collect_lag(samples);
  });
  tasks_.spawn("mirror timers", run_timers());
  tasks_.spawn("mirror stops", run_stops());
  tasks_.spawn("mirror load", load());
}

env::Awaitable<void> Impl::stop() {
  is_stopping_ = true;
  alive_.reset();
  for (const auto& [name, mirror] : mirrors_) {
    mirror->is_gone = true;
    mirror->wake.set();
  }
  tasks_.cancel();
  co_await tasks_.join();
  co_await fetchers_.stop();
}

env::Awaitable<void> Impl::load() {
  for (;;) {
    UniqueFunction<void(UniqueFunction<void(Result<States>)>)> begin =
        [this](UniqueFunction<void(Result<States>)> done) {
          deps_.coordinator.list("", loop_, std::move(done));
        };
    Result<States> states = co_await answered<Result<States>>(std::move(begin));
    const bool cancelled = co_await env::task_cancelled();
    if (cancelled) co_return;
    if (states) {
      for (auto& [key, state] : *states) loaded_.emplace(key, std::move(state));
      break;
    }
    KM_LOG(kInfo, "mirror.states_loading", "{}", states.error().message);
    co_await env::pause_for(deps_.environment.clock, kLoadRetry);
  }
  is_loaded_ = true;
  deps_.metadata.add_listener(*this);
  forget_stale_states();
}

/// Tombstones that a crash kept from being written: states of mirrors and topics that are gone.
void Impl::forget_stale_states() {
  std::set<std::string> mirrors;
  std::vector<coordinator::MirrorPartitionKey> keys;
  for (const auto& [key, state] : loaded_) {
    if (!image_->has_mirror(key.mirror)) {
      mirrors.insert(key.mirror);
    } else if (!image_->topic(key.topic_id)) {
      keys.push_back(key);
    }
  }
  const auto log_error = [](const Result<void>& done) {
    if (!done) KM_LOG(kWarn, "mirror.stale_states_kept", "{}", done.error().message);
  };
  for (const std::string& mirror : mirrors) {
    deps_.coordinator.remove_mirror(mirror, loop_, log_error);
  }
  if (!keys.empty()) deps_.coordinator.remove(std::move(keys), loop_, log_error);
}

void Impl::on_metadata(const metadata::MetadataDelta& delta) {
  if (is_stopping_) return;
  image_ = delta.after;
  const bool is_first = delta.before == nullptr;
  std::set<std::string> changed_mirrors;
  for (const auto& resource : delta.changed_configs) {
    if (resource.type == metadata::ConfigResourceType::kClusterMirror) {
      changed_mirrors.insert(resource.name);
    } else if (resource.type == metadata::ConfigResourceType::kBroker) {
      // Client keys of a mirror fall back to the broker's.
      for (const std::string& name : image_->mirror_names()) changed_mirrors.insert(name);
    }
  }
  if (is_first) {
    for (const std::string& name : image_->mirror_names()) changed_mirrors.insert(name);
  }
  fetchers_.set_fetcher_count(
      static_cast<int>(deps_.configs.broker_integer(*image_, "mirror.num.replica.fetchers")));
  for (const std::string& name : changed_mirrors) {
    if (image_->has_mirror(name)) sync_mirror(name);
  }
  for (const auto& topic : delta.deleted_topics) drop_topic(topic->name, std::nullopt);
  for (const std::string& name : delta.changed_topics) {
    if (const auto topic = image_->topic(name)) sync_topic(*topic);
  }
  if (is_first) {
    for (const auto& [name, topic] : image_->topics) sync_topic(*topic);
  }
  for (const std::string& name : changed_mirrors) {
    if (!image_->has_mirror(name)) remove_mirror(name);
  }
  publish_soon();
}

void Impl::sync_mirror(const std::string& name) {
  Result<MirrorSettings> settings = read_settings(deps_.configs, *image_, name);
  if (!settings) {
    KM_LOG(kError, "mirror.bad_settings", "mirror {}: {}", name, settings.error().message);
    return;
  }
  MirrorPtr mirror = find_mirror(name);
  if (!mirror) {
    mirror = std::make_shared<Mirror>(name, loop_);
    mirror->settings = std::move(*settings);
    mirror->next_regular = now();
    mirrors_[name] = mirror;
    configure_fetchers(*mirror);
    tasks_.spawn("mirror refresh", run_mirror(mirror));
    return;
  }
  const bool must_reconnect =
      mirror->settings.connection_fingerprint != settings->connection_fingerprint;
  const bool new_filter = mirror->settings.include != settings->include;
  mirror->settings = std::move(*settings);
  configure_fetchers(*mirror);
  if (must_reconnect) reconnect(*mirror);
  if (must_reconnect || new_filter) refresh_soon(name);
}

void Impl::remove_mirror(const std::string& name) {
  const MirrorPtr mirror = find_mirror(name);
  if (!mirror) return;
  mirror->is_gone = true;
  mirror->wake.set();
  while (!mirror->partitions.empty()) {
    const PartitionPtr partition = mirror->partitions.begin()->second;
    drop_partition(*mirror, partition);
  }
  mirrors_.erase(name);
  fetchers_.remove_mirror(name, [] {});
  deps_.coordinator.remove_mirror(name, loop_, [name](const Result<void>& done) {
    if (!done) KM_LOG(kWarn, "mirror.stale_states_kept", "{}: {}", name, done.error().message);
  });
  KM_LOG(kInfo, "mirror.deleted", "mirror {}", name);
}

void Impl::sync_topic(const metadata::TopicImage& topic) {
  drop_topic(topic.name, topic.is_mirrored() ? topic.mirror_name : std::nullopt);
  if (!topic.is_mirrored()) return;
  const MirrorPtr mirror = find_mirror(*topic.mirror_name);
  if (!mirror) return;
  for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
    if (topic.partitions[i].leader == node_id_) {
      sync_partition(*mirror, topic, static_cast<std::int32_t>(i));
    }
  }
}

void Impl::sync_partition(Mirror& mirror, const metadata::TopicImage& topic, std::int32_t index) {
  const TopicPartition where(topic.name, index);
  const LeaderEpoch epoch = topic.partitions[static_cast<std::size_t>(index)].leader_epoch;
  PartitionPtr partition = find(mirror.name, where);
  if (partition && partition->key.topic_id != topic.id) {
    drop_partition(mirror, partition);
    partition = nullptr;
  }
  const bool is_new = partition == nullptr;
  if (is_new) {
    partition = std::make_shared<MirrorPartition>(mirror.name, topic.name, topic.id, index);
    mirror.partitions[where] = partition;
    if (const auto stored = loaded_.extract(partition->key); !stored.empty()) {
      partition->stored = stored.mapped();
    }
  }
  if (partition->own_epoch != epoch) {
    partition->own_epoch = epoch;
    if (partition->assignment != 0) fetchers_.set_own_epoch(mirror.name, where, epoch);
  }
  if (is_new) {
    note_state(*partition, MirrorState::kUnknown, partition->state());
    act(partition);
  }
  reconcile(partition);
}

void Impl::drop_topic(const std::string& topic, const std::optional<std::string>& but_of_mirror) {
  for (const auto& [name, mirror] : mirrors_) {
    if (but_of_mirror && name == *but_of_mirror) continue;
    for (;;) {
      const auto first = mirror->partitions.lower_bound(TopicPartition(topic, 0));
      if (first == mirror->partitions.end() || first->first.topic != topic) break;
      const PartitionPtr partition = first->second;
      drop_partition(*mirror, partition);
    }
    mirror->source.forget(topic);
    mirror->missing_rounds.erase(topic);
  }
}

void Impl::drop_partition(Mirror& mirror, const PartitionPtr& partition) {
  note_state(*partition, partition->state(), MirrorState::kUnknown);
  partition->is_gone = true;
  release(partition, [] {});
  mirror.partitions.erase(partition->where);
  const bool is_topic_gone = !image_->topic(partition->key.topic_id);
  if (is_topic_gone && image_->has_mirror(mirror.name)) {
    std::vector<coordinator::MirrorPartitionKey> keys{partition->key};
    deps_.coordinator.remove(std::move(keys), loop_, [](const Result<void>&) {});
  } else {
    // Kept for the day the topic comes back to this mirror.
    loaded_[partition->key] = partition->stored;
  }
  publish_soon();
}

void Impl::log_created() {
  for (const auto& [name, mirror] : mirrors_) {
    for (const auto& [where, partition] : mirror->partitions) {
      const bool waits = partition->state() == MirrorState::kMirroring &&
                         partition->assignment == 0 && !partition->awaits_metadata;
      if (waits && !partition->is_writing) start_fetching(partition);
      if (partition->state() == MirrorState::kLogAlignment) request_refresh(*mirror);
    }
  }
}

MirrorPtr Impl::find_mirror(const std::string& name) const {
  const auto found = mirrors_.find(name);
  return found == mirrors_.end() ? nullptr : found->second;
}

PartitionPtr Impl::find(const std::string& mirror_name, const TopicPartition& of) const {
  const MirrorPtr mirror = find_mirror(mirror_name);
  if (!mirror) return nullptr;
  const auto found = mirror->partitions.find(of);
  return found == mirror->partitions.end() ? nullptr : found->second;
}

std::shared_ptr<storage::PartitionLog> Impl::log_of(const MirrorPartition& of) const {
  return deps_.logs.find(of.key.topic_id, of.key.partition);
}

std::shared_ptr<const metadata::TopicImage> Impl::topic_of(const MirrorPartition& of) const {
  return image_->topic(of.key.topic_id);
}

MirrorRetryPolicy Impl::policy() const {
  const auto number = [this](const char* key) {
    return deps_.configs.broker_integer(*image_, key);
  };
  MirrorRetryPolicy policy;
  policy.initial_backoff =
      std::chrono::milliseconds(number("mirror.failed.retry.initial.backoff.ms"));
  policy.max_backoff = std::chrono::milliseconds(number("mirror.failed.retry.max.backoff.ms"));
  policy.max_attempts = static_cast<std::int16_t>(number("mirror.failed.retry.max.attempts"));
  return policy;
}

void Impl::after(std::chrono::milliseconds delay, UniqueFunction<void()> work) {
  timers_.emplace(now() + delay, std::move(work));
  timer_wake_.set();
}

env::Awaitable<void> Impl::run_timers() {
  for (;;) {
    timer_wake_.reset();
    const env::Instant next = timers_.empty() ? now() + kLongWait : timers_.begin()->first;
    co_await timer_wake_.wait_until(deps_.environment.clock, next);
    const bool cancelled = co_await env::task_cancelled();
    if (cancelled) co_return;
    while (!timers_.empty() && timers_.begin()->first <= now()) {
      UniqueFunction<void()> work = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      work();
    }
  }
}

}  // namespace kmirror::mirror
