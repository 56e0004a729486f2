#include "server_world.h"

#include "stream_client.h"

#include <map>
#include <utility>

namespace kmirror::server {
namespace {

env::SimProcessOptions two_loops() {
  env::SimProcessOptions options;
  options.loop_count = 2;
  return options;
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

env::Awaitable<void> read_frame_until(env::Clock* clock, env::Duration limit, env::Stream* stream,
                                      Frame* frame, Result<Read>* result) {
  const env::Instant deadline = clock->now() + limit;
  env::Awaitable<Result<Read>> reading = read_frame(stream, frame);
  std::string what = "an answer";
  *result = co_await env::with_deadline(*clock, deadline, std::move(reading), std::move(what));
}

}  // namespace

ServerWorld::ServerWorld(const TestBroker::Adjust& adjust, std::uint64_t seed)
    : world(seed),
      process(world, "broker", disk, two_loops()),
      broker(std::make_unique<TestBroker>(process.environment(), "broker", "/data", adjust)) {
  on_loop_0([this](UniqueFunction<void()> done) { broker->start(std::move(done)); });
}

ServerWorld::~ServerWorld() { stop(); }

void ServerWorld::stop() {
  if (broker == nullptr) return;
  world.run(process.loop(), broker->stop_1());
  broker->stop_2();
  broker.reset();
}

void ServerWorld::on_loop_0(const std::function<void(UniqueFunction<void()>)>& start) {
  bool finished = false;
  process.loop().post([&] { start([&finished] { finished = true; }); });
  EXPECT_TRUE(world.run_until([&] { return finished; }, 60s));
}

void ServerWorld::create_topic(const std::string& name, std::int32_t partitions,
                               const metadata::ConfigMap& configs) {
  on_loop_0([&](UniqueFunction<void()> done) {
    broker->create_topic(name, partitions, configs, std::move(done));
  });
}

void ServerWorld::bump_leader_epoch(const std::string& topic, std::int32_t epoch) {
  wire::BumpLeaderEpochsRequest request;
  auto& asked = request.topics.emplace_back();
  asked.topic_name = topic;
  asked.partitions.emplace_back().min_leader_epoch = LeaderEpoch(epoch - 1);
  on_loop_0([&](UniqueFunction<void()> done) {
    broker->engine->bump_leader_epochs(
        request, [done = std::move(done)](const wire::BumpLeaderEpochsResponse& response) mutable {
          EXPECT_EQ(response.error_code, ErrorCode::NONE);
          done();
        });
  });
  EXPECT_EQ(broker->engine->image()->partition(topic, 0)->leader_epoch, LeaderEpoch(epoch));
}

std::shared_ptr<storage::PartitionLog> ServerWorld::log(const std::string& topic,
                                                        std::int32_t partition) {
  auto found = broker->logs->find(TopicPartition(topic, partition));
  EXPECT_NE(found, nullptr) << topic;
  return found;
}

void ServerWorld::with_log(const std::string& topic,
                           const std::function<void(storage::PartitionLog&)>& work) {
  const auto found = log(topic);
  bool finished = false;
  broker->logs->loop_of(*found).post([&] {
    work(*found);
    finished = true;
  });
  EXPECT_TRUE(world.run_until([&] { return finished; }, 60s));
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
  world_.world.run(world_.client.loop(), write_stream(stream_.get(), std::move(bytes)));
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
