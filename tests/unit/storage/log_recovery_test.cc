// Opening after a crash: G39, G41, G42 and what indexes may look like then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kmirror/model/error_code.h"
#include "support/log_world.h"

namespace kmirror::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace kmirror::testing;

constexpr auto kFirstLog = "00000000000000000000.log";
constexpr auto kFirstIndex = "00000000000000000000.index";
constexpr auto kFirstTimeIndex = "00000000000000000000.timeindex";

TEST(LogRecovery, G39_TornTailOfEveryLength) {
  LogWorld world;
  const Slice third = simple_batch(5, 3);
  Bytes good;
  {
    const auto log = world.open();
    follow(*log, simple_batch(0, 3));
    follow(*log, simple_batch(3, 2));
    good = world.contents(kFirstLog);
    follow(*log, third);
  }
  const Bytes whole = world.contents(kFirstLog);
  for (std::size_t cut = 1; cut <= third.size(); ++cut) {
    world.replace(kFirstLog, ByteSpan(whole).first(whole.size() - cut));
    const auto log = world.open_unclean();
    ASSERT_EQ(log->log_end_offset(), Offset(5)) << cut;
    EXPECT_EQ(world.contents(kFirstLog), good);
    EXPECT_EQ(read_all(*log, 0), good);
    EXPECT_FALSE(follow(*log, third).error);
    EXPECT_EQ(read_all(*log, 0), whole);
  }
}

TEST(LogRecovery, G39_ADamagedByteCutsThere) {
  LogWorld world;
  {
    const auto log = world.open();
    for (int i = 0; i < 4; ++i) follow(*log, simple_batch(i, 1));
  }
  const Bytes whole = world.contents(kFirstLog);
  const std::size_t size = whole.size() / 4;
  for (const std::size_t at : {size * 2 + 17, size * 2 + 25, size * 3 - 1, size * 2 + 8}) {
    Bytes bad = whole;
    bad[at] ^= 0x40;
    world.replace(kFirstLog, bad);
    const auto log = world.open_unclean();
    EXPECT_EQ(log->log_end_offset(), Offset(2)) << at;
    EXPECT_EQ(world.contents(kFirstLog).size(), size * 2);
  }
}

TEST(LogRecovery, G39_IndexesOfEveryKindOfDamage) {
  LogWorld world;
  world.config.index_interval_bytes = 100;
  {
    const auto log = world.open();
    for (int i = 0; i < 30; ++i) follow(*log, simple_batch(i, 1, 0, kGivenTimeMs + i));
    ASSERT_TRUE(log->close_clean());
  }
  const Bytes index = world.contents(kFirstIndex);
  const Bytes times = world.contents(kFirstTimeIndex);
  const Bytes whole = world.contents(kFirstLog);
  ASSERT_GT(index.size(), 40U);
  const auto with_index = [&](const Bytes& bytes) {
    for (const bool clean : {false, true}) {
      for (const auto point : {0, 30}) {
        world.replace(kFirstIndex, bytes);
        world.replace(kFirstTimeIndex, Bytes(times.begin(), times.end()));
        PartitionLog::OpenOptions options;
        options.clean = clean;
        options.recovery_point = Offset(point);
        const auto log = world.open(options);
        EXPECT_EQ(log->log_end_offset(), Offset(30));
        for (int i = 0; i < 30; ++i) {
          ReadRequest request;
          request.from = Offset(i);
          request.max_bytes = 1;
          const auto read = log->read(request);
          ASSERT_TRUE(read);
          EXPECT_EQ(RecordBatchView::parse(*read->records.flatten())->base_offset(), Offset(i));
        }
        EXPECT_TRUE(clean || point > 0 || world.contents(kFirstIndex) == index);
      }
    }
  };
  with_index(index);
  with_index({});                      // missing
  with_index(Bytes(index.size(), 0));  // all zero
  Bytes beyond = index;
  const Bytes last = from_hex("0000001e7fffffff");
  beyond.insert(beyond.end(), last.begin(), last.end());
  with_index(beyond);                                 // last entry past the file's end
  with_index(Bytes(index.begin(), index.end() - 3));  // not a whole entry
  Bytes middle = index;
  middle[11] ^= 0xff;
  with_index(middle);
  ASSERT_TRUE(world.environment.files.remove(world.path(kFirstIndex)));
  EXPECT_EQ(world.open_unclean()->log_end_offset(), Offset(30));
  EXPECT_EQ(world.contents(kFirstLog), whole);
}

TEST(LogRecovery, G39_AnEmptyNewSegmentKeepsItsBaseAsTheEnd) {
  LogWorld world;
  {
    const auto log = world.open();
    follow(*log, simple_batch(0, 5));
    ASSERT_TRUE(log->roll());
  }
  EXPECT_TRUE(world.has("00000000000000000005.log"));
  for (const bool clean : {true, false}) {
    const auto log = clean ? world.open_clean() : world.open_unclean();
    EXPECT_EQ(log->log_end_offset(), Offset(5));
    EXPECT_EQ(log->segment_count(), 2U);
  }
  EXPECT_FALSE(follow(*world.open_unclean(), simple_batch(5, 1)).error);
}

TEST(LogRecovery, ABrokenBatchInTheMiddleTakesTheLaterSegmentsWithIt) {
  LogWorld world;
  {
    const auto log = world.open();
    follow(*log, simple_batch(0, 5));
    follow(*log, simple_batch(5, 5));
    ASSERT_TRUE(log->roll());
    follow(*log, simple_batch(10, 5));
  }
  Bytes bad = world.contents(kFirstLog);
  bad.back() ^= 1;
  world.replace(kFirstLog, bad);
  const auto log = world.open_unclean();
  EXPECT_EQ(log->log_end_offset(), Offset(5));
  EXPECT_FALSE(world.has("00000000000000000010.log"));
}

TEST(LogRecovery, ATruncationThatWasLostIsMadeAgain) {
  LogWorld world;
  Bytes before;
  {
    const auto log = world.open();
    for (int i = 0; i < 10; i += 2) follow(*log, simple_batch(i, 2, 1));
    before = world.contents(kFirstLog);
    ASSERT_TRUE(log->truncate_to(Offset(4)));
    follow(*log, simple_batch(4, 3, 2));
    const auto task = log->start_flush();
    ASSERT_TRUE(task.run());
    log->flush_done(task);
  }
  // A power cut brought the old length of the first segment back, beside the new segment.
  world.replace(kFirstLog, before);
  const auto log = world.open_unclean(0, 10);
  EXPECT_EQ(log->log_end_offset(), Offset(7));
  EXPECT_THAT(log->epoch_entries(), ElementsAre(EpochEntry(LeaderEpoch(1), Offset(0)),
                                                EpochEntry(LeaderEpoch(2), Offset(4))));
  Bytes expected(before.begin(),
                 before.begin() + static_cast<std::ptrdiff_t>(before.size()) * 2 / 5);
  const Slice tail = simple_batch(4, 3, 2);
  expected.insert(expected.end(), tail.span().begin(), tail.span().end());
  EXPECT_EQ(read_all(*log, 0), expected);
}

TEST(LogRecovery, G41_EpochFileStaleAheadOrBroken) {
  const std::string variants[] = {"0\n2\n0 0\n2 10\n",
                                  "",
                                  "garbage",
                                  "0\n3\n0 0\n2 10\n3 25\n",
                                  "0\n1\n0 0\n",
                                  "0\n1\n2 0\n",
                                  "0\n2\n0 0\n2 15\n",
                                  "0\n2\n0 0\n2 5\n",
                                  "0\n3\n0 0\n1 5\n2 10\n",
                                  "0\n1\n2 10\n",
                                  "1\n0\n"};
  for (const bool rolled : {false, true}) {
    for (const auto& text : variants) {
      for (const auto point : {0, 20}) {
        LogWorld world;
        {
          const auto log = world.open();
          for (int i = 0; i < 20; ++i) {
            EXPECT_TRUE(!rolled || i % 7 != 0 || log->roll());
            follow(*log, simple_batch(i, 1, i < 10 ? 0 : 2));
          }
        }
        world.replace("leader-epoch-checkpoint", as_bytes(text));
        const auto log = world.open_unclean(0, point);
        using Answer = EpochAndEndOffset;
        EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(0)), Answer(LeaderEpoch(0), Offset(10)))
            << text;
        EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(2)), Answer(LeaderEpoch(2), Offset(20)))
            << text;
        EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(3)), Answer()) << text;
        EXPECT_THAT(log->epoch_entries(), ElementsAre(EpochEntry(LeaderEpoch(0), Offset(0)),
                                                      EpochEntry(LeaderEpoch(2), Offset(10))));
      }
    }
  }
}

TEST(LogRecovery, G19_EpochAnswers) {
  LogWorld world;
  const auto log = world.open();
  follow(*log, simple_batch(0, 11, 0));
  follow(*log, simple_batch(11, 1, 2));
  follow(*log, simple_batch(12, 1, 4));
  using Answer = EpochAndEndOffset;
  EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(-1)), Answer());
  EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(0)), Answer(LeaderEpoch(0), Offset(11)));
  EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(1)), Answer(LeaderEpoch(0), Offset(11)));
  EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(2)), Answer(LeaderEpoch(2), Offset(12)));
  EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(3)), Answer(LeaderEpoch(2), Offset(12)));
  EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(4)), Answer(LeaderEpoch(4), Offset(13)));
  EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(5)), Answer());
  EXPECT_EQ(log->latest_epoch(), LeaderEpoch(4));
  // G21: the epoch of an offset is that of its batch.
  EXPECT_EQ(log->epoch_for_offset(Offset(5)), LeaderEpoch(0));
  EXPECT_EQ(log->epoch_for_offset(Offset(11)), LeaderEpoch(2));
  EXPECT_EQ(log->epoch_for_offset(Offset(12)), LeaderEpoch(4));
  // After the start moved, what is older than everything known ends where the log begins.
  ASSERT_TRUE(*log->advance_log_start_offset(Offset(12)));
  EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(0)), Answer(LeaderEpoch(0), Offset(12)));
  EXPECT_THAT(log->epoch_entries(), ElementsAre(EpochEntry(LeaderEpoch(4), Offset(12))));
}

// ---- truncation ----

TEST(LogTruncation, CutsWholeBatchesAndGoesOnInANewSegment) {
  LogWorld world;
  const auto log = world.open();
  for (int i = 0; i < 10; i += 2) follow(*log, simple_batch(i, 2, i / 4));
  const Bytes before = world.contents(kFirstLog);
  ASSERT_TRUE(log->truncate_to(Offset(6)));
  EXPECT_EQ(log->log_end_offset(), Offset(6));
  EXPECT_TRUE(world.has("00000000000000000006.log"));
  EXPECT_EQ(
      world.contents(kFirstLog),
      Bytes(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(before.size()) * 3 / 5));
  // Inside a batch: the batch goes as a whole and comes again as a whole.
  ASSERT_TRUE(log->truncate_to(Offset(5)));
  EXPECT_EQ(log->log_end_offset(), Offset(4));
  EXPECT_FALSE(follow(*log, simple_batch(4, 2, 1)).error);
  EXPECT_FALSE(follow(*log, simple_batch(6, 2, 1)).error);
  EXPECT_FALSE(follow(*log, simple_batch(8, 2, 2)).error);
  EXPECT_EQ(read_all(*log, 0), before);
  ASSERT_TRUE(log->truncate_to(Offset(10)));  // the end: nothing to do
  EXPECT_EQ(log->log_end_offset(), Offset(10));
  const auto again = world.open_unclean();
  EXPECT_EQ(read_all(*again, 0), before);
}

TEST(LogTruncation, InAGapTheEndIsTheOffsetAskedFor) {
  LogWorld world;
  const auto log = world.open();
  follow(*log, simple_batch(0, 3));
  follow(*log, hex_slice(kGappedBatch));  // 100 to 105
  ASSERT_TRUE(log->truncate_to(Offset(50)));
  EXPECT_EQ(log->log_end_offset(), Offset(50));
  EXPECT_FALSE(follow(*log, hex_slice(kGappedBatch)).error);
}

TEST(LogTruncation, AReaderInFlightGetsOldBytesOrNone) {
  LogWorld world;
  const auto log = world.open();
  const Slice old_batch = simple_batch(0, 2, 1);
  follow(*log, old_batch);
  follow(*log, simple_batch(2, 2, 1));
  ReadRequest request;
  const auto in_flight = log->read(request);
  ASSERT_TRUE(in_flight);
  ASSERT_TRUE(log->truncate_to(Offset(0)));
  follow(*log, simple_batch(0, 2, 9));
  const auto bytes = in_flight->records.flatten();
  ASSERT_TRUE(bytes);  // the file was retired, not reused
  EXPECT_EQ(to_hex(bytes->span().first(old_batch.size())), to_hex(old_batch.span()));
  const auto shortened = log->read(request);
  ASSERT_TRUE(log->truncate_to(Offset(0)));
  EXPECT_EQ(RecordBatchView::parse(*shortened->records.flatten())->partition_leader_epoch(),
            LeaderEpoch(9));
}

TEST(LogTruncation, G64_FullyAndStartAtLeavesAnEmptyValidLog) {
  LogWorld world;
  auto log = world.open();
  for (int i = 0; i < 100; i += 20) follow(*log, simple_batch(i, 20));
  ASSERT_TRUE(log->truncate_fully_and_start_at(Offset(300)));
  const auto check = [&](const PartitionLog& at) {
    EXPECT_EQ(at.log_start_offset(), Offset(300));
    EXPECT_EQ(at.log_end_offset(), Offset(300));
    EXPECT_EQ(at.high_watermark(), Offset(300));
    EXPECT_EQ(at.last_stable_offset(), Offset(300));
    ReadRequest request;
    request.from = Offset(300);
    ASSERT_TRUE(at.read(request));
    EXPECT_TRUE(at.read(request)->records.empty());
    request.from = Offset(100);
    EXPECT_EQ(to_kafka_error(at.read(request).error()), ErrorCode::OFFSET_OUT_OF_RANGE);
    EXPECT_THAT(at.epoch_entries(), IsEmpty());
  };
  check(*log);
  EXPECT_TRUE(world.has("00000000000000000300.log"));
  // The same start again, and killed before any checkpoint was written.
  ASSERT_TRUE(log->truncate_fully_and_start_at(Offset(300)));
  log = world.open_unclean();
  check(*log);
  const auto produced =
      log->append_as_leader(simple_batch(0, 1), LeaderEpoch(5), AppendOrigin::kClient);
  ASSERT_TRUE(produced) << produced.error().message;
  EXPECT_EQ(produced->first_offset, Offset(300));
  log = world.open_unclean();
  EXPECT_EQ(log->log_end_offset(), Offset(301));
}

TEST(LogTruncation, AStartInsideABatchKeepsTheBatchWhole) {
  LogWorld world;
  auto log = world.open();
  ASSERT_TRUE(log->truncate_fully_and_start_at(Offset(103)));
  EXPECT_FALSE(follow(*log, hex_slice(kGappedBatch)).error);  // 100 to 105
  EXPECT_EQ(log->log_start_offset(), Offset(103));
  EXPECT_EQ(log->log_end_offset(), Offset(106));
  EXPECT_TRUE(world.has("00000000000000000100.log"));
  EXPECT_EQ(to_hex(read_all(*log, 103)), kGappedBatch);
  log = world.open_unclean(103);
  EXPECT_EQ(log->log_start_offset(), Offset(103));
}

TEST(LogTruncation, RetiredFilesWaitAndThenGo) {
  LogWorld world;
  const auto log = world.open();
  follow(*log, simple_batch(0, 5));
  ASSERT_TRUE(log->truncate_to(Offset(0)));
  EXPECT_TRUE(world.has("00000000000000000000.log.deleted"));
  EXPECT_THAT(log->take_deletable_files(world.clock.wall_ms() + 59'999), IsEmpty());
  const auto files = log->take_deletable_files(world.clock.wall_ms() + 60'000);
  EXPECT_THAT(files, ::testing::Contains(world.path("00000000000000000000.log.deleted")));
  EXPECT_THAT(log->take_deletable_files(world.clock.wall_ms() + 99'999), IsEmpty());
  world.open_unclean();
  EXPECT_FALSE(world.has("00000000000000000000.log.deleted"));
}

// ---- retention ----

TEST(LogRetention, G98_GoesByTheGreatestRecordTimeActiveSegmentIncluded) {
  LogWorld world;
  world.config.retention_ms = 2000;
  auto log = world.open();
  follow(*log, simple_batch(0, 1, 0, world.clock.wall_ms() - 5000));
  EXPECT_EQ(*log->apply_retention(world.clock.wall_ms()), 1);
  EXPECT_EQ(log->log_start_offset(), Offset(1));
  EXPECT_EQ(log->log_end_offset(), Offset(1));
  EXPECT_FALSE(world.has(kFirstLog));
  EXPECT_EQ(log->offset_for_max_timestamp()->offset, kNoOffset);
  log = world.open_unclean();
  EXPECT_EQ(log->log_end_offset(), Offset(1));
  EXPECT_EQ(log->log_start_offset(), Offset(1));
}

TEST(LogRetention, G98_AFutureTimeKeepsTheSegment) {
  LogWorld world;
  world.config.retention_ms = 2000;
  const auto log = world.open();
  follow(*log, simple_batch(0, 1, 0, world.clock.wall_ms() + 360'000'000));
  follow(*log, simple_batch(1, 1, 0, world.clock.wall_ms() - 5000));
  EXPECT_EQ(*log->apply_retention(world.clock.wall_ms()), 0);
  EXPECT_EQ(log->log_start_offset(), Offset(0));
}

TEST(LogRetention, G38_AMirrorKeepsWhatTheSourceHas) {
  LogWorld world;
  world.config.retention_ms = 1000;
  world.config.retention_bytes = 10;
  world.config.is_mirror = true;
  const auto log = world.open();
  follow(*log, simple_batch(0, 5, 0, world.clock.wall_ms() - 63'072'000'000));
  ASSERT_TRUE(log->roll());
  follow(*log, simple_batch(5, 5, 0, world.clock.wall_ms() + 315'360'000'000));
  EXPECT_EQ(*log->apply_retention(world.clock.wall_ms()), 0);
  EXPECT_EQ(log->log_start_offset(), Offset(0));
  // The start follows the source, and whole segments below it go.
  EXPECT_TRUE(*log->advance_log_start_offset(Offset(7)));
  EXPECT_FALSE(*log->advance_log_start_offset(Offset(6)));
  EXPECT_EQ(to_kafka_error(log->advance_log_start_offset(Offset(11)).error()),
            ErrorCode::OFFSET_OUT_OF_RANGE);
  EXPECT_EQ(log->segment_count(), 1U);
  EXPECT_FALSE(world.has(kFirstLog));
  // Once stopped, local retention counts again.
  world.config.is_mirror = false;
  world.config.retention_bytes = -1;
  log->update_config(world.config);
  EXPECT_EQ(*log->apply_retention(world.clock.wall_ms()), 0);
}

TEST(LogRetention, BySize) {
  LogWorld world;
  const auto one = static_cast<std::int64_t>(simple_batch(0, 1).size());
  world.config.segment_bytes = one;
  world.config.retention_ms = -1;
  world.config.retention_bytes = 3 * one;
  const auto log = world.open();
  for (int i = 0; i < 8; ++i) follow(*log, simple_batch(i, 1));
  EXPECT_EQ(*log->apply_retention(world.clock.wall_ms()), 5);
  EXPECT_EQ(log->log_start_offset(), Offset(5));
  EXPECT_EQ(log->size_bytes(), static_cast<std::uint64_t>(3 * one));
  world.config.cleanup_delete = false;
  world.config.cleanup_compact = true;
  world.config.retention_bytes = 0;
  log->update_config(world.config);
  EXPECT_EQ(*log->apply_retention(world.clock.wall_ms()), 0);
}

}  // namespace
}  // namespace kmirror::storage
