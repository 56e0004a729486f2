// Building fetch requests from changes, and the rules of session ids and epochs.
// Owner: one fetch task.
#include "mirror/fetch_session.h"

#include <algorithm>
#include <limits>

namespace kmirror::mirror {
namespace {

using Topic = wire::FetchRequest::FetchTopic;
using Partition = wire::FetchRequest::FetchPartition;

/// Appends to `topics`, opening a new topic entry when the name changes.
void add(std::vector<Topic>& topics, const TopicPartition& where, const FetchPosition& position) {
  if (topics.empty() || topics.back().topic != where.topic) {
    Topic topic;
    topic.topic = where.topic;
    topic.topic_id = position.topic_id;
    topics.push_back(std::move(topic));
  }
  Partition partition;
  partition.partition = where.partition;
  partition.current_leader_epoch = position.current_leader_epoch;
  partition.fetch_offset = position.offset;
  partition.last_fetched_epoch = position.last_fetched_epoch;
  partition.partition_max_bytes = position.max_bytes;
  topics.back().partitions.push_back(std::move(partition));
}

}  // namespace

void FetchSession::set(const TopicPartition& partition, const FetchPosition& position) {
  const auto [found, is_new] = positions_.try_emplace(partition, position);
  if (!is_new && found->second == position) return;
  if (is_new) {
    ++topic_counts_[partition.topic];
  } else {
    without_id_ -= found->second.topic_id.is_zero() ? 1 : 0;
  }
  without_id_ += position.topic_id.is_zero() ? 1 : 0;
  if (!position.topic_id.is_zero()) names_[position.topic_id] = partition.topic;
  found->second = position;
  changed_.insert(partition);
  forgotten_.erase(partition);
}

void FetchSession::remove(const TopicPartition& partition) {
  const auto found = positions_.find(partition);
  if (found == positions_.end()) return;
  const Uuid id = found->second.topic_id;
  without_id_ -= id.is_zero() ? 1 : 0;
  positions_.erase(found);
  changed_.erase(partition);
  if (!next_is_full()) forgotten_[partition] = id;
  const auto count = topic_counts_.find(partition.topic);
  if (--count->second == 0) {
    topic_counts_.erase(count);
    names_.erase(id);
  }
}

void FetchSession::reset() {
  session_id_ = kNoSession;
  epoch_ = kInitialEpoch;
}

ApiVersion FetchSession::usable_version(ApiVersion highest) const {
  return without_id_ > 0 ? std::min(highest, kLastFetchVersionWithNames) : highest;
}

wire::FetchRequest FetchSession::next_request(ApiVersion version, const FetchLimits& limits) {
  const bool by_id = version > kLastFetchVersionWithNames;
  // A session keeps the way topics are named in it; the old one is closed by opening the new one.
  if (by_id != by_id_) epoch_ = kInitialEpoch;
  by_id_ = by_id;
  wire::FetchRequest request;
  request.max_wait_ms = limits.max_wait_ms;
  request.min_bytes = limits.min_bytes;
  request.max_bytes = limits.max_bytes;
  request.session_id = session_id_;
  request.session_epoch = epoch_;
  if (next_is_full()) {
    add_full(request);
  } else {
    add_changes(request);
  }
  changed_.clear();
  forgotten_.clear();
  return request;
}

/// All partitions, beginning with another one each time: a broker without a session fills its
/// answer in our order, and the first ones would starve the others.
void FetchSession::add_full(wire::FetchRequest& request) {
  if (positions_.empty()) return;
  const std::size_t skip = rotation_++ % positions_.size();
  auto start = std::next(positions_.begin(), static_cast<std::ptrdiff_t>(skip));
  for (auto it = start; it != positions_.end(); ++it) add(request.topics, it->first, it->second);
  for (auto it = positions_.begin(); it != start; ++it) add(request.topics, it->first, it->second);
  // The rotation may have cut a topic in two; a request must name a topic once.
  if (request.topics.size() > 1 && request.topics.front().topic == request.topics.back().topic) {
    auto& first = request.topics.front().partitions;
    auto& last = request.topics.back().partitions;
    first.insert(first.end(), std::make_move_iterator(last.begin()),
                 std::make_move_iterator(last.end()));
    request.topics.pop_back();
  }
}

void FetchSession::add_changes(wire::FetchRequest& request) {
  for (const TopicPartition& partition : changed_) {
    add(request.topics, partition, positions_.at(partition));
  }
  add_forgotten(request);
}

void FetchSession::add_forgotten(wire::FetchRequest& request) const {
  for (const auto& [partition, id] : forgotten_) {
    if (request.forgotten_topics_data.empty() ||
        request.forgotten_topics_data.back().topic != partition.topic) {
      wire::FetchRequest::ForgottenTopic topic;
      topic.topic = partition.topic;
      topic.topic_id = id;
      request.forgotten_topics_data.push_back(std::move(topic));
    }
    request.forgotten_topics_data.back().partitions.push_back(partition.partition);
  }
}

wire::FetchRequest FetchSession::close_request() const {
  wire::FetchRequest request;
  request.max_wait_ms = 0;
  request.min_bytes = 0;
  request.session_id = session_id_;
  request.session_epoch = kFinalEpoch;
  return request;
}

FetchSession::Verdict FetchSession::accept(const wire::FetchResponse& answer) {
  switch (answer.error_code) {
    case ErrorCode::NONE:
      break;
    case ErrorCode::FETCH_SESSION_ID_NOT_FOUND:
      reset();
      return Verdict::kRenew;
    case ErrorCode::INVALID_FETCH_SESSION_EPOCH:
    case ErrorCode::INCONSISTENT_TOPIC_ID:
    case ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR:
      // The id is kept: opening a new session with it closes the old one at the broker.
      epoch_ = kInitialEpoch;
      return Verdict::kRenew;
    default:
      epoch_ = kInitialEpoch;
      return Verdict::kRefused;
  }
  if (answer.session_id == kNoSession) {
    reset();
    return Verdict::kUse;
  }
  if (!next_is_full() && answer.session_id != session_id_) {
    epoch_ = kInitialEpoch;
    return Verdict::kRenew;
  }
  session_id_ = answer.session_id;
  epoch_ = epoch_ == std::numeric_limits<std::int32_t>::max() ? 1 : epoch_ + 1;
  return Verdict::kUse;
}

std::string FetchSession::topic_name(const Uuid& topic_id) const {
  const auto found = names_.find(topic_id);
  return found == names_.end() ? std::string() : found->second;
}

}  // namespace kmirror::mirror
