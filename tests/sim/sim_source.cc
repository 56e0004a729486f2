#include "sim/sim_source.h"

#include <fmt/format.h>

#include "kmirror/base/check.h"
#include "sim/source_node.h"
#include "support/batches.h"

namespace kmirror::testing {

SimSource::SimSource(std::string cluster_id)
    : api_versions([this](const Call* c, const auto* r) { return answer_api_versions(c, r); }),
      metadata([this](const Call* c, const auto* r) { return answer_metadata(c, r); }),
      fetch([this](const Call* c, const auto* r) { return answer_fetch(c, r); }),
      list_offsets([this](const Call* c, const auto* r) { return answer_list_offsets(c, r); }),
      offset_for_leader_epoch([this](const Call* c, const auto* r) { return answer_epochs(c, r); }),
      describe_cluster_mirrors(
          [this](const Call* c, const auto* r) { return answer_mirrors(c, r); }),
      cluster_id_(std::move(cluster_id)) {
  register_apis();
}

SimSource::~SimSource() = default;

void SimSource::register_apis() {
  SimApiBase* const all[] = {&api_versions,
                             &metadata,
                             &fetch,
                             &list_offsets,
                             &offset_for_leader_epoch,
                             &describe_cluster_mirrors};
  for (SimApiBase* api : all) apis_[api->key()] = api;
  describe_cluster_mirrors.is_on = false;
  // The newest that Kafka 4.x brokers advertise to consumers.
  fetch.max_version = ApiVersion(17);
  list_offsets.max_version = ApiVersion(10);
  api_versions.max_version = ApiVersion(4);
}

SimApiBase* SimSource::find(ApiKey key) {
  const auto found = apis_.find(key);
  return found != apis_.end() && found->second->is_on ? found->second : nullptr;
}

void SimSource::forget_topic_ids() {
  has_topic_ids_ = false;
  fetch.max_version = std::min(fetch.max_version, ApiVersion(12));
  metadata.max_version = std::min(metadata.max_version, ApiVersion(9));
}

// --- Nodes ----------------------------------------------------------------------------------

Result<void> SimSource::add_node(NodeId node, env::Environment& environment, env::Loop& loop,
                                 env::Endpoint at) {
  KM_CHECK(!nodes_.contains(node), "node {} is there already", node);
  auto made = std::make_unique<SourceNode>(*this, node, environment, loop);
  KM_TRY_VOID(made->listen(std::move(at)));
  nodes_.emplace(node, std::move(made));
  return {};
}

env::Endpoint SimSource::endpoint(NodeId node) const { return nodes_.at(node)->endpoint(); }

std::string SimSource::bootstrap() const {
  std::string all;
  for (const auto& [id, node] : nodes_) {
    if (!all.empty()) all += ',';
    all += node->endpoint().text();
  }
  return all;
}

void SimSource::stop_node(NodeId node) {
  nodes_.at(node)->close();
  sessions.drop_of(node);
}

Result<void> SimSource::start_node(NodeId node) {
  SourceNode& entry = *nodes_.at(node);
  KM_CHECK(!entry.is_listening(), "node {} runs", node);
  return entry.listen(entry.endpoint());
}

void SimSource::drop_connections(NodeId node) { nodes_.at(node)->drop_connections(); }

std::size_t SimSource::connection_count(NodeId node) const {
  return nodes_.at(node)->connection_count();
}

env::Awaitable<void> SimSource::stop() {
  for (const auto& [id, node] : nodes_) {
    co_await node->stop();
  }
}

void SimSource::notify() {
  for (const auto& [id, node] : nodes_) node->wake();
}

// --- Topics ---------------------------------------------------------------------------------

Uuid SimSource::make_topic_id(const std::string& name) {
  const int made = ++times_made_[name];
  if (!has_topic_ids_) return {};
  std::array<std::uint8_t, 16> bytes{};
  const std::size_t hash = std::hash<std::string>{}(name);
  store_be<std::uint64_t>(bytes.data(), hash);
  store_be<std::int32_t>(bytes.data() + 8, 0x40005EED);
  store_be<std::int32_t>(bytes.data() + 12, made);
  // Kafka avoids ids whose text begins with '-'.
  bytes[0] &= 0x7F;
  return Uuid(bytes);
}

SimTopic& SimSource::create_topic(const std::string& name, std::int32_t partitions) {
  KM_CHECK(!topics_.contains(name), "topic {} exists", name);
  SimTopic& made = topics_[name];
  made.id = make_topic_id(name);
  add_partitions(name, partitions);
  return made;
}

SimTopic& SimSource::recreate_topic(const std::string& name) {
  const auto count = static_cast<std::int32_t>(topic(name).partitions.size());
  topics_.erase(name);
  return create_topic(name, count);
}

void SimSource::delete_topic(const std::string& name) {
  topics_.erase(name);
  notify();
}

void SimSource::add_partitions(const std::string& name, std::int32_t total) {
  KM_CHECK(!nodes_.empty(), "add a node first");
  SimTopic& entry = topic(name);
  while (entry.partitions.size() < static_cast<std::size_t>(total)) {
    const auto turn = static_cast<std::ptrdiff_t>(entry.partitions.size() % nodes_.size());
    SimPartition& made = entry.partitions.emplace_back();
    made.leader = std::next(nodes_.begin(), turn)->first;
    made.log.begin_epoch(made.epoch);
  }
  notify();
}

SimTopic& SimSource::topic(const std::string& name) {
  const auto found = topics_.find(name);
  KM_CHECK(found != topics_.end(), "no topic {}", name);
  return found->second;
}

SimPartition& SimSource::partition(const TopicPartition& at) {
  SimPartition* const found = find_partition(at.topic, at.partition);
  KM_CHECK(found != nullptr, "no partition {}", at);
  return *found;
}

SimPartition* SimSource::find_partition(const std::string& topic, std::int32_t index) {
  const auto found = topics_.find(topic);
  if (found == topics_.end() || index < 0) return nullptr;
  auto& partitions = found->second.partitions;
  const auto at = static_cast<std::size_t>(index);
  return at < partitions.size() ? &partitions[at] : nullptr;
}

Offset SimSource::produce(const TopicPartition& to, int records) {
  const SimPartition& target = partition(to);
  const Offset base = target.log.end();
  append(to, simple_batch(base.get(), records, target.epoch.get()));
  return base;
}

void SimSource::append(const TopicPartition& to, Slice batch) {
  log(to).append(std::move(batch));
  notify();
}

void SimSource::move_leader(const TopicPartition& of, NodeId node,
                            std::optional<LeaderEpoch> epoch) {
  SimPartition& entry = partition(of);
  entry.leader = node;
  if (node == NodeId(-1) && !epoch) return;
  entry.epoch = epoch.value_or(LeaderEpoch(entry.epoch.get() + 1));
  entry.log.begin_epoch(entry.epoch);
  notify();
}

void SimSource::unclean_election(const TopicPartition& of, NodeId node, Offset end) {
  log(of).truncate_to(end);
  move_leader(of, node);
}

}  // namespace kmirror::testing
