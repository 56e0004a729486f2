#include "server/handlers/fetch_session.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kmirror::server {

std::size_t FetchPartitionKey::Hash::operator()(const FetchPartitionKey& key) const {
  const std::size_t topic =
      key.topic.by_id ? std::hash<Uuid>{}(key.topic.id) : std::hash<std::string>{}(key.topic.name);
  return topic * 31 + static_cast<std::size_t>(key.partition);
}

void FetchPartitionList::update(const wire::FetchRequest& request, bool by_id) {
  for (const auto& topic : request.topics) {
    const TopicKey key = by_id ? TopicKey::of_id(topic.topic_id) : TopicKey::named(topic.topic);
    for (const auto& wish : topic.partitions) {
      const FetchPartitionKey place(key, wish.partition);
      auto found = index_.find(place);
      if (found == index_.end()) {
        auto partition = std::make_shared<FetchPartition>();
        partition->topic = key;
        partition->partition = wish.partition;
        found = index_.emplace(place, order_.insert(order_.end(), std::move(partition))).first;
      }
      FetchPartition& partition = **found->second;
      if (partition.current_leader_epoch != wish.current_leader_epoch) partition.found_at = -2;
      partition.fetch_offset = wish.fetch_offset;
      partition.max_bytes = wish.partition_max_bytes;
      partition.current_leader_epoch = wish.current_leader_epoch;
      partition.last_fetched_epoch = wish.last_fetched_epoch;
    }
  }
  for (const auto& topic : request.forgotten_topics_data) {
    const TopicKey key = by_id ? TopicKey::of_id(topic.topic_id) : TopicKey::named(topic.topic);
    for (const std::int32_t partition : topic.partitions) {
      const auto found = index_.find(FetchPartitionKey(key, partition));
      if (found == index_.end()) continue;
      order_.erase(found->second);
      index_.erase(found);
    }
  }
}

void FetchPartitionList::move_to_end(const FetchPartition& partition) {
  const auto found = index_.find(FetchPartitionKey(partition.topic, partition.partition));
  if (found != index_.end()) order_.splice(order_.end(), order_, found->second);
}

std::vector<FetchPartitionPtr> FetchPartitionList::in_order() const {
  return {order_.begin(), order_.end()};
}

FetchSessionCache::FetchSessionCache(std::size_t slots, env::Duration min_eviction, env::Rng& rng,
                                     metrics::Gauge& kept, std::size_t loop_index,
                                     std::size_t loop_count)
    : slots_(slots),
      min_eviction_(min_eviction),
      rng_(rng),
      kept_(kept),
      loop_index_(loop_index),
      loop_count_(loop_count) {}

std::shared_ptr<FetchSession> FetchSessionCache::create(FetchPartitionList partitions, bool by_id,
                                                        env::Instant now) {
  if (sessions_.size() >= slots_ && !make_room(now)) return nullptr;
  auto session = std::make_shared<FetchSession>();
  session->id = new_id();
  session->by_id = by_id;
  session->last_used = now;
  session->partitions = std::move(partitions);
  sessions_.emplace(session->id, session);
  kept_.add(1);
  return session;
}

bool FetchSessionCache::make_room(env::Instant now) {
  const auto oldest = std::min_element(
      sessions_.begin(), sessions_.end(),
      [](const auto& a, const auto& b) { return a.second->last_used < b.second->last_used; });
  if (oldest == sessions_.end() || now - oldest->second->last_used < min_eviction_) return false;
  sessions_.erase(oldest);
  kept_.add(-1);
  return true;
}

std::int32_t FetchSessionCache::new_id() {
  const auto step = static_cast<std::uint64_t>(loop_count_);
  const std::uint64_t multiples = std::numeric_limits<std::int32_t>::max() / step - 1;
  while (true) {
    // From one loop count upwards, so that no id is 0.
    const std::uint64_t id = (rng_.below(multiples) + 1) * step + loop_index_;
    const auto narrow = static_cast<std::int32_t>(id);
    if (!sessions_.contains(narrow)) return narrow;
  }
}

std::shared_ptr<FetchSession> FetchSessionCache::find(std::int32_t id) const {
  const auto found = sessions_.find(id);
  return found != sessions_.end() ? found->second : nullptr;
}

void FetchSessionCache::remove(std::int32_t id) {
  if (sessions_.erase(id) > 0) kept_.add(-1);
}

std::int32_t FetchSessionCache::next_epoch(std::int32_t epoch) {
  return epoch == std::numeric_limits<std::int32_t>::max() ? 1 : epoch + 1;
}

}  // namespace kmirror::server
