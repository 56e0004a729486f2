// CreateClusterMirror, DeleteClusterMirror, and mirror.name as a topic configuration.
#include <algorithm>

#include "kmirror/base/log.h"
#include "kmirror/metadata/names.h"
#include "metadata/commands.h"

namespace kmirror::metadata {
namespace {

Result<void> check_feature(const Command& command) {
  const auto feature = command.image().features.find("mirror.version");
  if (feature != command.image().features.end() && feature->second.finalized >= 1) return {};
  return kafka_error(ErrorCode::UNSUPPORTED_VERSION,
                     "cluster mirroring is off: feature mirror.version is 0");
}

Result<ConfigMap> plan_mirror(const Command& command,
                              const wire::CreateClusterMirrorRequest& request) {
  KM_TRY_VOID(check_feature(command));
  KM_TRY_VOID(check_mirror_name(request.mirror_name));
  if (command.image().has_mirror(request.mirror_name)) {
    return kafka_error(ErrorCode::CLUSTER_MIRROR_ALREADY_EXISTS,
                       fmt::format("mirror '{}' exists already", request.mirror_name));
  }
  ConfigMap given;
  for (const auto& config : request.configs) {
    if (!config.value) {
      return kafka_error(ErrorCode::INVALID_CONFIG,
                         fmt::format("configuration {} has no value", config.name));
    }
    if (!given.emplace(config.name, *config.value).second) {
      return kafka_error(ErrorCode::INVALID_REQUEST,
                         fmt::format("configuration {} is given twice", config.name));
    }
  }
  KM_TRY(checked, check_overrides(mirror_configs(), given));
  if (!checked.contains("bootstrap.servers")) {
    return kafka_error(ErrorCode::INVALID_CONFIG,
                       "bootstrap.servers is missing: name brokers of the source, host:port");
  }
  return checked;
}

}  // namespace

void emit_mirror_state_topic(Command& command) {
  if (command.image().topics.contains(kMirrorStateTopic)) return;
  const auto setting = [&command](const char* key) {
    return command.resolver().broker_integer(command.image(), key);
  };
  const std::int64_t wanted = setting("mirror.topic.replication.factor");
  const auto brokers = static_cast<std::int64_t>(command.image().brokers.size());
  if (wanted > brokers) {
    KM_LOG(kWarn, "metadata.mirror_state_replicas",
           "{} gets {} replicas instead of mirror.topic.replication.factor={}: there are no more "
           "brokers",
           kMirrorStateTopic, brokers, wanted);
  }
  const std::string name(kMirrorStateTopic);
  command.emit_topic(name, command.rng().uuid(),
                     static_cast<std::int32_t>(setting("mirror.topic.num.partitions")));
  const ConfigResource resource(ConfigResourceType::kTopic, name);
  command.emit_config(resource, "cleanup.policy", "compact");
  command.emit_config(resource, "compression.type", "producer");
  command.emit_config(resource, "retention.ms", "-1");
}

wire::CreateClusterMirrorResponse evaluate(Command& command,
                                           const wire::CreateClusterMirrorRequest& request) {
  wire::CreateClusterMirrorResponse response;
  const Result<ConfigMap> plan = plan_mirror(command, request);
  if (!plan) {
    const ErrorAnswer answer(plan.error());
    response.error_code = answer.code;
    response.error_message = answer.text();
    return response;
  }
  const ConfigResource resource(ConfigResourceType::kClusterMirror, request.mirror_name);
  for (const auto& [key, value] : *plan) command.emit_config(resource, key, value);
  emit_mirror_state_topic(command);
  return response;
}

namespace {

ErrorAnswer deletion_fault(const Command& command,
                           const wire::DeleteClusterMirrorRequest& request) {
  if (const Result<void> on = check_feature(command); !on) return ErrorAnswer(on.error());
  if (!command.image().has_mirror(request.mirror_name)) {
    return {ErrorCode::UNKNOWN_CLUSTER_MIRROR,
            fmt::format("there is no mirror '{}'", request.mirror_name)};
  }
  for (const auto& topic : command.image().mirror_topics(request.mirror_name)) {
    if (request.state_offset.get() >= 0 && topic->last_state_offset > request.state_offset.get()) {
      return {
          ErrorCode::INVALID_CLUSTER_MIRROR_STATE,
          fmt::format("topic {} changed while the request was checked; try again", topic->name)};
    }
    if (topic->desired_mirror_state != DesiredMirrorState::kStopped) {
      return {ErrorCode::CLUSTER_MIRROR_NOT_EMPTY,
              fmt::format("topic {} of mirror {} is not stopped; stop its topics first",
                          topic->name, request.mirror_name)};
    }
    if (!command.is_writable(*topic)) {
      return {ErrorCode::INVALID_CLUSTER_MIRROR_STATE,
              fmt::format("topic {} of mirror {} is still being stopped; try again", topic->name,
                          request.mirror_name)};
    }
  }
  return {};
}

/// The mirror's ACLs stay and become local ones (decisions 3.25).
void give_up_acls(Command& command, const std::string& mirror) {
  std::vector<std::shared_ptr<const AclImage>> owned;
  for (const auto& [id, acl] : command.image().acls) {
    if (acl->owners.contains(mirror)) owned.push_back(acl);
  }
  for (const auto& acl : owned) {
    std::set<std::string> owners = acl->owners;
    owners.erase(mirror);
    if (owners.empty()) owners.insert("");
    wire::AclOwnersRecord record;
    record.acl_id = acl->id;
    record.owners.assign(owners.begin(), owners.end());
    command.emit(record);
  }
}

}  // namespace

wire::DeleteClusterMirrorResponse evaluate(Command& command,
                                           const wire::DeleteClusterMirrorRequest& request) {
  wire::DeleteClusterMirrorResponse response;
  const std::string& mirror = request.mirror_name;
  const ErrorAnswer answer = deletion_fault(command, request);
  response.error_code = answer.code;
  response.error_message = answer.text();
  if (answer.failed()) return response;
  for (const auto& topic : command.image().mirror_topics(mirror)) {
    command.emit_mirror_state(topic->id, std::nullopt, DesiredMirrorState::kNone);
  }
  const auto marks = command.image().deleted_here.find(mirror);
  if (marks != command.image().deleted_here.end()) {
    const std::set<std::string> topics = marks->second;
    for (const std::string& topic : topics) command.emit_deleted_here(mirror, topic, false);
  }
  give_up_acls(command, mirror);
  const ConfigResource resource(ConfigResourceType::kClusterMirror, mirror);
  const ConfigMap configs = command.image().config(resource);
  for (const auto& [key, value] : configs) command.emit_config(resource, key, std::nullopt);
  return response;
}

Result<void> check_mirror_name_change(const Command& command, const TopicImage* topic,
                                      const MirrorNameForm& wanted) {
  const auto refuse = [](std::string text) {
    return kafka_error(ErrorCode::INVALID_REQUEST, std::move(text));
  };
  if (!command.image().has_mirror(wanted.mirror)) {
    return refuse(fmt::format("mirror.name: there is no mirror '{}'", wanted.mirror));
  }
  if (topic == nullptr) return {};
  if (is_internal_topic(topic->name)) {
    return refuse(fmt::format("topic {} is internal and cannot be mirrored", topic->name));
  }
  const bool is_ours = topic->is_mirrored() && *topic->mirror_name == wanted.mirror;
  if (!is_ours) {
    if (!command.is_writable(*topic)) {
      return refuse(fmt::format("topic {} belongs to mirror {} and is not stopped", topic->name,
                                *topic->mirror_name));
    }
    if (wanted.state == DesiredMirrorState::kMirroring) return {};
    return refuse(fmt::format("topic {} does not belong to mirror {}", topic->name, wanted.mirror));
  }
  const DesiredMirrorState state = topic->desired_mirror_state;
  if (wanted.state == state || wanted.state == DesiredMirrorState::kStopped) return {};
  if (wanted.state == DesiredMirrorState::kPaused && state == DesiredMirrorState::kStopped) {
    return refuse(fmt::format("topic {} is stopped and cannot be paused", topic->name));
  }
  if (state == DesiredMirrorState::kStopped && !command.is_writable(*topic)) {
    return refuse(fmt::format("topic {} is still being stopped; try again", topic->name));
  }
  return {};
}

void emit_mirror_name_change(Command& command, const TopicImage& topic,
                             const MirrorNameForm& wanted) {
  const bool is_so = topic.is_mirrored() && *topic.mirror_name == wanted.mirror &&
                     topic.desired_mirror_state == wanted.state;
  if (is_so) return;
  const std::string name = topic.name;
  command.emit_mirror_state(topic.id, wanted.mirror, wanted.state);
  const auto marks = command.image().deleted_here.find(wanted.mirror);
  const bool is_marked =
      marks != command.image().deleted_here.end() && marks->second.contains(name);
  if (is_marked) command.emit_deleted_here(wanted.mirror, name, false);
}

Result<void> set_mirror_configs(Command& command, const std::string& mirror,
                                const std::map<std::string, std::optional<std::string>>& configs) {
  if (!command.image().has_mirror(mirror)) {
    return kafka_error(ErrorCode::UNKNOWN_CLUSTER_MIRROR,
                       fmt::format("there is no mirror '{}'", mirror));
  }
  std::map<std::string, std::optional<std::string>> checked;
  for (const auto& [key, value] : configs) {
    const ConfigDef* def = mirror_configs().find(key);
    if (def == nullptr) return mirror_configs().unknown_key(key);
    std::optional<std::string> stored;
    if (value) {
      KM_TRY(good, check_value(*def, *value));
      stored = std::move(good);
    }
    checked[def->name] = std::move(stored);
  }
  const ConfigResource resource(ConfigResourceType::kClusterMirror, mirror);
  for (const auto& [key, value] : checked) {
    const ConfigMap& present = command.image().config(resource);
    const auto old = present.find(key);
    const bool is_so = old == present.end() ? !value : value == old->second;
    if (!is_so) command.emit_config(resource, key, value);
  }
  return {};
}

}  // namespace kmirror::metadata
