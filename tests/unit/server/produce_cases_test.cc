// Cases of Produce: malformed batches, the idempotent window, acks, durability.
#include <gtest/gtest.h>

#include <set>

#include "server_world.h"

#include "kmirror/wire/init_producer_id_request.h"
#include "kmirror/wire/init_producer_id_response.h"
#include "kmirror/wire/produce_request.h"
#include "kmirror/wire/produce_response.h"
#include "support/batches.h"

namespace kmirror::server {
namespace {

using kmirror::testing::BatchSpec;
using kmirror::testing::make_batch;
using kmirror::testing::simple_batch;
using Entry = wire::ProduceResponse::PartitionProduceResponse;

class ProduceCases : public ::testing::Test {
 protected:
  Entry produce(const std::string& topic, std::optional<Slice> records, std::int16_t acks = -1,
                std::int16_t version = 8) {
    wire::ProduceRequest request;
    request.acks = acks;
    request.timeout_ms = 1'000;
    auto& data = request.topic_data.emplace_back();
    data.name = topic;
    auto& partition = data.partition_data.emplace_back();
    if (records) partition.records = ByteChain(*records);
    return client_.call<wire::ProduceResponse>(request, version)
        .responses.at(0)
        .partition_responses.at(0);
  }
  wire::InitProducerIdResponse init_producer_id() {
    wire::InitProducerIdRequest request;
    request.transactional_id = std::nullopt;
    return client_.call<wire::InitProducerIdResponse>(request, 4);
  }
  Offset end_of(const std::string& topic) { return world_.log(topic)->log_end_offset(); }

  ServerWorld world_;
  TestClient client_{world_};
};

// The stored batch of one record inside the given request frames, from its base offset on.
Slice given_batch(std::string_view header_and_records) {
  return Slice::take(from_hex(header_and_records));
}

TEST_F(ProduceCases, G44_malformed_batches) {
  world_.create_topic("t1", 1);
  world_.create_topic("compacted", 1, {{"cleanup.policy", "compact"}});
  const auto expect = [&](std::string_view hex, ErrorCode error) {
    const Entry entry = produce("t1", given_batch(hex));
    EXPECT_EQ(entry.error_code, error) << hex;
    EXPECT_EQ(entry.base_offset, kNoOffset);
    EXPECT_EQ(end_of("t1"), Offset(0));
  };
  // A wrong CRC; last offset delta 3 with one record; base offset 5; producer 77 without sequence.
  expect(
      "000000000000000000000039ffffffff02965a94b10000000000000000018bcfe568000000018bcfe56800ffffff"
      "ff"
      "ffffffffffffffffffff000000010e00000001026101",
      ErrorCode::CORRUPT_MESSAGE);
  expect(
      "000000000000000000000039ffffffff02255b9ef30000000000030000018bcfe568000000018bcfe56800ffffff"
      "ff"
      "ffffffffffffffffffff000000010e00000001026100",
      ErrorCode::INVALID_RECORD);
  expect(
      "000000000000000500000039ffffffff02965a94b10000000000000000018bcfe568000000018bcfe56800ffffff"
      "ff"
      "ffffffffffffffffffff000000010e00000001026100",
      ErrorCode::INVALID_RECORD);
  expect(
      "000000000000000000000039ffffffff02911ad2c40000000000000000018bcfe568000000018bcfe56800000000"
      "00"
      "0000004d0000ffffffff000000010e00000001026100",
      ErrorCode::INVALID_RECORD);

  RecordBatchBuilder::Options control;
  control.control = true;
  RecordBatchBuilder builder(control);
  builder.add(kmirror::testing::kGivenTimeMs, Bytes{0, 0, 0, 0}, Bytes{0, 0, 0, 0, 0, 0});
  EXPECT_EQ(produce("t1", builder.build()).error_code, ErrorCode::INVALID_RECORD);
  EXPECT_EQ(produce("t1", std::nullopt).error_code, ErrorCode::INVALID_RECORD);
  EXPECT_EQ(produce("t1", make_batch(BatchSpec())).error_code, ErrorCode::INVALID_RECORD);
  BatchSpec no_key;
  no_key.records.emplace_back(std::nullopt, "v");
  const Entry keyless = produce("compacted", make_batch(no_key));
  EXPECT_EQ(keyless.error_code, ErrorCode::INVALID_RECORD);
  ASSERT_EQ(keyless.record_errors.size(), 1U);
  EXPECT_EQ(keyless.record_errors[0].batch_index, 0);
  EXPECT_TRUE(keyless.record_errors[0].batch_index_error_message);
  const Entry odd_acks = produce("t1", simple_batch(0), 5);
  EXPECT_EQ(odd_acks.error_code, ErrorCode::INVALID_REQUIRED_ACKS);
  EXPECT_EQ(odd_acks.base_offset, kNoOffset);
  EXPECT_EQ(end_of("t1"), Offset(0));
  EXPECT_EQ(end_of("compacted"), Offset(0));
  // The connection is as good as before.
  const Entry good = produce("t1", simple_batch(0));
  EXPECT_EQ(good.error_code, ErrorCode::NONE);
  EXPECT_EQ(good.base_offset, Offset(0));
}

TEST_F(ProduceCases, G45_the_idempotent_window) {
  world_.create_topic("t", 1);
  const auto id = init_producer_id().producer_id;
  const auto send = [&](std::int16_t epoch, std::int32_t sequence) {
    BatchSpec spec;
    spec.producer_id = id.get();
    spec.producer_epoch = epoch;
    spec.base_sequence = sequence;
    spec.records.emplace_back("k", "v");
    const Entry entry = produce("t", make_batch(spec));
    return entry.error_code == ErrorCode::NONE ? std::to_string(entry.base_offset.get())
                                               : std::string(name(entry.error_code));
  };
  const std::string gap = "OUT_OF_ORDER_SEQUENCE_NUMBER";
  EXPECT_EQ(send(0, 5), "0");
  EXPECT_EQ(send(0, 6), "1");
  EXPECT_EQ(send(0, 5), "0");
  EXPECT_EQ(end_of("t"), Offset(2));
  EXPECT_EQ(send(0, 8), gap);
  for (int sequence = 7; sequence <= 11; ++sequence) {
    EXPECT_EQ(send(0, sequence), std::to_string(sequence - 5));
  }
  EXPECT_EQ(send(0, 6), gap);
  EXPECT_EQ(send(0, 7), "2");
  EXPECT_EQ(send(1, 3), gap);
  EXPECT_EQ(send(1, 0), "7");
  EXPECT_EQ(send(0, 12), "INVALID_PRODUCER_EPOCH");
}

TEST_F(ProduceCases, producer_ids_are_never_handed_out_twice) {
  std::set<std::int64_t> seen;
  for (int i = 0; i < 2'500; ++i) {
    const auto response = init_producer_id();
    ASSERT_EQ(response.error_code, ErrorCode::NONE);
    EXPECT_EQ(response.producer_epoch, ProducerEpoch(0));
    EXPECT_TRUE(seen.insert(response.producer_id.get()).second);
  }
}

TEST_F(ProduceCases, a_transactional_id_is_refused_for_good) {
  wire::InitProducerIdRequest request;
  request.transactional_id = "tx";
  const auto error = client_.call<wire::InitProducerIdResponse>(request, 4).error_code;
  EXPECT_EQ(error, ErrorCode::UNSUPPORTED_VERSION);
  EXPECT_FALSE(is_retriable(error));
}

TEST_F(ProduceCases, acks_all_is_durable_when_it_is_answered) {
  world_.create_topic("t", 1);
  EXPECT_EQ(produce("t", simple_batch(0), 1).error_code, ErrorCode::NONE);
  EXPECT_EQ(world_.log("t")->recovery_point(), Offset(0));
  EXPECT_EQ(produce("t", simple_batch(0), -1).error_code, ErrorCode::NONE);
  EXPECT_EQ(world_.log("t")->recovery_point(), Offset(2));
}

TEST_F(ProduceCases, several_partitions_on_several_loops_in_one_request) {
  world_.create_topic("t", 16);
  wire::ProduceRequest request;
  request.acks = -1;
  request.timeout_ms = 1'000;
  auto& data = request.topic_data.emplace_back();
  data.name = "t";
  for (std::int32_t i = 0; i < 17; ++i) {
    auto& partition = data.partition_data.emplace_back();
    partition.index = i;
    partition.records = ByteChain(simple_batch(0, i + 1));
  }
  const auto response = client_.call<wire::ProduceResponse>(request, 8);
  for (std::int32_t i = 0; i < 16; ++i) {
    const Entry& entry = response.responses[0].partition_responses[static_cast<std::size_t>(i)];
    EXPECT_EQ(entry.index, i);
    EXPECT_EQ(entry.error_code, ErrorCode::NONE);
    EXPECT_EQ(world_.log("t", i)->log_end_offset(), Offset(i + 1));
  }
  EXPECT_EQ(response.responses[0].partition_responses[16].error_code,
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}

TEST_F(ProduceCases, by_topic_id_from_version_13) {
  world_.create_topic("t", 1);
  wire::ProduceRequest request;
  request.acks = 1;
  auto& data = request.topic_data.emplace_back();
  data.topic_id = world_.broker->engine->image()->topic("t")->id;
  data.partition_data.emplace_back().records = ByteChain(simple_batch(0));
  auto response = client_.call<wire::ProduceResponse>(request, 13);
  EXPECT_EQ(response.responses.at(0).partition_responses.at(0).error_code, ErrorCode::NONE);
  EXPECT_EQ(response.responses.at(0).topic_id, data.topic_id);
  data.topic_id = Uuid();
  response = client_.call<wire::ProduceResponse>(request, 13);
  EXPECT_EQ(response.responses.at(0).partition_responses.at(0).error_code,
            ErrorCode::UNKNOWN_TOPIC_ID);
}

TEST_F(ProduceCases, internal_topics_and_old_zstd_are_refused) {
  world_.create_topic("t", 1);
  world_.on_loop_0([&](UniqueFunction<void()> done) {
    world_.broker->engine->create_internal_topic(
        "__consumer_offsets", 2, {}, [&, done = std::move(done)](const Result<void>& made) mutable {
          EXPECT_TRUE(made);
          world_.broker->replicas->when_settled(std::move(done));
        });
  });
  EXPECT_EQ(produce("__consumer_offsets", simple_batch(0)).error_code,
            ErrorCode::INVALID_TOPIC_EXCEPTION);
  const Slice zstd = given_batch(
      "000000000000000000000046000000000271c48c7d0004000000000000018bcfe568000000018bcfe56800ffffff"
      "ff"
      "ffffffffffffffffffff0000000128b52ffd200c61000016000000010a68656c6c6f00");
  EXPECT_EQ(produce("t", zstd, 1, 6).error_code, ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
  EXPECT_EQ(produce("t", zstd, 1, 7).error_code, ErrorCode::NONE);
}

TEST_F(ProduceCases, a_batch_above_the_limit_is_refused) {
  world_.create_topic("t", 1, {{"max.message.bytes", "1000"}});
  BatchSpec spec;
  spec.records.emplace_back("k", std::string(2'000, 'x'));
  EXPECT_EQ(produce("t", make_batch(spec)).error_code, ErrorCode::MESSAGE_TOO_LARGE);
}

}  // namespace
}  // namespace kmirror::server
