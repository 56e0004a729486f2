// The inside of MirrorMetadataManager, split by concern:
//   manager_lifecycle.cc    loading, metadata changes, stop
//   manager_transitions.cc  events, storing them, what entering a state begins, retries
//   manager_fetching.cc     assignments to fetchers and the events that come back
//   manager_source.cc       one task per mirror: when to ask its source, and reachability
//   manager_refresh.cc      what a refresh does: leaders, deletion, growth, epochs, discovery
//   manager_align.cc        LOG_ALIGNMENT and ULE_RECOVERY
//   manager_stop.cc         STOPPING
//   manager_view.cc         describe, metrics, who may write
// Owner: loop 0, all of it; is_stopped() alone is for any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kmirror/base/published.h"
#include "kmirror/env/async.h"
#include "kmirror/mirror/fetcher_manager.h"
#include "kmirror/mirror/metadata_manager.h"
#include "kmirror/storage/log_manager.h"
#include "mirror/mirror_partition.h"

namespace kmirror::wire {
struct MetadataResponse;
struct BumpLeaderEpochsRequest;
struct DescribeClusterMirrorsResponse;
}  // namespace kmirror::wire

namespace kmirror::mirror {

/// Awaits an engine command or coordinator call: `begin` gets the callback that ends the wait.
/// Bounded by their promise to answer.
template <class Response>
env::Awaitable<typename env::Completion<Response>::Waited> answered(
    UniqueFunction<void(UniqueFunction<void(Response)>)> begin) {
  env::Completion<Response> completion;
  begin([completion](Response response) { completion.complete(std::move(response)); });
  auto response = co_await completion.wait();
  co_return response;
}

class MirrorMetadataManager::Impl final : public metadata::MetadataListener {
 public:
  explicit Impl(MirrorDeps deps);
  ~Impl() override;

  void start();
  env::Awaitable<void> stop();
  void on_metadata(const metadata::MetadataDelta& delta) override;
  void log_created();

  [[nodiscard]] std::vector<MirrorInfo> describe() const;
  [[nodiscard]] std::optional<MirrorInfo> describe(const std::string& mirror) const;
  [[nodiscard]] MirrorState state_of(const std::string& mirror, const TopicPartition& of) const;
  [[nodiscard]] bool is_loaded() const { return is_loaded_; }
  void recover(const std::string& mirror, const std::vector<std::string>& topics);
  void states_written(const std::string& mirror, std::vector<TopicPartition> partitions);
  [[nodiscard]] Result<client::AdminOptions> source_of(const std::string& mirror) const;
  void refresh_soon(const std::string& mirror);
  [[nodiscard]] bool is_stopped(const Uuid& topic_id, std::int32_t partition) const;

  std::function<void(const std::string& topic)> on_writable_changed;

 private:
  using States = coordinator::ClusterMirrorCoordinator::States;

  // ---- lifecycle ----
  env::Awaitable<void> load();
  void forget_stale_states();
  void sync_mirror(const std::string& name);
  void remove_mirror(const std::string& name);
  void sync_topic(const metadata::TopicImage& topic);
  void sync_partition(Mirror& mirror, const metadata::TopicImage& topic, std::int32_t index);
  void drop_topic(const std::string& topic, const std::optional<std::string>& but_of_mirror);
  void drop_partition(Mirror& mirror, const PartitionPtr& partition);
  [[nodiscard]] MirrorPtr find_mirror(const std::string& name) const;
  [[nodiscard]] PartitionPtr find(const std::string& mirror, const TopicPartition& of) const;
  [[nodiscard]] std::shared_ptr<storage::PartitionLog> log_of(const MirrorPartition& of) const;
  [[nodiscard]] std::shared_ptr<const metadata::TopicImage> topic_of(
      const MirrorPartition& of) const;
  [[nodiscard]] MirrorRetryPolicy policy() const;
  [[nodiscard]] env::Instant now() const { return deps_.environment.clock.now(); }

  // ---- timers ----
  void after(std::chrono::milliseconds delay, UniqueFunction<void()> work);
  env::Awaitable<void> run_timers();

  // ---- transitions ----
  void apply(const PartitionPtr& partition, MirrorEvent event);
  void fail(const PartitionPtr& partition, MirrorFailure failure, std::string message);
  void pump(const PartitionPtr& partition);
  void queue_write(const PartitionPtr& partition, const MirrorEvent& event,
                   const MirrorStatus& next);
  void flush_soon();
  void flush();
  void written(const PartitionPtr& partition, const MirrorEvent& event,
               coordinator::MirrorStateWritten result);
  void enter(const PartitionPtr& partition, MirrorState before);
  void act(const PartitionPtr& partition);
  void reconcile(const PartitionPtr& partition);
  void schedule_retry(const PartitionPtr& partition);
  void retry(const PartitionPtr& partition);
  void note_state(const MirrorPartition& partition, MirrorState before, MirrorState after);

  // ---- fetching ----
  void start_fetching(const PartitionPtr& partition);
  /// `then` runs when the partition has no assignment and nothing more is appended.
  void release(const PartitionPtr& partition, UniqueFunction<void()> then);
  void await_metadata(const PartitionPtr& partition, LeaderEpoch wanted, std::string why);
  void take_event(const std::string& mirror, FetchEvent event);
  void take_leader_move(Mirror& mirror, const PartitionPtr& partition, FetchEvent& event);
  void configure_fetchers(const Mirror& mirror);
  [[nodiscard]] FetchAssignment assignment_of(const Mirror& mirror, const MirrorPartition& of);

  // ---- source ----
  void request_refresh(Mirror& mirror);
  env::Awaitable<void> run_mirror(MirrorPtr mirror);
  env::Awaitable<Result<void>> refresh(MirrorPtr mirror, bool is_regular);
  void after_refresh(Mirror& mirror, const Result<void>& done, bool is_regular);
  void note_unreachable(Mirror& mirror, const Error& error);
  void note_reachable(Mirror& mirror, bool is_regular);
  void reconnect(Mirror& mirror);
  env::Awaitable<Result<void>> check_cluster(MirrorPtr mirror, std::string cluster_id);

  // ---- refresh ----
  void learn(Mirror& mirror, const wire::MetadataResponse& answer, bool is_regular);
  void learn_identity(Mirror& mirror, const wire::MetadataResponse& answer);
  void learn_refusals(Mirror& mirror, const client::SourceChanges& changes, bool is_regular);
  void follow_leader(Mirror& mirror, const PartitionPtr& partition);
  void resume_awaiting(Mirror& mirror);
  env::Awaitable<void> grow(MirrorPtr mirror);
  env::Awaitable<void> raise_epochs(MirrorPtr mirror);
  env::Awaitable<Result<void>> discover(MirrorPtr mirror);
  env::Awaitable<void> start_discovered(MirrorPtr mirror, wire::MetadataResponse* answer);
  env::Awaitable<void> enforce_exclude(MirrorPtr mirror);
  void fence(const PartitionPtr& partition);
  env::Awaitable<void> bump(PartitionPtr partition);

  // ---- alignment ----
  env::Awaitable<Result<void>> align(MirrorPtr mirror);
  env::Awaitable<Result<void>> look_up(MirrorPtr mirror, const std::vector<PartitionPtr>* waiting,
                                       wire::DescribeClusterMirrorsResponse* answer);
  [[nodiscard]] std::optional<std::string> find_loop(
      const wire::DescribeClusterMirrorsResponse& answer, const TopicPartition& of) const;
  env::Awaitable<void> align_one(PartitionPtr partition,
                                 const wire::DescribeClusterMirrorsResponse* answer);
  void cut_for_recovery(const PartitionPtr& partition);

  // ---- stop ----
  void request_stop(const PartitionPtr& partition);
  env::Awaitable<void> run_stops();
  env::Awaitable<void> stop_group(std::vector<PartitionPtr> group);
  env::Awaitable<Result<void>> record_position(PartitionPtr partition);
  env::Awaitable<Result<void>> close_transactions(PartitionPtr partition);

  // ---- view ----
  [[nodiscard]] MirrorInfo info_of(const Mirror& mirror) const;
  void publish_soon();
  void publish();
  void collect_lag(std::vector<metrics::Sample>& samples) const;
  [[nodiscard]] metrics::Counter& error_counter(const char* name, const char* help);

  /// What the lag collector reads, on any thread.
  struct LagRow {
    std::string mirror;
    TopicPartition where;
    std::string client_id;
    std::shared_ptr<PartitionProgress> progress;
    std::shared_ptr<storage::PartitionLog> log;
  };
  struct PendingWrite {
    PartitionPtr partition;
    MirrorEvent event;
    coordinator::MirrorStateWrite write;
  };

  MirrorDeps deps_;
  env::Loop& loop_;
  NodeId node_id_;
  env::TaskGroup tasks_;
  MirrorFetcherManager fetchers_;
  std::shared_ptr<const metadata::MetadataImage> image_;
  std::map<coordinator::MirrorPartitionKey, coordinator::MirrorPartitionState> loaded_;
  std::map<std::string, MirrorPtr> mirrors_;
  bool is_loaded_ = false;
  bool is_stopping_ = false;

  std::multimap<env::Instant, UniqueFunction<void()>> timers_;
  env::AsyncEvent timer_wake_;

  std::vector<PendingWrite> pending_writes_;
  struct PendingAssign {
    std::string mirror;
    NodeId broker;
    env::Endpoint endpoint;
    FetchAssignment assignment;
  };
  std::vector<PendingAssign> pending_assigns_;
  bool is_flush_posted_ = false;
  std::uint64_t last_assignment_ = 0;

  std::vector<PartitionPtr> stops_;
  env::AsyncEvent stop_wake_;

  bool is_publish_posted_ = false;
  std::set<std::string> writable_changed_;  ///< topics to tell on_writable_changed of
  Published<std::set<TopicIdPartition>> stopped_;
  std::shared_ptr<Published<std::vector<LagRow>>> lag_rows_;
  /// Keeps posted work from touching a manager that is gone.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace kmirror::mirror
