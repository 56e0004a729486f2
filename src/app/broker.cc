#include "kmirror/app/broker.h"

#include <fmt/format.h>

#include "app/room_configs.h"
#include "kmirror/base/log.h"
#include "kmirror/base/metrics.h"
#include "kmirror/env/async.h"
#include "kmirror/metadata/embedded_engine.h"
#include "kmirror/metadata/meta_properties.h"
#include "kmirror/mirror/mirror_service.h"
#include "kmirror/ops/http_server.h"
#include "kmirror/server/replica_manager.h"
#include "kmirror/server/server.h"

namespace kmirror::app {
namespace {

constexpr std::chrono::seconds kDrain{5};

// Awaits a component that reports through a callback. `start` takes the callback.
template <class Start>
env::Awaitable<Result<void>> completed(Start& start) {
  env::Completion<Result<void>> completion;
  UniqueFunction<void(Result<void>)> done(
      [completion](Result<void> value) { completion.complete(std::move(value)); });
  start(std::move(done));
  co_return co_await completion.wait();
}

template <class Start>
env::Awaitable<void> finished(Start& start) {
  env::Completion<bool> completion;
  UniqueFunction<void()> done([completion] { completion.complete(true); });
  start(std::move(done));
  co_await completion.wait();
}

}  // namespace

class Broker::Impl {
 public:
  Impl(env::Environment& environment, BrokerConfig config)
      : environment_(environment), config_(std::move(config)) {}

  env::Awaitable<Result<void>> start() {
    KM_CO_TRY_VOID(open_metadata());
    KM_CO_TRY_VOID(make_server());
    KM_CO_TRY_VOID(co_await register_broker());
    KM_CO_TRY_VOID(load_logs());
    start_coordinators();
    if (config_.http_listener) {
      KM_CO_TRY(at, http_->start(*config_.http_listener));
      KM_LOG(kInfo, "ops.http_listening", "HTTP at {}", at.text());
    }
    server_->start();
    KM_LOG(kInfo, "app.started", "node {} of cluster {} serves {}", config_.node_id, cluster_id_,
           fmt::join(listeners(), ", "));
    co_return Result<void>();
  }

  env::Awaitable<Result<void>> stop() {
    if (stopped_) co_return Result<void>();
    stopped_ = true;
    if (http_) co_await http_->stop();
    if (server_) {
      const env::Instant drain_until = environment_.clock.now() + kDrain;
      co_await server_->stop(drain_until);
    }
    if (mirror_) co_await mirror_->stop();
    if (groups_) {
      auto begin = [this](UniqueFunction<void()> done) { groups_->shut_down(std::move(done)); };
      co_await finished(begin);
    }
    if (mirror_states_) {
      auto begin = [this](UniqueFunction<void()> done) {
        mirror_states_->shut_down(std::move(done));
      };
      co_await finished(begin);
    }
    Result<void> result;
    if (engine_) {
      auto begin = [this](UniqueFunction<void(Result<void>)> done) {
        engine_->shut_down(std::move(done));
      };
      result = co_await completed(begin);
    }
    if (logs_) {
      auto closed = logs_->shut_down_clean();
      if (result) result = std::move(closed);
    }
    co_return result;
  }

  std::vector<std::string> listeners() const {
    std::vector<std::string> out;
    if (!server_) return out;
    for (const server::BoundListener& bound : server_->bound()) {
      out.push_back(fmt::format("{}://{}", bound.name, bound.endpoint.text()));
    }
    return out;
  }

 private:
  Result<void> open_metadata() {
    KM_TRY(directories, metadata::prepare_log_directories(environment_, config_.log_dirs,
                                                          config_.node_id, config_.cluster_id));
    cluster_id_ = directories.cluster_id;
    logs_ = std::make_unique<storage::LogManager>(environment_, config_.logs, metrics_);
    logs_->on_offline = [](const std::string& directory, const Error& reason) {
      KM_LOG(kError, "storage.log_dir_offline", "{}: {}", directory, reason.message);
    };
    metadata::EmbeddedEngineOptions options;
    options.directory = config_.metadata_log_dir;
    options.cluster_id = directories.cluster_id;
    options.node_id = config_.node_id;
    options.log_directory_ids = directories.directory_ids;
    options.file = config_.values;
    options.snapshot_after_bytes = config_.metadata_snapshot_bytes;
    options.segment_bytes = config_.metadata_segment_bytes;
    KM_TRY(engine, metadata::EmbeddedEngine::open(environment_, std::move(options), metrics_));
    engine_ = std::move(engine);
    return {};
  }

  // Everything is made before anything is started: each part knows the ones it calls.
  Result<void> make_server() {
    server::ResolveLogConfig resolve = [this](const metadata::MetadataImage& image,
                                              const metadata::TopicImage& topic) {
      storage::LogConfig config = engine_->resolver().log_config(image, topic.name);
      if (config.is_mirror && mirror_ && mirror_->is_writable(topic.name)) config.is_mirror = false;
      return config;
    };
    resolve_ = resolve;
    replicas_ = std::make_unique<server::ReplicaManager>(*logs_, config_.node_id,
                                                         std::move(resolve), metrics_);
    groups_ = std::make_unique<coordinator::GroupCoordinator>(environment_, *logs_, *engine_,
                                                              group_config(config_));
    mirror_states_ = std::make_unique<coordinator::ClusterMirrorCoordinator>(
        environment_, *logs_, *engine_, mirror_state_config(config_));
    mirror::MirrorDeps mirror_deps(environment_, *engine_, engine_->resolver(), *mirror_states_,
                                   *logs_, metrics_);
    mirror_ = std::make_unique<mirror::MirrorService>(mirror_deps);
    mirror_->on_writable_changed = [this](const std::string& topic) {
      replicas_->refresh_config(topic);
    };
    engine_->is_writable = [this](const metadata::TopicImage& topic) {
      return mirror_->is_writable(topic.name);
    };
    replicas_->on_log_created = [this](const std::shared_ptr<storage::PartitionLog>& log) {
      groups_->log_created(log);
      mirror_states_->log_created(log);
      mirror_->log_created(log);
    };
    server::ServerDeps deps(*engine_, engine_->resolver(), *logs_, metrics_);
    deps.groups = groups_.get();
    deps.mirror = mirror_.get();
    server_ = std::make_unique<server::Server>(environment_, deps, server_config(config_));
    http_ = std::make_unique<ops::HttpServer>(environment_, metrics_, [this] { return checks(); });
    return server_->listen();
  }

  env::Awaitable<Result<void>> register_broker() {
    std::vector<metadata::ListenerEndpoint> endpoints;
    const std::vector<server::BoundListener>& bound = server_->bound();
    for (std::size_t i = 0; i < bound.size(); ++i) {
      const ListenerConfig& listener = config_.listeners[i];
      metadata::ListenerEndpoint endpoint;
      endpoint.name = listener.name;
      endpoint.security_protocol = static_cast<std::int16_t>(listener.protocol);
      const env::Endpoint& at = listener.advertised ? *listener.advertised : bound[i].endpoint;
      endpoint.host = at.host;
      endpoint.port = at.port != 0 ? at.port : bound[i].endpoint.port;
      endpoints.push_back(std::move(endpoint));
    }
    auto begin = [this, &endpoints](UniqueFunction<void(Result<void>)> done) {
      engine_->register_broker(std::move(endpoints), config_.rack, std::move(done));
    };
    co_return co_await completed(begin);
  }

  Result<void> load_logs() {
    const auto image = engine_->image();
    KM_TRY(report,
           logs_->load(server::ReplicaManager::expected_logs(*image, config_.node_id, resolve_)));
    for (const std::string& stray : report.strays) {
      KM_LOG(kWarn, "storage.stray_moved",
             "{} belongs to no topic of this cluster: moved aside, "
             "neither served nor deleted",
             stray);
    }
    for (const std::string& offline : report.offline) {
      KM_LOG(kError, "storage.log_dir_offline", "{}", offline);
    }
    KM_LOG(kInfo, "storage.loaded", "{} partition logs", report.loaded);
    return {};
  }

  void start_coordinators() {
    engine_->add_listener(*replicas_);
    logs_->start();
    groups_->start();
    mirror_states_->start();
    mirror_->start();
  }

  std::vector<ops::Check> checks() {
    std::vector<ops::Check> out;
    const auto image = engine_->image();
    out.emplace_back("metadata", image != nullptr,
                     image ? fmt::format("offset {}", image->offset) : "not loaded");
    const std::int64_t failed = replicas_->failed_count();
    out.emplace_back("logs", failed == 0,
                     failed == 0 ? fmt::format("{} partitions", logs_->all().size())
                                 : fmt::format("{} partitions could not be opened", failed));
    out.emplace_back("listeners", !server_->bound().empty(),
                     fmt::format("{}", fmt::join(listeners(), ", ")));
    return out;
  }

  env::Environment& environment_;
  BrokerConfig config_;
  metrics::Registry metrics_;
  std::string cluster_id_;
  server::ResolveLogConfig resolve_;
  std::unique_ptr<storage::LogManager> logs_;
  std::unique_ptr<metadata::EmbeddedEngine> engine_;
  std::unique_ptr<server::ReplicaManager> replicas_;
  std::unique_ptr<coordinator::GroupCoordinator> groups_;
  std::unique_ptr<coordinator::ClusterMirrorCoordinator> mirror_states_;
  std::unique_ptr<mirror::MirrorService> mirror_;
  std::unique_ptr<server::Server> server_;
  std::unique_ptr<ops::HttpServer> http_;
  bool stopped_ = false;
};

Broker::Broker(env::Environment& environment, BrokerConfig config)
    : impl_(std::make_unique<Impl>(environment, std::move(config))) {}
Broker::~Broker() = default;

env::Awaitable<Result<void>> Broker::start() { return impl_->start(); }
env::Awaitable<Result<void>> Broker::stop() { return impl_->stop(); }

}  // namespace kmirror::app
