// SimSource: a fake Kafka cluster to mirror from. It speaks the wire protocol over any
// env::Network, keeps a log for each partition and answers as a Kafka broker would, until a test
// bends it: leaders move, logs are cut, topics are made again, answers are held, changed, throttled
// or broken. Owner: one loop. On real sockets every call comes from that loop; in simulation also
// from the test's own code, and each node may stand on a host of its own. Sources: Kafka 4.4
// ReplicaManager, KafkaApis, FetchSession; KIP-227, KIP-320, KIP-516, KIP-595, KIP-951.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kmirror/env/environment.h"
#include "kmirror/wire/api_versions_request.h"
#include "kmirror/wire/api_versions_response.h"
#include "kmirror/wire/describe_cluster_mirrors_request.h"
#include "kmirror/wire/describe_cluster_mirrors_response.h"
#include "kmirror/wire/fetch_request.h"
#include "kmirror/wire/fetch_response.h"
#include "kmirror/wire/list_offsets_request.h"
#include "kmirror/wire/list_offsets_response.h"
#include "kmirror/wire/metadata_request.h"
#include "kmirror/wire/metadata_response.h"
#include "kmirror/wire/offset_for_leader_epoch_request.h"
#include "kmirror/wire/offset_for_leader_epoch_response.h"
#include "sim/fetch_sessions.h"
#include "sim/sim_api.h"
#include "sim/source_log.h"

namespace kmirror::testing {

class SourceNode;

struct SimPartition {
  SimPartition() = default;
  SourceLog log;
  NodeId leader{-1};  ///< -1: none
  LeaderEpoch epoch{0};
  bool offset_not_available = false;  ///< ListOffsets "latest" answers 78 (KIP-207)
};

struct SimTopic {
  SimTopic() = default;
  Uuid id;
  bool is_internal = false;
  std::vector<SimPartition> partitions;
};

class SimSource {
 public:
  explicit SimSource(std::string cluster_id = "sim-source-cluster-id1");
  ~SimSource();  ///< after stop()
  SimSource(const SimSource&) = delete;
  SimSource& operator=(const SimSource&) = delete;

  // ---- nodes ----
  /// Starts a broker that listens at `at` (port 0: any). Its environment outlives it. Error: the
  /// network's.
  [[nodiscard]] Result<void> add_node(NodeId node, env::Environment& environment, env::Loop& loop,
                                      env::Endpoint at = env::Endpoint("127.0.0.1", 0));
  /// Where the node listens, or listened last.
  [[nodiscard]] env::Endpoint endpoint(NodeId node) const;
  /// "host:port,host:port" of all nodes.
  [[nodiscard]] std::string bootstrap() const;
  /// Closes the node's listener and connections, and forgets its fetch sessions. Metadata does not
  /// name it any more, but leaders stay as they are: move them.
  void stop_node(NodeId node);
  /// Listens again at the same port. Error: the network's.
  [[nodiscard]] Result<void> start_node(NodeId node);
  void drop_connections(NodeId node);
  [[nodiscard]] std::size_t connection_count(NodeId node) const;
  /// Ends everything; once, before the destructor.
  [[nodiscard]] env::Awaitable<void> stop();

  // ---- topics ----
  /// Partitions are led by the nodes in turn, from the first one. The id is derived from the name
  /// and how often it was made.
  SimTopic& create_topic(const std::string& name, std::int32_t partitions);
  /// Another topic under the same name: new id, empty logs, as many partitions.
  SimTopic& recreate_topic(const std::string& name);
  void delete_topic(const std::string& name);
  void add_partitions(const std::string& name, std::int32_t total);
  [[nodiscard]] SimTopic& topic(const std::string& name);
  [[nodiscard]] SimPartition& partition(const TopicPartition& at);
  [[nodiscard]] SourceLog& log(const TopicPartition& at) { return partition(at).log; }
  [[nodiscard]] const std::map<std::string, SimTopic>& topics() const { return topics_; }

  /// Appends one batch of `records` records under the present epoch; returns its first offset.
  Offset produce(const TopicPartition& to, int records = 1);
  /// Appends a stored batch as it is. Waiting fetches wake.
  void append(const TopicPartition& to, Slice batch);
  /// Makes `node` the leader under `epoch` (default: the next one). -1: no leader, epoch kept.
  void move_leader(const TopicPartition& of, NodeId node,
                   std::optional<LeaderEpoch> epoch = std::nullopt);
  /// A replica that has only the records below `end` becomes the leader.
  void unclean_election(const TopicPartition& of, NodeId node, Offset end);
  /// Wakes waiting fetches after a change made directly on a log.
  void notify();

  // ---- scripts ----
  SimApi<wire::ApiVersionsRequest> api_versions;
  SimApi<wire::MetadataRequest> metadata;
  SimApi<wire::FetchRequest> fetch;
  SimApi<wire::ListOffsetsRequest> list_offsets;
  SimApi<wire::OffsetForLeaderEpochRequest> offset_for_leader_epoch;
  /// Off at first: a stock Kafka does not have it.
  SimApi<wire::DescribeClusterMirrorsRequest> describe_cluster_mirrors;
  /// The part of a fetch answer that is about `of`, for hooks; null if it is not in it.
  [[nodiscard]] wire::FetchResponse::PartitionData* data_of(
      const SimApi<wire::FetchRequest>::ExchangePtr& exchange, const TopicPartition& of) const;
  /// Any further API: `answer` gives the response. Replaces what was there for its key.
  template <class Request>
  SimApi<Request>& serve(
      std::function<client::ResponseTo<Request>(const Call&, const Request&)> answer);
  /// Null if the source does not serve it.
  [[nodiscard]] SimApiBase* find(ApiKey key);

  FetchSessions sessions;
  /// What describe_cluster_mirrors says: the mirrors, and last mirror positions for its lookups.
  std::vector<wire::DescribeClusterMirrorsResponse::DescribedMirror> mirrors;
  std::map<TopicIdPartition, EpochEnd> last_mirror_positions;
  /// Pretends to be older than 2.8: no topic ids anywhere, Fetch up to 12.
  void forget_topic_ids();

  [[nodiscard]] const std::string& cluster_id() const { return cluster_id_; }
  void set_cluster_id(std::string id) { cluster_id_ = std::move(id); }
  /// Requests of APIs that the source does not serve: their keys, in order.
  std::vector<ApiKey> unknown_requests;

 private:
  friend class SourceNode;

  [[nodiscard]] env::Awaitable<wire::ApiVersionsResponse> answer_api_versions(
      const Call* call, const wire::ApiVersionsRequest* request);
  [[nodiscard]] env::Awaitable<wire::MetadataResponse> answer_metadata(
      const Call* call, const wire::MetadataRequest* request);
  [[nodiscard]] env::Awaitable<wire::FetchResponse> answer_fetch(const Call* call,
                                                                 const wire::FetchRequest* request);
  [[nodiscard]] env::Awaitable<wire::ListOffsetsResponse> answer_list_offsets(
      const Call* call, const wire::ListOffsetsRequest* request);
  [[nodiscard]] env::Awaitable<wire::OffsetForLeaderEpochResponse> answer_epochs(
      const Call* call, const wire::OffsetForLeaderEpochRequest* request);
  [[nodiscard]] env::Awaitable<wire::DescribeClusterMirrorsResponse> answer_mirrors(
      const Call* call, const wire::DescribeClusterMirrorsRequest* request);

  [[nodiscard]] wire::ApiVersionsResponse api_versions_of(const Call& call);
  [[nodiscard]] wire::MetadataResponse::MetadataResponseTopic describe_topic(
      const std::string& name) const;
  [[nodiscard]] SimPartition* find_partition(const std::string& topic, std::int32_t index);
  /// The checks every partition request passes: topic, leader, epoch.
  [[nodiscard]] ErrorCode check_leader(const Call& call, const SimPartition* partition,
                                       LeaderEpoch current_epoch) const;
  [[nodiscard]] std::vector<FetchReading> read_all(
      const Call& call, const wire::FetchRequest& request,
      const std::vector<FetchSessions::Wanted>& wanted);
  [[nodiscard]] FetchReading read_one(const Call& call, const FetchSessions::Wanted& wanted,
                                      std::size_t most_bytes, bool at_least_one);
  void add_leader_hints(const Call& call, const FetchReading& reading,
                        wire::FetchResponse& response) const;
  [[nodiscard]] Uuid make_topic_id(const std::string& name);
  void register_apis();

  std::string cluster_id_;
  std::map<std::string, SimTopic> topics_;
  std::map<std::string, int> times_made_;
  std::map<NodeId, std::unique_ptr<SourceNode>> nodes_;
  std::map<ApiKey, SimApiBase*> apis_;
  std::vector<std::unique_ptr<SimApiBase>> further_apis_;
  std::uint64_t next_connection_ = 1;
  bool has_topic_ids_ = true;
};

/// Takes the hooks of a source away when the scope ends. A hook that refers to a test's own
/// variables needs one, declared after them: the source is asked again while the fixture is taken
/// down.
class Unhook {
 public:
  explicit Unhook(SimSource& source) : source_(source) {}
  ~Unhook() {
    source_.fetch.hook = nullptr;
    source_.metadata.hook = nullptr;
    source_.list_offsets.hook = nullptr;
    source_.describe_cluster_mirrors.hook = nullptr;
  }
  Unhook(const Unhook&) = delete;
  Unhook& operator=(const Unhook&) = delete;

 private:
  SimSource& source_;
};

namespace detail {

template <class Request>
env::Awaitable<client::ResponseTo<Request>> answer_plainly(
    const std::function<client::ResponseTo<Request>(const Call&, const Request&)>* answer,
    const Call* call, const Request* request) {
  co_return (*answer)(*call, *request);
}

}  // namespace detail

template <class Request>
SimApi<Request>& SimSource::serve(
    std::function<client::ResponseTo<Request>(const Call&, const Request&)> answer) {
  auto kept = std::make_shared<decltype(answer)>(std::move(answer));
  auto api = std::make_unique<SimApi<Request>>([kept](const Call* call, const Request* request) {
    return detail::answer_plainly<Request>(kept.get(), call, request);
  });
  SimApi<Request>& made = *api;
  apis_[Request::kApiKey] = &made;
  further_apis_.push_back(std::move(api));
  return made;
}

}  // namespace kmirror::testing
