// SimSourceFixture: a fake source of two nodes on hosts of their own, and a client in virtual time.
// Each test file derives a class of its own from it.
// Owner: one test program.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kmirror/client/connection.h"
#include "kmirror/env/sim.h"
#include "sim/sim_source.h"

namespace kmirror::testing {

using client::Connection;
using client::ConnectionOptions;

inline const NodeId kOne{1};
inline const NodeId kTwo{2};
inline const TopicPartition kT0("t", 0);

inline env::Awaitable<void> open_connection(env::Environment* env, env::Loop* loop,
                                            env::Endpoint to, std::unique_ptr<Connection>* kept) {
  ConnectionOptions options;
  auto opened = co_await Connection::open(*env, *loop, to, std::move(options));
  EXPECT_TRUE(opened) << opened.error().message;
  if (opened) *kept = std::move(*opened);
}

template <class Request>
env::Awaitable<void> call(Connection* connection, Request request, std::int16_t version,
                          Result<client::ResponseTo<Request>>* result) {
  *result = co_await connection->call(std::move(request), ApiVersion(version));
}

// Nodes 1 and 2 on hosts of their own, and a client.
class SimSourceFixture : public ::testing::Test {
 protected:
  SimSourceFixture() {
    EXPECT_TRUE(source_.add_node(kOne, one_.environment(), one_.loop()));
    EXPECT_TRUE(source_.add_node(kTwo, two_.environment(), two_.loop()));
    source_.create_topic("t", 2);
  }
  ~SimSourceFixture() override {
    connection_.reset();
    world_.run(one_.loop(), source_.stop());
  }

  void connect(NodeId node = kOne) {
    connection_.reset();
    world_.run(client_.loop(), open_connection(&client_.environment(), &client_.loop(),
                                               source_.endpoint(node), &connection_));
  }
  template <class Request>
  client::ResponseTo<Request> ask(Request request, std::int16_t version) {
    if (!connection_) connect();
    Result<client::ResponseTo<Request>> result = env::aborted_error("no answer");
    world_.run(client_.loop(), call(connection_.get(), std::move(request), version, &result));
    EXPECT_TRUE(result) << result.error().message;
    return result ? std::move(*result) : client::ResponseTo<Request>();
  }

  env::SimWorld world_{3};
  env::SimDisk disk_{world_};
  env::SimProcess one_{world_, "one", disk_};
  env::SimProcess two_{world_, "two", disk_};
  env::SimProcess client_{world_, "client", disk_};
  SimSource source_;
  std::unique_ptr<Connection> connection_;
};

/// One partition of a fetch.
struct Ask {
  Ask() = default;
  std::int64_t offset = 0;
  std::int32_t epoch = -1;
  std::int32_t last_fetched = -1;
  std::int32_t partition = 0;
  std::int32_t most_bytes = 1 << 20;
};

inline wire::FetchRequest fetch_of(const std::vector<Ask>& asks, std::int32_t session_id = 0,
                                   std::int32_t session_epoch = -1, const std::string& topic = "t",
                                   Uuid id = Uuid()) {
  wire::FetchRequest request;
  request.session_id = session_id;
  request.session_epoch = session_epoch;
  request.min_bytes = 1;
  if (asks.empty()) return request;
  auto& entry = request.topics.emplace_back();
  entry.topic = id.is_zero() ? topic : "";
  entry.topic_id = id;
  for (const Ask& ask : asks) {
    auto& partition = entry.partitions.emplace_back();
    partition.partition = ask.partition;
    partition.fetch_offset = Offset(ask.offset);
    partition.current_leader_epoch = LeaderEpoch(ask.epoch);
    partition.last_fetched_epoch = LeaderEpoch(ask.last_fetched);
    partition.partition_max_bytes = ask.most_bytes;
  }
  return request;
}

/// A fetch of `partition` at `offset`, with nothing else to say.
inline Ask at(std::int64_t offset, std::int32_t partition = 0) {
  Ask ask;
  ask.offset = offset;
  ask.partition = partition;
  return ask;
}

/// The only partition of an answer.
inline const wire::FetchResponse::PartitionData& only(const wire::FetchResponse& response) {
  EXPECT_EQ(response.responses.size(), 1U);
  EXPECT_EQ(response.responses.at(0).partitions.size(), 1U);
  return response.responses.at(0).partitions.at(0);
}

}  // namespace kmirror::testing
