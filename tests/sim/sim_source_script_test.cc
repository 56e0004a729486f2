// The fake source bends as it is told: leaders, logs, answers, nodes.
#include "kmirror/env/posix.h"
#include "kmirror/wire/list_groups_request.h"
#include "kmirror/wire/list_groups_response.h"
#include "sim/sim_source_fixture.h"
#include "support/batches.h"

namespace kmirror::testing {
namespace {

using namespace std::chrono_literals;

class SimSourceScriptTest : public SimSourceFixture {};

TEST_F(SimSourceScriptTest, LeadersMoveAndReadersAreToldWhere) {
  source_.produce(kT0);
  source_.move_leader(kT0, kTwo);
  const Uuid id = source_.topic("t").id;
  const auto wrong = ask(fetch_of({at(1)}, 0, -1, "", id), 16);
  EXPECT_EQ(only(wrong).error_code, ErrorCode::NOT_LEADER_OR_FOLLOWER);
  EXPECT_EQ(only(wrong).current_leader.leader_id, kTwo);
  EXPECT_EQ(only(wrong).current_leader.leader_epoch, LeaderEpoch(1));
  ASSERT_EQ(wrong.node_endpoints.size(), 1U);
  EXPECT_EQ(wrong.node_endpoints[0].host, source_.endpoint(kTwo).host);
  const auto metadata = ask(wire::MetadataRequest(), 9);
  EXPECT_TRUE(metadata.topics.empty()) << "an empty list asks for none";
  wire::MetadataRequest all;
  all.topics.reset();
  const auto described = ask(all, 12);
  EXPECT_EQ(described.brokers.size(), 2U);
  EXPECT_EQ(described.cluster_id, source_.cluster_id());
  ASSERT_EQ(described.topics.size(), 1U);
  EXPECT_EQ(described.topics[0].topic_id, id);
  EXPECT_EQ(described.topics[0].partitions.at(0).leader_id, kTwo);
  EXPECT_EQ(described.topics[0].partitions.at(0).leader_epoch, LeaderEpoch(1));
  source_.move_leader(kT0, NodeId(-1));
  const auto leaderless = ask(all, 12);
  EXPECT_EQ(leaderless.topics[0].partitions.at(0).error_code, ErrorCode::LEADER_NOT_AVAILABLE);
}

TEST_F(SimSourceScriptTest, UncleanElectionCutsAndRecreationChangesTheId) {
  for (int i = 0; i < 10; ++i) source_.produce(kT0);
  source_.unclean_election(kT0, kOne, Offset(6));
  EXPECT_EQ(source_.log(kT0).end(), Offset(6));
  Ask one = at(10);
  one.last_fetched = 0;
  const auto cut = ask(fetch_of({one}), 12);
  EXPECT_EQ(only(cut).diverging_epoch.end_offset, Offset(6));
  const Uuid before = source_.topic("t").id;
  source_.recreate_topic("t");
  EXPECT_NE(source_.topic("t").id, before);
  EXPECT_EQ(source_.log(kT0).end(), Offset(0));
  const auto by_old_id = ask(fetch_of({at(0)}, 0, -1, "", before), 13);
  EXPECT_EQ(only(by_old_id).error_code, ErrorCode::UNKNOWN_TOPIC_ID);
}

TEST_F(SimSourceScriptTest, AnswersCanBeHeldChangedAndReleased) {
  source_.produce(kT0);
  connect();
  source_.fetch.hold_next();
  env::TaskGroup group(client_.loop());
  Result<wire::FetchResponse> result = env::aborted_error("no answer");
  group.spawn("fetch", call(connection_.get(), fetch_of({at(0)}), 11, &result));
  world_.run_for(5s);
  ASSERT_EQ(source_.fetch.held.size(), 1U);
  EXPECT_FALSE(result);
  auto held = source_.fetch.held.front();
  EXPECT_TRUE(held->is_held());
  auto* data = source_.data_of(held, kT0);
  ASSERT_NE(data, nullptr);
  EXPECT_FALSE(data->records->empty());
  data->records = ByteChain();
  data->error_code = ErrorCode::OFFSET_OUT_OF_RANGE;
  held->release();
  world_.run(client_.loop(), group.join());
  ASSERT_TRUE(result);
  EXPECT_EQ(only(*result).error_code, ErrorCode::OFFSET_OUT_OF_RANGE);
}

TEST_F(SimSourceScriptTest, HooksThrottleDelayAndBreak) {
  source_.fetch.hook = [](const auto& exchange) {
    exchange->response.throttle_time_ms = 1'500;
    exchange->response.responses.clear();
    exchange->delay = 2s;
  };
  const env::Instant start = world_.clock().now();
  const auto throttled = ask(fetch_of({at(0)}), 11);
  EXPECT_EQ(throttled.throttle_time_ms, 1'500);
  EXPECT_TRUE(throttled.responses.empty());
  EXPECT_GE(world_.clock().now() - start, 2s);
  source_.fetch.hook = [](const auto& exchange) { exchange->drop_connection = true; };
  Result<wire::FetchResponse> result = wire::FetchResponse();
  world_.run(client_.loop(), call(connection_.get(), fetch_of({at(0)}), 11, &result));
  EXPECT_FALSE(result);
  source_.fetch.hook = [](const auto& exchange) {
    exchange->rewrite_frame = [](Bytes frame) {
      frame.resize(frame.size() - 1);
      frame[3] = static_cast<std::uint8_t>(frame.size() - 4);
      return frame;
    };
  };
  connect();
  world_.run(client_.loop(), call(connection_.get(), fetch_of({at(0)}), 11, &result));
  EXPECT_FALSE(result) << "one byte is missing";
}

TEST_F(SimSourceScriptTest, BrokenBatchesAreServedAsTheyAre) {
  const Slice good = simple_batch(0, 5);
  source_.append(kT0, good);
  const Slice bad = patched(simple_batch(5, 1), kMagicPosition, Bytes{3});
  source_.log(kT0).append_raw(bad, Offset(5), Offset(5), LeaderEpoch(0));
  const auto answer = ask(fetch_of({at(0)}), 11);
  ByteChain both(good);
  both.append(bad);
  EXPECT_TRUE(*only(answer).records == both);
  EXPECT_EQ(source_.log(kT0).end(), Offset(6));
}

TEST_F(SimSourceScriptTest, RemembersWhoAskedWhat) {
  ask(fetch_of({at(0)}), 11);
  wire::MetadataRequest request;
  request.allow_auto_topic_creation = false;
  ask(request, 9);
  ASSERT_EQ(source_.fetch.seen.size(), 1U);
  EXPECT_EQ(source_.fetch.seen[0].call.node, kOne);
  EXPECT_EQ(source_.fetch.seen[0].call.version, ApiVersion(11));
  EXPECT_EQ(source_.fetch.seen[0].call.client_id, "kmirror");
  EXPECT_EQ(source_.fetch.seen[0].request.topics.at(0).topic, "t");
  ASSERT_EQ(source_.metadata.seen.size(), 1U);
  EXPECT_FALSE(source_.metadata.seen[0].request.allow_auto_topic_creation);
  connect();
  ask(fetch_of({at(0)}), 11);
  EXPECT_NE(source_.fetch.seen[0].call.connection, source_.fetch.seen[1].call.connection);
}

TEST_F(SimSourceScriptTest, NodesStopAndComeBackAtTheSamePort) {
  const auto opened = ask(fetch_of({at(0)}, 0, 0), 11);
  const env::Endpoint before = source_.endpoint(kOne);
  source_.stop_node(kOne);
  Result<wire::FetchResponse> result = wire::FetchResponse();
  world_.run(client_.loop(), call(connection_.get(), fetch_of({at(0)}), 11, &result));
  EXPECT_FALSE(result);
  connect(kTwo);
  wire::MetadataRequest all;
  all.topics.reset();
  EXPECT_EQ(ask(all, 9).brokers.size(), 1U);
  ASSERT_TRUE(source_.start_node(kOne));
  EXPECT_EQ(source_.endpoint(kOne), before);
  connect(kOne);
  EXPECT_EQ(ask(fetch_of({}, opened.session_id, 1), 11).error_code,
            ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
}

TEST_F(SimSourceScriptTest, ServesOnlyWhatItAdvertises) {
  connect();
  const auto& versions = connection_->peer_versions();
  EXPECT_FALSE(versions.contains(wire::DescribeClusterMirrorsRequest::kApiKey));
  EXPECT_EQ(versions.at(wire::FetchRequest::kApiKey).max, ApiVersion(17));
  source_.forget_topic_ids();
  source_.describe_cluster_mirrors.is_on = true;
  source_.serve<wire::ListGroupsRequest>([](const Call&, const wire::ListGroupsRequest&) {
    wire::ListGroupsResponse response;
    response.groups.emplace_back().group_id = "g";
    return response;
  });
  connect();
  const auto& now = connection_->peer_versions();
  EXPECT_EQ(now.at(wire::FetchRequest::kApiKey).max, ApiVersion(12));
  const auto groups = ask(wire::ListGroupsRequest(), 3);
  EXPECT_EQ(groups.groups.at(0).group_id, "g");
  const TopicIdPartition known(Uuid(std::array<std::uint8_t, 16>{9}), 0);
  source_.last_mirror_positions[known] = EpochEnd(LeaderEpoch(7), Offset(70));
  wire::DescribeClusterMirrorsRequest request;
  auto& lookup = request.last_mirror_epoch_lookups.emplace_back();
  lookup.topic_id = known.topic_id;
  lookup.partitions = {0, 1};
  const auto mirrors = ask(request, 0);
  const auto& found = mirrors.lookup_results.at(0).partitions;
  EXPECT_EQ(found.at(0).last_mirror_epoch, LeaderEpoch(7));
  EXPECT_EQ(found.at(0).last_mirror_offset, Offset(70));
  EXPECT_EQ(found.at(1).last_mirror_offset, kNoOffset);
}

// The same over real sockets: all on one loop.
env::Awaitable<void> use_real_sockets(env::Environment* env, SimSource* source) {
  env::Loop& loop = *env->loops[0];
  const auto added = source->add_node(kOne, *env, loop);
  EXPECT_TRUE(added);
  source->create_topic("t", 1);
  source->produce(kT0, 3);
  ConnectionOptions options;
  const env::Endpoint to = source->endpoint(kOne);
  auto connection = co_await Connection::open(*env, loop, to, std::move(options));
  EXPECT_TRUE(connection) << connection.error().message;
  if (connection) {
    wire::FetchRequest request = fetch_of({at(0)});
    auto answer = co_await (*connection)->call(std::move(request), ApiVersion(12));
    EXPECT_TRUE(answer);
    if (answer) {
      EXPECT_EQ(only(*answer).records->size(), simple_batch(0, 3).size());
    }
    (*connection)->close();
  }
  co_await source->stop();
}

TEST(SimSourcePosixTest, SpeaksOverRealSockets) {
  env::PosixEnvironment posix{env::PosixOptions(1, 1)};
  posix.start();
  SimSource source;
  env::Environment& env = posix.environment();
  posix.run(*env.loops[0], use_real_sockets(&env, &source));
  posix.stop();
}

}  // namespace
}  // namespace kmirror::testing
