#include "kmirror/server/replica_manager.h"

#include <algorithm>
#include <map>
#include <utility>

#include "kmirror/base/log.h"

namespace kmirror::server {

using metadata::ConfigResourceType;
using metadata::MetadataDelta;
using metadata::MetadataImage;
using metadata::TopicImage;

namespace {

bool is_replica(const metadata::PartitionImage& partition, NodeId node_id) {
  return std::find(partition.replicas.begin(), partition.replicas.end(), node_id) !=
         partition.replicas.end();
}

storage::ExpectedLog expected_log(const TopicImage& topic, std::int32_t partition,
                                  storage::LogConfig config) {
  storage::ExpectedLog log;
  log.topic_partition = TopicPartition(topic.name, partition);
  log.topic_id = topic.id;
  log.config = std::move(config);
  return log;
}

}  // namespace

// All of it on loop 0.
class ReplicaManager::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(storage::LogManager& logs, NodeId node_id, ResolveLogConfig resolve,
       metrics::Registry& metrics)
      : logs_(logs),
        node_id_(node_id),
        resolve_(std::move(resolve)),
        failed_gauge_(metrics.gauge("kafka_server_replica_manager_failed_log_count",
                                    "Partitions whose log could not be made")),
        partitions_gauge_(metrics.gauge("kafka_server_replica_manager_partition_count",
                                        "PartitionCount: partitions with a log on this node")) {}

  void apply(const MetadataDelta& delta, ReplicaManager& owner);
  void refresh(const TopicImage& topic);
  void refresh_by_name(const std::string& topic);
  void when_settled(UniqueFunction<void()> done);
  [[nodiscard]] std::int64_t failed_count() const { return failed_gauge_.value(); }
  void detach() { owner_ = nullptr; }

 private:
  void ensure(const TopicImage& topic);
  void create(storage::ExpectedLog log);
  void created(const storage::ExpectedLog& log,
               Result<std::shared_ptr<storage::PartitionLog>> result);
  void remove(const TopicImage& topic);
  void removed(const TopicPartition& partition, const Result<void>& result);
  void step_done();
  [[nodiscard]] bool is_wanted(const storage::ExpectedLog& log) const;

  storage::LogManager& logs_;
  const NodeId node_id_;
  ResolveLogConfig resolve_;
  metrics::Gauge& failed_gauge_;
  metrics::Gauge& partitions_gauge_;
  ReplicaManager* owner_ = nullptr;
  std::shared_ptr<const MetadataImage> image_;
  std::map<TopicPartition, storage::ExpectedLog> creating_;
  std::map<TopicPartition, storage::ExpectedLog> failed_;
  // Partitions being removed, with the log that is to be made in their place, if any.
  std::map<TopicPartition, std::vector<storage::ExpectedLog>> removing_;
  std::vector<UniqueFunction<void()>> settled_;
};

void ReplicaManager::Impl::apply(const MetadataDelta& delta, ReplicaManager& owner) {
  owner_ = &owner;
  image_ = delta.after;
  for (const auto& topic : delta.deleted_topics) remove(*topic);
  if (delta.before == nullptr) {
    for (const auto& [name, topic] : image_->topics) ensure(*topic);
    return;
  }
  const auto failed = std::exchange(failed_, {});
  failed_gauge_.set(0);
  for (const auto& [place, log] : failed) {
    if (is_wanted(log)) create(log);
  }
  std::set<std::string> reconfigured;
  bool all = false;
  for (const auto& resource : delta.changed_configs) {
    if (resource.type == ConfigResourceType::kTopic) reconfigured.insert(resource.name);
    if (resource.type == ConfigResourceType::kBroker) all = true;
  }
  for (const auto& name : delta.changed_topics) {
    const auto topic = image_->topic(name);
    if (topic == nullptr) continue;
    ensure(*topic);
    reconfigured.insert(name);
  }
  for (const auto& [name, topic] : image_->topics) {
    if (all || reconfigured.contains(name)) refresh(*topic);
  }
}

void ReplicaManager::Impl::ensure(const TopicImage& topic) {
  for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
    const auto partition = static_cast<std::int32_t>(i);
    if (!is_replica(topic.partitions[i], node_id_)) continue;
    if (logs_.find(topic.id, partition) != nullptr) continue;
    create(expected_log(topic, partition, resolve_(*image_, topic)));
  }
  partitions_gauge_.set(static_cast<std::int64_t>(logs_.all().size()));
}

void ReplicaManager::Impl::create(storage::ExpectedLog log) {
  const TopicPartition place = log.topic_partition;
  const auto removing = removing_.find(place);
  if (removing != removing_.end()) {
    removing->second.assign(1, std::move(log));
    return;
  }
  const auto running = creating_.find(place);
  if (running != creating_.end() && running->second.topic_id == log.topic_id) return;
  creating_[place] = log;
  logs_.create(
      log, [weak = weak_from_this(), log](Result<std::shared_ptr<storage::PartitionLog>> result) {
        if (auto self = weak.lock()) self->created(log, std::move(result));
      });
}

bool ReplicaManager::Impl::is_wanted(const storage::ExpectedLog& log) const {
  const auto topic = image_->topic(log.topic_id);
  return topic != nullptr && topic->name == log.topic_partition.topic &&
         static_cast<std::size_t>(log.topic_partition.partition) < topic->partitions.size();
}

void ReplicaManager::Impl::created(const storage::ExpectedLog& log,
                                   Result<std::shared_ptr<storage::PartitionLog>> result) {
  const auto running = creating_.find(log.topic_partition);
  if (running != creating_.end() && running->second.topic_id == log.topic_id) {
    creating_.erase(running);
  }
  if (!result) {
    KM_LOG(kError, "server.log_not_created", "{}: {}", log.topic_partition, result.error().message);
    if (is_wanted(log)) failed_[log.topic_partition] = log;
    failed_gauge_.set(static_cast<std::int64_t>(failed_.size()));
  } else if (const auto topic = image_->topic(log.topic_id); topic != nullptr) {
    refresh(*topic);  // the settings may have changed meanwhile
    if (owner_ != nullptr && owner_->on_log_created) owner_->on_log_created(*result);
  } else {
    // The topic was deleted while its log was made.
    removing_[log.topic_partition];
    logs_.remove(log.topic_partition,
                 [weak = weak_from_this(), place = log.topic_partition](Result<void> gone) {
                   if (auto self = weak.lock()) self->removed(place, gone);
                 });
  }
  step_done();
}

void ReplicaManager::Impl::remove(const TopicImage& topic) {
  for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
    const TopicPartition place(topic.name, static_cast<std::int32_t>(i));
    failed_.erase(place);
    if (logs_.find(topic.id, place.partition) == nullptr) continue;
    removing_[place];
    logs_.remove(place, [weak = weak_from_this(), place](Result<void> result) {
      if (auto self = weak.lock()) self->removed(place, result);
    });
  }
}

void ReplicaManager::Impl::removed(const TopicPartition& partition, const Result<void>& result) {
  if (!result) {
    KM_LOG(kError, "server.log_not_removed", "{}: {}", partition, result.error().message);
  }
  auto successor = removing_.extract(partition);
  if (!successor.empty()) {
    for (auto& log : successor.mapped()) {
      if (is_wanted(log)) create(std::move(log));
    }
  }
  partitions_gauge_.set(static_cast<std::int64_t>(logs_.all().size()));
  step_done();
}

void ReplicaManager::Impl::refresh(const TopicImage& topic) {
  const storage::LogConfig config = resolve_(*image_, topic);
  for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
    auto log = logs_.find(topic.id, static_cast<std::int32_t>(i));
    if (log == nullptr || *log->config() == config) continue;
    env::Loop& owner = logs_.loop_of(*log);
    owner.post([log = std::move(log), config] { log->update_config(config); });
  }
}

void ReplicaManager::Impl::refresh_by_name(const std::string& topic) {
  if (image_ == nullptr) return;
  if (const auto found = image_->topic(topic); found != nullptr) refresh(*found);
}

void ReplicaManager::Impl::when_settled(UniqueFunction<void()> done) {
  settled_.push_back(std::move(done));
  step_done();
}

void ReplicaManager::Impl::step_done() {
  if (!creating_.empty() || !removing_.empty()) return;
  auto waiting = std::exchange(settled_, {});
  for (auto& done : waiting) done();
}

ReplicaManager::ReplicaManager(storage::LogManager& logs, NodeId node_id, ResolveLogConfig resolve,
                               metrics::Registry& metrics)
    : impl_(std::make_shared<Impl>(logs, node_id, std::move(resolve), metrics)) {}

ReplicaManager::~ReplicaManager() { impl_->detach(); }

std::vector<storage::ExpectedLog> ReplicaManager::expected_logs(const MetadataImage& image,
                                                                NodeId node_id,
                                                                const ResolveLogConfig& resolve) {
  std::vector<storage::ExpectedLog> logs;
  for (const auto& [name, topic] : image.topics) {
    const storage::LogConfig config = resolve(image, *topic);
    for (std::size_t i = 0; i < topic->partitions.size(); ++i) {
      if (!is_replica(topic->partitions[i], node_id)) continue;
      logs.push_back(expected_log(*topic, static_cast<std::int32_t>(i), config));
    }
  }
  return logs;
}

void ReplicaManager::on_metadata(const MetadataDelta& delta) { impl_->apply(delta, *this); }
void ReplicaManager::refresh_config(const std::string& topic) { impl_->refresh_by_name(topic); }
void ReplicaManager::when_settled(UniqueFunction<void()> done) {
  impl_->when_settled(std::move(done));
}
std::int64_t ReplicaManager::failed_count() const { return impl_->failed_count(); }

}  // namespace kmirror::server
