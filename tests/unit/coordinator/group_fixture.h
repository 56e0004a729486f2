// A group shard over a log in memory, and short words for what clients do to it.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/group/group_shard.h"
#include "fakes.h"

namespace kmirror::coordinator::testing {

template <class Response>
using Answer = std::shared_ptr<std::optional<Response>>;
using JoinAnswer = Answer<wire::JoinGroupResponse>;
using SyncAnswer = Answer<wire::SyncGroupResponse>;

/// Member metadata of the "consumer" protocol type: version 0, topics, no user data.
inline Bytes subscription_of(const std::vector<std::string>& topics) {
  Writer writer;
  writer.integer<std::int16_t>(0);
  writer.integer<std::int32_t>(static_cast<std::int32_t>(topics.size()));
  for (const std::string& topic : topics) {
    writer.integer<std::int16_t>(static_cast<std::int16_t>(topic.size()));
    writer.raw(as_bytes(topic));
  }
  writer.integer<std::int32_t>(-1);
  const Slice bytes = writer.take_slice();
  return Bytes(bytes.span().begin(), bytes.span().end());
}

struct JoinSpec {
  JoinSpec() = default;
  std::string group = "g";
  std::string member;
  std::optional<std::string> instance;
  std::string type = "consumer";
  std::vector<std::string> protocols{"range"};
  std::vector<std::string> topics{"t"};
  std::int16_t version = 9;
  std::int32_t session_ms = 30'000;
  std::int32_t rebalance_ms = 60'000;
  std::string client = "c";
};

class GroupTest : public ::testing::Test {
 protected:
  GroupTest() { make_shard(); }

  void make_shard() {
    shard = std::make_unique<GroupShard>(
        context, config, [this](const std::string& topic) { return mirrored.contains(topic); });
    shard->on_loaded();
  }

  JoinAnswer join(const JoinSpec& spec) {
    wire::JoinGroupRequest request;
    request.group_id = spec.group;
    request.member_id = spec.member;
    request.group_instance_id = spec.instance;
    request.protocol_type = spec.type;
    request.session_timeout_ms = spec.session_ms;
    request.rebalance_timeout_ms = spec.version == 0 ? -1 : spec.rebalance_ms;
    for (const std::string& name : spec.protocols) {
      auto& protocol = request.protocols.emplace_back();
      protocol.name = name;
      protocol.metadata = subscription_of(spec.topics);
    }
    auto answer = std::make_shared<std::optional<wire::JoinGroupResponse>>();
    shard->membership().join(std::move(request), ApiVersion(spec.version),
                             GroupClient(spec.client, "/127.0.0.1"),
                             [answer](wire::JoinGroupResponse response) {
                               EXPECT_FALSE(answer->has_value()) << "answered twice";
                               *answer = std::move(response);
                             });
    return answer;
  }

  /// Joins in both steps of version 4 and newer; returns the waiting second one.
  JoinAnswer join_with_id(JoinSpec spec) {
    const auto first = join(spec);
    EXPECT_EQ((*first)->error_code, ErrorCode::MEMBER_ID_REQUIRED);
    spec.member = (*first)->member_id;
    return join(spec);
  }

  SyncAnswer sync(const std::string& member, std::int32_t generation,
                  const std::vector<std::pair<std::string, std::string>>& assignments = {},
                  std::optional<std::string> instance = std::nullopt) {
    wire::SyncGroupRequest request;
    request.group_id = "g";
    request.member_id = member;
    request.generation_id = generation;
    request.group_instance_id = std::move(instance);
    request.protocol_type = "consumer";
    request.protocol_name = "range";
    for (const auto& [id, text] : assignments) {
      auto& one = request.assignments.emplace_back();
      one.member_id = id;
      one.assignment = Bytes(text.begin(), text.end());
    }
    return sync(std::move(request));
  }
  SyncAnswer sync(wire::SyncGroupRequest request) {
    auto answer = std::make_shared<std::optional<wire::SyncGroupResponse>>();
    shard->membership().sync(std::move(request), [answer](wire::SyncGroupResponse response) {
      EXPECT_FALSE(answer->has_value()) << "answered twice";
      *answer = std::move(response);
    });
    return answer;
  }

  ErrorCode heartbeat(const std::string& member, std::int32_t generation,
                      std::optional<std::string> instance = std::nullopt) {
    wire::HeartbeatRequest request;
    request.group_id = "g";
    request.member_id = member;
    request.generation_id = generation;
    request.group_instance_id = std::move(instance);
    return shard->membership().heartbeat(request);
  }

  std::vector<ErrorCode> leave(
      const std::vector<std::pair<std::string, std::optional<std::string>>>& members,
      std::string group = "g") {
    wire::LeaveGroupRequest request;
    request.group_id = std::move(group);
    for (const auto& [id, instance] : members) {
      auto& one = request.members.emplace_back();
      one.member_id = id;
      one.group_instance_id = instance;
    }
    std::vector<ErrorCode> codes;
    for (const auto& one : shard->membership().leave(request).members) {
      codes.push_back(one.error_code);
    }
    return codes;
  }

  /// One member, joined and synced with assignment "a". Returns its id; the generation is 1.
  std::string stable_member(JoinSpec spec = {}) {
    const auto joined = spec.instance || spec.version < 4 ? join(spec) : join_with_id(spec);
    const auto delay_ms = std::max<std::int64_t>(config.group_initial_rebalance_delay_ms, 1);
    context.advance(std::chrono::milliseconds(delay_ms));
    EXPECT_TRUE(joined->has_value());
    const std::string id = (*joined)->member_id;
    const auto synced = sync(id, (*joined)->generation_id, {{id, "a"}}, spec.instance);
    EXPECT_EQ((*synced)->error_code, ErrorCode::NONE);
    return id;
  }

  std::vector<ErrorCode> commit(const std::string& topic, std::int64_t offset,
                                std::int32_t generation = -1, std::string member = "",
                                std::string metadata = "", std::int16_t version = 8) {
    CommitHeader header;
    header.group_id = "g";
    header.generation = generation;
    header.member_id = std::move(member);
    CommitItem item;
    item.topic_partition = TopicPartition(topic, 0);
    item.topic_id = topic_id;
    item.offset = Offset(offset);
    item.leader_epoch = LeaderEpoch(4);
    item.metadata = std::move(metadata);
    return shard->offsets().commit(header, {item}, ApiVersion(version));
  }

  /// The committed position of topic-0, -1 if there is none.
  std::int64_t position(const std::string& topic) {
    FetchItem item;
    item.topic_partition = TopicPartition(topic, 0);
    const auto fetched = shard->offsets().fetch("g", {item}, false);
    return fetched.front().position ? fetched.front().position->offset.get() : -1;
  }

  GroupState state() { return shard->membership().find("g")->state(); }

  /// Starts a second shard from the log and puts it in the place of the first.
  void restart() {
    const std::vector<CoordinatorRecord> log = context.log;
    context.timers().clear();
    shard = std::make_unique<GroupShard>(
        context, config, [this](const std::string& topic) { return mirrored.contains(topic); });
    for (const CoordinatorRecord& record : log) shard->replay(record, kNoProducerId);
    shard->on_loaded();
  }

  MemoryContext context;
  GroupCoordinatorConfig config;
  std::set<std::string> mirrored;
  Uuid topic_id;
  std::unique_ptr<GroupShard> shard;
};

}  // namespace kmirror::coordinator::testing
