#include "kmirror/storage/partition_log.h"

#include <cerrno>

#include <fmt/format.h>

#include "kmirror/base/log.h"
#include "kmirror/env/errors.h"
#include "kmirror/model/error_code.h"
#include "storage/partition_log_impl.h"

namespace kmirror::storage {

bool is_no_space(const Error& error) {
  return env::is_system(error, ENOSPC) || env::is_system(error, EDQUOT);
}

bool is_not_found(const Error& error) { return env::is_system(error, ENOENT); }

// ---- shared steps ----

PartitionLog::Impl::Impl(env::Environment& environment, Identity id, LogConfig config_value)
    : env(environment), identity(std::move(id)) {
  // The metadata log holds secrets.
  const bool secret = identity.topic_partition.topic == "__cluster_metadata";
  place = std::make_shared<const LogPlace>(env.files, identity.directory, secret);
  config.store(std::make_shared<const LogConfig>(std::move(config_value)));
}

std::string PartitionLog::Impl::name() const { return fmt::format("{}", identity.topic_partition); }

Error PartitionLog::Impl::offline_error() const {
  return kafka_error(ErrorCode::KAFKA_STORAGE_ERROR,
                     fmt::format("the log of {} is offline or deleted", identity.topic_partition));
}

void PartitionLog::Impl::fail(const Error& error) {
  if (is_no_space(error)) return;
  if (error.code.category() == kafka_category()) return;  // the caller's bytes, not the disk
  take_offline(error);
}

void PartitionLog::Impl::take_offline(const Error& reason) {
  if (!online.exchange(false)) return;
  KM_LOG(kError, "storage.log_offline", "{}: {}", name(), reason.message);
  wake_waiters(true);
  if (on_offline) on_offline(reason);
}

void PartitionLog::Impl::publish_view() {
  auto next = std::make_shared<LogView>();
  next->segments.assign(segments.begin(), segments.end());
  view.store(std::move(next));
}

void PartitionLog::Impl::wake_waiters(bool all) {
  std::vector<UniqueFunction<void()>> ready;
  const Offset log_end_now = end();
  const Offset stable_now(last_stable.load());
  for (auto it = waiters.begin(); it != waiters.end();) {
    const Waiter& waiter = it->second;
    if (all || log_end_now > waiter.seen_log_end || stable_now > waiter.seen_last_stable) {
      ready.push_back(std::move(it->second.wake));
      it = waiters.erase(it);
    } else {
      ++it;
    }
  }
  for (auto& wake : ready) wake();  // may add waiters
}

// ---- the door ----

PartitionLog::PartitionLog(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PartitionLog::~PartitionLog() = default;

Result<std::shared_ptr<PartitionLog>> PartitionLog::open(env::Environment& environment,
                                                         Identity identity, LogConfig config,
                                                         OpenOptions options) {
  auto impl = std::make_unique<Impl>(environment, std::move(identity), std::move(config));
  KM_TRY_VOID(impl->open(std::move(options)));
  return std::shared_ptr<PartitionLog>(new PartitionLog(std::move(impl)));
}

Result<AppendInfo> PartitionLog::append_as_leader(Slice records, LeaderEpoch epoch,
                                                  AppendOrigin origin,
                                                  std::vector<RecordError>* record_errors) {
  return impl_->append_as_leader(records, epoch, origin, record_errors);
}

PartitionLog::FollowerAppend PartitionLog::append_as_follower(const ByteChain& batches,
                                                              bool crc_checked) {
  return impl_->append_as_follower(batches, crc_checked);
}

Result<void> PartitionLog::truncate_to(Offset offset) { return impl_->truncate_to(offset); }
Result<void> PartitionLog::truncate_fully_and_start_at(Offset offset) {
  return impl_->truncate_fully_and_start_at(offset);
}
Result<bool> PartitionLog::advance_log_start_offset(Offset offset) {
  return impl_->advance_log_start_offset(offset);
}
void PartitionLog::update_config(LogConfig config) {
  impl_->config.store(std::make_shared<const LogConfig>(std::move(config)));
}
Result<void> PartitionLog::roll() {
  if (!is_online()) return impl_->offline_error();
  if (impl_->active()->size_bytes() == 0) return {};
  return impl_->roll(impl_->end());
}
Result<int> PartitionLog::apply_retention(std::int64_t now_ms) {
  return impl_->apply_retention(now_ms);
}
void PartitionLog::expire_producers(std::int64_t now_ms, std::int64_t expiry_ms) {
  impl_->producers.expire(now_ms, expiry_ms);
}

PartitionLog::WaitId PartitionLog::add_waiter(Offset seen_log_end, Offset seen_last_stable,
                                              UniqueFunction<void()> wake) {
  const WaitId id = impl_->next_wait_id++;
  if (!is_online() || log_end_offset() > seen_log_end || last_stable_offset() > seen_last_stable) {
    wake();
    return id;
  }
  auto& waiter = impl_->waiters[id];
  waiter.seen_log_end = seen_log_end;
  waiter.seen_last_stable = seen_last_stable;
  waiter.wake = std::move(wake);
  return id;
}
void PartitionLog::remove_waiter(WaitId id) { impl_->waiters.erase(id); }

PartitionLog::FlushTask PartitionLog::start_flush() { return impl_->start_flush(); }
void PartitionLog::flush_done(const FlushTask& task) { impl_->flush_done(task); }
Result<void> PartitionLog::close_clean() { return impl_->close_clean(); }
Result<std::string> PartitionLog::schedule_delete() { return impl_->schedule_delete(); }
void PartitionLog::take_offline(const Error& reason) { impl_->take_offline(reason); }
std::vector<std::string> PartitionLog::take_deletable_files(std::int64_t now_ms) {
  return impl_->take_deletable_files(now_ms);
}
void PartitionLog::recovery_point_saved(Offset saved) { impl_->recovery_point_saved(saved); }
std::optional<Offset> PartitionLog::checkpoint_limit() const {
  const Offset limit(impl_->checkpoint_limit.load());
  if (limit == Impl::kNoLimit) return std::nullopt;
  return limit;
}
void PartitionLog::release_idle_files() { impl_->release_idle_files(); }

const TopicPartition& PartitionLog::topic_partition() const {
  return impl_->identity.topic_partition;
}
const Uuid& PartitionLog::topic_id() const { return impl_->identity.topic_id; }
const std::string& PartitionLog::directory() const { return impl_->identity.directory; }
std::shared_ptr<const LogConfig> PartitionLog::config() const { return impl_->config.load(); }
Offset PartitionLog::log_start_offset() const { return impl_->start(); }
Offset PartitionLog::log_end_offset() const { return impl_->end(); }
Offset PartitionLog::high_watermark() const { return Offset(impl_->high_watermark.load()); }
Offset PartitionLog::last_stable_offset() const { return Offset(impl_->last_stable.load()); }
Offset PartitionLog::recovery_point() const { return Offset(impl_->recovery_point.load()); }
std::uint64_t PartitionLog::size_bytes() const { return impl_->size_bytes.load(); }
std::size_t PartitionLog::segment_count() const { return impl_->view.load()->segments.size(); }
bool PartitionLog::is_online() const { return impl_->online.load(); }

Result<ReadResult> PartitionLog::read(const ReadRequest& request) const {
  return impl_->read(request);
}
Result<TimestampAndOffset> PartitionLog::offset_for_timestamp(std::int64_t timestamp_ms,
                                                              Offset limit) const {
  return impl_->offset_for_timestamp(timestamp_ms, limit);
}
Result<TimestampAndOffset> PartitionLog::offset_for_max_timestamp() const {
  return impl_->offset_for_max_timestamp();
}
EpochAndEndOffset PartitionLog::end_offset_for_epoch(LeaderEpoch epoch) const {
  return impl_->epochs.end_offset_for(epoch, log_end_offset());
}
std::optional<LeaderEpoch> PartitionLog::epoch_for_offset(Offset offset) const {
  return impl_->epochs.epoch_for(offset);
}
LeaderEpoch PartitionLog::latest_epoch() const { return impl_->epochs.latest(); }
std::vector<EpochEntry> PartitionLog::epoch_entries() const { return *impl_->epochs.entries(); }
std::vector<ActiveProducer> PartitionLog::active_producers() const {
  return impl_->producers.producers();
}
std::vector<ActiveProducer> PartitionLog::open_transactions() const {
  return impl_->producers.open_transactions();
}
ProducerId PartitionLog::max_producer_id_seen() const {
  return ProducerId(impl_->max_producer_id.load());
}

}  // namespace kmirror::storage
