#include "server/handlers/fetch.h"

#include <optional>
#include <utility>

#include "server/handlers/fetch_delay.h"
#include "server/handlers/fetch_plan.h"
#include "server/handlers/fetch_read.h"

namespace kmirror::server {
namespace {

constexpr ApiVersion kFirstWithEndpoints{16};

class FetchOperation : public std::enable_shared_from_this<FetchOperation> {
 public:
  FetchOperation(const FetchDeps& deps, env::Loop& loop, std::string listener,
                 Reply<wire::FetchResponse> reply)
      : deps_(deps),
        loop_(loop),
        listener_(std::move(listener)),
        finder_(deps.logs, deps.config.node_id),
        reply_(std::move(reply)) {}
  ~FetchOperation() {
    if (delay_ != nullptr) delay_->stop();
  }
  FetchOperation(const FetchOperation&) = delete;
  FetchOperation& operator=(const FetchOperation&) = delete;

  void start(const wire::FetchRequest& request, ApiVersion version);
  /// Answers with what there is now.
  void answer_now();

 private:
  [[nodiscard]] TimerQueue& timers() { return *deps_.timers[loop_.index()]; }
  [[nodiscard]] FetchSessionCache& sessions() { return *deps_.sessions[loop_.index()]; }
  [[nodiscard]] bool is_enough(const FetchRead& read) const;
  void look();
  void wait();
  void answer(FetchRead read);
  [[nodiscard]] std::int32_t session_after(const FetchRead& read);
  void add_endpoints(wire::FetchResponse& response) const;

  const FetchDeps& deps_;
  env::Loop& loop_;
  const std::string listener_;
  PartitionFinder finder_;
  std::optional<Reply<wire::FetchResponse>> reply_;  // empty once answered
  std::shared_ptr<const metadata::MetadataImage> image_;
  FetchPlan plan_;
  std::shared_ptr<FetchDelay> delay_;
  std::optional<TimerQueue::Id> timer_;
};

void FetchOperation::start(const wire::FetchRequest& request, ApiVersion version) {
  plan_ = plan_fetch(sessions(), request, version, deps_.config.fetch_max_bytes,
                     deps_.environment.clock.now());
  if (plan_.error != ErrorCode::NONE) {
    wire::FetchResponse response;
    response.error_code = plan_.error;
    std::exchange(reply_, std::nullopt).value()(response);
    return;
  }
  look();
}

bool FetchOperation::is_enough(const FetchRead& read) const {
  return plan_.max_wait.count() == 0 || plan_.partitions.empty() || read.must_answer ||
         read.bytes >= plan_.min_bytes;
}

void FetchOperation::look() {
  if (!reply_) return;
  image_ = deps_.metadata.image();
  FetchRead read = read_fetch(plan_, *image_, finder_);
  if (is_enough(read)) return answer(std::move(read));
  wait();
}

void FetchOperation::wait() {
  if (delay_ == nullptr) {
    delay_ =
        std::make_shared<FetchDelay>(loop_, deps_.logs, plan_.isolation, [weak = weak_from_this()] {
          if (auto self = weak.lock()) self->look();
        });
    // The timer owns the operation while it waits.
    timer_ = timers().add(deps_.environment.clock.now() + plan_.max_wait,
                          [self = shared_from_this()] { self->answer_now(); });
    deps_.waiting_count.add(1);
  }
  std::vector<std::shared_ptr<storage::PartitionLog>> logs;
  logs.reserve(plan_.partitions.size());
  for (const auto& partition : plan_.partitions) logs.push_back(partition->found.log);
  delay_->watch(logs);
}

void FetchOperation::answer_now() {
  if (!reply_) return;
  image_ = deps_.metadata.image();
  answer(read_fetch(plan_, *image_, finder_));
}

std::int32_t FetchOperation::session_after(const FetchRead& read) {
  for (const auto& entry : read.entries) {
    FetchPartition& partition = *entry.partition;
    const bool failed = entry.data.error_code != ErrorCode::NONE;
    // After an error the partition is told again, even if it then looks as before.
    partition.told_high_watermark = failed ? kNoOffset : entry.data.high_watermark;
    partition.told_log_start = failed ? kNoOffset : entry.data.log_start_offset;
    if (plan_.session != nullptr && entry.record_bytes > 0) {
      plan_.session->partitions.move_to_end(partition);
    }
  }
  if (plan_.session != nullptr) return plan_.session->id;
  if (!plan_.wants_session) return 0;
  const auto session =
      sessions().create(std::move(plan_.listed), plan_.by_id, deps_.environment.clock.now());
  return session != nullptr ? session->id : 0;
}

void FetchOperation::add_endpoints(wire::FetchResponse& response) const {
  if (plan_.version < kFirstWithEndpoints) return;
  for (const auto& topic : response.responses) {
    for (const auto& partition : topic.partitions) {
      const NodeId leader = partition.current_leader.leader_id;
      const auto broker = image_->brokers.find(leader);
      if (leader < NodeId(0) || broker == image_->brokers.end()) continue;
      const auto* endpoint = broker->second->listener(listener_);
      if (endpoint == nullptr) continue;
      wire::FetchResponse::NodeEndpoint entry;
      entry.node_id = leader;
      entry.host = endpoint->host;
      entry.port = endpoint->port;
      entry.rack = broker->second->rack;
      bool known = false;
      for (const auto& other : response.node_endpoints) known = known || other.node_id == leader;
      if (!known) response.node_endpoints.push_back(std::move(entry));
    }
  }
}

void FetchOperation::answer(FetchRead read) {
  auto self = shared_from_this();  // the timer's reference goes below
  if (delay_ != nullptr) {
    delay_->stop();
    timers().cancel(*timer_);
    deps_.waiting_count.add(-1);
  }
  wire::FetchResponse response;
  response.session_id = session_after(read);
  const TopicKey* last = nullptr;
  for (auto& entry : read.entries) {
    if (last == nullptr || !(*last == entry.partition->topic)) {
      last = &entry.partition->topic;
      auto& topic = response.responses.emplace_back();
      topic.topic = last->name;
      topic.topic_id = last->id;
    }
    response.responses.back().partitions.push_back(std::move(entry.data));
  }
  add_endpoints(response);
  std::exchange(reply_, std::nullopt).value()(response);
}

}  // namespace

FetchDeps::FetchDeps(env::Environment& env, const metadata::MetadataEngine& engine,
                     const storage::LogManager& log_manager, const ServerConfig& server_config,
                     std::vector<TimerQueue*> timer_queues, metrics::Registry& registry)
    : environment(env),
      metadata(engine),
      logs(log_manager),
      config(server_config),
      timers(std::move(timer_queues)),
      waiting_count(registry.gauge("kafka_server_delayed_operation_purgatory_size",
                                   "Requests that wait on purpose",
                                   {{"delayed_operation", "Fetch"}})) {
  const std::size_t loops = env.loops.size();
  metrics::Gauge& kept =
      registry.gauge("kafka_server_fetch_session_cache_num_incremental_fetch_sessions",
                     "NumIncrementalFetchSessions: fetch sessions kept");
  const auto slots = static_cast<std::size_t>(server_config.max_fetch_sessions);
  for (std::size_t i = 0; i < loops; ++i) {
    sessions.push_back(std::make_shared<FetchSessionCache>((slots + loops - 1) / loops,
                                                           server_config.fetch_session_min_eviction,
                                                           env.rng, kept, i, loops));
  }
}

void handle_fetch(const FetchDeps& deps, const RequestContext& context, wire::FetchRequest request,
                  Reply<wire::FetchResponse> reply) {
  env::Loop* loop = context.loop;
  if (request.session_id > 0) {
    loop = deps.environment
               .loops[static_cast<std::size_t>(request.session_id) % deps.environment.loops.size()];
  }
  auto operation =
      std::make_shared<FetchOperation>(deps, *loop, context.connection->listener, std::move(reply));
  *context.hurry = [weak = std::weak_ptr(operation), loop] {
    loop->post([weak] {
      if (auto waiting = weak.lock()) waiting->answer_now();
    });
  };
  if (loop == context.loop) return operation->start(request, context.version);
  loop->post([operation = std::move(operation), request = std::move(request),
              version = context.version] { operation->start(request, version); });
}

}  // namespace kmirror::server
