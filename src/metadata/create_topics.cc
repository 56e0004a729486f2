// CreateTopics: names, counts, assignments, configurations, and the id of a mirrored topic.
#include <algorithm>
#include <map>
#include <set>

#include "kmirror/metadata/names.h"
#include "metadata/commands.h"
#include "metadata/placement.h"

namespace kmirror::metadata {
namespace {

using Request = wire::CreateTopicsRequest;
using Response = wire::CreateTopicsResponse;
using Topic = Request::CreatableTopic;

/// One topic of the request, checked.
struct Plan {
  Plan() = default;
  std::int32_t partitions = 0;
  std::int16_t replication_factor = 1;
  Uuid id;
  ConfigMap configs;                          ///< without mirror.name
  std::optional<MirrorNameForm> mirror_name;  ///< the state it starts in
};

std::map<std::string, int> count_names(const Request& request) {
  std::map<std::string, int> counts;
  for (const Topic& topic : request.topics) ++counts[topic.name];
  return counts;
}

/// The existing topic, or the earlier one of this request, whose metrics would have the same name.
std::optional<std::string> colliding_topic(const MetadataImage& image,
                                           const std::set<std::string>& earlier,
                                           const std::string& name) {
  if (name.find_first_of("._") == std::string::npos) return std::nullopt;
  const std::string key = collision_key(name);
  for (const std::string& other : earlier) {
    if (other != name && collision_key(other) == key) return other;
  }
  for (const auto& [other, topic] : image.topics) {
    if (other.size() == name.size() && other != name && collision_key(other) == key) return other;
  }
  return std::nullopt;
}

Result<void> plan_counts(const Command& command, const Topic& topic, Plan& plan) {
  const auto error = [](ErrorCode code, std::string text) { return kafka_error(code, text); };
  if (!topic.assignments.empty()) {
    if (topic.replication_factor != -1 || topic.num_partitions != -1) {
      return error(ErrorCode::INVALID_REQUEST,
                   "with an assignment of replicas, the number of partitions and the replication "
                   "factor must both be -1");
    }
    KM_TRY(shape, check_assignments(command.image(), topic));
    plan.partitions = shape.partitions;
    plan.replication_factor = shape.replication_factor;
    return {};
  }
  if (topic.replication_factor < -1 || topic.replication_factor == 0) {
    return error(ErrorCode::INVALID_REPLICATION_FACTOR,
                 fmt::format("replication factor {}: give at least 1, or -1 for the default",
                             topic.replication_factor));
  }
  if (topic.num_partitions < -1 || topic.num_partitions == 0) {
    return error(
        ErrorCode::INVALID_PARTITIONS,
        fmt::format("{} partitions: give at least 1, or -1 for the default", topic.num_partitions));
  }
  const auto broker_value = [&command](const char* key) {
    return command.resolver().broker_integer(command.image(), key);
  };
  plan.partitions = topic.num_partitions == -1
                        ? static_cast<std::int32_t>(broker_value("num.partitions"))
                        : topic.num_partitions;
  const std::int64_t factor = topic.replication_factor == -1
                                  ? broker_value("default.replication.factor")
                                  : topic.replication_factor;
  const std::size_t brokers = command.image().brokers.size();
  if (factor > static_cast<std::int64_t>(brokers)) {
    return error(
        ErrorCode::INVALID_REPLICATION_FACTOR,
        fmt::format("replication factor {} cannot be reached: there {} {} broker{}", factor,
                    brokers == 1 ? "is" : "are", brokers, brokers == 1 ? "" : "s"));
  }
  plan.replication_factor = static_cast<std::int16_t>(factor);
  return {};
}

Result<void> plan_configs(const Command& command, const Topic& topic, Plan& plan) {
  ConfigMap given;
  for (const auto& config : topic.configs) {
    if (!config.value) {
      return kafka_error(ErrorCode::INVALID_CONFIG,
                         fmt::format("configuration {} has no value", config.name));
    }
    if (!given.emplace(config.name, *config.value).second) {
      return kafka_error(ErrorCode::INVALID_REQUEST,
                         fmt::format("configuration {} is given twice", config.name));
    }
  }
  KM_TRY(checked, check_overrides(topic_configs(), given));
  const auto name = checked.find("mirror.name");
  if (name != checked.end()) {
    if (!name->second.empty()) {
      KM_TRY(form, MirrorNameForm::parse(name->second));
      KM_TRY_VOID(check_mirror_name_change(command, nullptr, form));
      plan.mirror_name = std::move(form);
    }
    checked.erase(name);
  }
  plan.configs = std::move(checked);
  return {};
}

/// The id of the source's topic, and the mirror it belongs to (spec C.4).
Result<void> plan_mirror_info(const Command& command, const Topic& topic, Plan& plan) {
  if (!topic.mirror_info) return {};
  const auto& info = *topic.mirror_info;
  plan.id = info.topic_id;
  const std::shared_ptr<const TopicImage> owner =
      plan.id.is_zero() ? nullptr : command.image().topic(plan.id);
  if (owner != nullptr) {
    return kafka_error(ErrorCode::TOPIC_ALREADY_EXISTS,
                       fmt::format("topic id {} belongs to topic '{}'", plan.id, owner->name));
  }
  if (!info.mirror_name || info.mirror_name->empty() || plan.mirror_name) return {};
  MirrorNameForm form;
  form.mirror = *info.mirror_name;
  KM_TRY_VOID(check_mirror_name_change(command, nullptr, form));
  plan.mirror_name = std::move(form);
  return {};
}

Result<Plan> plan_topic(const Command& command, const Topic& topic,
                        const std::set<std::string>& earlier) {
  if (topic.name == kMetadataTopic) {
    return kafka_error(ErrorCode::TOPIC_AUTHORIZATION_FAILED,
                       fmt::format("topic {} is kmirrord's own", topic.name));
  }
  KM_TRY_VOID(check_topic_name(topic.name));
  if (command.image().topics.contains(topic.name)) {
    return kafka_error(ErrorCode::TOPIC_ALREADY_EXISTS,
                       fmt::format("topic '{}' exists already", topic.name));
  }
  const std::optional<std::string> other = colliding_topic(command.image(), earlier, topic.name);
  if (other) {
    return kafka_error(ErrorCode::INVALID_TOPIC_EXCEPTION,
                       fmt::format("topic '{}' differs from '{}' only in '.' and '_', which metric "
                                   "names cannot tell apart",
                                   topic.name, *other));
  }
  Plan plan;
  KM_TRY_VOID(plan_configs(command, topic, plan));
  KM_TRY_VOID(plan_counts(command, topic, plan));
  KM_TRY_VOID(plan_mirror_info(command, topic, plan));
  const std::size_t records = static_cast<std::size_t>(plan.partitions) + plan.configs.size() + 4;
  if (!command.has_room_for(records)) {
    return kafka_error(ErrorCode::POLICY_VIOLATION,
                       fmt::format("{} partitions are too many for one request; create fewer at a "
                                   "time",
                                   plan.partitions));
  }
  return plan;
}

void carry_out(Command& command, const std::string& name, Plan& plan) {
  if (plan.id.is_zero()) plan.id = command.rng().uuid();
  command.emit_topic(name, plan.id, plan.partitions);
  const ConfigResource resource(ConfigResourceType::kTopic, name);
  for (const auto& [key, value] : plan.configs) command.emit_config(resource, key, value);
  if (plan.mirror_name) {
    emit_mirror_name_change(command, *command.image().topic(name), *plan.mirror_name);
  }
}

/// The configurations in force, as the answer lists them.
std::vector<Response::CreatableTopicConfigs> configs_of(const Command& command, const Plan& plan) {
  std::vector<Response::CreatableTopicConfigs> lines;
  for (const ConfigDef& def : topic_configs().all()) {
    if (def.hidden) continue;
    Response::CreatableTopicConfigs line;
    line.name = def.name;
    const auto own = plan.configs.find(def.name);
    if (own != plan.configs.end()) {
      line.value = own->second;
      line.config_source = static_cast<std::int8_t>(ConfigSource::kTopic);
    } else if (def.name == "mirror.name" && plan.mirror_name) {
      line.value = plan.mirror_name->text();
      line.config_source = static_cast<std::int8_t>(ConfigSource::kTopic);
    } else {
      line.value = command.resolver().topic_value(command.image(), "", def.name);
      line.config_source = static_cast<std::int8_t>(ConfigSource::kDefault);
    }
    line.is_sensitive = def.is_sensitive();
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

wire::CreateTopicsResponse evaluate(Command& command, const wire::CreateTopicsRequest& request) {
  Response response;
  const std::map<std::string, int> counts = count_names(request);
  std::set<std::string> answered;
  std::set<std::string> created;
  for (const Topic& topic : request.topics) {
    if (!answered.insert(topic.name).second) continue;
    Response::CreatableTopicResult result;
    result.name = topic.name;
    result.error_message.reset();
    const auto fail = [&result](const ErrorAnswer& answer) {
      result.error_code = answer.code;
      result.error_message = answer.text();
      result.configs.reset();
    };
    if (counts.at(topic.name) > 1) {
      fail(ErrorAnswer(ErrorCode::INVALID_REQUEST,
                       fmt::format("topic '{}' is in the request twice", topic.name)));
    } else if (Result<Plan> plan = plan_topic(command, topic, created); !plan) {
      fail(ErrorAnswer(plan.error()));
    } else {
      result.configs = configs_of(command, *plan);
      result.num_partitions = plan->partitions;
      result.replication_factor = plan->replication_factor;
      created.insert(topic.name);
      if (!request.validate_only) {
        carry_out(command, topic.name, *plan);
        result.topic_id = plan->id;
      }
    }
    response.topics.push_back(std::move(result));
  }
  return response;
}

}  // namespace kmirror::metadata
