#include "sim/fetch_sessions.h"

#include <algorithm>
#include <limits>
#include <set>

namespace kmirror::testing {

namespace {

constexpr std::int16_t kFirstVersionWithIds = 13;

FetchSessions::Key make_key(const Call& call, const std::string& topic, const Uuid& id,
                            std::int32_t partition) {
  FetchSessions::Key key;
  if (call.version.get() >= kFirstVersionWithIds) {
    key.topic_id = id;
  } else {
    key.topic = topic;
  }
  key.partition = partition;
  return key;
}

}  // namespace

std::vector<FetchSessions::Wanted> FetchSessions::all_of(const Call& call,
                                                         const wire::FetchRequest& request) {
  std::vector<Wanted> all;
  for (const auto& topic : request.topics) {
    for (const auto& partition : topic.partitions) {
      Wanted& wanted = all.emplace_back();
      wanted.key = make_key(call, topic.topic, topic.topic_id, partition.partition);
      wanted.request = partition;
    }
  }
  return all;
}

void FetchSessions::update(Session& session, const Call& call, const wire::FetchRequest& request) {
  std::set<Key> forgotten;
  for (const auto& topic : request.forgotten_topics_data) {
    for (const std::int32_t partition : topic.partitions) {
      forgotten.insert(make_key(call, topic.topic, topic.topic_id, partition));
    }
  }
  for (Wanted& wanted : all_of(call, request)) {
    const auto known = std::find_if(session.partitions.begin(), session.partitions.end(),
                                    [&](const Told& t) { return t.wanted.key == wanted.key; });
    if (known != session.partitions.end()) {
      known->wanted = std::move(wanted);
    } else {
      session.partitions.emplace_back().wanted = std::move(wanted);
    }
  }
  std::erase_if(session.partitions,
                [&](const Told& t) { return forgotten.contains(t.wanted.key); });
}

FetchSessions::Plan FetchSessions::plan(const Call& call, const wire::FetchRequest& request) {
  Plan plan;
  if (request.session_epoch <= 0) {  // 0 opens, -1 closes or does without
    plan.wanted = all_of(call, request);
    sessions_.erase(request.session_id);
    if (request.session_epoch == 0 && grants_sessions && !plan.wanted.empty()) {
      plan.session_id = next_id_++;
      Session& session = sessions_[plan.session_id];
      session.node = call.node;
      for (const Wanted& wanted : plan.wanted) session.partitions.emplace_back().wanted = wanted;
    }
    return plan;
  }
  const auto found = sessions_.find(request.session_id);
  if (found == sessions_.end() || found->second.node != call.node) {
    plan.error = ErrorCode::FETCH_SESSION_ID_NOT_FOUND;
    return plan;
  }
  Session& session = found->second;
  if (request.session_epoch != session.next_epoch) {
    plan.error = ErrorCode::INVALID_FETCH_SESSION_EPOCH;
    return plan;
  }
  const bool wraps = session.next_epoch == std::numeric_limits<std::int32_t>::max();
  session.next_epoch = wraps ? 1 : session.next_epoch + 1;
  update(session, call, request);
  plan.session_id = request.session_id;
  plan.is_incremental = true;
  for (const Told& told : session.partitions) plan.wanted.push_back(told.wanted);
  return plan;
}

bool FetchSessions::must_send(const Plan& plan, const FetchReading& reading) const {
  if (!plan.is_incremental) return true;
  const auto& data = reading.data;
  if (data.error_code != ErrorCode::NONE || data.diverging_epoch.epoch != kNoLeaderEpoch ||
      (data.records && !data.records->empty())) {
    return true;
  }
  const auto session = sessions_.find(plan.session_id);
  if (session == sessions_.end()) return true;
  for (const Told& told : session->second.partitions) {
    if (told.wanted.key != key_of(reading, told.wanted.key.topic.empty())) continue;
    return told.high_watermark != data.high_watermark || told.log_start != data.log_start_offset;
  }
  return true;
}

void FetchSessions::told(const Plan& plan, const std::vector<FetchReading>& sent) {
  const auto session = sessions_.find(plan.session_id);
  if (plan.session_id == 0 || session == sessions_.end()) return;
  auto& partitions = session->second.partitions;
  for (const FetchReading& reading : sent) {
    const auto told = std::find_if(partitions.begin(), partitions.end(), [&](const Told& t) {
      return t.wanted.key == key_of(reading, t.wanted.key.topic.empty());
    });
    if (told == partitions.end()) continue;
    if (reading.data.error_code != ErrorCode::NONE) {
      // After an error the next answer names the partition in any case.
      told->high_watermark.reset();
      continue;
    }
    told->high_watermark = reading.data.high_watermark;
    told->log_start = reading.data.log_start_offset;
    if (reading.data.records && !reading.data.records->empty()) {
      std::rotate(told, told + 1, partitions.end());
    }
  }
}

void FetchSessions::drop_of(NodeId node) {
  std::erase_if(sessions_, [&](const auto& entry) { return entry.second.node == node; });
}

FetchSessions::Key FetchSessions::key_of(const FetchReading& reading, bool by_id) {
  Key key;
  if (by_id) {
    key.topic_id = reading.topic_id;
  } else {
    key.topic = reading.topic;
  }
  key.partition = reading.data.partition_index;
  return key;
}

}  // namespace kmirror::testing
