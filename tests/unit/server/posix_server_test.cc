// The server on real sockets, loops and threads: many clients at once. Run under the thread
// sanitizer it shows that what loops share is shared rightly.
#include <atomic>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "kmirror/env/posix.h"
#include "kmirror/model/record_batch.h"
#include "kmirror/wire/fetch_request.h"
#include "kmirror/wire/fetch_response.h"
#include "kmirror/wire/framing.h"
#include "kmirror/wire/produce_request.h"
#include "kmirror/wire/produce_response.h"
#include "stream_client.h"
#include "support/batches.h"
#include "support/temp_dir.h"
#include "test_broker.h"

namespace kmirror::server {
namespace {

constexpr std::int32_t kPartitions = 4;
constexpr int kProducers = 4;
constexpr int kBatches = 60;  // of one record, per producer

using kmirror::testing::simple_batch;

// One connection that sends a request and waits for its answer.
class Caller {
 public:
  explicit Caller(env::Environment& here) : here_(here) {}

  env::Awaitable<bool> connect(env::Loop* loop, env::Endpoint to) {
    const env::SocketOptions options;
    const env::Instant deadline = here_.clock.now() + std::chrono::seconds(30);
    auto stream = co_await here_.network.connect(*loop, to, deadline, options);
    if (stream) stream_ = std::move(*stream);
    co_return stream_ != nullptr;
  }
  template <class Response, class Request>
  env::Awaitable<Response> call(const Request* request, std::int16_t version) {
    auto frame = wire::encode_request(*request, ApiVersion(version), 7, std::string("t"));
    Slice bytes = *frame->flatten();
    co_await write_stream(stream_.get(), std::move(bytes));
    Frame answer;
    const Result<Read> read = co_await read_frame(stream_.get(), &answer);
    EXPECT_TRUE(read && *read == Read::kWhole);
    Reader reader(Slice::take(std::move(answer)));
    EXPECT_TRUE(wire::decode_response_header(reader, Request::kApiKey, ApiVersion(version)));
    auto response = Response::decode(reader, ApiVersion(version));
    EXPECT_TRUE(response) << response.error().message;
    co_return *response;
  }
  void close() { stream_->close(); }

 private:
  env::Environment& here_;
  std::unique_ptr<env::Stream> stream_;
};

env::Awaitable<void> produce(env::Environment* here, env::Loop* loop, env::Endpoint to, int index) {
  Caller caller(*here);
  const bool connected = co_await caller.connect(loop, to);
  EXPECT_TRUE(connected);
  for (int i = 0; i < kBatches; ++i) {
    wire::ProduceRequest request;
    request.acks = i % 8 == 0 ? -1 : 1;
    request.timeout_ms = 30'000;
    auto& topic = request.topic_data.emplace_back();
    topic.name = "t";
    auto& partition = topic.partition_data.emplace_back();
    partition.index = (index + i) % kPartitions;
    partition.records = ByteChain(simple_batch(0));
    const auto response = co_await caller.call<wire::ProduceResponse>(&request, 8);
    EXPECT_EQ(response.responses.at(0).partition_responses.at(0).error_code, ErrorCode::NONE);
  }
  caller.close();
}

// Reads all partitions in one fetch session until every record was seen, each once and in order.
env::Awaitable<void> consume(env::Environment* here, env::Loop* loop, env::Endpoint to) {
  Caller caller(*here);
  const bool connected = co_await caller.connect(loop, to);
  EXPECT_TRUE(connected);
  std::map<std::int32_t, Offset> next;
  wire::FetchRequest request;
  request.max_wait_ms = 10'000;
  request.min_bytes = 1;
  request.session_epoch = 0;
  auto& topic = request.topics.emplace_back();
  topic.topic = "t";
  for (std::int32_t i = 0; i < kPartitions; ++i) {
    auto& partition = topic.partitions.emplace_back();
    partition.partition = i;
    partition.partition_max_bytes = 1'000;
  }
  std::int64_t seen = 0;
  while (seen < kProducers * kBatches) {
    const auto response = co_await caller.call<wire::FetchResponse>(&request, 11);
    EXPECT_EQ(response.error_code, ErrorCode::NONE);
    EXPECT_GT(response.session_id, 0);
    request.session_id = response.session_id;
    ++request.session_epoch;
    request.topics.clear();
    auto& moved = request.topics.emplace_back();
    moved.topic = "t";
    for (const auto& answered : response.responses) {
      for (const auto& data : answered.partitions) {
        EXPECT_EQ(data.error_code, ErrorCode::NONE);
        Offset& position = next[data.partition_index];
        BatchIterator batches(*data.records->flatten());
        while (true) {
          const auto batch = batches.next();
          if (!batch || !*batch) break;
          EXPECT_EQ((*batch)->base_offset(), position);
          position = (*batch)->next_offset();
          ++seen;
        }
        auto& partition = moved.partitions.emplace_back();
        partition.partition = data.partition_index;
        partition.partition_max_bytes = 1'000;
        partition.fetch_offset = position;
      }
    }
  }
  EXPECT_EQ(seen, kProducers * kBatches);
  caller.close();
}

TEST(PosixServer, many_clients_at_once_lose_and_repeat_nothing) {
  test::TempDir dir;
  env::PosixEnvironment posix(env::PosixOptions(3, 2));
  env::Environment& here = posix.environment();
  auto broker = std::make_unique<TestBroker>(here, "127.0.0.1", dir.at("data"));
  posix.start();
  const auto on_loop_0 = [&](const std::function<void(TestBroker::Done)>& work) {
    std::atomic<bool> done = false;
    here.loops[0]->post([&] {
      work([&done] {
        done = true;
        done.notify_one();
      });
    });
    done.wait(false);
  };
  on_loop_0([&](TestBroker::Done done) { broker->start(std::move(done)); });
  on_loop_0(
      [&](TestBroker::Done done) { broker->create_topic("t", kPartitions, {}, std::move(done)); });

  std::vector<std::thread> threads;
  for (int i = 0; i < kProducers; ++i) {
    threads.emplace_back([&, i] {
      env::Loop* loop = here.loops[static_cast<std::size_t>(i) % 3];
      posix.run(*loop, produce(&here, loop, broker->endpoint(), i));
    });
  }
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      env::Loop* loop = here.loops[static_cast<std::size_t>(i + 1) % 3];
      posix.run(*loop, consume(&here, loop, broker->endpoint()));
    });
  }
  for (auto& thread : threads) thread.join();

  posix.run(*here.loops[0], broker->stop_1());
  broker->stop_2();
  posix.stop();
  broker.reset();
}

}  // namespace
}  // namespace kmirror::server
