// Appending as leader: what is refused and with which error, offsets, times, compression.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kmirror/bytes/crc32c.h"
#include "kmirror/bytes/endian.h"
#include "kmirror/compression/compression.h"
#include "kmirror/model/error_code.h"
#include "support/log_world.h"

namespace kmirror::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace kmirror::testing;

constexpr std::string_view kGood =
    "000000000000000000000039ffffffff02965a94b10000000000000000018bcfe568000000018bcfe56800ffffffff"
    "ffff"
    "ffffffffffffffff000000010e00000001026100";

struct Leader {
  Leader() { log = world.open(); }
  Result<AppendInfo> client(const Slice& records) {
    errors.clear();
    return log->append_as_leader(records, LeaderEpoch(6), AppendOrigin::kClient, &errors);
  }
  ErrorCode code(const Slice& records) {
    const auto out = client(records);
    return out ? ErrorCode::NONE : to_kafka_error(out.error());
  }
  RecordBatchView stored(std::int64_t offset) {
    ReadRequest request;
    request.from = Offset(offset);
    request.max_bytes = 1;
    return *RecordBatchView::parse(*log->read(request)->records.flatten());
  }
  LogWorld world;
  std::shared_ptr<PartitionLog> log;
  std::vector<RecordError> errors;
};

Slice records_at(const std::vector<std::int64_t>& times, bool with_key = true) {
  RecordBatchBuilder builder{RecordBatchBuilder::Options()};
  for (const std::int64_t time : times) {
    builder.add(time, with_key ? std::optional<Bytes>(bytes_of("k")) : std::nullopt, bytes_of("v"));
  }
  return builder.build();
}

Slice with_attributes(const Slice& batch, std::int16_t attributes) {
  Bytes bytes(batch.span().begin(), batch.span().end());
  store_be(bytes.data() + batch_at::kAttributes, attributes);
  store_be(bytes.data() + batch_at::kCrc, crc32c(ByteSpan(bytes).subspan(batch_at::kAttributes)));
  return Slice::take(std::move(bytes));
}

TEST(LeaderAppend, AssignsOffsetsAndStampsTheEpoch) {
  Leader leader;
  const auto first = leader.client(hex_slice(kGood));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->first_offset, Offset(0));
  EXPECT_EQ(first->last_offset, Offset(0));
  EXPECT_EQ(first->log_append_time_ms, -1);
  const auto second = leader.client(records_at({kGivenTimeMs, kGivenTimeMs + 1, kGivenTimeMs}));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->first_offset, Offset(1));
  EXPECT_EQ(second->last_offset, Offset(3));
  EXPECT_EQ(second->max_timestamp_ms, kGivenTimeMs + 1);
  const auto batch = leader.stored(1);
  EXPECT_EQ(batch.base_offset(), Offset(1));
  EXPECT_EQ(batch.partition_leader_epoch(), LeaderEpoch(6));
  EXPECT_TRUE(batch.crc_is_valid());
  EXPECT_EQ(leader.log->high_watermark(), Offset(4));
  EXPECT_EQ(leader.log->latest_epoch(), LeaderEpoch(6));
}

TEST(LeaderAppend, G44_MalformedBatches) {
  Leader leader;
  const auto code = [&](std::string_view hex) { return leader.code(hex_slice(hex)); };
  EXPECT_EQ(
      code(
          "000000000000000000000039ffffffff02965a94b10000000000000000018bcfe568000000018bcfe56800ff"
          "ffffffffffffffffffffffffff000000010e00000001026101"),
      ErrorCode::CORRUPT_MESSAGE);  // CRC
  EXPECT_EQ(
      code(
          "000000000000000000000039ffffffff02255b9ef30000000000030000018bcfe568000000018bcfe56800ff"
          "ffffffffffffffffffffffffff000000010e00000001026100"),
      ErrorCode::INVALID_RECORD);  // last offset delta 3, one record
  EXPECT_EQ(
      code(
          "000000000000000500000039ffffffff02965a94b10000000000000000018bcfe568000000018bcfe56800ff"
          "ffffffffffffffffffffffffff000000010e00000001026100"),
      ErrorCode::INVALID_RECORD);  // base offset 5
  EXPECT_EQ(
      code(
          "000000000000000000000039ffffffff02911ad2c40000000000000000018bcfe568000000018bcfe5680000"
          "0000000000004d0000ffffffff000000010e00000001026100"),
      ErrorCode::INVALID_RECORD);  // producer 77, sequence -1
  EXPECT_EQ(leader.code(with_attributes(hex_slice(kGood), 0x20)), ErrorCode::INVALID_RECORD);
  EXPECT_EQ(leader.code(RecordBatchBuilder{RecordBatchBuilder::Options()}.build()),
            ErrorCode::INVALID_RECORD);  // no records
  EXPECT_EQ(leader.code(with_attributes(hex_slice(kGood), 5)),
            ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
  EXPECT_EQ(code(""), ErrorCode::INVALID_RECORD);
  const std::string twice = std::string(kGood) + std::string(kGood);
  EXPECT_EQ(code(twice), ErrorCode::INVALID_RECORD);
  EXPECT_EQ(code(twice.substr(0, 200)), ErrorCode::CORRUPT_MESSAGE);
  EXPECT_EQ(code("00000000000000000000003cb9cedf460003ffffffff0000002e04224d1860401a1f0000800000000"
                 "00000000000"
                 "00001387a77ab20000ffffffff0000000568656c6c6f00000000"),
            ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT);
  EXPECT_EQ(leader.log->log_end_offset(), Offset(0));
  EXPECT_THAT(leader.world.contents("00000000000000000000.log"), IsEmpty());
}

TEST(LeaderAppend, G44_NullKeyInACompactedTopic) {
  Leader leader;
  leader.world.config.cleanup_compact = true;
  leader.log->update_config(leader.world.config);
  EXPECT_EQ(leader.code(records_at({1, 2}, false)), ErrorCode::INVALID_RECORD);
  ASSERT_EQ(leader.errors.size(), 2U);
  EXPECT_EQ(leader.errors[1].batch_index, 1);
  EXPECT_EQ(leader.code(records_at({1})), ErrorCode::NONE);
}

TEST(LeaderAppend, RecordsThatDoNotFitTheirHeader) {
  Leader leader;
  RecordBatchBuilder gap{RecordBatchBuilder::Options()};
  gap.add(1, bytes_of("a"), bytes_of("b"));
  gap.add(1, bytes_of("a"), bytes_of("b"), {}, 2);
  EXPECT_EQ(leader.code(gap.build()), ErrorCode::INVALID_RECORD);
  // Three records said, two there.
  Bytes fewer;
  {
    const Slice two = records_at({1, 2});
    fewer.assign(two.span().begin(), two.span().end());
  }
  store_be<std::int32_t>(fewer.data() + batch_at::kRecordCount, 3);
  store_be<std::int32_t>(fewer.data() + batch_at::kLastOffsetDelta, 2);
  store_be(fewer.data() + batch_at::kCrc, crc32c(ByteSpan(fewer).subspan(batch_at::kAttributes)));
  EXPECT_EQ(leader.code(Slice::take(std::move(fewer))), ErrorCode::INVALID_RECORD);
  // Compressed rubbish.
  EXPECT_EQ(leader.code(with_attributes(hex_slice(kGood), 4)), ErrorCode::CORRUPT_MESSAGE);
}

TEST(LeaderAppend, G30_SizeLimitsAreForClients) {
  Leader leader;
  leader.world.config.max_message_bytes = 100;
  leader.log->update_config(leader.world.config);
  EXPECT_EQ(leader.code(simple_batch(0, 10)), ErrorCode::MESSAGE_TOO_LARGE);
  EXPECT_EQ(leader.code(simple_batch(0, 1)), ErrorCode::NONE);
  EXPECT_FALSE(follow(*leader.log, simple_batch(1, 1000)).error);
  EXPECT_EQ(leader.code(simple_batch(0, 10)), ErrorCode::MESSAGE_TOO_LARGE);
  leader.world.config.max_message_bytes = 1'000'000;
  leader.world.config.segment_bytes = 200;
  leader.log->update_config(leader.world.config);
  EXPECT_EQ(leader.code(simple_batch(0, 20)), ErrorCode::RECORD_LIST_TOO_LARGE);
}

TEST(LeaderAppend, G100_LimitsOnRecordTimes) {
  Leader leader;
  leader.world.config.timestamp_after_max_ms = 3'600'000;
  leader.log->update_config(leader.world.config);
  const std::int64_t now = leader.world.clock.wall_ms();
  const std::int64_t hour = 3'600'000;
  EXPECT_EQ(leader.code(records_at({now + 2 * hour})), ErrorCode::INVALID_TIMESTAMP);
  EXPECT_EQ(leader.code(records_at({now + hour / 2})), ErrorCode::NONE);
  EXPECT_EQ(leader.code(records_at({now - 17'520 * hour})), ErrorCode::NONE);
  EXPECT_EQ(leader.code(records_at({-1})), ErrorCode::NONE);
  EXPECT_EQ(leader.code(records_at({now, now + 2 * hour, now, now + 3 * hour})),
            ErrorCode::INVALID_TIMESTAMP);
  ASSERT_EQ(leader.errors.size(), 2U);
  EXPECT_EQ(leader.errors[0].batch_index, 1);
  EXPECT_EQ(leader.errors[1].batch_index, 3);
  EXPECT_EQ(leader.log->log_end_offset(), Offset(3));
  leader.world.config.timestamp_before_max_ms = 1000;
  leader.log->update_config(leader.world.config);
  EXPECT_EQ(leader.code(records_at({now - 10'000})), ErrorCode::INVALID_TIMESTAMP);
  EXPECT_FALSE(follow(*leader.log, simple_batch(3, 1, 6, now + 2 * hour)).error);
  leader.world.config.timestamp_type = TimestampType::kLogAppendTime;
  leader.log->update_config(leader.world.config);
  EXPECT_EQ(leader.code(records_at({now + 2 * hour})), ErrorCode::NONE);
}

TEST(LeaderAppend, G99_LogAppendTime) {
  Leader leader;
  const std::int64_t hour = 3'600'000;
  const std::int64_t now = leader.world.clock.wall_ms();
  ASSERT_TRUE(leader.client(records_at({1, 2, 3})));
  leader.world.config.timestamp_type = TimestampType::kLogAppendTime;
  leader.log->update_config(leader.world.config);
  const auto out = leader.client(records_at({now + 2 * hour, now + 5 * hour}));
  ASSERT_TRUE(out);
  EXPECT_EQ(out->log_append_time_ms, now);
  const auto batch = leader.stored(3);
  EXPECT_EQ(batch.attributes(), 0x8);
  EXPECT_EQ(batch.max_timestamp_ms(), now);
  EXPECT_EQ(batch.base_timestamp_ms(), now + 2 * hour);
  EXPECT_TRUE(batch.crc_is_valid());
  EXPECT_EQ(leader.stored(0).attributes(), 0);
  EXPECT_EQ(leader.stored(0).max_timestamp_ms(), 3);
  const auto found = [&](std::int64_t time) {
    return *leader.log->offset_for_timestamp(time, Offset(100));
  };
  EXPECT_EQ(found(now - 5000).offset, Offset(3));
  EXPECT_EQ(found(now - 5000).timestamp_ms, now);
  EXPECT_EQ(found(now + hour).offset, kNoOffset);
  EXPECT_EQ(leader.log->offset_for_max_timestamp()->offset, Offset(3));
}

TEST(LeaderAppend, ProducersDoNotSetLogAppendTime) {
  Leader leader;
  EXPECT_EQ(leader.code(with_attributes(hex_slice(kGood), 0x8)), ErrorCode::INVALID_TIMESTAMP);
}

TEST(LeaderAppend, AWrongGreatestTimeIsPutRight) {
  Leader leader;
  const Slice sent = records_at({5, 9, 7});
  Bytes bytes(sent.span().begin(), sent.span().end());
  store_be<std::int64_t>(bytes.data() + batch_at::kMaxTimestamp, 1000);
  store_be(bytes.data() + batch_at::kCrc, crc32c(ByteSpan(bytes).subspan(batch_at::kAttributes)));
  ASSERT_TRUE(leader.client(Slice::take(std::move(bytes))));
  EXPECT_EQ(leader.stored(0).max_timestamp_ms(), 9);
  EXPECT_TRUE(leader.stored(0).crc_is_valid());
}

TEST(LeaderAppend, G26_EveryFormThatKafkaTakesIsStoredAsSent) {
  const char* forms[] = {
      "00000000000000000000003f0000000002a00c8ddb0002000000000000018bcfe568000000018bcfe56800ffffff"
      "ffffff"
      "ffffffffffffffff000000010c2c16000000010a68656c6c6f00",
      "0000000000000000000000530000000002f9ce1f580002000000000000018bcfe568000000018bcfe56800ffffff"
      "ffffff"
      "ffffffffffffffff0000000182534e415050590000000001000000010000000e0c2c16000000010a68656c6c6f0"
      "0",
      "0000000000000000000000530000000002449dc93c0002000000000000018bcfe568000000018bcfe56800ffffff"
      "ffffff"
      "ffffffffffffffff0000000182534e415050590001000000010000000000000e0c2c16000000010a68656c6c6f0"
      "0",
      "0000000000000000000000710000000002d490ef320001000000010000018bcfe568000000018bcfe56800ffffff"
      "ffffff"
      "ffffffffffffffff000000021f8b08000000000002031363606060e4ca48cdc9c9671063600000de5cbe280f0000"
      "001f8b"
      "08000000000002036362e42acf2fca49610000ed4a0a2c09000000"};
  for (const char* hex : forms) {
    Leader leader;
    leader.world.config.compression_type = "producer";
    const auto out = leader.client(hex_slice(hex));
    ASSERT_TRUE(out) << out.error().message;
    // Base offset 0 and everything from the magic byte on is as it was sent.
    EXPECT_EQ(to_hex(leader.stored(0).bytes().span().subspan(16)), std::string(hex).substr(32));
    // As a mirror the whole batch stays, epoch included.
    ASSERT_TRUE(leader.log->truncate_to(Offset(0)));
    EXPECT_FALSE(follow(*leader.log, hex_slice(hex)).error);
    EXPECT_EQ(to_hex(read_all(*leader.log, 0)), hex);
  }
}

TEST(LeaderAppend, ATopicsOwnCodecIsApplied) {
  for (const char* name : {"gzip", "snappy", "lz4", "zstd", "uncompressed", "producer"}) {
    Leader leader;
    leader.world.config.compression_type = name;
    leader.log->update_config(leader.world.config);
    const Slice plain = simple_batch(0, 50);
    const auto sent = *RecordBatchView::parse(plain);
    const auto packed = compression::compress(Compression::kLz4, sent.payload());
    RecordBatchBuilder builder{RecordBatchBuilder::Options()};
    for (const auto& record : *parse_records(sent, sent.payload())) {
      builder.add(record.timestamp_ms, record.key, record.value);
    }
    ASSERT_TRUE(leader.client(builder.build_compressed(Compression::kLz4, packed->span())));
    const auto batch = leader.stored(0);
    EXPECT_TRUE(batch.crc_is_valid());
    const auto payload = compression::decompress(batch.compression(), batch.payload(), 1'000'000);
    ASSERT_TRUE(payload);
    EXPECT_EQ(*parse_records(batch, *payload), *parse_records(sent, sent.payload()));
    const std::string asked = name;
    const std::map<std::string, Compression> codecs{
        {"gzip", Compression::kGzip}, {"snappy", Compression::kSnappy},
        {"lz4", Compression::kLz4},   {"producer", Compression::kLz4},
        {"zstd", Compression::kZstd}, {"uncompressed", Compression::kNone}};
    EXPECT_EQ(batch.compression(), codecs.at(asked)) << asked;
  }
}

TEST(LeaderAppend, ACoordinatorMayAppendSeveralBatchesAtOnce) {
  Leader leader;
  ByteChain both(simple_batch(0, 2));
  both.append(end_transaction_marker(Offset(0), LeaderEpoch(0), kGivenTimeMs, ProducerId(1),
                                     ProducerEpoch(0), true, 1));
  const auto out =
      leader.log->append_as_leader(*both.flatten(), LeaderEpoch(2), AppendOrigin::kCoordinator);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->last_offset, Offset(2));
  EXPECT_TRUE(leader.stored(2).is_control());
  EXPECT_EQ(leader.stored(2).base_offset(), Offset(2));
}

// ---- time ----

TEST(OffsetsByTime, G50_AnEmptyLogHasNone) {
  LogWorld world;
  const auto log = world.open();
  const auto found = log->offset_for_timestamp(5, Offset(0));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->offset, kNoOffset);
  EXPECT_EQ(found->timestamp_ms, -1);
  EXPECT_EQ(found->epoch, kNoLeaderEpoch);
  EXPECT_EQ(log->offset_for_max_timestamp()->offset, kNoOffset);
}

TEST(OffsetsByTime, FindsTheFirstRecordOverManySegments) {
  LogWorld world;
  world.config.segment_bytes = 1000;
  world.config.index_interval_bytes = 150;
  auto log = world.open();
  for (int i = 0; i < 60; ++i) follow(*log, simple_batch(i * 2, 2, i / 20, 1000 + i * 10));
  for (int pass = 0; pass < 3; ++pass) {
    for (int i = 0; i < 60; ++i) {
      const auto exact = log->offset_for_timestamp(1000 + i * 10, Offset(120));
      EXPECT_EQ(exact->offset, Offset(i * 2));
      EXPECT_EQ(exact->epoch, LeaderEpoch(i / 20));
      const auto between = log->offset_for_timestamp(1000 + i * 10 - 5, Offset(120));
      EXPECT_EQ(between->offset, Offset(i * 2));
    }
    EXPECT_EQ(log->offset_for_timestamp(1591, Offset(120))->offset, kNoOffset);
    EXPECT_EQ(log->offset_for_timestamp(1590, Offset(118))->offset, kNoOffset);  // beyond the limit
    EXPECT_EQ(log->offset_for_max_timestamp()->offset, Offset(118));
    EXPECT_TRUE(pass > 0 || log->close_clean());
    log = pass == 0 ? world.open_clean() : world.open_unclean();
  }
}

TEST(OffsetsByTime, TimesThatGoBack) {
  LogWorld world;
  world.config.index_interval_bytes = 0;
  const auto log = world.open();
  const std::int64_t times[] = {100, 300, 200, 400, 50, 400};
  for (int i = 0; i < 6; ++i) follow(*log, simple_batch(i, 1, 0, times[i]));
  EXPECT_EQ(log->offset_for_timestamp(150, Offset(9))->offset, Offset(1));
  EXPECT_EQ(log->offset_for_timestamp(301, Offset(9))->offset, Offset(3));
  EXPECT_EQ(log->offset_for_timestamp(0, Offset(9))->offset, Offset(0));
  EXPECT_EQ(log->offset_for_max_timestamp()->offset, Offset(3));
  ASSERT_TRUE(*log->advance_log_start_offset(Offset(2)));
  EXPECT_EQ(log->offset_for_timestamp(250, Offset(9))->offset, Offset(3));
}

TEST(OffsetsByTime, G61_TheHorizonIsNotARecordTime) {
  LogWorld world;
  auto log = world.open();
  follow(*log, hex_slice(kHorizonBatch));
  for (int pass = 0; pass < 2; ++pass) {
    const auto first = log->offset_for_timestamp(1'700'000'000'000, Offset(300));
    EXPECT_EQ(first->offset, Offset(200));
    EXPECT_EQ(first->timestamp_ms, 1'700'000'000'000);
    EXPECT_EQ(log->offset_for_timestamp(1'700'000'000'006, Offset(300))->offset, kNoOffset);
    EXPECT_EQ(log->offset_for_max_timestamp()->offset, Offset(201));
    log = world.open_unclean();
  }
  EXPECT_EQ(to_hex(read_all(*log, 0)), kHorizonBatch);
}

TEST(OffsetsByTime, CompressedBatchesAreOpened) {
  LogWorld world;
  const auto log = world.open();
  RecordBatchBuilder::Options options;
  RecordBatchBuilder builder(options);
  for (int i = 0; i < 10; ++i) builder.add(100 + i, bytes_of("k"), bytes_of("value"));
  const auto packed = compression::compress(Compression::kZstd, Slice::copy_of(builder.payload()));
  follow(*log, builder.build_compressed(Compression::kZstd, packed->span()));
  EXPECT_EQ(log->offset_for_timestamp(104, Offset(10))->offset, Offset(4));
  EXPECT_EQ(log->offset_for_max_timestamp()->offset, Offset(9));
}

}  // namespace
}  // namespace kmirror::storage
