// Cases of Fetch: range, limits, long poll, sessions, gaps, zstd, transactions, identity,
// divergence.
#include <gtest/gtest.h>

#include "server_world.h"

#include "kmirror/wire/fetch_request.h"
#include "kmirror/wire/fetch_response.h"
#include "support/batches.h"

namespace kmirror::server {
namespace {

using kmirror::testing::BatchSpec;
using kmirror::testing::hex_slice;
using kmirror::testing::make_batch;
using kmirror::testing::simple_batch;
using PartitionData = wire::FetchResponse::PartitionData;

struct Wish {
  Wish(std::string name, std::int64_t at) : topic(std::move(name)), offset(at) {}
  std::string topic;
  std::int64_t offset;
  std::int32_t max_bytes = 1'048'576;
  std::int32_t current_leader_epoch = -1;
  std::int32_t last_fetched_epoch = -1;
};

wire::FetchRequest fetch_of(const std::vector<Wish>& wishes, std::int32_t max_wait_ms = 0) {
  wire::FetchRequest request;
  request.max_wait_ms = max_wait_ms;
  request.min_bytes = 1;
  for (const auto& wish : wishes) {
    auto& topic = request.topics.emplace_back();
    topic.topic = wish.topic;
    auto& partition = topic.partitions.emplace_back();
    partition.fetch_offset = Offset(wish.offset);
    partition.partition_max_bytes = wish.max_bytes;
    partition.current_leader_epoch = LeaderEpoch(wish.current_leader_epoch);
    partition.last_fetched_epoch = LeaderEpoch(wish.last_fetched_epoch);
  }
  return request;
}

std::string hex_of(const PartitionData& data) {
  return data.records ? to_hex(data.records->flatten()->span()) : "null";
}

// "topic@bytes" for each partition of an answer, in its order.
std::string summary(const wire::FetchResponse& response) {
  std::string text;
  for (const auto& topic : response.responses) {
    for (const auto& partition : topic.partitions) {
      if (!text.empty()) text += ' ';
      text += topic.topic + "@" + std::to_string(partition.records ? partition.records->size() : 0);
    }
  }
  return text;
}

class FetchCases : public ::testing::Test {
 protected:
  // Appends batches as they are, as a mirror or a follower would.
  void append(const std::string& topic, const std::vector<Slice>& batches) {
    world_.with_log(topic, [&](storage::PartitionLog& log) {
      ByteChain chain;
      for (const auto& batch : batches) chain.append(batch);
      const auto appended = log.append_as_follower(chain, false);
      EXPECT_FALSE(appended.error) << appended.error->message;
    });
  }
  wire::FetchResponse fetch(const wire::FetchRequest& request, std::int16_t version = 11) {
    return client_.call<wire::FetchResponse>(request, version);
  }
  PartitionData fetch_one(const Wish& wish, std::int16_t version = 11) {
    const auto response = fetch(fetch_of({wish}), version);
    EXPECT_EQ(response.error_code, ErrorCode::NONE);
    return response.responses.at(0).partitions.at(0);
  }
  env::Duration since(env::Instant before) { return world_.world.clock().now() - before; }
  env::Instant now() { return world_.world.clock().now(); }

  ServerWorld world_;
  TestClient client_{world_};
};

TEST_F(FetchCases, G11_at_above_and_below_the_range) {
  world_.create_topic("t", 1);
  append("t", {simple_batch(0, 6)});
  const auto at_end = fetch_one({"t", 6});
  EXPECT_EQ(at_end.error_code, ErrorCode::NONE);
  EXPECT_EQ(at_end.records->size(), 0U);
  EXPECT_EQ(at_end.high_watermark, Offset(6));
  EXPECT_FALSE(at_end.aborted_transactions);

  const env::Instant before = now();
  const auto above = fetch(fetch_of({{"t", 7}}, 5'000));
  EXPECT_EQ(above.responses.at(0).partitions.at(0).error_code, ErrorCode::OFFSET_OUT_OF_RANGE);
  EXPECT_LT(since(before), 100ms);

  world_.with_log("t", [](storage::PartitionLog& log) {
    EXPECT_TRUE(log.advance_log_start_offset(Offset(3)));
  });
  const auto below = fetch_one({"t", 2});
  EXPECT_EQ(below.error_code, ErrorCode::OFFSET_OUT_OF_RANGE);
  EXPECT_EQ(below.high_watermark, kNoOffset);
}

TEST_F(FetchCases, G12_first_batch_larger_than_every_limit) {
  world_.create_topic("m", 1);
  world_.create_topic("e", 1);
  const Slice batch = simple_batch(0, 2);
  append("m", {batch, simple_batch(2)});
  append("e", {simple_batch(0)});
  Wish first("m", 0);
  first.max_bytes = 1;
  wire::FetchRequest request = fetch_of({first, {"e", 0}});
  request.max_bytes = 1;
  const auto response = fetch(request);
  EXPECT_EQ(hex_of(response.responses.at(0).partitions.at(0)), to_hex(batch.span()));
  const auto& other = response.responses.at(1).partitions.at(0);
  EXPECT_EQ(other.error_code, ErrorCode::NONE);
  EXPECT_EQ(other.records->size(), 0U);
  EXPECT_EQ(other.high_watermark, Offset(1));
}

TEST_F(FetchCases, G13_an_idle_partition_waits_its_full_time) {
  world_.create_topic("t", 1);
  const env::Instant before = now();
  const auto response = fetch(fetch_of({{"t", 0}}, 700));
  EXPECT_GE(since(before), 700ms);
  EXPECT_LT(since(before), 750ms);
  EXPECT_EQ(summary(response), "t@0");
}

TEST_F(FetchCases, G13_an_append_wakes_a_waiting_fetch) {
  world_.create_topic("t", 1);
  const env::Instant before = now();
  client_.request(fetch_of({{"t", 0}}, 3'500), 11);
  world_.world.run_for(500ms);
  append("t", {simple_batch(0)});
  const auto response = client_.response<wire::FetchResponse>(11);
  EXPECT_LT(since(before), 600ms);
  EXPECT_GT(response.responses.at(0).partitions.at(0).records->size(), 0U);
}

TEST_F(FetchCases, G13_too_few_bytes_wait_and_then_come) {
  world_.create_topic("t", 1);
  const Slice batch = simple_batch(0);
  append("t", {batch});
  wire::FetchRequest request = fetch_of({{"t", 0}}, 800);
  request.min_bytes = 1'000;
  const env::Instant before = now();
  client_.request(request, 11);
  world_.world.run_for(300ms);
  append("t", {simple_batch(1)});  // wakes it, and is not enough
  const auto response = client_.response<wire::FetchResponse>(11);
  EXPECT_GE(since(before), 800ms);
  EXPECT_LT(since(before), 850ms);
  EXPECT_EQ(response.responses.at(0).partitions.at(0).records->size(),
            batch.size() + simple_batch(1).size());
}

TEST_F(FetchCases, G13_many_small_appends_add_up_to_min_bytes) {
  world_.create_topic("t", 1);
  wire::FetchRequest request = fetch_of({{"t", 0}}, 60'000);
  request.min_bytes = 500;
  client_.request(request, 11);
  std::size_t bytes = 0;
  for (int i = 0; bytes < 500; ++i) {
    world_.world.run_for(10ms);
    append("t", {simple_batch(i)});
    bytes += simple_batch(i).size();
  }
  const env::Instant before = now();
  const auto response = client_.response<wire::FetchResponse>(11);
  EXPECT_LT(since(before), 100ms);
  EXPECT_EQ(response.responses.at(0).partitions.at(0).records->size(), bytes);
}

TEST_F(FetchCases, G14_fetch_sessions) {
  world_.create_topic("e", 1);
  world_.create_topic("m", 1);
  append("e", {simple_batch(0, 10)});
  append("m", {simple_batch(0, 6)});
  auto request = fetch_of({{"e", 10}, {"m", 6}});
  request.session_epoch = 0;
  const auto opened = fetch(request);
  EXPECT_EQ(summary(opened), "e@0 m@0");
  ASSERT_GT(opened.session_id, 0);

  const auto in_session = [&](std::int32_t epoch) {
    auto next = fetch_of({});
    next.session_id = opened.session_id;
    next.session_epoch = epoch;
    return next;
  };
  const auto idle = fetch(in_session(1));
  EXPECT_EQ(idle.error_code, ErrorCode::NONE);
  EXPECT_EQ(idle.session_id, opened.session_id);
  EXPECT_EQ(summary(idle), "");

  append("e", {simple_batch(10)});
  const auto news = fetch(in_session(2));
  EXPECT_EQ(summary(news), "e@" + std::to_string(simple_batch(10).size()));
  const auto repeated = fetch(in_session(2));
  EXPECT_EQ(repeated.error_code, ErrorCode::INVALID_FETCH_SESSION_EPOCH);
  EXPECT_EQ(repeated.session_id, 0);

  auto forget = in_session(3);
  auto& gone = forget.forgotten_topics_data.emplace_back();
  gone.topic = "e";
  gone.partitions = {0};
  EXPECT_EQ(summary(fetch(forget)), "");

  auto unknown = fetch_of({});
  unknown.session_id = 123'456;
  unknown.session_epoch = 1;
  EXPECT_EQ(fetch(unknown).error_code, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);

  auto last = fetch_of({{"e", 11}, {"m", 6}});
  last.session_id = opened.session_id;
  last.session_epoch = -1;
  const auto closed = fetch(last);
  EXPECT_EQ(summary(closed), "e@0 m@0");
  EXPECT_EQ(closed.session_id, 0);
  EXPECT_EQ(fetch(in_session(4)).error_code, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
}

TEST_F(FetchCases, G14_a_session_goes_on_over_another_connection) {
  world_.create_topic("e", 1);
  auto request = fetch_of({{"e", 0}});
  request.session_epoch = 0;
  const std::int32_t id = fetch(request).session_id;
  append("e", {simple_batch(0)});
  // Connections go to the loops in turn, so one of these is not on the session's loop.
  for (std::int32_t epoch = 1; epoch <= 2; ++epoch) {
    TestClient other(world_);
    auto next = fetch_of({});
    next.session_id = id;
    next.session_epoch = epoch;
    const auto response = other.call<wire::FetchResponse>(next, 11);
    EXPECT_EQ(response.error_code, ErrorCode::NONE);
    EXPECT_EQ(summary(response), "e@" + std::to_string(simple_batch(0).size()));
  }
}

TEST_F(FetchCases, G15_inside_a_batch_and_inside_a_gap) {
  world_.create_topic("t", 1);
  const Slice first = simple_batch(0, 3);
  const Slice second = simple_batch(3, 2);
  const Slice gapped = hex_slice(kmirror::testing::kGappedBatch);
  append("t", {first, second, gapped});
  EXPECT_EQ(hex_of(fetch_one({"t", 1})).substr(0, 2 * first.size()), to_hex(first.span()));
  EXPECT_EQ(hex_of(fetch_one({"t", 50})), to_hex(gapped.span()));
  EXPECT_EQ(hex_of(fetch_one({"t", 104})), to_hex(gapped.span()));
  const auto at_end = fetch_one({"t", 106});
  EXPECT_EQ(at_end.error_code, ErrorCode::NONE);
  EXPECT_EQ(at_end.records->size(), 0U);
}

TEST_F(FetchCases, G16_zstd_needs_version_10) {
  world_.create_topic("z", 1, {{"compression.type", "zstd"}});
  world_.create_topic("t", 1);
  const std::string stored =
      "000000000000000000000046000000000271c48c7d0004000000000000018bcfe568000000018bcfe56800ffffff"
      "ff"
      "ffffffffffffffffffff0000000128b52ffd200c61000016000000010a68656c6c6f00";
  append("z", {hex_slice(stored)});
  append("t", {simple_batch(0)});
  const auto old = fetch(fetch_of({{"z", 0}, {"t", 0}}), 9);
  EXPECT_EQ(old.responses.at(0).partitions.at(0).error_code,
            ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
  EXPECT_EQ(old.responses.at(0).partitions.at(0).records->size(), 0U);
  EXPECT_GT(old.responses.at(1).partitions.at(0).records->size(), 0U);
  EXPECT_EQ(hex_of(fetch_one({"z", 0}, 10)), stored);
}

Slice transactional(std::int64_t base, std::int64_t producer, int count) {
  BatchSpec spec;
  spec.base_offset = base;
  spec.producer_id = producer;
  spec.producer_epoch = 0;
  spec.base_sequence = 0;
  spec.transactional = true;
  for (int i = 0; i < count; ++i) spec.records.emplace_back("k", "v");
  return make_batch(spec);
}

Slice marker(std::int64_t offset, std::int64_t producer, bool commit) {
  return end_transaction_marker(Offset(offset), LeaderEpoch(0), kmirror::testing::kGivenTimeMs,
                                ProducerId(producer), ProducerEpoch(0), commit, 0);
}

TEST_F(FetchCases, G17_read_committed_stops_at_the_last_stable_offset) {
  world_.create_topic("t", 1);
  const Slice first = transactional(0, 1'000, 3);
  const Slice second = transactional(3, 1'001, 2);
  append("t", {first, second});
  const auto both = [&] {
    auto request = fetch_of({{"t", 0}});
    const auto all = fetch(request).responses.at(0).partitions.at(0);
    request.isolation_level = 1;
    return std::make_pair(all, fetch(request).responses.at(0).partitions.at(0));
  };
  const auto [all_1, committed_1] = both();
  EXPECT_EQ(all_1.records->size(), first.size() + second.size());
  EXPECT_FALSE(all_1.aborted_transactions);
  EXPECT_EQ(committed_1.last_stable_offset, Offset(0));
  EXPECT_EQ(committed_1.records->size(), 0U);

  append("t", {marker(5, 1'000, false)});
  const auto [all_2, committed_2] = both();
  EXPECT_EQ(committed_2.last_stable_offset, Offset(3));
  EXPECT_EQ(hex_of(committed_2), to_hex(first.span()));
  ASSERT_EQ(committed_2.aborted_transactions->size(), 1U);
  EXPECT_EQ(committed_2.aborted_transactions->at(0).producer_id, ProducerId(1'000));
  EXPECT_EQ(committed_2.aborted_transactions->at(0).first_offset, Offset(0));

  append("t", {marker(6, 1'001, true)});
  const auto [all_3, committed_3] = both();
  EXPECT_EQ(committed_3.last_stable_offset, Offset(7));
  EXPECT_EQ(committed_3.aborted_transactions->size(), 1U);
  EXPECT_EQ(committed_3.records->size(), all_3.records->size());
  EXPECT_FALSE(all_3.aborted_transactions);
}

TEST_F(FetchCases, G17_a_marker_wakes_a_reader_of_committed_records) {
  world_.create_topic("t", 1);
  append("t", {transactional(0, 1'000, 3)});
  auto request = fetch_of({{"t", 0}}, 10'000);
  request.isolation_level = 1;
  const env::Instant before = now();
  client_.request(request, 11);
  world_.world.run_for(500ms);
  append("t", {marker(3, 1'000, true)});
  const auto response = client_.response<wire::FetchResponse>(11);
  EXPECT_LT(since(before), 600ms);
  EXPECT_GT(response.responses.at(0).partitions.at(0).records->size(), 0U);
}

TEST_F(FetchCases, G18_unknown_topic_ids) {
  world_.create_topic("t", 1);
  for (const std::uint8_t filler : {std::uint8_t{0}, std::uint8_t{7}}) {
    auto request = fetch_of({{"", 0}}, 1'000);
    std::array<std::uint8_t, 16> id{};
    id.fill(filler);
    request.topics[0].topic_id = Uuid(id);
    const auto response = fetch(request, 13);
    EXPECT_EQ(response.error_code, ErrorCode::NONE);
    const auto& partition = response.responses.at(0).partitions.at(0);
    EXPECT_EQ(partition.error_code, ErrorCode::UNKNOWN_TOPIC_ID);
    EXPECT_EQ(partition.high_watermark, kNoOffset);
    EXPECT_EQ(response.responses.at(0).topic_id, Uuid(id));
  }
  auto request = fetch_of({{"", 0}});
  request.topics[0].topic_id = world_.broker->engine->image()->topic("t")->id;
  EXPECT_EQ(fetch(request, 13).responses.at(0).partitions.at(0).error_code, ErrorCode::NONE);
}

TEST_F(FetchCases, G18_current_leader_epoch) {
  world_.create_topic("t", 1);
  world_.bump_leader_epoch("t", 4);
  const std::vector<std::pair<std::int32_t, ErrorCode>> expected = {
      {-1, ErrorCode::NONE},
      {0, ErrorCode::FENCED_LEADER_EPOCH},
      {3, ErrorCode::FENCED_LEADER_EPOCH},
      {4, ErrorCode::NONE},
      {5, ErrorCode::UNKNOWN_LEADER_EPOCH}};
  for (const auto& [epoch, error] : expected) {
    Wish wish("t", 0);
    wish.current_leader_epoch = epoch;
    EXPECT_EQ(fetch_one(wish).error_code, error) << epoch;
  }
  Wish stale("t", 0);
  stale.current_leader_epoch = 3;
  const auto partition = fetch_one(stale, 12);
  EXPECT_EQ(partition.current_leader.leader_id, NodeId(1));
  EXPECT_EQ(partition.current_leader.leader_epoch, LeaderEpoch(4));
}

TEST_F(FetchCases, G20_version_12_reports_a_diverging_epoch) {
  world_.create_topic("t", 1);
  append("t", {simple_batch(0)});
  Wish at_end("t", 1);
  at_end.last_fetched_epoch = 0;
  const auto normal = fetch_one(at_end, 12);
  EXPECT_EQ(normal.error_code, ErrorCode::NONE);
  EXPECT_EQ(normal.diverging_epoch.epoch, kNoLeaderEpoch);

  Wish beyond("t", 5);
  beyond.last_fetched_epoch = 0;
  const auto diverging = fetch_one(beyond, 12);
  EXPECT_EQ(diverging.error_code, ErrorCode::NONE);
  EXPECT_EQ(diverging.records->size(), 0U);
  EXPECT_EQ(diverging.diverging_epoch.epoch, LeaderEpoch(0));
  EXPECT_EQ(diverging.diverging_epoch.end_offset, Offset(1));

  EXPECT_EQ(fetch_one({"t", 0}, 12).records->size(), simple_batch(0).size());
}

TEST_F(FetchCases, an_unknown_partition_does_not_stop_its_neighbour) {
  world_.create_topic("t", 1);
  append("t", {simple_batch(0)});
  const auto response = fetch(fetch_of({{"nope", 0}, {"t", 0}}, 1'000));
  EXPECT_EQ(response.responses.at(0).partitions.at(0).error_code,
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_GT(response.responses.at(1).partitions.at(0).records->size(), 0U);
}

TEST_F(FetchCases, a_long_answer_comes_whole) {
  world_.create_topic("t", 1);
  BatchSpec spec;
  spec.records.emplace_back("k", std::string(200'000, 'x'));
  std::string expected;
  for (int i = 0; i < 60; ++i) {
    spec.base_offset = i;
    const Slice batch = make_batch(spec);
    append("t", {batch});
    expected += batch.text();
  }
  Wish all("t", 0);
  all.max_bytes = 50'000'000;
  auto request = fetch_of({all});
  request.max_bytes = 50'000'000;
  const auto data = fetch(request).responses.at(0).partitions.at(0);
  EXPECT_TRUE(data.records->flatten()->text() == expected);
}

}  // namespace
}  // namespace kmirror::server
