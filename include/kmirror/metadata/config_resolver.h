// ConfigResolver: which value of a key is in force, and where it comes from.
// Order for topics: topic override, dynamic value of this broker, dynamic default of all brokers,
// the file, the built-in default. Mirrors and groups likewise, with their own overrides first.
// Owner: any thread; immutable. Images are passed in.
// Sources: Kafka 4.4 ConfigHelper, DynamicBrokerConfig; KIP-226, KIP-569; spec E.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/metadata/config_def.h"
#include "kmirror/metadata/image.h"
#include "kmirror/storage/log_config.h"

namespace kmirror::metadata {

/// The codes of DescribeConfigs' ConfigSource; kClusterMirror is ours (Apache assigns upward from
/// 9).
enum class ConfigSource : std::int8_t {
  kUnknown = 0,
  kTopic = 1,
  kDynamicBroker = 2,
  kDynamicDefaultBroker = 3,
  kStaticBroker = 4,
  kDefault = 5,
  kDynamicBrokerLogger = 6,
  kClientMetrics = 7,
  kGroup = 8,
  kClusterMirror = 64,
};

struct ConfigSynonym {
  ConfigSynonym() = default;
  std::string name;
  std::optional<std::string> value;  ///< null for secrets
  ConfigSource source = ConfigSource::kUnknown;
};

/// One line of DescribeConfigs.
struct ConfigEntry {
  ConfigEntry() = default;
  std::string name;
  std::optional<std::string> value;  ///< null for secrets, and where the default is null
  ConfigSource source = ConfigSource::kDefault;
  bool read_only = false;
  bool sensitive = false;
  ConfigType type = ConfigType::kUnknown;
  std::string documentation;
  std::vector<ConfigSynonym> synonyms;  ///< in order of precedence, the one in force first
};

class ConfigResolver {
 public:
  /// `file`: the checked keys of the configuration file, primary spellings.
  ConfigResolver(ConfigMap file, NodeId node_id);

  [[nodiscard]] const ConfigMap& file() const { return file_; }
  [[nodiscard]] NodeId node_id() const { return node_id_; }

  /// The value in force; nullopt if it is null or the key is unknown. Never logs a secret; the
  /// caller must not either.
  [[nodiscard]] std::optional<std::string> topic_value(const MetadataImage& image,
                                                       std::string_view topic,
                                                       std::string_view key) const;
  [[nodiscard]] std::optional<std::string> broker_value(const MetadataImage& image,
                                                        std::string_view key) const;
  [[nodiscard]] std::optional<std::string> mirror_value(const MetadataImage& image,
                                                        std::string_view mirror,
                                                        std::string_view key) const;
  [[nodiscard]] std::optional<std::string> group_value(const MetadataImage& image,
                                                       std::string_view group,
                                                       std::string_view key) const;
  /// The same as a number or truth value. A stored value that does not parse (written by another
  /// release) counts as the built-in default. Only for keys of that type that have a default.
  [[nodiscard]] std::int64_t broker_integer(const MetadataImage& image, std::string_view key) const;
  [[nodiscard]] bool broker_boolean(const MetadataImage& image, std::string_view key) const;
  [[nodiscard]] std::int64_t topic_integer(const MetadataImage& image, std::string_view topic,
                                           std::string_view key) const;
  [[nodiscard]] bool topic_boolean(const MetadataImage& image, std::string_view topic,
                                   std::string_view key) const;
  [[nodiscard]] std::int64_t mirror_integer(const MetadataImage& image, std::string_view mirror,
                                            std::string_view key) const;
  [[nodiscard]] bool mirror_boolean(const MetadataImage& image, std::string_view mirror,
                                    std::string_view key) const;
  [[nodiscard]] std::int64_t group_integer(const MetadataImage& image, std::string_view group,
                                           std::string_view key) const;

  /// Everything a partition log of `topic` needs. `is_mirror` is set from the desired state of the
  /// topic; the mirror room clears it when the partition is STOPPED (decisions 3.8).
  [[nodiscard]] storage::LogConfig log_config(const MetadataImage& image,
                                              std::string_view topic) const;

  /// The answer to DescribeConfigs for one resource, sorted by name. `keys` absent or empty: all;
  /// unknown keys are passed over. Errors: UNKNOWN_TOPIC_OR_PARTITION, RESOURCE_NOT_FOUND for an
  /// unknown mirror, INVALID_REQUEST for another broker's id, a name that is no number, or a
  /// resource type that is not served here (broker loggers and client metrics are the server's).
  [[nodiscard]] Result<std::vector<ConfigEntry>> describe(
      const MetadataImage& image, const ConfigResource& resource,
      const std::optional<std::vector<std::string>>& keys) const;

 private:
  using Chain = std::vector<ConfigSynonym>;  // with secrets in clear, so never handed out
  [[nodiscard]] Chain chain(const MetadataImage& image, const ConfigDef& def, const ConfigMap* own,
                            ConfigSource own_source) const;
  void add_broker_values(const MetadataImage& image, const std::vector<ConfigFallback>& keys,
                         Chain& chain) const;
  [[nodiscard]] std::optional<std::string> value_of(const MetadataImage& image,
                                                    const ConfigDef* def,
                                                    const ConfigMap* own) const;
  [[nodiscard]] ConfigEntry entry(const MetadataImage& image, const ConfigDef& def,
                                  const std::string& name, const ConfigMap* own,
                                  ConfigSource own_source) const;
  [[nodiscard]] std::vector<ConfigEntry> broker_entries(const MetadataImage& image) const;
  [[nodiscard]] std::vector<ConfigEntry> default_entries(const MetadataImage& image) const;

  ConfigMap file_;
  NodeId node_id_;
};

}  // namespace kmirror::metadata
