// What others see of the mirrors: describe, metrics, who may write.
// Owner: loop 0; is_stopped() and collect_lag() any thread.
// Sources: spec C.2, I.
#include <algorithm>

#include "mirror/manager_impl.h"

namespace kmirror::mirror {
namespace {

constexpr char kLagName[] = "kmirror_fetcher_lag_records";
constexpr char kDelayName[] = "kmirror_fetcher_lag_seconds";
constexpr char kBytesName[] = "kmirror_fetcher_lag_bytes";

std::int64_t lag_of(const PartitionProgress& progress, const storage::PartitionLog& log) {
  const std::int64_t source = progress.source_high_watermark.load(std::memory_order_relaxed);
  // A source whose high watermark is behind after an election is no negative lag (G56).
  return std::max<std::int64_t>(0, source - log.log_end_offset().get());
}

void add(std::vector<metrics::Sample>& samples, const char* name, const char* help,
         metrics::Labels labels, double value) {
  metrics::Sample sample;
  sample.name = name;
  sample.help = help;
  sample.labels = std::move(labels);
  sample.value = value;
  samples.push_back(std::move(sample));
}

}  // namespace

using Impl = MirrorMetadataManager::Impl;

MirrorInfo Impl::info_of(const Mirror& mirror) const {
  MirrorInfo info;
  info.name = mirror.name;
  info.bootstrap = mirror.settings.bootstrap;
  info.source_cluster_id = mirror.settings.source_cluster_id;
  for (const auto& [where, partition] : mirror.partitions) {
    MirrorPartitionInfo& row = info.partitions.emplace_back();
    row.topic = where.topic;
    row.partition = where.partition;
    row.topic_id = partition->key.topic_id;
    row.stored = partition->stored;
    const std::uint64_t lost = partition->progress->gap_records.load(std::memory_order_relaxed);
    if (lost > 0) {
      row.note =
          fmt::format("{} records were dropped at the source before they were mirrored", lost);
    }
    if (partition->state() != MirrorState::kMirroring) continue;
    row.source_offset =
        Offset(partition->progress->source_high_watermark.load(std::memory_order_relaxed));
    if (const auto log = log_of(*partition)) row.destination_offset = log->log_end_offset();
  }
  return info;
}

std::vector<MirrorInfo> Impl::describe() const {
  std::vector<MirrorInfo> all;
  for (const auto& [name, mirror] : mirrors_) all.push_back(info_of(*mirror));
  return all;
}

std::optional<MirrorInfo> Impl::describe(const std::string& name) const {
  const MirrorPtr mirror = find_mirror(name);
  if (!mirror) return std::nullopt;
  return info_of(*mirror);
}

MirrorState Impl::state_of(const std::string& mirror, const TopicPartition& of) const {
  const PartitionPtr partition = find(mirror, of);
  return partition ? partition->state() : MirrorState::kUnknown;
}

bool Impl::is_stopped(const Uuid& topic_id, std::int32_t partition) const {
  return stopped_.load()->contains(TopicIdPartition(topic_id, partition));
}

void Impl::note_state(const MirrorPartition& partition, MirrorState before, MirrorState after) {
  const auto gauge = [&](MirrorState state) -> metrics::Gauge& {
    return deps_.metrics.gauge(
        "kmirror_mirror_partition_states", "Mirror partitions by state.",
        {{"mirror_name", partition.key.mirror}, {"state", std::string(name(state))}});
  };
  if (before != MirrorState::kUnknown) gauge(before).add(-1);
  if (after != MirrorState::kUnknown) gauge(after).add(1);
  const bool was_stopped = before == MirrorState::kStopped;
  const bool is_stopped = after == MirrorState::kStopped;
  if (was_stopped != is_stopped) writable_changed_.insert(partition.where.topic);
  publish_soon();
}

void Impl::publish_soon() {
  if (is_publish_posted_) return;
  is_publish_posted_ = true;
  std::weak_ptr<bool> alive = alive_;
  loop_.post([this, alive] {
    if (!alive.expired()) publish();
  });
}

/// One new snapshot for everything that changed in one turn of the loop.
void Impl::publish() {
  is_publish_posted_ = false;
  auto stopped = std::make_shared<std::set<TopicIdPartition>>();
  auto rows = std::make_shared<std::vector<LagRow>>();
  for (const auto& [name, mirror] : mirrors_) {
    std::set<std::string> active;
    for (const auto& [where, partition] : mirror->partitions) {
      const MirrorState state = partition->state();
      if (state == MirrorState::kStopped) {
        stopped->emplace(partition->key.topic_id, partition->key.partition);
      } else {
        active.insert(where.topic);
      }
      if (state != MirrorState::kMirroring) continue;
      LagRow row;
      row.mirror = name;
      row.where = where;
      row.client_id = fmt::format("MirrorFetcherThread-{}-{}", partition->broker, name);
      row.progress = partition->progress;
      row.log = log_of(*partition);
      if (row.log) rows->push_back(std::move(row));
    }
    deps_.metrics
        .gauge("kmirror_mirror_topic_count", "Topics of the mirror that are not stopped.",
               {{"mirror_name", name}})
        .set(static_cast<std::int64_t>(active.size()));
  }
  stopped_.store(std::move(stopped));
  lag_rows_->store(std::move(rows));
  for (const std::string& topic : std::exchange(writable_changed_, {})) {
    if (on_writable_changed) on_writable_changed(topic);
  }
}

void Impl::collect_lag(std::vector<metrics::Sample>& samples) const {
  const std::int64_t now_ms = deps_.environment.clock.wall_ms();
  std::int64_t max_lag = 0;
  for (const LagRow& row : *lag_rows_->load()) {
    const std::int64_t lag = lag_of(*row.progress, *row.log);
    max_lag = std::max(max_lag, lag);
    const metrics::Labels labels = {{"client_id", row.client_id},
                                    {"mirror_name", row.mirror},
                                    {"partition", fmt::format("{}", row.where.partition)},
                                    {"topic", row.where.topic}};
    add(samples, kLagName, "Records between the source's high watermark and our log end.", labels,
        static_cast<double>(lag));
    const std::int64_t caught_up = row.progress->caught_up_ms.load(std::memory_order_relaxed);
    const double behind =
        lag == 0 || caught_up < 0 ? 0 : static_cast<double>(now_ms - caught_up) / 1'000;
    add(samples, kDelayName, "Seconds since nothing was missing; 0 while nothing is.", labels,
        behind);
    const std::int64_t records = row.log->log_end_offset() - row.log->log_start_offset();
    const double average =
        records > 0 ? static_cast<double>(row.log->size_bytes()) / static_cast<double>(records) : 0;
    add(samples, kBytesName, "Estimated bytes behind: records times their average size here.",
        labels, static_cast<double>(lag) * average);
  }
  add(samples, "kmirror_mirror_fetcher_manager_max_lag", "Greatest lag in records of a partition.",
      {{"client_id", "MirrorReplica"}}, static_cast<double>(max_lag));
}

metrics::Counter& Impl::error_counter(const char* name, const char* help) {
  return deps_.metrics.counter(name, help);
}

MirrorMetadataManager::MirrorMetadataManager(MirrorDeps deps)
    : impl_(std::make_unique<Impl>(deps)) {}
MirrorMetadataManager::~MirrorMetadataManager() = default;
void MirrorMetadataManager::start() {
  impl_->on_writable_changed = std::move(on_writable_changed);
  impl_->start();
}
env::Awaitable<void> MirrorMetadataManager::stop() { co_await impl_->stop(); }
void MirrorMetadataManager::log_created() { impl_->log_created(); }
std::vector<MirrorInfo> MirrorMetadataManager::describe() const { return impl_->describe(); }
std::optional<MirrorInfo> MirrorMetadataManager::describe(const std::string& mirror) const {
  return impl_->describe(mirror);
}
MirrorState MirrorMetadataManager::state_of(const std::string& mirror,
                                            const TopicPartition& of) const {
  return impl_->state_of(mirror, of);
}
bool MirrorMetadataManager::is_loaded() const { return impl_->is_loaded(); }
void MirrorMetadataManager::recover(const std::string& mirror,
                                    const std::vector<std::string>& topics) {
  impl_->recover(mirror, topics);
}
void MirrorMetadataManager::states_written(const std::string& mirror,
                                           std::vector<TopicPartition> partitions) {
  impl_->states_written(mirror, std::move(partitions));
}
Result<client::AdminOptions> MirrorMetadataManager::source_of(const std::string& mirror) const {
  return impl_->source_of(mirror);
}
void MirrorMetadataManager::refresh_soon(const std::string& mirror) { impl_->refresh_soon(mirror); }
bool MirrorMetadataManager::is_stopped(const Uuid& topic_id, std::int32_t partition) const {
  return impl_->is_stopped(topic_id, partition);
}

}  // namespace kmirror::mirror
