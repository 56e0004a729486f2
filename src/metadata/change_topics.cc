// DeleteTopics, CreatePartitions, BumpLeaderEpochs, internal topics.
#include <algorithm>
#include <map>
#include <set>

#include "kmirror/metadata/names.h"
#include "metadata/commands.h"
#include "metadata/placement.h"

namespace kmirror::metadata {
namespace {

ErrorAnswer deletion_fault(const Command& command, const TopicImage& topic) {
  if (topic.name == kMirrorStateTopic) {
    return {
        ErrorCode::POLICY_VIOLATION,
        fmt::format("topic {} holds the state of every mirror and cannot be deleted", topic.name)};
  }
  if (!command.resolver().broker_boolean(command.image(), "delete.topic.enable")) {
    return {ErrorCode::TOPIC_DELETION_DISABLED, "delete.topic.enable is false"};
  }
  if (!command.is_writable(topic)) return {ErrorCode::POLICY_VIOLATION, read_only_text(topic)};
  return {};
}

void delete_topic(Command& command, const TopicImage& topic) {
  // The mark goes with the same batch: discovery must not bring the topic back (decisions 3.24).
  if (topic.is_mirrored()) command.emit_deleted_here(*topic.mirror_name, topic.name, true);
  wire::RemoveTopicRecord record;
  record.topic_id = topic.id;
  command.emit(record);
}

using DeleteState = wire::DeleteTopicsRequest::DeleteTopicState;

/// The topic that `state` means, or why there is none.
ErrorAnswer find_topic(const Command& command, const DeleteState& state,
                       std::shared_ptr<const TopicImage>& topic) {
  const bool has_id = !state.topic_id.is_zero();
  if (state.name && has_id) {
    return {ErrorCode::INVALID_REQUEST, "give a topic's name or its id, not both"};
  }
  if (!state.name && !has_id) return {ErrorCode::INVALID_REQUEST, "neither name nor id is given"};
  topic = has_id ? command.image().topic(state.topic_id) : command.image().topic(*state.name);
  if (topic != nullptr) return {};
  if (has_id) {
    return {ErrorCode::UNKNOWN_TOPIC_ID, fmt::format("there is no topic id {}", state.topic_id)};
  }
  return {ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
          fmt::format("there is no topic '{}'", *state.name)};
}

}  // namespace

wire::DeleteTopicsResponse evaluate(Command& command, const wire::DeleteTopicsRequest& request) {
  std::vector<DeleteState> wanted = request.topics;
  for (const std::string& name : request.topic_names) {
    DeleteState state;
    state.name = name;
    wanted.push_back(std::move(state));
  }
  std::map<std::string, int> names;
  std::map<Uuid, int> ids;
  for (const DeleteState& state : wanted) {
    if (state.name) ++names[*state.name];
    if (!state.topic_id.is_zero()) ++ids[state.topic_id];
  }
  wire::DeleteTopicsResponse response;
  std::set<std::string> answered_names;
  std::set<Uuid> answered_ids;
  for (const DeleteState& state : wanted) {
    const bool by_id = !state.topic_id.is_zero();
    // One answer for a topic that is named twice.
    if (!by_id && state.name && !answered_names.insert(*state.name).second) continue;
    if (by_id && !answered_ids.insert(state.topic_id).second) continue;
    wire::DeleteTopicsResponse::DeletableTopicResult result;
    result.name = state.name;
    result.topic_id = state.topic_id;
    const bool repeated =
        (state.name && names.at(*state.name) > 1) || (by_id && ids.at(state.topic_id) > 1);
    std::shared_ptr<const TopicImage> topic;
    ErrorAnswer answer =
        repeated ? ErrorAnswer(ErrorCode::INVALID_REQUEST, "the topic is in the request twice")
                 : find_topic(command, state, topic);
    if (!answer.failed()) answer = deletion_fault(command, *topic);
    if (topic != nullptr) {
      result.name = topic->name;
      result.topic_id = topic->id;
    }
    if (!answer.failed()) delete_topic(command, *topic);
    result.error_code = answer.code;
    result.error_message = answer.text();
    response.responses.push_back(std::move(result));
  }
  return response;
}

namespace {

using PartitionsTopic = wire::CreatePartitionsRequest::CreatePartitionsTopic;

Result<void> check_growth(const Command& command, const PartitionsTopic& wanted,
                          bool is_mirror_sync) {
  const std::shared_ptr<const TopicImage> topic = command.image().topic(wanted.name);
  if (topic == nullptr) {
    return kafka_error(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                       fmt::format("there is no topic '{}'", wanted.name));
  }
  if (!is_mirror_sync && !command.is_writable(*topic)) {
    return kafka_error(ErrorCode::POLICY_VIOLATION, read_only_text(*topic));
  }
  const auto present = static_cast<std::int32_t>(topic->partitions.size());
  if (wanted.count <= present) {
    return kafka_error(ErrorCode::INVALID_PARTITIONS,
                       fmt::format("topic '{}' has {} partitions; {} is not more", wanted.name,
                                   present, wanted.count));
  }
  const auto more = static_cast<std::size_t>(wanted.count - present);
  if (!command.has_room_for(more)) {
    return kafka_error(ErrorCode::POLICY_VIOLATION,
                       fmt::format("{} more partitions are too many for one request", more));
  }
  if (!wanted.assignments) return {};
  if (wanted.assignments->size() != more) {
    return kafka_error(ErrorCode::INVALID_REPLICA_ASSIGNMENT,
                       fmt::format("{} partitions are new, but {} assignments are given", more,
                                   wanted.assignments->size()));
  }
  const std::size_t factor = topic->partitions.empty() ? 0 : topic->partitions[0].replicas.size();
  for (const auto& assignment : *wanted.assignments) {
    KM_TRY_VOID(check_replicas(command.image(), assignment.broker_ids, factor));
  }
  return {};
}

}  // namespace

wire::CreatePartitionsResponse evaluate(Command& command,
                                        const wire::CreatePartitionsRequest& request,
                                        bool is_mirror_sync) {
  std::map<std::string, int> counts;
  for (const PartitionsTopic& topic : request.topics) ++counts[topic.name];
  wire::CreatePartitionsResponse response;
  std::set<std::string> answered;
  for (const PartitionsTopic& wanted : request.topics) {
    if (!answered.insert(wanted.name).second) continue;
    ErrorAnswer answer;
    if (counts.at(wanted.name) > 1) {
      answer = ErrorAnswer(ErrorCode::INVALID_REQUEST,
                           fmt::format("topic '{}' is in the request twice", wanted.name));
    } else if (const Result<void> good = check_growth(command, wanted, is_mirror_sync); !good) {
      answer = ErrorAnswer(good.error());
    } else if (!request.validate_only) {
      const std::shared_ptr<const TopicImage> topic = command.image().topic(wanted.name);
      const Uuid id = topic->id;
      for (auto i = static_cast<std::int32_t>(topic->partitions.size()); i < wanted.count; ++i) {
        command.emit_partition(id, i, LeaderEpoch(0), 0);
      }
    }
    wire::CreatePartitionsResponse::CreatePartitionsTopicResult result;
    result.name = wanted.name;
    result.error_code = answer.code;
    result.error_message = answer.text();
    response.results.push_back(std::move(result));
  }
  return response;
}

namespace {

ErrorAnswer bump(Command& command, const std::string& topic_name, std::int32_t index,
                 LeaderEpoch at_least) {
  const PartitionImage* partition = command.image().partition(topic_name, index);
  if (partition == nullptr) {
    return {ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            fmt::format("there is no partition {}-{}", topic_name, index)};
  }
  if (partition->leader_epoch > at_least) return {};
  if (at_least.get() == std::numeric_limits<std::int32_t>::max()) {
    return {ErrorCode::INVALID_REQUEST,
            fmt::format("no leader epoch is greater than {}", at_least)};
  }
  if (!command.has_room_for(1)) {
    return {ErrorCode::POLICY_VIOLATION, "too many partitions for one request"};
  }
  // A PartitionChangeRecord can only add one; a whole record can name the epoch.
  command.emit_partition(command.image().topic(topic_name)->id, index,
                         LeaderEpoch(at_least.get() + 1), partition->partition_epoch + 1);
  return {};
}

}  // namespace

wire::BumpLeaderEpochsResponse evaluate(Command& command,
                                        const wire::BumpLeaderEpochsRequest& request) {
  wire::BumpLeaderEpochsResponse response;
  for (const auto& topic : request.topics) {
    wire::BumpLeaderEpochsResponse::TopicResult results;
    results.topic_name = topic.topic_name;
    for (const auto& wanted : topic.partitions) {
      const ErrorAnswer answer =
          bump(command, topic.topic_name, wanted.partition_index, wanted.min_leader_epoch);
      wire::BumpLeaderEpochsResponse::PartitionResult result;
      result.partition_index = wanted.partition_index;
      result.error_code = answer.code;
      result.error_message = answer.text();
      results.partitions.push_back(std::move(result));
    }
    response.topics.push_back(std::move(results));
  }
  return response;
}

Result<void> create_internal_topic(Command& command, const std::string& name,
                                   std::int32_t partitions, const ConfigMap& configs) {
  if (command.image().topics.contains(name)) return {};
  KM_TRY_VOID(check_topic_name(name));
  ConfigMap wanted = configs;
  wanted.emplace("cleanup.policy", "compact");
  KM_TRY(checked, check_overrides(topic_configs(), wanted));
  if (partitions < 1 || !command.has_room_for(static_cast<std::size_t>(partitions) + 20)) {
    return kafka_error(ErrorCode::INVALID_PARTITIONS,
                       fmt::format("topic '{}' with {} partitions", name, partitions));
  }
  command.emit_topic(name, command.rng().uuid(), partitions);
  const ConfigResource resource(ConfigResourceType::kTopic, name);
  for (const auto& [key, value] : checked) command.emit_config(resource, key, value);
  return {};
}

}  // namespace kmirror::metadata
