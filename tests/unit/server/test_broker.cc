#include "test_broker.h"

#include <utility>

namespace kmirror::server {
namespace {

constexpr std::chrono::seconds kDrain{5};

}  // namespace

TestBroker::TestBroker(env::Environment& here, std::string host, const std::string& directory,
                       const Adjust& adjust)
    : here_(here), host_(std::move(host)) {
  open(directory);
  ServerConfig config;
  config.listeners.emplace_back("PLAINTEXT", env::Endpoint(host_, 0));
  if (adjust) adjust(config);
  ServerDeps deps(*engine, engine->resolver(), *logs, metrics);
  deps.groups = groups.get();
  server = std::make_unique<Server>(here_, deps, config);
}

void TestBroker::open(const std::string& directory) {
  metadata::EmbeddedEngineOptions options;
  options.directory = directory;
  options.cluster_id = "9Ym0pLs1QpWcXnJbVhKzRA";
  options.node_id = NodeId(1);
  EXPECT_TRUE(here_.files.make_directories(directory));
  auto opened = metadata::EmbeddedEngine::open(here_, options, metrics);
  ASSERT_TRUE(opened) << opened.error().message;
  engine = std::move(*opened);

  storage::LogManagerConfig config;
  config.log_dirs = {directory};
  logs = std::make_unique<storage::LogManager>(here_, config, metrics);
  const auto resolve = [this](const metadata::MetadataImage& image,
                              const metadata::TopicImage& topic) {
    return engine->resolver().log_config(image, topic.name);
  };
  const auto loaded =
      logs->load(ReplicaManager::expected_logs(*engine->image(), NodeId(1), resolve));
  ASSERT_TRUE(loaded) << loaded.error().message;
  coordinator::GroupCoordinatorConfig group_config;
  group_config.offsets_topic_num_partitions = 2;
  groups = std::make_unique<coordinator::GroupCoordinator>(here_, *logs, *engine, group_config);
  replicas = std::make_unique<ReplicaManager>(*logs, NodeId(1), resolve, metrics);
  replicas->on_log_created = [this](std::shared_ptr<storage::PartitionLog> log) {
    groups->log_created(std::move(log));
  };
}

void TestBroker::start(Done done) {
  engine->add_listener(*replicas);
  logs->start();
  groups->start();
  const auto listening = server->listen();
  EXPECT_TRUE(listening) << listening.error().message;
  endpoint_ = server->bound()[0].endpoint;
  metadata::ListenerEndpoint listener;
  listener.name = "PLAINTEXT";
  listener.host = host_;
  listener.port = endpoint_.port;
  engine->register_broker({listener}, std::nullopt,
                          [this, done = std::move(done)](Result<void> registered) mutable {
                            EXPECT_TRUE(registered) << registered.error().message;
                            server->start();
                            done();
                          });
}

void TestBroker::create_topic(const std::string& name, std::int32_t partitions,
                              const metadata::ConfigMap& configs, Done done) {
  wire::CreateTopicsRequest request;
  auto& topic = request.topics.emplace_back();
  topic.name = name;
  topic.num_partitions = partitions;
  topic.replication_factor = 1;
  for (const auto& [key, value] : configs) {
    auto& config = topic.configs.emplace_back();
    config.name = key;
    config.value = value;
  }
  engine->create_topics(
      std::move(request), wire::CreateTopicsRequest::kMaxVersion,
      [this, done = std::move(done)](const wire::CreateTopicsResponse& response) mutable {
        EXPECT_EQ(response.topics.at(0).error_code, ErrorCode::NONE);
        replicas->when_settled(std::move(done));
      });
}

env::Awaitable<void> TestBroker::stop_1() {
  const env::Instant until = here_.clock.now() + kDrain;
  co_await server->stop(until);
  server.reset();
  env::AsyncEvent event(*here_.loops[0]);
  groups->shut_down([&event] { event.set(); });
  co_await event.wait();
  event.reset();
  engine->shut_down([&event](const Result<void>&) { event.set(); });
  co_await event.wait();
}

void TestBroker::stop_2() { EXPECT_TRUE(logs->shut_down_clean()); }

TestBroker::~TestBroker() {
  server.reset();
  groups.reset();
  replicas.reset();
  logs.reset();
  engine.reset();
}

}  // namespace kmirror::server
