// G23 (newer epoch), G24 (partial batch), G25 (compacted and empty batches), G58 (broken batches).
#include "mirror/batch_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kmirror/model/batch_header.h"
#include "unit/mirror/batches.h"

namespace kmirror::mirror {
namespace {

using testing::HasSubstr;

CheckedBatches check(const Slice& records, std::int64_t expected, std::int32_t asked_epoch = -1,
                     std::int32_t own_epoch = -1) {
  BatchCheckInput input;
  input.records = records;
  input.expected = Offset(expected);
  input.asked_epoch = LeaderEpoch{asked_epoch};
  input.own_epoch = LeaderEpoch{own_epoch};
  return check_batches(input);
}

TEST(BatchCheck, GoodBatchesAreSharedNotCopied) {
  const Slice records = join({batch(10, 12, 3), batch(13, 13, 4)});
  const CheckedBatches checked = check(records, 10, 4, 15);
  EXPECT_EQ(checked.stop, CheckStop::kNone);
  EXPECT_EQ(checked.good.data(), records.data());
  EXPECT_EQ(checked.good.size(), records.size());
  EXPECT_EQ(checked.batch_count, 2U);
  EXPECT_EQ(checked.next_offset, Offset(14));
  EXPECT_EQ(checked.last_epoch, LeaderEpoch{4});
  EXPECT_EQ(checked.max_timestamp_ms, 1'700'000'000'013);
}

TEST(BatchCheck, NothingIsNothing) {
  const CheckedBatches checked = check(Slice(), 7);
  EXPECT_EQ(checked.stop, CheckStop::kNone);
  EXPECT_EQ(checked.next_offset, Offset(7));
  EXPECT_EQ(checked.last_epoch, kNoLeaderEpoch);
  EXPECT_EQ(checked.needed_bytes, 0U);
}

// G23: asked with epoch 4; 10-11 of epoch 4, 12 of epoch 5, 13 of epoch 4.
TEST(BatchCheck, NothingFromANewerEpochOnIsTaken) {
  const Slice records = join({batch(10, 11, 4), batch(12, 12, 5), batch(13, 13, 4)});
  const CheckedBatches checked = check(records, 10, 4);
  EXPECT_EQ(checked.next_offset, Offset(12));
  EXPECT_EQ(checked.stop, CheckStop::kSourceEpochAhead);
  EXPECT_EQ(checked.stop_epoch, LeaderEpoch{5});
  EXPECT_EQ(check(records, 10, -1).stop, CheckStop::kNone) << "epoch -1 means: do not check";
}

TEST(BatchCheck, OurOwnEpochIsRaisedBeforeTheAppend) {
  const Slice records = join({batch(10, 11, 4), batch(12, 12, 7)});
  const CheckedBatches checked = check(records, 10, 9, 6);
  EXPECT_EQ(checked.next_offset, Offset(12));
  EXPECT_EQ(checked.stop, CheckStop::kOwnEpochBehind);
  EXPECT_EQ(checked.stop_epoch, LeaderEpoch{7});
}

// G24: cut at 5, 12, 17 and 60 bytes into the second batch.
TEST(BatchCheck, APartialBatchAtTheEndIsIgnored) {
  const Bytes first = batch(0, 1, 0);
  const Bytes second = batch(2, 3, 0);
  for (const std::size_t cut : {5U, 12U, 17U, 60U}) {
    const Bytes part(second.begin(), second.begin() + cut);
    const CheckedBatches checked = check(join({first, part}), 0);
    EXPECT_EQ(checked.stop, CheckStop::kNone) << cut;
    EXPECT_EQ(checked.good.size(), first.size()) << cut;
    EXPECT_EQ(checked.next_offset, Offset(2)) << cut;
    EXPECT_EQ(checked.needed_bytes, 0U) << cut;
  }
}

// G24: nothing whole arrived, so the next request asks for more.
TEST(BatchCheck, AFirstBatchThatIsCutSaysHowMuchItNeeds) {
  const Bytes whole = batch(0, 1, 0, std::string(500, 'x'));
  const Bytes part(whole.begin(), whole.begin() + 90);
  EXPECT_EQ(check(join({part}), 0).needed_bytes, whole.size());
  const Bytes less(whole.begin(), whole.begin() + 11);
  EXPECT_EQ(check(join({less}), 0).needed_bytes, kBatchHeaderBytes);
}

// G25: last offset is base + delta whatever the record count.
TEST(BatchCheck, AnEmptyBatchOfACompactedTopicIsTakenAsItIs) {
  const Slice empty = Slice::take(
      from_hex("0000000000000028000000310000000302c833b0020000000000040000018bcfe568000000018bcfe5"
               "6800000000000000000900000000000a00000000"));
  const CheckedBatches checked = check(empty, 40);
  EXPECT_EQ(checked.stop, CheckStop::kNone);
  EXPECT_EQ(checked.good.size(), empty.size());
  EXPECT_EQ(checked.next_offset, Offset(45));
  EXPECT_EQ(check(empty, 30).next_offset, Offset(45)) << "a gap upwards is legal";
}

// G26: odd but valid compression bytes are not looked at.
TEST(BatchCheck, CompressedPayloadsAreNotOpened) {
  for (const char* hex :
       {"00000000000000000000003f0000000002a00c8ddb0002000000000000018bcfe568000000018bcfe56800ffff"
        "ffffffffffffffffffffffff000000010c2c16000000010a68656c6c6f00",
        "0000000000000000000000530000000002449dc93c0002000000000000018bcfe568000000018bcfe56800ffff"
        "ffffffffffffffffffffffff0000000182534e415050590001000000010000000000000e0c2c16000000010a68"
        "656c6c6f00",
        "00000000000000000000003cb9cedf460003ffffffff0000002e04224d1860401a1f0000800000000000000000"
        "0000001387a77ab20000ffffffff0000000568656c6c6f00000000"}) {
    const Slice records = Slice::take(from_hex(hex));
    const CheckedBatches checked = check(records, 0);
    EXPECT_EQ(checked.stop, CheckStop::kNone) << checked.reason;
    EXPECT_EQ(checked.next_offset, Offset(1));
    EXPECT_EQ(checked.good.size(), records.size());
  }
}

struct Broken {
  const char* what;
  Bytes bytes;
  const char* reason;
};

// G58 (b)-(f): the good batch before it counts, nothing of the broken one does.
TEST(BatchCheck, ABrokenBatchStopsAtItsOwnStart) {
  const Bytes good = batch(0, 4, 0);
  const Bytes next = batch(5, 6, 0);
  const std::vector<Broken> cases = {
      {"CRC", with_bad_crc(next), "CRC of the batch at offset 5 is wrong"},
      {"magic 3", with_field<std::int8_t>(next, kMagicPosition, 3), "magic 3"},
      {"length 10", with_field<std::int32_t>(next, batch_at::kLength, 10), "length 10"},
      {"length -1", with_field<std::int32_t>(next, batch_at::kLength, -1), "length -1"},
      {"delta -1", with_field<std::int32_t>(next, batch_at::kLastOffsetDelta, -1),
       "last offset delta -1"},
      {"below the end", batch(3, 4, 0), "lies below the end of the log, 5"},
      {"overlap", batch(4, 6, 0), "overlaps the end of the log, 5"},
  };
  for (const Broken& broken : cases) {
    const CheckedBatches checked = check(join({good, broken.bytes, batch(7, 7, 0)}), 0);
    EXPECT_EQ(checked.stop, CheckStop::kCorrupt) << broken.what;
    EXPECT_EQ(checked.good.size(), good.size()) << broken.what;
    EXPECT_EQ(checked.next_offset, Offset(5)) << broken.what;
    EXPECT_THAT(checked.reason, HasSubstr(broken.reason)) << broken.what;
  }
}

}  // namespace
}  // namespace kmirror::mirror
