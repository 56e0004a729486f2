// IncrementalAlterConfigs and AlterConfigs: topics, brokers, groups and mirrors.
// A resource is changed as a whole or not at all.
#include <algorithm>
#include <map>
#include <set>

#include "kmirror/metadata/names.h"
#include "metadata/commands.h"

namespace kmirror::metadata {
namespace {

/// What a request makes of one resource. `overrides` is the whole new set.
struct Change {
  Change() = default;
  ConfigMap overrides;
  std::optional<std::string> mirror_name;  ///< a new value of a topic's mirror.name
};

enum class Operation : std::int8_t { kSet = 0, kDelete = 1, kAppend = 2, kSubtract = 3 };

Error invalid_request(std::string text) {
  return kafka_error(ErrorCode::INVALID_REQUEST, std::move(text));
}

Result<ConfigScope> scope_of(const Command& command, const ConfigResource& resource) {
  switch (resource.type) {
    case ConfigResourceType::kTopic:
      if (command.image().topics.contains(resource.name)) return ConfigScope::kTopic;
      return kafka_error(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                         fmt::format("there is no topic '{}'", resource.name));
    case ConfigResourceType::kBroker: {
      if (resource.name.empty()) return ConfigScope::kBroker;
      const std::optional<std::int64_t> id = parse_integer(resource.name);
      const bool is_known =
          id && *id >= 0 && *id <= 2'147'483'647 &&
          (*id == command.node_id().get() ||
           command.image().brokers.contains(NodeId(static_cast<std::int32_t>(*id))));
      if (is_known) return ConfigScope::kBroker;
      return invalid_request(fmt::format("'{}' is no broker of this cluster", resource.name));
    }
    case ConfigResourceType::kGroup:
      if (!resource.name.empty()) return ConfigScope::kGroup;
      return invalid_request("groups have no default configuration; name a group");
    case ConfigResourceType::kClusterMirror:
      if (command.image().has_mirror(resource.name)) return ConfigScope::kMirror;
      return kafka_error(ErrorCode::RESOURCE_NOT_FOUND,
                         fmt::format("there is no mirror '{}'", resource.name));
    default:
      return invalid_request(fmt::format("configurations of resource type {} cannot be altered",
                                         static_cast<int>(resource.type)));
  }
}

/// Broker keys that the file alone may set.
Result<void> check_alterable(const ConfigDef& def, const std::string& key) {
  if (def.update != ConfigUpdate::kReadOnly) return {};
  return invalid_request(
      fmt::format("'{}' cannot be changed while the broker runs; change it in the file", key));
}

/// The list that APPEND and SUBTRACT work on: the override, else what is in force.
std::vector<std::string> present_entries(const Command& command, const ConfigResource& resource,
                                         const ConfigDef& def, const ConfigMap& overrides) {
  const auto own = overrides.find(def.name);
  if (own != overrides.end()) return split_list(own->second);
  std::optional<std::string> value;
  switch (resource.type) {
    case ConfigResourceType::kTopic:
      value = command.resolver().topic_value(command.image(), resource.name, def.name);
      break;
    case ConfigResourceType::kClusterMirror:
      value = command.resolver().mirror_value(command.image(), resource.name, def.name);
      break;
    case ConfigResourceType::kGroup:
      value = command.resolver().group_value(command.image(), resource.name, def.name);
      break;
    default:
      value = command.resolver().broker_value(command.image(), def.name);
      break;
  }
  return split_list(value.value_or(""));
}

/// The list after APPEND or SUBTRACT of `value`.
std::string changed_list(std::vector<std::string> entries, const std::string& value,
                         Operation operation) {
  for (const std::string& entry : split_list(value)) {
    const auto found = std::find(entries.begin(), entries.end(), entry);
    if (operation == Operation::kAppend && found == entries.end()) entries.push_back(entry);
    if (operation == Operation::kSubtract && found != entries.end()) entries.erase(found);
  }
  return join_list(entries);
}

using Incremental = wire::IncrementalAlterConfigsRequest;

/// mirror.name is no stored configuration: see check_mirror_name_change().
Result<void> change_mirror_name(Change& change, Operation operation, const std::string& value) {
  if (operation == Operation::kAppend || operation == Operation::kSubtract) {
    return kafka_error(ErrorCode::INVALID_CONFIG, "mirror.name is no list");
  }
  if (operation == Operation::kDelete) {
    change.mirror_name = "";
    return {};
  }
  KM_TRY(checked, check_value(*topic_configs().find("mirror.name"), value));
  change.mirror_name = std::move(checked);
  return {};
}

Result<void> apply_entry(const Command& command, const ConfigTable& table,
                         const ConfigResource& resource, const Incremental::AlterableConfig& entry,
                         Change& change) {
  if (entry.config_operation < 0 || entry.config_operation > 3) {
    return invalid_request(fmt::format("'{}': unknown operation {}", entry.name,
                                       static_cast<int>(entry.config_operation)));
  }
  const auto operation = static_cast<Operation>(entry.config_operation);
  if (!entry.value && operation != Operation::kDelete) {
    return invalid_request(fmt::format("'{}' has no value; delete it instead", entry.name));
  }
  const ConfigDef* def = table.find(entry.name);
  if (def == nullptr) {
    // What another release stored may be taken away; resetting what never was is no error either.
    if (operation != Operation::kDelete) return table.unknown_key(entry.name);
    change.overrides.erase(entry.name);
    return {};
  }
  if (table.scope() == ConfigScope::kBroker) KM_TRY_VOID(check_alterable(*def, entry.name));
  const std::string value = entry.value.value_or("");
  if (table.scope() == ConfigScope::kTopic && def->name == "mirror.name") {
    return change_mirror_name(change, operation, value);
  }
  const std::string name = table.canonical(entry.name);
  if (operation == Operation::kDelete) {
    change.overrides.erase(name);
    return {};
  }
  if (operation == Operation::kSet) {
    change.overrides[name] = value;
    return {};
  }
  if (def->type != ConfigType::kList) {
    return kafka_error(ErrorCode::INVALID_CONFIG,
                       fmt::format("'{}' is no list: nothing can be appended to it or subtracted "
                                   "from it",
                                   entry.name));
  }
  change.overrides[name] =
      changed_list(present_entries(command, resource, *def, change.overrides), value, operation);
  return {};
}

/// What holds for the whole new set of a resource.
Result<void> check_change(const Command& command, const ConfigTable& table,
                          const ConfigResource& resource, Change& change) {
  // Keys that this release does not know were stored by another one and stay as they are.
  ConfigMap unknown;
  for (const auto& [key, value] : change.overrides) {
    if (table.find(key) == nullptr) unknown.emplace(key, value);
  }
  for (const auto& [key, value] : unknown) change.overrides.erase(key);
  KM_TRY(checked, check_overrides(table, change.overrides));
  if (table.scope() == ConfigScope::kMirror && !checked.contains("bootstrap.servers")) {
    return kafka_error(ErrorCode::INVALID_CONFIG,
                       "a mirror needs bootstrap.servers; set it to other brokers instead");
  }
  change.overrides = std::move(checked);
  change.overrides.merge(unknown);
  if (!change.mirror_name) return {};
  const std::shared_ptr<const TopicImage> topic = command.image().topic(resource.name);
  if (change.mirror_name->empty()) {
    if (!topic->is_mirrored()) return {};
    return invalid_request(fmt::format(
        "topic {} belongs to mirror {}; set mirror.name to {}.stopped to make it writable",
        topic->name, *topic->mirror_name, *topic->mirror_name));
  }
  KM_TRY(form, MirrorNameForm::parse(*change.mirror_name));
  return check_mirror_name_change(command, topic.get(), form);
}

void carry_out(Command& command, const ConfigResource& resource, const Change& change) {
  const ConfigMap before = command.image().config(resource);
  for (const auto& [key, value] : before) {
    if (!change.overrides.contains(key)) command.emit_config(resource, key, std::nullopt);
  }
  for (const auto& [key, value] : change.overrides) {
    const auto old = before.find(key);
    if (old == before.end() || old->second != value) command.emit_config(resource, key, value);
  }
  if (!change.mirror_name || change.mirror_name->empty()) return;
  const Result<MirrorNameForm> form = MirrorNameForm::parse(*change.mirror_name);
  const std::shared_ptr<const TopicImage> topic = command.image().topic(resource.name);
  if (form && topic != nullptr) emit_mirror_name_change(command, *topic, *form);
}

Result<void> change_resource(Command& command, const Incremental::AlterConfigsResource& wanted,
                             bool validate_only) {
  const ConfigResource resource(static_cast<ConfigResourceType>(wanted.resource_type),
                                wanted.resource_name);
  KM_TRY(scope, scope_of(command, resource));
  const ConfigTable& table = config_table(scope);
  std::map<std::string, std::string> spelled;  // primary name → as the request has it
  for (const auto& entry : wanted.configs) {
    const auto [first, is_new] = spelled.emplace(table.canonical(entry.name), entry.name);
    if (is_new) continue;
    if (first->second == entry.name) {
      return invalid_request(fmt::format("'{}' is in the request twice", entry.name));
    }
    return kafka_error(ErrorCode::INVALID_CONFIG,
                       fmt::format("'{}' and '{}' are the same configuration; give one of them",
                                   first->second, entry.name));
  }
  Change change;
  change.overrides = command.image().config(resource);
  for (const auto& entry : wanted.configs) {
    KM_TRY_VOID(apply_entry(command, table, resource, entry, change));
  }
  KM_TRY_VOID(check_change(command, table, resource, change));
  if (!command.has_room_for(2 * change.overrides.size() + 2)) {
    return kafka_error(ErrorCode::POLICY_VIOLATION, "too many changes for one request");
  }
  if (!validate_only) carry_out(command, resource, change);
  return {};
}

using Whole = wire::AlterConfigsRequest;

Result<void> replace_resource(Command& command, const Whole::AlterConfigsResource& wanted,
                              bool validate_only) {
  const ConfigResource resource(static_cast<ConfigResourceType>(wanted.resource_type),
                                wanted.resource_name);
  KM_TRY(scope, scope_of(command, resource));
  const ConfigTable& table = config_table(scope);
  Change change;
  for (const auto& entry : wanted.configs) {
    if (!entry.value) {
      return invalid_request(fmt::format("'{}' has no value; leave it out", entry.name));
    }
    const ConfigDef* def = table.find(entry.name);
    if (def == nullptr) return table.unknown_key(entry.name);
    if (scope == ConfigScope::kBroker) KM_TRY_VOID(check_alterable(*def, entry.name));
    if (scope == ConfigScope::kTopic && def->name == "mirror.name") {
      KM_TRY_VOID(change_mirror_name(change, Operation::kSet, *entry.value));
    } else if (!change.overrides.emplace(entry.name, *entry.value).second) {
      return invalid_request(fmt::format("'{}' is in the request twice", entry.name));
    }
  }
  KM_TRY_VOID(check_change(command, table, resource, change));
  if (!command.has_room_for(2 * change.overrides.size() + 100)) {
    return kafka_error(ErrorCode::POLICY_VIOLATION, "too many changes for one request");
  }
  if (!validate_only) carry_out(command, resource, change);
  return {};
}

/// Answers each resource of `request` once, by `alter`.
template <class Response, class Request, class Alter>
Response answer_each(const Request& request, Alter alter) {
  std::map<ConfigResource, int> counts;
  const auto resource_of = [](const auto& wanted) {
    return ConfigResource(static_cast<ConfigResourceType>(wanted.resource_type),
                          wanted.resource_name);
  };
  for (const auto& wanted : request.resources) ++counts[resource_of(wanted)];
  Response response;
  std::set<ConfigResource> answered;
  for (const auto& wanted : request.resources) {
    const ConfigResource resource = resource_of(wanted);
    if (!answered.insert(resource).second) continue;
    ErrorAnswer answer;
    if (counts.at(resource) > 1) {
      answer = ErrorAnswer(ErrorCode::INVALID_REQUEST,
                           fmt::format("resource '{}' is in the request twice", resource.name));
    } else if (const Result<void> done = alter(wanted); !done) {
      answer = ErrorAnswer(done.error());
    }
    typename Response::AlterConfigsResourceResponse result;
    result.resource_type = wanted.resource_type;
    result.resource_name = wanted.resource_name;
    result.error_code = answer.code;
    result.error_message = answer.text();
    response.responses.push_back(std::move(result));
  }
  return response;
}

}  // namespace

wire::IncrementalAlterConfigsResponse evaluate(
    Command& command, const wire::IncrementalAlterConfigsRequest& request) {
  return answer_each<wire::IncrementalAlterConfigsResponse>(
      request, [&](const Incremental::AlterConfigsResource& wanted) {
        return change_resource(command, wanted, request.validate_only);
      });
}

wire::AlterConfigsResponse evaluate(Command& command, const wire::AlterConfigsRequest& request) {
  return answer_each<wire::AlterConfigsResponse>(
      request, [&](const Whole::AlterConfigsResource& wanted) {
        return replace_resource(command, wanted, request.validate_only);
      });
}

}  // namespace kmirror::metadata
