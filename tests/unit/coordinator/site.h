// Site: both coordinators over real logs on a simulated disk, in virtual time. It can lose power
// and start again. Owner: one test, one thread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kmirror/base/metrics.h"
#include "kmirror/coordinator/cluster_mirror_coordinator.h"
#include "kmirror/coordinator/group_coordinator.h"
#include "kmirror/env/sim.h"
#include "kmirror/storage/log_manager.h"

namespace kmirror::coordinator::testing {

/// A metadata engine that knows topics only, in memory: it outlives every restart of the site.
class FakeEngine final : public metadata::MetadataEngine {
 public:
  FakeEngine() : image_(std::make_shared<metadata::MetadataImage>()) {}

  void add_topic(const std::string& name, std::int32_t partitions);
  void delete_topic(const std::string& name);
  /// Sets what owns the topic and what is wanted of it.
  void set_mirror(const std::string& topic, metadata::DesiredMirrorState desired);
  /// A process ended: its listeners and its loop are gone.
  void forget_process() {
    listeners_.clear();
    loop_ = nullptr;
  }
  void use_loop(env::Loop& loop) { loop_ = &loop; }
  ErrorCode refuse_topics = ErrorCode::NONE;
  int created_count = 0;

  [[nodiscard]] std::shared_ptr<const metadata::MetadataImage> image() const override {
    return image_;
  }
  void add_listener(metadata::MetadataListener& listener) override;
  void create_internal_topic(std::string name, std::int32_t partitions, metadata::ConfigMap,
                             metadata::Done<Result<void>> done) override;

  void create_topics(wire::CreateTopicsRequest, ApiVersion,
                     metadata::Done<wire::CreateTopicsResponse>) override;
  void delete_topics(wire::DeleteTopicsRequest,
                     metadata::Done<wire::DeleteTopicsResponse>) override;
  void create_partitions(wire::CreatePartitionsRequest, bool,
                         metadata::Done<wire::CreatePartitionsResponse>) override;
  void incremental_alter_configs(wire::IncrementalAlterConfigsRequest, bool,
                                 metadata::Done<wire::IncrementalAlterConfigsResponse>) override;
  void alter_configs(wire::AlterConfigsRequest,
                     metadata::Done<wire::AlterConfigsResponse>) override;
  void create_cluster_mirror(wire::CreateClusterMirrorRequest,
                             metadata::Done<wire::CreateClusterMirrorResponse>) override;
  void delete_cluster_mirror(wire::DeleteClusterMirrorRequest,
                             metadata::Done<wire::DeleteClusterMirrorResponse>) override;
  void start_mirror_topics(wire::StartMirrorTopicsRequest,
                           metadata::Done<wire::StartMirrorTopicsResponse>) override;
  void stop_mirror_topics(wire::StopMirrorTopicsRequest,
                          metadata::Done<wire::StopMirrorTopicsResponse>) override;
  void pause_mirror_topics(wire::PauseMirrorTopicsRequest,
                           metadata::Done<wire::PauseMirrorTopicsResponse>) override;
  void resume_mirror_topics(wire::ResumeMirrorTopicsRequest,
                            metadata::Done<wire::ResumeMirrorTopicsResponse>) override;
  void bump_leader_epochs(wire::BumpLeaderEpochsRequest,
                          metadata::Done<wire::BumpLeaderEpochsResponse>) override;
  void allocate_producer_ids(metadata::Done<Result<ProducerIdBlock>>) override;
  void raise_producer_ids(ProducerId, metadata::Done<Result<void>>) override;

 private:
  void publish(std::shared_ptr<metadata::MetadataImage> next, metadata::MetadataDelta delta);

  std::shared_ptr<const metadata::MetadataImage> image_;
  std::vector<metadata::MetadataListener*> listeners_;
  env::Loop* loop_ = nullptr;
  std::uint8_t next_topic_ = 1;
};

class Site {
 public:
  explicit Site(std::uint64_t seed = 1);
  ~Site();

  /// Makes process, logs and coordinators; gives them `settle` of virtual time to load their
  /// shards.
  void start(env::Duration settle = std::chrono::milliseconds(50));
  /// Power or process fails, everything unsynced may be gone; then start().
  void crash(env::SimCrash how);
  /// Stops in order.
  void stop();

  /// Asks and runs the world until the answer is there.
  template <class Response, class Ask>
  [[nodiscard]] Response answer(Ask ask) {
    const auto got = std::make_shared<std::optional<Response>>();
    ask([got](Response response) { *got = std::move(response); });
    const bool came = world.run_until([&] { return got->has_value(); }, std::chrono::hours(1));
    EXPECT_TRUE(came) << "no answer";
    return came ? std::move(**got) : Response();
  }
  /// One group request of `version`, by member pointer: send(&GroupCoordinator::heartbeat, …).
  template <class Request, class Response>
  [[nodiscard]] Response send(void (GroupCoordinator::*call)(Request, ApiVersion,
                                                             GroupRequestContext,
                                                             UniqueFunction<void(Response)>),
                              Request request, std::int16_t version) {
    return answer<Response>([&](UniqueFunction<void(Response)> done) {
      (groups.get()->*call)(std::move(request), ApiVersion(version), client(), std::move(done));
    });
  }
  [[nodiscard]] GroupRequestContext client() {
    return GroupRequestContext("c", "/127.0.0.1", process->loop(0));
  }

  env::SimWorld world;
  env::SimDisk disk;
  env::Duration disk_latency = std::chrono::microseconds(100);
  FakeEngine engine;
  GroupCoordinatorConfig group_config;
  ClusterMirrorCoordinatorConfig mirror_config;
  std::unique_ptr<metrics::Registry> metrics;
  std::unique_ptr<env::SimProcess> process;
  std::unique_ptr<storage::LogManager> logs;
  std::unique_ptr<GroupCoordinator> groups;
  std::unique_ptr<ClusterMirrorCoordinator> mirrors;

 private:
  [[nodiscard]] std::vector<storage::ExpectedLog> expected_logs() const;
  void drop();
};

}  // namespace kmirror::coordinator::testing
