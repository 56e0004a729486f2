// SourceMetadata: what is known of a source cluster: its id, its brokers, topics, leaders and
// leader epochs. A pure cache: answers go in, changes come out. Owner: one task. Invariant: a
// leader epoch only goes back after kRefusalsBeforeBelief answers in a row said so (a lagging
// broker must not make a reader flap; a source that truly went back must not be refused for ever).
// Sources: KIP-320, KIP-516; cases G29, G55, G62; decisions 3.10.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kmirror/env/network.h"
#include "kmirror/model/error_code.h"
#include "kmirror/model/types.h"

namespace kmirror::wire {
struct MetadataResponse;
}

namespace kmirror::client {

struct SourcePartition {
  SourcePartition() = default;
  NodeId leader{-1};                   ///< -1: no leader now
  LeaderEpoch epoch = kNoLeaderEpoch;  ///< -1: the source did not say
  int refusals = 0;                    ///< answers in a row with a lower epoch
};

struct SourceTopic {
  SourceTopic() = default;
  Uuid id;  ///< zero before Kafka 2.8
  bool is_internal = false;
  std::vector<SourcePartition> partitions;  ///< index = partition; only ever grows
};

/// What one answer changed.
struct SourceChanges {
  SourceChanges() = default;
  std::set<TopicPartition> leaders;          ///< leader or epoch is another one, or new
  std::set<std::string> grown;               ///< more partitions than before, or new
  std::map<std::string, Uuid> recreated;     ///< the name has another id now; the old entry is kept
  std::map<std::string, ErrorCode> refused;  ///< topics answered with an error
};

class SourceMetadata {
 public:
  static constexpr int kRefusalsBeforeBelief = 3;

  SourceMetadata() = default;

  /// Takes an answer in. Topics that the answer does not name stay as they are: absence proves
  /// nothing. A topic with an error stays too and is listed under `refused`. An answer to a request
  /// for all topics gives new entries for those that `wanted` has (all of them if it is null).
  SourceChanges apply(const wire::MetadataResponse& answer,
                      const std::set<std::string>* wanted = nullptr);
  /// Takes a leader that a fetch answer named. True if it is news: a higher epoch than known.
  bool apply_leader_hint(const TopicPartition& partition, NodeId leader, LeaderEpoch epoch);
  /// A broker's address from a fetch answer (NodeEndpoints).
  void add_broker(NodeId node, env::Endpoint at);
  /// Forgets a topic, so that a new id is no longer a surprise.
  void forget(const std::string& topic);

  [[nodiscard]] const std::optional<std::string>& cluster_id() const { return cluster_id_; }
  [[nodiscard]] NodeId controller() const { return controller_; }
  [[nodiscard]] const std::map<NodeId, env::Endpoint>& brokers() const { return brokers_; }
  [[nodiscard]] const std::map<std::string, SourceTopic>& topics() const { return topics_; }
  [[nodiscard]] const SourceTopic* topic(const std::string& name) const;
  [[nodiscard]] const SourcePartition* partition(const TopicPartition& partition) const;
  /// The address of the partition's leader; nothing if it has none or its address is unknown.
  [[nodiscard]] std::optional<env::Endpoint> leader_endpoint(const TopicPartition& partition) const;

 private:
  std::optional<std::string> cluster_id_;
  NodeId controller_{-1};
  std::map<NodeId, env::Endpoint> brokers_;
  std::map<std::string, SourceTopic> topics_;
};

}  // namespace kmirror::client
