#include "kmirror/model/record_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kmirror/bytes/crc32.h"
#include "kmirror/bytes/crc32c.h"
#include "support/batches.h"

namespace kmirror {
namespace {

using testing::bytes_of;
using testing::hex_slice;
using testing::kEmptyBatch;
using testing::kGappedBatch;
using testing::kGivenTimeMs;
using testing::kHorizonBatch;

RecordBatchView parsed(std::string_view hex) {
  auto batch = RecordBatchView::parse(hex_slice(hex));
  EXPECT_TRUE(batch) << batch.error().message;
  return *batch;
}

ErrorCode code_of(const Error& error) { return to_kafka_error(error); }

TEST(RecordBatchView, G15_ReadsACompactedBatchWithGaps) {
  const auto batch = parsed(kGappedBatch);
  EXPECT_EQ(batch.base_offset(), Offset(100));
  EXPECT_EQ(batch.last_offset(), Offset(105));
  EXPECT_EQ(batch.record_count(), 2);
  EXPECT_TRUE(batch.crc_is_valid());
  const auto records = parse_records(batch, batch.payload());
  ASSERT_TRUE(records) << records.error().message;
  ASSERT_EQ(records->size(), 2U);
  EXPECT_EQ((*records)[0].offset, Offset(100));
  EXPECT_EQ((*records)[1].offset, Offset(103));
  EXPECT_EQ((*records)[1].value, bytes_of("b"));
  EXPECT_EQ((*records)[1].key, std::nullopt);
}

TEST(RecordBatchView, G25_ReadsABatchWithoutRecords) {
  const auto batch = parsed(kEmptyBatch);
  EXPECT_EQ(batch.base_offset(), Offset(40));
  EXPECT_EQ(batch.next_offset(), Offset(45));
  EXPECT_EQ(batch.record_count(), 0);
  EXPECT_EQ(batch.producer_id(), ProducerId(9));
  EXPECT_EQ(batch.base_sequence(), 10);
  EXPECT_EQ(batch.last_sequence(), 14);
  EXPECT_TRUE(batch.crc_is_valid());
  const auto records = parse_records(batch, batch.payload());
  ASSERT_TRUE(records);
  EXPECT_TRUE(records->empty());
}

TEST(RecordBatchView, G61_RecordTimeIsBasePlusDeltaUnderADeleteHorizon) {
  const auto batch = parsed(kHorizonBatch);
  EXPECT_EQ(batch.delete_horizon_ms(), 1'767'225'600'000);
  EXPECT_EQ(batch.max_timestamp_ms(), kGivenTimeMs + 5);
  EXPECT_TRUE(batch.crc_is_valid());
  const auto records = parse_records(batch, batch.payload());
  ASSERT_TRUE(records) << records.error().message;
  ASSERT_EQ(records->size(), 2U);
  EXPECT_EQ((*records)[0].timestamp_ms, kGivenTimeMs);
  EXPECT_EQ((*records)[0].value, std::nullopt);
  EXPECT_EQ((*records)[1].timestamp_ms, kGivenTimeMs + 5);
  EXPECT_EQ((*records)[1].value, bytes_of("x"));
}

TEST(RecordBatchView, G97_TombstoneWithHorizonKeepsItsTime) {
  const auto batch = parsed(
      "00000000000000020000003a0000000002bdf54ccf0040000000000000018bcfe577a00000018bcfe56800ffffff"
      "ffffffffffffffffffffff000000011000bf3e0002610100");
  EXPECT_EQ(batch.delete_horizon_ms(), kGivenTimeMs + 4000);
  const auto records = parse_records(batch, batch.payload());
  ASSERT_TRUE(records);
  EXPECT_EQ((*records)[0].timestamp_ms, kGivenTimeMs);
}

TEST(RecordBatchView, G26_ReadsAnOldLz4Wrapper) {
  const auto batch = parsed(
      "00000000000000000000003cb9cedf460003ffffffff0000002e04224d1860401a1f000080000000000000000000"
      "00001387a77ab20000ffffffff0000000568656c6c6f00000000");
  EXPECT_EQ(batch.magic(), 0);
  EXPECT_EQ(batch.compression(), Compression::kLz4);
  EXPECT_TRUE(batch.crc_is_valid());
  EXPECT_EQ(batch.partition_leader_epoch(), kNoLeaderEpoch);
  EXPECT_FALSE(batch.has_producer_id());
  EXPECT_EQ(batch.max_timestamp_ms(), -1);
  EXPECT_FALSE(parse_records(batch, batch.payload()));
}

TEST(RecordBatchView, RefusesEveryTruncationWithoutReadingPastTheEnd) {
  for (const auto hex : {kGappedBatch, kEmptyBatch, kHorizonBatch}) {
    const Bytes whole = from_hex(hex);
    for (std::size_t n = 0; n < whole.size(); ++n) {
      // A fresh allocation of exactly n bytes lets the sanitizer see a read past the end.
      const auto cut = RecordBatchView::parse(Slice::copy_of(ByteSpan(whole).first(n)));
      ASSERT_FALSE(cut) << n;
      EXPECT_EQ(code_of(cut.error()), ErrorCode::CORRUPT_MESSAGE);
    }
  }
}

TEST(RecordBatchView, G58_RefusesHeadersThatCannotBe) {
  const auto with = [](std::size_t at, std::string_view hex) {
    Bytes bytes = from_hex(kGappedBatch);
    const Bytes patch = from_hex(hex);
    std::copy(patch.begin(), patch.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    return RecordBatchView::parse(Slice::take(std::move(bytes)));
  };
  EXPECT_TRUE(with(kMagicPosition, "02"));
  EXPECT_FALSE(with(kMagicPosition, "03"));
  EXPECT_FALSE(with(kMagicPosition, "ff"));
  EXPECT_FALSE(with(8, "0000000a"));
  EXPECT_FALSE(with(8, "ffffffff"));
  EXPECT_FALSE(with(8, "80000000"));
  EXPECT_FALSE(with(8, "7fffffff"));
  EXPECT_FALSE(with(23, "ffffffff"));
  EXPECT_FALSE(with(57, "ffffffff"));
  EXPECT_FALSE(with(0, "ffffffffffffffff"));
  EXPECT_FALSE(with(0, "7ffffffffffffffe"));
}

TEST(RecordBatchView, CrcCoversAttributesToEnd) {
  const Bytes good = from_hex(kGappedBatch);
  for (const std::size_t at : {21UL, 40UL, 60UL, good.size() - 1}) {
    Bytes bad = good;
    bad[at] ^= 1;
    const auto batch = RecordBatchView::parse(Slice::take(std::move(bad)));
    EXPECT_FALSE(batch && batch->crc_is_valid()) << at;
  }
  Bytes other_epoch = good;
  other_epoch[15] = 9;  // the leader epoch is outside the CRC
  EXPECT_TRUE(RecordBatchView::parse(Slice::take(std::move(other_epoch)))->crc_is_valid());
}

TEST(RecordBatchView, SequenceWrapsToZero) {
  EXPECT_EQ(add_sequence(2147483647, 1), 0);
  EXPECT_EQ(add_sequence(2147483646, 3), 1);
  EXPECT_EQ(add_sequence(5, 4), 9);
}

TEST(BatchIterator, G24_LeavesAPartialBatchOver) {
  const Bytes first = from_hex(kGappedBatch);
  const Bytes second = from_hex(kHorizonBatch);
  for (const std::size_t cut : {0UL, 1UL, 11UL, 12UL, 17UL, 60UL, second.size() - 1}) {
    Bytes both = first;
    both.insert(both.end(), second.begin(), second.begin() + static_cast<std::ptrdiff_t>(cut));
    BatchIterator it(Slice::take(std::move(both)));
    const auto whole = it.next();
    ASSERT_TRUE(whole && *whole);
    EXPECT_EQ((*whole)->size(), first.size());
    const auto rest = it.next();
    ASSERT_TRUE(rest) << cut;
    EXPECT_FALSE(*rest) << cut;
    EXPECT_EQ(it.left_over_bytes(), cut);
  }
}

TEST(RecordBatchBuilder, RoundTrip) {
  RecordBatchBuilder::Options options;
  options.base_offset = Offset(7);
  options.partition_leader_epoch = LeaderEpoch(3);
  options.producer_id = ProducerId(1000);
  options.producer_epoch = ProducerEpoch(2);
  options.base_sequence = 5;
  options.transactional = true;
  RecordBatchBuilder builder(options);
  RecordHeader header;
  header.key = "h";
  header.value = bytes_of("1");
  RecordHeader null_header;
  null_header.key = "n";
  builder.add(kGivenTimeMs, bytes_of("a"), bytes_of("x"), {header, null_header});
  builder.add(kGivenTimeMs - 9, std::nullopt, std::nullopt);
  builder.add(kGivenTimeMs + 4, bytes_of(""), bytes_of(""), {}, 6);
  const auto batch = RecordBatchView::parse(builder.build());
  ASSERT_TRUE(batch);
  EXPECT_TRUE(batch->crc_is_valid());
  EXPECT_EQ(batch->base_offset(), Offset(7));
  EXPECT_EQ(batch->last_offset(), Offset(13));
  EXPECT_EQ(batch->max_timestamp_ms(), kGivenTimeMs + 4);
  EXPECT_TRUE(batch->is_transactional());
  EXPECT_FALSE(batch->is_control());
  const auto records = parse_records(*batch, batch->payload());
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 3U);
  EXPECT_THAT((*records)[0].headers, ::testing::ElementsAre(header, null_header));
  EXPECT_EQ((*records)[1].timestamp_ms, kGivenTimeMs - 9);
  EXPECT_EQ((*records)[1].offset, Offset(8));
  EXPECT_EQ((*records)[2].offset, Offset(13));
  EXPECT_EQ((*records)[2].key, Bytes{});
}

TEST(RecordBatchBuilder, LogAppendTimeIsTheTimeOfEveryRecord) {
  RecordBatchBuilder::Options options;
  options.timestamp_type = TimestampType::kLogAppendTime;
  options.log_append_time_ms = 99;
  RecordBatchBuilder builder(options);
  builder.add(5, std::nullopt, std::nullopt);
  const auto batch = RecordBatchView::parse(builder.build());
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->timestamp_type(), TimestampType::kLogAppendTime);
  EXPECT_EQ((*parse_records(*batch, batch->payload()))[0].timestamp_ms, 99);
}

TEST(ControlBatch, MarkersEqualThoseOfARealBroker) {
  // Producer 1000, epoch 5, coordinator epoch 7, at offset 1, leader epoch 0.
  const auto commit = end_transaction_marker(Offset(1), LeaderEpoch(0), kGivenTimeMs,
                                             ProducerId(1000), ProducerEpoch(5), true, 7);
  EXPECT_EQ(to_hex(commit.span()),
            "000000000000000100000042000000000240d514e90030000000000000018bcfe568000000018bcfe56800"
            "00000000000003e80005ffffffff000000012000000008000000010c00000000000700");
  const auto abort = end_transaction_marker(Offset(1), LeaderEpoch(0), kGivenTimeMs,
                                            ProducerId(1000), ProducerEpoch(5), false, 7);
  EXPECT_EQ(to_hex(abort.span()),
            "0000000000000001000000420000000002b4ebc2a10030000000000000018bcfe568000000018bcfe56800"
            "00000000000003e80005ffffffff000000012000000008000000000c00000000000700");
  EXPECT_EQ(*control_record_type(*RecordBatchView::parse(commit)), ControlRecordType::kCommit);
  EXPECT_EQ(*control_record_type(*RecordBatchView::parse(abort)), ControlRecordType::kAbort);
}

TEST(ControlBatch, MirrorPidResetHasNoProducer) {
  const auto batch =
      RecordBatchView::parse(mirror_pid_reset_batch(Offset(4), LeaderEpoch(2), kGivenTimeMs));
  ASSERT_TRUE(batch);
  EXPECT_TRUE(batch->crc_is_valid());
  EXPECT_TRUE(batch->is_control());
  EXPECT_FALSE(batch->is_transactional());
  EXPECT_FALSE(batch->has_producer_id());
  EXPECT_EQ(*control_record_type(*batch), ControlRecordType::kMirrorPidReset);
}

TEST(ControlBatch, RefusesWhatHasNoType) {
  EXPECT_FALSE(control_record_type(parsed(kGappedBatch)));
  RecordBatchBuilder::Options options;
  options.control = true;
  RecordBatchBuilder builder(options);
  builder.add(0, Bytes{0, 0, 0}, std::nullopt);
  EXPECT_FALSE(control_record_type(*RecordBatchView::parse(builder.build())));
}

TEST(ParseRecords, RefusesEveryDamagedPayloadOrReadsIt) {
  const auto batch = parsed(kHorizonBatch);
  const Slice payload = batch.payload();
  for (std::size_t n = 0; n < payload.size(); ++n) {
    const auto cut = parse_records(batch, Slice::copy_of(payload.span().first(n)));
    ASSERT_FALSE(cut) << n;
    EXPECT_EQ(code_of(cut.error()), ErrorCode::INVALID_RECORD);
  }
  for (std::size_t at = 0; at < payload.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      Bytes bytes(payload.span().begin(), payload.span().end());
      bytes[at] = static_cast<std::uint8_t>(value);
      const auto records = parse_records(batch, Slice::take(std::move(bytes)));
      EXPECT_TRUE(!records || records->size() == 2U);
    }
  }
}

TEST(ParseRecords, AHugeCountReservesNoMoreThanTheBytesCanHold) {
  Bytes bytes = from_hex(kGappedBatch);
  const Bytes huge = from_hex("7fffffff");
  std::copy(huge.begin(), huge.end(), bytes.begin() + 57);
  const auto batch = RecordBatchView::parse(Slice::take(std::move(bytes)));
  ASSERT_TRUE(batch);
  EXPECT_FALSE(parse_records(*batch, batch->payload()));
}

}  // namespace
}  // namespace kmirror
