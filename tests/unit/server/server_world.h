// ServerWorld: one broker without a mirror, in a simulated site: engine, logs, groups, server, and
// a client host beside it. Time is virtual, so a test can say exactly when an answer comes. Owner:
// one test, one thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "kmirror/env/sim.h"
#include "kmirror/wire/framing.h"
#include "stream_client.h"
#include "test_broker.h"

namespace kmirror::server {

using namespace std::chrono_literals;

class ServerWorld {
 public:
  explicit ServerWorld(const TestBroker::Adjust& adjust = {}, std::uint64_t seed = 2026);
  ~ServerWorld();
  ServerWorld(const ServerWorld&) = delete;
  ServerWorld& operator=(const ServerWorld&) = delete;

  /// Runs `start` on loop 0; it gets a callback to call when it is done. Returns after that call.
  void on_loop_0(const std::function<void(UniqueFunction<void()>)>& start);
  void create_topic(const std::string& name, std::int32_t partitions,
                    const metadata::ConfigMap& configs = {});
  /// Raises the leader epoch of partition 0 to `epoch`.
  void bump_leader_epoch(const std::string& topic, std::int32_t epoch);
  [[nodiscard]] std::shared_ptr<storage::PartitionLog> log(const std::string& topic,
                                                           std::int32_t partition = 0);
  /// Runs `work` on the loop of partition 0's log.
  void with_log(const std::string& topic, const std::function<void(storage::PartitionLog&)>& work);
  void stop();
  [[nodiscard]] env::Endpoint endpoint() const { return broker->endpoint(); }

  env::SimWorld world;
  env::SimDisk disk{world};
  env::SimDisk client_disk{world};
  env::SimProcess process;
  env::SimProcess client{world, "client", client_disk};
  std::unique_ptr<TestBroker> broker;
};

/// A socket to the broker, driven step by step.
class TestClient {
 public:
  explicit TestClient(ServerWorld& world);
  ~TestClient();
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  void send(Slice bytes);
  void send_hex(std::string_view hex) { send(Slice::take(from_hex(hex))); }
  /// The next frame without its length; nothing if the peer closed or `limit` passed.
  [[nodiscard]] std::optional<Frame> receive(env::Duration limit = 60s);
  /// The next frame in hexadecimal; "closed" if the peer closed, "late" after `limit`.
  [[nodiscard]] std::string receive_hex(env::Duration limit = 60s);
  void close();

  /// Puts one request behind those in `frames`; its correlation id is the next one.
  template <class Request>
  void queue(ByteChain& frames, const Request& asked, std::int16_t version) {
    auto frame =
        wire::encode_request(asked, ApiVersion(version), ++correlation_id_, std::string("t"));
    ASSERT_TRUE(frame) << frame.error().message;
    frames.append(std::move(*frame));
  }
  /// Sends one request, counting correlation ids up from 1,001, and `more` in the same write.
  template <class Request>
  void request(const Request& asked, std::int16_t version, const Bytes& more = {}) {
    auto frame =
        wire::encode_request(asked, ApiVersion(version), ++correlation_id_, std::string("t"));
    ASSERT_TRUE(frame) << frame.error().message;
    frame->append(Slice::copy_of(more));
    send(*frame->flatten());
  }
  /// The next answer, which must be to the request sent last.
  template <class Response>
  Response response(std::int16_t version, env::Duration limit = 60s) {
    const auto frame = receive(limit);
    EXPECT_TRUE(frame) << Response::kName << " did not come";
    if (!frame) return Response();
    Reader reader(Slice::copy_of(*frame));
    auto header = wire::decode_response_header(reader, Response::kApiKey, ApiVersion(version));
    EXPECT_EQ(header->correlation_id, correlation_id_);
    auto response = Response::decode(reader, ApiVersion(version));
    EXPECT_TRUE(response) << response.error().message;
    EXPECT_EQ(reader.remaining(), 0U);
    return response ? *response : Response();
  }
  template <class Response, class Request>
  Response call(const Request& asked, std::int16_t version) {
    request(asked, version);
    return response<Response>(version);
  }

 private:
  enum class End { kFrame, kClosed, kLate };
  End receive_into(Frame& frame, env::Duration limit);

  ServerWorld& world_;
  std::unique_ptr<env::Stream> stream_;
  std::int32_t correlation_id_ = 1'000;
};

/// The correlation id at the front of a frame.
[[nodiscard]] inline std::int32_t correlation_of(const std::optional<Frame>& frame) {
  return frame && frame->size() >= 4 ? load_be<std::int32_t>(frame->data()) : -1;
}

}  // namespace kmirror::server
