// Appending, reading and opening again: the plain life of a log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kmirror/model/error_code.h"
#include "support/log_world.h"

namespace kmirror::storage {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using namespace kmirror::testing;

Bytes joined(const std::vector<Slice>& slices) {
  Bytes out;
  for (const auto& slice : slices) {
    out.insert(out.end(), slice.span().begin(), slice.span().end());
  }
  return out;
}

TEST(PartitionLog, ANewLogIsEmptyAndHasItsFiles) {
  LogWorld world;
  const auto log = world.open();
  EXPECT_EQ(log->log_start_offset(), Offset(0));
  EXPECT_EQ(log->log_end_offset(), Offset(0));
  EXPECT_TRUE(world.has("00000000000000000000.log"));
  EXPECT_TRUE(world.has("leader-epoch-checkpoint"));
  const Bytes metadata = world.contents("partition.metadata");
  EXPECT_EQ(std::string(metadata.begin(), metadata.end()),
            "version: 0\ntopic_id: " + world.topic_id.text() + "\n");
}

TEST(PartitionLog, FollowerStoresBytesAsTheyCame) {
  LogWorld world;
  const auto log = world.open();
  const std::vector<Slice> batches{simple_batch(0, 3, 1), simple_batch(3, 2, 1),
                                   hex_slice(kGappedBatch)};
  const auto appended = follow(*log, Slice::take(joined(batches)));
  EXPECT_FALSE(appended.error);
  EXPECT_EQ(appended.batches, 3U);
  EXPECT_EQ(appended.log_end_offset, Offset(106));
  EXPECT_EQ(log->high_watermark(), Offset(106));
  EXPECT_EQ(read_all(*log, 0), joined(batches));
  EXPECT_EQ(world.contents("00000000000000000000.log"), joined(batches));
}

TEST(PartitionLog, FollowerTakesFragmentsThatCutABatch) {
  LogWorld world;
  const auto log = world.open();
  const Bytes all = joined({simple_batch(0, 3), simple_batch(3, 2), simple_batch(5, 40)});
  ByteChain chain;
  for (std::size_t at = 0; at < all.size(); at += 50) {
    chain.append(
        Slice::copy_of(ByteSpan(all).subspan(at, std::min<std::size_t>(50, all.size() - at))));
  }
  const auto appended = log->append_as_follower(chain, false);
  EXPECT_FALSE(appended.error);
  EXPECT_EQ(appended.batches, 3U);
  EXPECT_EQ(appended.bytes, all.size());
  EXPECT_EQ(read_all(*log, 0), all);
}

TEST(PartitionLog, G15_OffsetInsideABatchOrAGap) {
  LogWorld world;
  const auto log = world.open();
  const Slice first = simple_batch(0, 3);
  const Slice second = simple_batch(3, 2);
  const Slice third = hex_slice(kGappedBatch);
  follow(*log, Slice::take(joined({first, second, third})));
  EXPECT_EQ(read_all(*log, 1), joined({first, second, third}));
  EXPECT_EQ(read_all(*log, 50), joined({third}));
  EXPECT_EQ(read_all(*log, 104), joined({third}));
  ReadRequest at_end;
  at_end.from = Offset(106);
  const auto empty = log->read(at_end);
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->records.empty());
  at_end.from = Offset(107);
  EXPECT_EQ(to_kafka_error(log->read(at_end).error()), ErrorCode::OFFSET_OUT_OF_RANGE);
}

TEST(PartitionLog, G25_BatchesWithoutRecordsAndGaps) {
  LogWorld world;
  const auto log = world.open();
  follow(*log, simple_batch(0, 40));
  const Slice empty = hex_slice(kEmptyBatch);
  EXPECT_FALSE(follow(*log, empty).error);
  EXPECT_EQ(log->log_end_offset(), Offset(45));
  EXPECT_FALSE(follow(*log, hex_slice(kGappedBatch)).error);
  EXPECT_EQ(log->log_end_offset(), Offset(106));
  ReadRequest request;
  request.from = Offset(41);
  const auto read = log->read(request);
  ASSERT_TRUE(read);
  const Slice bytes = *read->records.flatten();
  EXPECT_EQ(to_hex(bytes.span().first(empty.size())), kEmptyBatch);
  ASSERT_EQ(log->active_producers().size(), 1U);
  EXPECT_EQ(log->active_producers()[0].last_sequence, 14);
}

TEST(PartitionLog, G12_TheFirstBatchComesWhole) {
  LogWorld world;
  const auto log = world.open();
  const Slice first = simple_batch(0, 3);
  follow(*log, Slice::take(joined({first, simple_batch(3, 2)})));
  ReadRequest request;
  request.max_bytes = 1;
  EXPECT_EQ(log->read(request)->records.size(), first.size());
  request.at_least_one_batch = false;
  EXPECT_EQ(log->read(request)->records.size(), 0U);
  // A limit that the first batch keeps cuts the next one, as real brokers do.
  request.max_bytes = first.size() + 5;
  EXPECT_EQ(log->read(request)->records.size(), first.size() + 5);
}

TEST(PartitionLog, G24_APartialLastBatchIsDropped) {
  LogWorld world;
  const auto log = world.open();
  const Slice first = simple_batch(0, 1);
  const Slice second = simple_batch(1, 1);
  for (const std::size_t cut : {5UL, 12UL, 17UL, 60UL}) {
    Bytes bytes = joined({first});
    bytes.insert(bytes.end(), second.span().begin(),
                 second.span().begin() + static_cast<std::ptrdiff_t>(cut));
    const auto appended = follow(*log, Slice::take(std::move(bytes)));
    EXPECT_FALSE(appended.error);
    EXPECT_EQ(appended.bytes, first.size());
    EXPECT_EQ(log->log_end_offset(), Offset(1));
    ASSERT_TRUE(log->truncate_to(Offset(0)));
  }
}

TEST(PartitionLog, G58_ABadBatchKeepsWhatStandsBeforeIt) {
  LogWorld world;
  const auto log = world.open();
  const Slice good = simple_batch(0, 5);
  Bytes bad = joined({simple_batch(5, 1)});
  bad.back() ^= 1;
  Bytes both = joined({good});
  both.insert(both.end(), bad.begin(), bad.end());
  for (int i = 0; i < 3; ++i) {
    const auto appended = follow(*log, i == 0 ? Slice::copy_of(both) : Slice::copy_of(bad));
    ASSERT_TRUE(appended.error);
    EXPECT_EQ(to_kafka_error(*appended.error), ErrorCode::CORRUPT_MESSAGE);
    EXPECT_THAT(appended.error->message, ::testing::HasSubstr("5"));
    EXPECT_EQ(appended.log_end_offset, Offset(5));
    EXPECT_EQ(appended.batches, i == 0 ? 1U : 0U);
  }
  EXPECT_EQ(read_all(*log, 0), joined({good}));
  // The caller that checked the CRC itself is believed.
  EXPECT_FALSE(log->append_as_follower(ByteChain(Slice::copy_of(bad)), true).error);
}

TEST(PartitionLog, OffsetsMustRise) {
  LogWorld world;
  const auto log = world.open();
  follow(*log, simple_batch(0, 5));
  const auto again = follow(*log, simple_batch(0, 5));
  ASSERT_TRUE(again.error);
  EXPECT_EQ(to_kafka_error(*again.error), ErrorCode::OFFSET_OUT_OF_RANGE);
  const auto overlap = follow(*log, simple_batch(3, 5));
  ASSERT_TRUE(overlap.error);
  EXPECT_EQ(to_kafka_error(*overlap.error), ErrorCode::OFFSET_OUT_OF_RANGE);
  const auto back = follow(*log, Slice::take(joined({simple_batch(7, 2), simple_batch(8, 2)})));
  ASSERT_TRUE(back.error);
  EXPECT_EQ(to_kafka_error(*back.error), ErrorCode::CORRUPT_MESSAGE);
  EXPECT_EQ(back.log_end_offset, Offset(9));
}

TEST(PartitionLog, RollsBySizeAndNamesSegmentsByOffset) {
  LogWorld world;
  world.config.segment_bytes = static_cast<std::int64_t>(2 * simple_batch(0, 1).size());
  const auto log = world.open();
  Bytes all;
  for (int i = 0; i < 7; ++i) {
    const Slice batch = simple_batch(i, 1);
    const auto span = batch.span();
    all.insert(all.end(), span.begin(), span.end());
  }
  EXPECT_FALSE(follow(*log, Slice::copy_of(all)).error);
  EXPECT_EQ(log->segment_count(), 4U);
  EXPECT_THAT(world.names(), Contains("00000000000000000002.log"));
  EXPECT_THAT(world.names(), Contains("00000000000000000006.log"));
  EXPECT_THAT(world.names(), Contains("00000000000000000006.snapshot"));
  EXPECT_EQ(read_all(*log, 0), all);
  EXPECT_EQ(log->size_bytes(), all.size());
}

TEST(PartitionLog, G40_OffsetsFarApartBeginASegment) {
  LogWorld world;
  auto log = world.open();
  const Slice near = simple_batch(0, 1);
  const Slice far = simple_batch(3'000'000'000, 1);
  EXPECT_FALSE(follow(*log, Slice::take(joined({near, far}))).error);
  EXPECT_TRUE(world.has("00000000003000000000.log"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(read_all(*log, 1), joined({far}));
    EXPECT_EQ(read_all(*log, 3'000'000'000), joined({far}));
    EXPECT_EQ(log->log_end_offset(), Offset(3'000'000'001));
    EXPECT_TRUE(i > 0 || log->close_clean());
    log.reset();
    log = i == 0 ? world.open_clean() : world.open_unclean();
  }
}

TEST(PartitionLog, G98_RollsByRecordTime) {
  LogWorld world;
  world.config.segment_ms = 60'000;
  const auto log = world.open();
  const std::int64_t y = kGivenTimeMs;
  std::int64_t offset = 0;
  for (const std::int64_t t : {y, y + 10'000, y + 59'999, y + 60'001, y, y + 63'072'000'000}) {
    EXPECT_FALSE(follow(*log, simple_batch(offset++, 1, 0, t)).error);
  }
  EXPECT_EQ(log->segment_count(), 3U);
  EXPECT_TRUE(world.has("00000000000000000003.log"));
  EXPECT_TRUE(world.has("00000000000000000005.log"));
}

TEST(PartitionLog, OpensAgainAfterACleanStop) {
  LogWorld world;
  world.config.segment_bytes = 3000;
  world.config.index_interval_bytes = 200;
  Bytes all;
  {
    const auto log = world.open();
    for (int i = 0; i < 100; ++i) {
      const Slice batch = simple_batch(i, 1, i / 30, kGivenTimeMs + i);
      all.insert(all.end(), batch.span().begin(), batch.span().end());
      EXPECT_FALSE(follow(*log, batch).error);
    }
    ASSERT_TRUE(log->close_clean());
  }
  const auto log = world.open_clean();
  EXPECT_EQ(log->log_end_offset(), Offset(100));
  EXPECT_EQ(log->recovery_point(), Offset(100));
  EXPECT_THAT(
      log->epoch_entries(),
      ElementsAre(EpochEntry(LeaderEpoch(0), Offset(0)), EpochEntry(LeaderEpoch(1), Offset(30)),
                  EpochEntry(LeaderEpoch(2), Offset(60)), EpochEntry(LeaderEpoch(3), Offset(90))));
  EXPECT_EQ(read_all(*log, 0), all);
  for (int i = 0; i < 100; ++i) {
    ReadRequest request;
    request.from = Offset(i);
    request.max_bytes = 1;
    const auto batch = RecordBatchView::parse(*log->read(request)->records.flatten());
    ASSERT_TRUE(batch);
    EXPECT_EQ(batch->base_offset(), Offset(i));
  }
  EXPECT_FALSE(follow(*log, simple_batch(100, 1, 3, kGivenTimeMs + 100)).error);
  EXPECT_EQ(log->log_end_offset(), Offset(101));
}

TEST(PartitionLog, WaitersWakeOnceWhenSomethingMoves) {
  LogWorld world;
  const auto log = world.open();
  int woken = 0;
  log->add_waiter(Offset(0), Offset(0), [&] { ++woken; });
  const auto removed = log->add_waiter(Offset(0), Offset(0), [&] { woken += 100; });
  log->remove_waiter(removed);
  EXPECT_EQ(woken, 0);
  follow(*log, simple_batch(0, 1));
  EXPECT_EQ(woken, 1);
  follow(*log, simple_batch(1, 1));
  EXPECT_EQ(woken, 1);
  log->add_waiter(Offset(1), Offset(2), [&] { ++woken; });  // the end has already moved
  EXPECT_EQ(woken, 2);
  log->add_waiter(Offset(2), Offset(2), [&] { ++woken; });
  log->take_offline(kafka_error(ErrorCode::KAFKA_STORAGE_ERROR, "test"));
  EXPECT_EQ(woken, 3);
}

TEST(PartitionLog, AForeignTopicIdIsRefused) {
  LogWorld world;
  world.open();
  PartitionLog::Identity identity;
  identity.topic_partition = TopicPartition("t", 0);
  identity.topic_id = Uuid(std::array<std::uint8_t, 16>{9});
  identity.directory = world.directory();
  const auto log = PartitionLog::open(world.environment, identity, world.config, {});
  ASSERT_FALSE(log);
  EXPECT_EQ(to_kafka_error(log.error()), ErrorCode::INCONSISTENT_TOPIC_ID);
  // Lost or empty: written again.
  world.replace("partition.metadata", {});
  EXPECT_TRUE(PartitionLog::open(world.environment, identity, world.config, {}));
}

TEST(PartitionLog, FlushMovesTheRecoveryPoint) {
  LogWorld world;
  const auto log = world.open();
  follow(*log, simple_batch(0, 5));
  EXPECT_EQ(log->recovery_point(), Offset(0));
  const auto task = log->start_flush();
  follow(*log, simple_batch(5, 5));
  ASSERT_TRUE(task.run());
  log->flush_done(task);
  EXPECT_EQ(log->recovery_point(), Offset(5));
  // A truncation in between makes a flush worthless.
  const auto late = log->start_flush();
  ASSERT_TRUE(log->truncate_to(Offset(5)));
  follow(*log, simple_batch(5, 5));
  ASSERT_TRUE(late.run());
  log->flush_done(late);
  EXPECT_EQ(log->recovery_point(), Offset(5));
}

}  // namespace
}  // namespace kmirror::storage
