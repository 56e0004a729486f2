// MirrorSite: the whole mirror (engine, logs, coordinator, service) on a simulated machine next to
// a fake source of two brokers, in virtual time. It can be stopped, crash and start again. Owner:
// one test, one thread.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kmirror/coordinator/cluster_mirror_coordinator.h"
#include "kmirror/env/sim.h"
#include "kmirror/metadata/embedded_engine.h"
#include "kmirror/mirror/mirror_service.h"
#include "kmirror/storage/log_manager.h"
#include "kmirror/wire/describe_cluster_mirrors_request.h"
#include "kmirror/wire/describe_cluster_mirrors_response.h"
#include "sim/sim_source.h"

namespace kmirror::mirror {

inline const NodeId kSourceOne{1};
inline const NodeId kSourceTwo{2};

/// Keeps a log for every partition of the image, as the server's ReplicaManager does.
class LogKeeper final : public metadata::MetadataListener {
 public:
  LogKeeper(storage::LogManager& logs, const metadata::ConfigResolver& configs)
      : logs_(logs), configs_(configs) {}
  void on_metadata(const metadata::MetadataDelta& delta) override;
  std::function<void(std::shared_ptr<storage::PartitionLog>)> on_created;

 private:
  storage::LogManager& logs_;
  const metadata::ConfigResolver& configs_;
};

/// One partition as DescribeClusterMirrors shows it.
struct Described {
  Described() = default;
  std::string state;
  std::string error;
  std::int16_t attempt = 0;
  std::int64_t source_offset = -1;
  std::int64_t destination_offset = -1;
  std::int32_t last_mirror_epoch = -1;
  std::int64_t last_mirror_offset = -1;
};

class MirrorSite {
 public:
  explicit MirrorSite(std::uint64_t seed = 1);
  ~MirrorSite();

  void start();
  void stop();
  void crash(env::SimCrash how);

  /// Calls a service method and runs the world until the answer is there.
  template <class Request, class Response>
  Response call(void (MirrorService::*method)(Request, metadata::Done<Response>), Request request) {
    const auto got = std::make_shared<std::optional<Response>>();
    (service.get()->*method)(std::move(request),
                             [got](Response response) { *got = std::move(response); });
    const bool came = world.run_until([&] { return got->has_value(); }, std::chrono::minutes(5));
    EXPECT_TRUE(came) << "no answer";
    return came ? std::move(**got) : Response();
  }

  /// Creates mirror "m" of the source, with further configuration keys.
  void create_mirror(const std::map<std::string, std::string>& configs = {});
  /// Starts topics in "m", resolved at the source.
  ErrorCode start_topics(const std::vector<std::string>& topics);
  ErrorCode stop_topics(const std::vector<std::string>& topics);
  ErrorCode pause_topics(const std::vector<std::string>& topics);
  ErrorCode resume_topics(const std::vector<std::string>& topics);
  void recover(const std::vector<std::string>& topics);
  void set_mirror_config(const std::string& key, const std::string& value);
  void set_topic_config(const std::string& topic, const std::string& key, const std::string& value);

  [[nodiscard]] Described describe(const TopicPartition& of);
  [[nodiscard]] std::shared_ptr<storage::PartitionLog> log(const TopicPartition& of);
  [[nodiscard]] std::int64_t end_of(const TopicPartition& of);
  /// Runs until the partition is in `state`; false after `limit` of virtual time.
  [[nodiscard]] bool reaches(const TopicPartition& of, const std::string& state,
                             env::Duration limit = std::chrono::seconds(60));
  /// Runs until our log ends at `end`.
  [[nodiscard]] bool catches_up(const TopicPartition& of, std::int64_t end,
                                env::Duration limit = std::chrono::seconds(60));
  /// All bytes of our log from its start.
  [[nodiscard]] Bytes bytes_of(const TopicPartition& of);
  /// All bytes of the source's log.
  [[nodiscard]] Bytes source_bytes_of(const TopicPartition& of);
  /// Fetch requests that node got for the partition so far.
  [[nodiscard]] std::size_t fetches(NodeId node) const;

  env::SimWorld world;
  env::SimDisk disk{world};
  env::SimDisk source_disk{world};
  env::SimProcess source_one{world, "one", source_disk};
  env::SimProcess source_two{world, "two", source_disk};
  testing::SimSource source;

  std::map<std::string, std::string> broker_file;  ///< broker keys; set before start()
  std::unique_ptr<metrics::Registry> metrics;
  std::unique_ptr<env::SimProcess> process;
  std::unique_ptr<metadata::EmbeddedEngine> engine;
  std::unique_ptr<storage::LogManager> logs;
  std::unique_ptr<coordinator::ClusterMirrorCoordinator> coordinator;
  std::unique_ptr<LogKeeper> keeper;
  std::unique_ptr<MirrorService> service;

 private:
  void drop();
  std::string cluster_id_ = "mirror-cluster-id-0001";
};

}  // namespace kmirror::mirror
