#include "server_world.h"

#include <map>
#include <utility>

namespace kmirror::server {
namespace {

env::SimProcessOptions two_loops() {
  env::SimProcessOptions options;
  options.loop_count = 2;
  return options;
}

env::Awaitable<void> stop_server(Server* server, env::Instant until) {
  co_await server->stop(until);
}

struct Connected {
  std::unique_ptr<env::Stream> stream;
};

env::Awaitable<void> connect(env::Environment* here, env::Endpoint to, Connected* result) {
  const env::SocketOptions options;
  const env::Instant deadline = here->clock.now() + 10s;
  auto stream = co_await here->network.connect(*here->loops[0], to, deadline, options);
  EXPECT_TRUE(stream) << stream.error().message;
  if (stream) result->stream = std::move(*stream);
}

env::Awaitable<void> write_all(env::Stream* stream, Slice bytes) {
  ByteChain chain(std::move(bytes));
  (void)co_await stream->write(std::move(chain));
}

// How much of a read came before the peer's end. (A Result of bool would convert from itself.)
enum class Read { kWhole, kEnd };

env::Awaitable<Result<Read>> read_exactly(env::Stream* stream, std::span<std::uint8_t> into) {
  while (!into.empty()) {
    const Result<std::size_t> got = co_await stream->read_some(into);
    if (!got) co_return got.error();
    if (*got == 0) co_return Read::kEnd;
    into = into.subspan(*got);
  }
  co_return Read::kWhole;
}

env::Awaitable<Result<Read>> read_frame(env::Stream* stream, Frame* frame) {
  std::array<std::uint8_t, 4> length{};
  const std::span<std::uint8_t> head(length);
  const Result<Read> started = co_await read_exactly(stream, head);
  if (!started || *started == Read::kEnd) co_return started;
  frame->resize(static_cast<std::size_t>(load_be<std::int32_t>(length.data())));
  const std::span<std::uint8_t> body(*frame);
  co_return co_await read_exactly(stream, body);
}

env::Awaitable<void> read_frame_until(env::Clock* clock, env::Duration limit, env::Stream* stream,
                                      Frame* frame, Result<Read>* result) {
  const env::Instant deadline = clock->now() + limit;
  env::Awaitable<Result<Read>> reading = read_frame(stream, frame);
  std::string what = "an answer";
  *result = co_await env::with_deadline(*clock, deadline, std::move(reading), std::move(what));
}

}  // namespace

ServerWorld::ServerWorld(const Adjust& adjust, metadata::ConfigMap file)
    : broker(world, "broker", disk, two_loops()) {
  open(file);
  start_server(adjust);
}

void ServerWorld::open(const metadata::ConfigMap& file) {
  metadata::EmbeddedEngineOptions options;
  options.directory = "/data";
  options.cluster_id = "9Ym0pLs1QpWcXnJbVhKzRA";
  options.node_id = NodeId(1);
  options.file = file;
  EXPECT_TRUE(here().files.make_directories("/data"));
  auto opened = metadata::EmbeddedEngine::open(here(), options, metrics);
  ASSERT_TRUE(opened) << opened.error().message;
  engine = std::move(*opened);

  storage::LogManagerConfig config;
  config.log_dirs = {"/data"};
  logs = std::make_unique<storage::LogManager>(here(), config, metrics);
  const auto resolve = [this](const metadata::MetadataImage& image,
                              const metadata::TopicImage& topic) {
    return engine->resolver().log_config(image, topic.name);
  };
  const auto loaded =
      logs->load(ReplicaManager::expected_logs(*engine->image(), NodeId(1), resolve));
  ASSERT_TRUE(loaded) << loaded.error().message;
  coordinator::GroupCoordinatorConfig group_config;
  group_config.offsets_topic_num_partitions = 2;
  groups = std::make_unique<coordinator::GroupCoordinator>(here(), *logs, *engine, group_config);
  replicas = std::make_unique<ReplicaManager>(*logs, NodeId(1), resolve, metrics);
  replicas->on_log_created = [this](std::shared_ptr<storage::PartitionLog> log) {
    groups->log_created(std::move(log));
  };
}

void ServerWorld::start_server(const Adjust& adjust) {
  ServerConfig config;
  config.listeners.emplace_back("PLAINTEXT", env::Endpoint("broker", 0));
  if (adjust) adjust(config);
  ServerDeps deps(*engine, engine->resolver(), *logs, metrics);
  deps.groups = groups.get();
  server = std::make_unique<Server>(here(), deps, config);
  on_loop_0([this](UniqueFunction<void()> done) {
    engine->add_listener(*replicas);
    logs->start();
    groups->start();
    const auto listening = server->listen();
    EXPECT_TRUE(listening) << listening.error().message;
    endpoint_ = server->bound()[0].endpoint;
    metadata::ListenerEndpoint listener;
    listener.name = "PLAINTEXT";
    listener.host = "broker";
    listener.port = endpoint_.port;
    engine->register_broker({listener}, std::nullopt,
                            [this, done = std::move(done)](Result<void> registered) mutable {
                              EXPECT_TRUE(registered) << registered.error().message;
                              server->start();
                              done();
                            });
  });
}

void ServerWorld::on_loop_0(const std::function<void(UniqueFunction<void()>)>& start) {
  bool finished = false;
  here().loops[0]->post([&] { start([&finished] { finished = true; }); });
  EXPECT_TRUE(world.run_until([&] { return finished; }, 60s));
}

void ServerWorld::create_topic(const std::string& name, std::int32_t partitions,
                               const metadata::ConfigMap& configs) {
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
  on_loop_0([&](UniqueFunction<void()> done) {
    engine->create_topics(
        request, wire::CreateTopicsRequest::kMaxVersion,
        [this, done = std::move(done)](const wire::CreateTopicsResponse& response) mutable {
          EXPECT_EQ(response.topics.at(0).error_code, ErrorCode::NONE);
          replicas->when_settled(std::move(done));
        });
  });
}

void ServerWorld::bump_leader_epoch(const std::string& topic, std::int32_t epoch) {
  wire::BumpLeaderEpochsRequest request;
  auto& asked = request.topics.emplace_back();
  asked.topic_name = topic;
  asked.partitions.emplace_back().min_leader_epoch = LeaderEpoch(epoch - 1);
  on_loop_0([&](UniqueFunction<void()> done) {
    engine->bump_leader_epochs(
        request, [done = std::move(done)](const wire::BumpLeaderEpochsResponse& response) mutable {
          EXPECT_EQ(response.error_code, ErrorCode::NONE);
          done();
        });
  });
  EXPECT_EQ(engine->image()->partition(topic, 0)->leader_epoch, LeaderEpoch(epoch));
}

std::shared_ptr<storage::PartitionLog> ServerWorld::log(const std::string& topic,
                                                        std::int32_t partition) {
  auto found = logs->find(TopicPartition(topic, partition));
  EXPECT_NE(found, nullptr) << topic;
  return found;
}

void ServerWorld::with_log(const std::string& topic,
                           const std::function<void(storage::PartitionLog&)>& work) {
  const auto found = log(topic);
  bool finished = false;
  logs->loop_of(*found).post([&] {
    work(*found);
    finished = true;
  });
  EXPECT_TRUE(world.run_until([&] { return finished; }, 60s));
}

void ServerWorld::stop() {
  if (server == nullptr) return;
  world.run(*here().loops[0], stop_server(server.get(), here().clock.now() + 5s));
  server.reset();
  on_loop_0([this](UniqueFunction<void()> done) { groups->shut_down(std::move(done)); });
  on_loop_0([this](UniqueFunction<void()> done) {
    engine->shut_down([done = std::move(done)](const Result<void>&) mutable { done(); });
  });
  EXPECT_TRUE(logs->shut_down_clean());
}

ServerWorld::~ServerWorld() {
  stop();
  groups.reset();
  replicas.reset();
  logs.reset();
  engine.reset();
}

TestClient::TestClient(ServerWorld& world) : world_(world) {
  Connected connected;
  world.world.run(world.client.loop(),
                  connect(&world.client.environment(), world.endpoint(), &connected));
  stream_ = std::move(connected.stream);
}

TestClient::~TestClient() { close(); }

void TestClient::close() {
  if (stream_ == nullptr) return;
  stream_->close();
  stream_.reset();
}

void TestClient::send(Slice bytes) {
  world_.world.run(world_.client.loop(), write_all(stream_.get(), std::move(bytes)));
}

TestClient::End TestClient::receive_into(Frame& frame, env::Duration limit) {
  Result<Read> result = Read::kEnd;
  world_.world.run(world_.client.loop(), read_frame_until(&world_.client.environment().clock, limit,
                                                          stream_.get(), &frame, &result));
  if (!result) return env::is_timed_out(result.error()) ? End::kLate : End::kClosed;
  return *result == Read::kWhole ? End::kFrame : End::kClosed;
}

std::optional<Frame> TestClient::receive(env::Duration limit) {
  Frame frame;
  if (receive_into(frame, limit) != End::kFrame) return std::nullopt;
  return frame;
}

std::string TestClient::receive_hex(env::Duration limit) {
  Frame frame;
  switch (receive_into(frame, limit)) {
    case End::kClosed:
      return "closed";
    case End::kLate:
      return "late";
    case End::kFrame:
      break;
  }
  return to_hex(frame);
}

}  // namespace kmirror::server
