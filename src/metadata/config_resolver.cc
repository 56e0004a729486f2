// Precedence of configuration values and the answers to DescribeConfigs.
#include "kmirror/metadata/config_resolver.h"

#include <algorithm>

#include "kmirror/base/check.h"
#include "kmirror/metadata/names.h"
#include "kmirror/model/error_code.h"

namespace kmirror::metadata {
namespace {

/// `value` of a broker key in the unit of the key that falls back to it. Negative stays "no limit".
std::string scaled(const std::string& value, std::int64_t multiplier) {
  if (multiplier == 1) return value;
  const std::optional<std::int64_t> number = parse_integer(value);
  if (!number) return value;
  if (*number < 0) return "-1";
  if (*number > std::numeric_limits<std::int64_t>::max() / multiplier) {
    return std::to_string(std::numeric_limits<std::int64_t>::max());
  }
  return std::to_string(*number * multiplier);
}

const ConfigMap* overrides(const MetadataImage& image, ConfigResourceType type,
                           std::string_view name) {
  return &image.config(ConfigResource(type, std::string(name)));
}

/// The number in `value`, else the default of `key`.
std::int64_t integer_or_default(const ConfigTable& table, std::string_view key,
                                const std::optional<std::string>& value) {
  const std::optional<std::int64_t> number = value ? parse_integer(*value) : std::nullopt;
  if (number) return *number;
  const ConfigDef* def = table.find(key);
  KM_CHECK(def != nullptr && def->default_value, "{} has no default", key);
  const std::optional<std::int64_t> standard = parse_integer(*def->default_value);
  KM_CHECK(standard.has_value(), "{} is no number", key);
  return *standard;
}

bool boolean_or_default(const ConfigTable& table, std::string_view key,
                        const std::optional<std::string>& value) {
  const std::optional<bool> truth = value ? parse_boolean(*value) : std::nullopt;
  if (truth) return *truth;
  const ConfigDef* def = table.find(key);
  KM_CHECK(def != nullptr && def->default_value, "{} has no default", key);
  return parse_boolean(*def->default_value).value_or(false);
}

bool is_wanted(const std::optional<std::vector<std::string>>& keys, const std::string& name) {
  if (!keys || keys->empty()) return true;
  return std::find(keys->begin(), keys->end(), name) != keys->end();
}

}  // namespace

ConfigResolver::ConfigResolver(ConfigMap file, NodeId node_id)
    : file_(std::move(file)), node_id_(node_id) {}

void ConfigResolver::add_broker_values(const MetadataImage& image,
                                       const std::vector<ConfigFallback>& keys,
                                       Chain& chain) const {
  const auto add = [&](const ConfigMap& from, ConfigSource source) {
    for (const ConfigFallback& key : keys) {
      const auto found = from.find(key.broker_key);
      if (found == from.end()) continue;
      ConfigSynonym synonym;
      synonym.name = key.broker_key;
      synonym.value = found->second;
      synonym.source = source;
      chain.push_back(std::move(synonym));
    }
  };
  add(*overrides(image, ConfigResourceType::kBroker, std::to_string(node_id_.get())),
      ConfigSource::kDynamicBroker);
  add(*overrides(image, ConfigResourceType::kBroker, ""), ConfigSource::kDynamicDefaultBroker);
  add(file_, ConfigSource::kStaticBroker);
  for (const ConfigFallback& key : keys) {
    const ConfigDef* def = broker_configs().find(key.broker_key);
    if (def == nullptr || !def->default_value) continue;
    ConfigSynonym synonym;
    synonym.name = key.broker_key;
    synonym.value = def->default_value;
    synonym.source = ConfigSource::kDefault;
    chain.push_back(std::move(synonym));
  }
}

ConfigResolver::Chain ConfigResolver::chain(const MetadataImage& image, const ConfigDef& def,
                                            const ConfigMap* own, ConfigSource own_source) const {
  Chain chain;
  if (own != nullptr) {
    const auto found = own->find(def.name);
    if (found != own->end()) {
      ConfigSynonym synonym;
      synonym.name = def.name;
      synonym.value = found->second;
      synonym.source = own_source;
      chain.push_back(std::move(synonym));
    }
  }
  add_broker_values(image, def.fallbacks, chain);
  return chain;
}

std::optional<std::string> ConfigResolver::value_of(const MetadataImage& image,
                                                    const ConfigDef* def,
                                                    const ConfigMap* own) const {
  if (def == nullptr) return std::nullopt;
  const Chain values = chain(image, *def, own, ConfigSource::kUnknown);
  if (values.empty()) return def->default_value;
  const ConfigSynonym& first = values.front();
  if (first.source == ConfigSource::kUnknown) return first.value;
  for (const ConfigFallback& fallback : def->fallbacks) {
    if (fallback.broker_key == first.name) return scaled(*first.value, fallback.multiplier);
  }
  return first.value;
}

std::optional<std::string> ConfigResolver::topic_value(const MetadataImage& image,
                                                       std::string_view topic,
                                                       std::string_view key) const {
  return value_of(image, topic_configs().find(key),
                  overrides(image, ConfigResourceType::kTopic, topic));
}

std::optional<std::string> ConfigResolver::mirror_value(const MetadataImage& image,
                                                        std::string_view mirror,
                                                        std::string_view key) const {
  return value_of(image, mirror_configs().find(key),
                  overrides(image, ConfigResourceType::kClusterMirror, mirror));
}

std::optional<std::string> ConfigResolver::group_value(const MetadataImage& image,
                                                       std::string_view group,
                                                       std::string_view key) const {
  return value_of(image, group_configs().find(key),
                  overrides(image, ConfigResourceType::kGroup, group));
}

std::optional<std::string> ConfigResolver::broker_value(const MetadataImage& image,
                                                        std::string_view key) const {
  Chain values;
  add_broker_values(image, {ConfigFallback(broker_configs().canonical(key), 1)}, values);
  if (values.empty()) return std::nullopt;
  return values.front().value;
}

std::int64_t ConfigResolver::broker_integer(const MetadataImage& image,
                                            std::string_view key) const {
  return integer_or_default(broker_configs(), key, broker_value(image, key));
}
bool ConfigResolver::broker_boolean(const MetadataImage& image, std::string_view key) const {
  return boolean_or_default(broker_configs(), key, broker_value(image, key));
}
std::int64_t ConfigResolver::topic_integer(const MetadataImage& image, std::string_view topic,
                                           std::string_view key) const {
  return integer_or_default(topic_configs(), key, topic_value(image, topic, key));
}
bool ConfigResolver::topic_boolean(const MetadataImage& image, std::string_view topic,
                                   std::string_view key) const {
  return boolean_or_default(topic_configs(), key, topic_value(image, topic, key));
}
std::int64_t ConfigResolver::mirror_integer(const MetadataImage& image, std::string_view mirror,
                                            std::string_view key) const {
  return integer_or_default(mirror_configs(), key, mirror_value(image, mirror, key));
}
bool ConfigResolver::mirror_boolean(const MetadataImage& image, std::string_view mirror,
                                    std::string_view key) const {
  return boolean_or_default(mirror_configs(), key, mirror_value(image, mirror, key));
}
std::int64_t ConfigResolver::group_integer(const MetadataImage& image, std::string_view group,
                                           std::string_view key) const {
  return integer_or_default(group_configs(), key, group_value(image, group, key));
}

storage::LogConfig ConfigResolver::log_config(const MetadataImage& image,
                                              std::string_view topic) const {
  const auto integer = [&](std::string_view key) { return topic_integer(image, topic, key); };
  const auto text = [&](std::string_view key) {
    return topic_value(image, topic, key).value_or(std::string());
  };
  storage::LogConfig config;
  const std::optional<std::string> small = topic_value(image, topic, "internal.segment.bytes");
  config.segment_bytes =
      small ? parse_integer(*small).value_or(config.segment_bytes) : integer("segment.bytes");
  config.segment_ms = integer("segment.ms");
  config.segment_index_bytes = integer("segment.index.bytes");
  config.index_interval_bytes = integer("index.interval.bytes");
  config.retention_ms = integer("retention.ms");
  config.retention_bytes = integer("retention.bytes");
  config.max_message_bytes = integer("max.message.bytes");
  const std::vector<std::string> cleanup = split_list(text("cleanup.policy"));
  config.cleanup_compact = std::find(cleanup.begin(), cleanup.end(), "compact") != cleanup.end();
  config.cleanup_delete = std::find(cleanup.begin(), cleanup.end(), "delete") != cleanup.end();
  config.min_cleanable_dirty_ratio =
      parse_real(text("min.cleanable.dirty.ratio")).value_or(config.min_cleanable_dirty_ratio);
  config.min_compaction_lag_ms = integer("min.compaction.lag.ms");
  config.max_compaction_lag_ms = integer("max.compaction.lag.ms");
  config.delete_retention_ms = integer("delete.retention.ms");
  config.file_delete_delay_ms = integer("file.delete.delay.ms");
  config.timestamp_type = text("message.timestamp.type") == "LogAppendTime"
                              ? TimestampType::kLogAppendTime
                              : TimestampType::kCreateTime;
  config.timestamp_before_max_ms = integer("message.timestamp.before.max.ms");
  config.timestamp_after_max_ms = integer("message.timestamp.after.max.ms");
  config.compression_type = text("compression.type");
  const std::shared_ptr<const TopicImage> found = image.topic(topic);
  config.is_mirror = found != nullptr && found->is_mirrored();
  return config;
}

ConfigEntry ConfigResolver::entry(const MetadataImage& image, const ConfigDef& def,
                                  const std::string& name, const ConfigMap* own,
                                  ConfigSource own_source) const {
  ConfigEntry entry;
  entry.name = name;
  entry.type = def.type;
  entry.sensitive = def.is_sensitive();
  entry.documentation = def.doc;
  entry.synonyms = chain(image, def, own, own_source);
  entry.source = entry.synonyms.empty() ? ConfigSource::kDefault : entry.synonyms.front().source;
  if (entry.sensitive) {
    for (ConfigSynonym& synonym : entry.synonyms) synonym.value.reset();
  } else {
    entry.value = value_of(image, &def, own);
  }
  return entry;
}

std::vector<ConfigEntry> ConfigResolver::broker_entries(const MetadataImage& image) const {
  std::vector<ConfigEntry> entries;
  const auto add = [&](const ConfigDef& def, const std::string& name) {
    ConfigEntry entry;
    entry.name = name;
    entry.type = def.type;
    entry.sensitive = def.is_sensitive();
    entry.documentation = def.doc;
    entry.read_only = def.update == ConfigUpdate::kReadOnly;
    add_broker_values(image, {ConfigFallback(name, 1)}, entry.synonyms);
    if (!entry.synonyms.empty()) {
      entry.source = entry.synonyms.front().source;
      entry.value = entry.synonyms.front().value;
    }
    if (entry.sensitive) {
      entry.value.reset();
      for (ConfigSynonym& synonym : entry.synonyms) synonym.value.reset();
    }
    entries.push_back(std::move(entry));
  };
  for (const ConfigDef& def : broker_configs().all()) {
    if (!def.hidden) add(def, def.name);
  }
  // listener.name.<listener>.<key>, from the file.
  for (const auto& [name, value] : file_) {
    const ConfigDef* def = broker_configs().find(name);
    if (def != nullptr && def->name != name) add(*def, name);
  }
  return entries;
}

std::vector<ConfigEntry> ConfigResolver::default_entries(const MetadataImage& image) const {
  std::vector<ConfigEntry> entries;
  for (const auto& [name, value] : *overrides(image, ConfigResourceType::kBroker, "")) {
    const ConfigDef* def = broker_configs().find(name);
    if (def == nullptr) continue;
    ConfigEntry entry;
    entry.name = name;
    entry.type = def->type;
    entry.sensitive = def->is_sensitive();
    entry.documentation = def->doc;
    entry.source = ConfigSource::kDynamicDefaultBroker;
    if (!entry.sensitive) entry.value = value;
    ConfigSynonym synonym;
    synonym.name = name;
    synonym.value = entry.value;
    synonym.source = entry.source;
    entry.synonyms.push_back(std::move(synonym));
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::vector<ConfigEntry>> ConfigResolver::describe(
    const MetadataImage& image, const ConfigResource& resource,
    const std::optional<std::vector<std::string>>& keys) const {
  std::vector<ConfigEntry> entries;
  const auto add_table = [&](const ConfigTable& table, ConfigSource source) {
    const ConfigMap* own = overrides(image, resource.type, resource.name);
    for (const ConfigDef& def : table.all()) {
      if (!def.hidden) entries.push_back(entry(image, def, def.name, own, source));
    }
  };
  switch (resource.type) {
    case ConfigResourceType::kTopic: {
      const std::shared_ptr<const TopicImage> topic = image.topic(resource.name);
      if (topic == nullptr) {
        return kafka_error(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                           fmt::format("there is no topic '{}'", resource.name));
      }
      add_table(topic_configs(), ConfigSource::kTopic);
      for (ConfigEntry& line : entries) {
        if (line.name != "mirror.name") continue;
        line.value = mirror_name_of(*topic);
        if (!line.value->empty()) line.source = ConfigSource::kTopic;
      }
      break;
    }
    case ConfigResourceType::kBroker:
      if (resource.name.empty()) {
        entries = default_entries(image);
      } else if (parse_integer(resource.name) == std::optional<std::int64_t>(node_id_.get())) {
        entries = broker_entries(image);
      } else {
        return kafka_error(ErrorCode::INVALID_REQUEST,
                           fmt::format("broker '{}' is not this one ({}); ask that broker",
                                       resource.name, node_id_));
      }
      break;
    case ConfigResourceType::kGroup:
      add_table(group_configs(), ConfigSource::kGroup);
      break;
    case ConfigResourceType::kClusterMirror:
      if (!image.has_mirror(resource.name)) {
        return kafka_error(ErrorCode::RESOURCE_NOT_FOUND,
                           fmt::format("there is no mirror '{}'", resource.name));
      }
      add_table(mirror_configs(), ConfigSource::kClusterMirror);
      break;
    default:
      return kafka_error(ErrorCode::INVALID_REQUEST,
                         fmt::format("configurations of resource type {} cannot be described",
                                     static_cast<int>(resource.type)));
  }
  std::erase_if(entries, [&](const ConfigEntry& e) { return !is_wanted(keys, e.name); });
  std::sort(entries.begin(), entries.end(),
            [](const ConfigEntry& a, const ConfigEntry& b) { return a.name < b.name; });
  return entries;
}

}  // namespace kmirror::metadata
