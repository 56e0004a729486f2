// MetadataImage: brokers, topics, partitions, configs, mirrors and ACLs at one offset of the
// metadata log. Immutable; a new one replaces it on every change.
// Owner: built on loop 0; any thread reads it through MetadataEngine::image().
// Sources: Kafka 4.4 MetadataImage, TopicImage, PartitionRegistration; spec D.3; decisions
// section 2.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kmirror/model/types.h"

namespace kmirror::metadata {

struct ListenerEndpoint {
  ListenerEndpoint() = default;
  std::string name;  ///< listener name, e.g. PLAINTEXT
  std::string host;
  std::uint16_t port = 0;
  std::int16_t security_protocol = 0;
};

struct BrokerImage {
  BrokerImage() = default;
  NodeId id;
  Uuid incarnation_id;
  std::int64_t broker_epoch = -1;
  std::vector<ListenerEndpoint> listeners;
  std::optional<std::string> rack;
  bool fenced = false;
  [[nodiscard]] const ListenerEndpoint* listener(std::string_view listener_name) const;
};

struct PartitionImage {
  PartitionImage() = default;
  std::vector<NodeId> replicas;
  std::vector<NodeId> isr;
  NodeId leader{-1};
  LeaderEpoch leader_epoch{0};
  std::int32_t partition_epoch = 0;
};

/// What the operator wants of a mirror topic (MirrorTopicStateChangeRecord, decisions section 2).
enum class DesiredMirrorState : std::int8_t {
  kNone = -1,
  kMirroring = 3,
  kPaused = 5,
  kStopped = 7
};

struct TopicImage {
  TopicImage() = default;
  std::string name;
  Uuid id;
  std::vector<PartitionImage> partitions;  ///< index = partition
  std::optional<std::string> mirror_name;  ///< the mirror that owns the topic, if any
  DesiredMirrorState desired_mirror_state = DesiredMirrorState::kNone;
  std::int64_t last_state_offset = -1;  ///< metadata offset of the last desired-state change
  /// True while clients must not write: it belongs to a mirror and is not (yet) wanted STOPPED.
  /// The actual state decides for a topic that is wanted STOPPED: see mirror::.
  [[nodiscard]] bool is_mirrored() const {
    return mirror_name.has_value() && desired_mirror_state != DesiredMirrorState::kNone;
  }
};

enum class ConfigResourceType : std::int8_t {
  kUnknown = 0,
  kTopic = 2,
  kBroker = 4,
  kBrokerLogger = 8,
  kClientMetrics = 16,
  kGroup = 32,
  kClusterMirror = 64,
};
struct ConfigResource {
  ConfigResource() = default;
  ConfigResource(ConfigResourceType t, std::string n) : type(t), name(std::move(n)) {}
  ConfigResourceType type = ConfigResourceType::kUnknown;
  std::string name;  ///< "" of kBroker: the cluster-wide default
  friend auto operator<=>(const ConfigResource&, const ConfigResource&) = default;
};
using ConfigMap = std::map<std::string, std::string, std::less<>>;

struct AclImage {
  AclImage() = default;
  Uuid id;
  std::int8_t resource_type = 0;
  std::string resource_name;
  std::int8_t pattern_type = 3;
  std::string principal;
  std::string host;
  std::int8_t operation = 0;
  std::int8_t permission_type = 0;
  std::set<std::string> owners;  ///< mirrors, and "" for "was here before" (decisions 3.25)
};

struct FeatureLevel {
  FeatureLevel() = default;
  FeatureLevel(std::int16_t lo, std::int16_t hi, std::int16_t fin)
      : min(lo), max(hi), finalized(fin) {}
  std::int16_t min = 0;
  std::int16_t max = 0;
  std::int16_t finalized = 0;
};

class MetadataImage {
 public:
  MetadataImage() = default;

  std::int64_t offset = -1;  ///< the last metadata record applied
  std::string cluster_id;    ///< 22 characters
  NodeId controller_id{-1};
  std::map<NodeId, std::shared_ptr<const BrokerImage>> brokers;
  std::map<std::string, std::shared_ptr<const TopicImage>, std::less<>> topics;
  std::unordered_map<Uuid, std::shared_ptr<const TopicImage>> topics_by_id;
  std::map<ConfigResource, std::shared_ptr<const ConfigMap>> configs;
  std::map<Uuid, std::shared_ptr<const AclImage>> acls;
  std::map<std::string, FeatureLevel, std::less<>> features;
  std::int64_t next_producer_id = 0;
  /// Mirror topics that were stopped and deleted here: not discovered again (decisions 3.24).
  std::map<std::string, std::set<std::string>, std::less<>> deleted_here;  ///< mirror → topics

  [[nodiscard]] std::shared_ptr<const TopicImage> topic(std::string_view name) const;
  [[nodiscard]] std::shared_ptr<const TopicImage> topic(const Uuid& id) const;
  [[nodiscard]] const PartitionImage* partition(std::string_view topic_name,
                                                std::int32_t index) const;
  /// The overrides of a resource; an empty map if it has none.
  [[nodiscard]] const ConfigMap& config(const ConfigResource& resource) const;
  /// Names of all mirrors, sorted: the CLUSTER_MIRROR resources.
  [[nodiscard]] std::vector<std::string> mirror_names() const;
  [[nodiscard]] bool has_mirror(std::string_view mirror_name) const;
  /// Topics that belong to `mirror_name` (any desired state), sorted by name.
  [[nodiscard]] std::vector<std::shared_ptr<const TopicImage>> mirror_topics(
      std::string_view mirror_name) const;
};

/// What one commit changed. Names refer to the new image, or the old one for what is gone.
struct MetadataDelta {
  MetadataDelta() = default;
  std::shared_ptr<const MetadataImage> before;  ///< null for the first image after start-up
  std::shared_ptr<const MetadataImage> after;
  std::set<std::string> changed_topics;  ///< created, grown, new leader epoch, mirror state changed
  std::vector<std::shared_ptr<const TopicImage>> deleted_topics;
  std::set<ConfigResource> changed_configs;
  bool acls_changed = false;
  bool brokers_changed = false;
};

}  // namespace kmirror::metadata
