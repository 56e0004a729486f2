// Producers and transactions in a log: G17, G42, G45, G59, G60, control batches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kmirror/model/error_code.h"
#include "support/log_world.h"

namespace kmirror::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace kmirror::testing;

Slice transactional(std::int64_t base, std::int64_t producer, int count, std::int16_t epoch = 0,
                    std::int32_t sequence = 0) {
  BatchSpec spec;
  spec.base_offset = base;
  spec.producer_id = producer;
  spec.producer_epoch = epoch;
  spec.base_sequence = sequence;
  spec.transactional = true;
  for (int i = 0; i < count; ++i) spec.records.emplace_back("k", "v");
  return make_batch(spec);
}

Slice marker(std::int64_t offset, std::int64_t producer, bool commit, std::int16_t epoch = 0,
             std::int32_t coordinator_epoch = 0) {
  return end_transaction_marker(Offset(offset), LeaderEpoch(0), kGivenTimeMs, ProducerId(producer),
                                ProducerEpoch(epoch), commit, coordinator_epoch);
}

AbortedTransaction aborted(std::int64_t producer, std::int64_t first) {
  AbortedTransaction out;
  out.producer_id = ProducerId(producer);
  out.first_offset = Offset(first);
  return out;
}

Result<ReadResult> read_committed(const PartitionLog& log, std::int64_t from = 0) {
  ReadRequest request;
  request.from = Offset(from);
  request.isolation = Isolation::kReadCommitted;
  return log.read(request);
}

TEST(Transactions, G17_StopAtTheLastStableOffsetAndListAborted) {
  LogWorld world;
  const auto log = world.open();
  const Slice first = transactional(0, 1000, 3);
  follow(*log, first);
  follow(*log, transactional(3, 1001, 2));
  EXPECT_EQ(log->last_stable_offset(), Offset(0));
  EXPECT_TRUE(read_committed(*log)->records.empty());
  follow(*log, marker(5, 1000, false));
  EXPECT_EQ(log->last_stable_offset(), Offset(3));
  auto read = read_committed(*log);
  EXPECT_EQ(read->records.size(), first.size());
  EXPECT_THAT(read->aborted, ElementsAre(aborted(1000, 0)));
  follow(*log, marker(6, 1001, true));
  EXPECT_EQ(log->last_stable_offset(), Offset(7));
  read = read_committed(*log);
  EXPECT_EQ(read->records.size(), log->size_bytes());
  EXPECT_THAT(read->aborted, ElementsAre(aborted(1000, 0)));
  const auto uncommitted = log->read(ReadRequest());
  EXPECT_EQ(uncommitted->records.size(), log->size_bytes());
  EXPECT_THAT(uncommitted->aborted, IsEmpty());
}

TEST(Transactions, AbortedAreFoundAcrossSegments) {
  LogWorld world;
  auto log = world.open();
  follow(*log, transactional(0, 1, 2));
  ASSERT_TRUE(log->roll());
  follow(*log, simple_batch(2, 2));
  ASSERT_TRUE(log->roll());
  follow(*log, marker(4, 1, false));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(read_committed(*log)->aborted, ElementsAre(aborted(1, 0))) << i;
    EXPECT_THAT(read_committed(*log, 2)->aborted, ElementsAre(aborted(1, 0)));
    EXPECT_EQ(log->last_stable_offset(), Offset(5));
    EXPECT_TRUE(i > 0 || log->close_clean());
    log = i == 0 ? world.open_clean() : world.open_unclean();
  }
}

TEST(Transactions, G42_StateAfterACutIsThatOfAReplay) {
  LogWorld world;
  auto log = world.open();
  follow(*log, transactional(0, 1000, 3));
  follow(*log, marker(3, 1000, false));
  follow(*log, simple_batch(4, 1));
  ASSERT_TRUE(log->roll());  // a snapshot beyond the cut
  ASSERT_TRUE(log->truncate_to(Offset(3)));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(log->last_stable_offset(), Offset(0)) << i;
    EXPECT_TRUE(read_committed(*log)->records.empty());
    EXPECT_THAT(log->open_transactions(), SizeIs(1));
    EXPECT_FALSE(world.has("00000000000000000005.snapshot"));
    log = world.open_unclean();
  }
  for (int i = 0; i < 3; ++i) {
    if (i == 0) {
      EXPECT_FALSE(follow(*log, marker(3, 1000, false)).error);
    }
    EXPECT_EQ(log->last_stable_offset(), Offset(4)) << i;
    EXPECT_THAT(read_committed(*log)->aborted, ElementsAre(aborted(1000, 0)));
    EXPECT_THAT(log->open_transactions(), IsEmpty());
    EXPECT_TRUE(i != 1 || log->close_clean());
    log = i == 0 ? world.open_unclean() : world.open_clean();
  }
}

TEST(Transactions, G59_OddEpochsAndSequencesOfTheSourceAreRecorded) {
  LogWorld world;
  const char* batches[] = {
      "00000000000000000000003900000000022ae0c51e0000000000000000018bcfe568000000018bcfe56800000000"
      "0000"
      "000009000300000064000000010e00000001026100",
      "00000000000000010000003900000000022ae0c51e0000000000000000018bcfe568000000018bcfe56800000000"
      "0000"
      "000009000300000064000000010e00000001026100",
      "00000000000000020000003900000000021ae7b6fd0000000000000000018bcfe568000000018bcfe56800000000"
      "0000"
      "000009000200000007000000010e00000001026200",
      "000000000000000300000042000000000288e6bc2e0030000000000000018bcfe568000000018bcfe56800000000"
      "0000"
      "0000090003ffffffff000000012000000008000000000c00000000000200",
      "0000000000000004000000420000000002bc0114b70030000000000000018bcfe568000000018bcfe56800000000"
      "0000"
      "0000090003ffffffff000000012000000008000000000c00000000000100"};
  std::string all;
  auto log = world.open();
  for (const char* hex : batches) {
    const auto appended = follow(*log, hex_slice(hex));
    EXPECT_FALSE(appended.error) << appended.error->message;
    all += hex;
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(to_hex(read_all(*log, 0)), all);
    EXPECT_EQ(log->last_stable_offset(), Offset(5));
    EXPECT_THAT(read_committed(*log)->aborted, IsEmpty());
    EXPECT_EQ(log->max_producer_id_seen(), ProducerId(9));
    log.reset();
    for (const auto& name : world.names()) {
      EXPECT_TRUE(!name.ends_with(".snapshot") || world.environment.files.remove(world.path(name)));
    }
    log = world.open_unclean();
  }
}

TEST(Transactions, G60_TheProducerIdAloneEndsATransaction) {
  const std::string data =
      "00000000000000000000003a0000000002a5108c770010000000000000018bcfe568000000018bcfe56800000000"
      "0000"
      "0003e80004000000000000000110000000026b027600";
  const std::string commit =
      "000000000000000100000042000000000240d514e90030000000000000018bcfe568000000018bcfe56800000000"
      "0000"
      "0003e80005ffffffff000000012000000008000000010c00000000000700";
  const std::string abort =
      "0000000000000001000000420000000002b4ebc2a10030000000000000018bcfe568000000018bcfe56800000000"
      "0000"
      "0003e80005ffffffff000000012000000008000000000c00000000000700";
  for (const bool committed : {true, false}) {
    LogWorld world;
    auto log = world.open();
    EXPECT_FALSE(follow(*log, hex_slice(data + (committed ? commit : abort))).error);
    EXPECT_EQ(log->last_stable_offset(), Offset(2));
    follow(*log, transactional(2, 1000, 1, 5, 0));
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(log->last_stable_offset(), Offset(2));
      const auto read = read_committed(*log);
      if (committed) {
        EXPECT_THAT(read->aborted, IsEmpty());
      } else {
        EXPECT_THAT(read->aborted, ElementsAre(aborted(1000, 0)));
      }
      ASSERT_THAT(log->open_transactions(), SizeIs(1));
      const auto open = log->open_transactions()[0];
      EXPECT_EQ(open.current_transaction_first_offset, Offset(2));
      EXPECT_EQ(open.producer_epoch, ProducerEpoch(5));
      log = world.open_unclean();
    }
  }
}

TEST(Transactions, AMirrorPidResetDropsProducersButNotOpenTransactions) {
  LogWorld world;
  auto log = world.open();
  BatchSpec idempotent;
  idempotent.producer_id = 5;
  idempotent.producer_epoch = 0;
  idempotent.base_sequence = 0;
  idempotent.records = {{"a", "b"}};
  follow(*log, make_batch(idempotent));
  follow(*log, transactional(1, 6, 1));
  follow(*log, mirror_pid_reset_batch(Offset(2), LeaderEpoch(1), kGivenTimeMs));
  for (int i = 0; i < 2; ++i) {
    ASSERT_THAT(log->active_producers(), SizeIs(1));
    EXPECT_EQ(log->active_producers()[0].producer_id, ProducerId(6));
    EXPECT_EQ(log->active_producers()[0].producer_epoch, kNoProducerEpoch);
    EXPECT_EQ(log->last_stable_offset(), Offset(1));
    EXPECT_EQ(log->max_producer_id_seen(), ProducerId(6));
    log = world.open_unclean();
  }
  follow(*log, marker(3, 6, false));
  EXPECT_EQ(log->last_stable_offset(), Offset(4));
  // A new producer with an old id starts anywhere and is no repeat.
  idempotent.base_offset = 0;
  const auto produced =
      log->append_as_leader(make_batch(idempotent), LeaderEpoch(2), AppendOrigin::kClient);
  ASSERT_TRUE(produced) << produced.error().message;
  EXPECT_FALSE(produced->duplicate);
  EXPECT_EQ(produced->first_offset, Offset(4));
}

TEST(Transactions, UnknownControlRecordsAreStoredAndMeanNothing) {
  LogWorld world;
  auto log = world.open();
  RecordBatchBuilder::Options options;
  options.control = true;
  options.producer_id = ProducerId(4);
  options.producer_epoch = ProducerEpoch(0);
  RecordBatchBuilder builder(options);
  builder.add(kGivenTimeMs, Bytes{0, 0, 0, 99}, Bytes{1});
  EXPECT_FALSE(follow(*log, builder.build()).error);
  EXPECT_EQ(log->last_stable_offset(), Offset(1));
  EXPECT_THAT(log->active_producers(), IsEmpty());
}

// ---- the idempotent window (G45) ----

class Window {
 public:
  Window() : log_(world_.open()) {}
  /// The offset it got, or the error code, negated so that it cannot be an offset.
  std::int64_t produce(std::int16_t epoch, std::int32_t sequence) {
    BatchSpec spec;
    spec.producer_id = 7;
    spec.producer_epoch = epoch;
    spec.base_sequence = sequence;
    spec.records = {{"k", std::to_string(sequence)}};
    const auto out =
        log_->append_as_leader(make_batch(spec), LeaderEpoch(0), AppendOrigin::kClient);
    if (!out) return -static_cast<std::int64_t>(to_kafka_error(out.error()));
    return out->first_offset.get();
  }
  PartitionLog& log() { return *log_; }
  void restart(bool clean) {
    EXPECT_TRUE(!clean || log_->close_clean());
    log_ = clean ? world_.open_clean() : world_.open_unclean();
  }

 private:
  LogWorld world_;
  std::shared_ptr<PartitionLog> log_;
};

TEST(IdempotentWindow, G45_AsObservedOnARealBroker) {
  Window window;
  EXPECT_EQ(window.produce(0, 5), 0);
  EXPECT_EQ(window.produce(0, 6), 1);
  EXPECT_EQ(window.produce(0, 5), 0);
  EXPECT_EQ(window.log().log_end_offset(), Offset(2));
  EXPECT_EQ(window.produce(0, 8), -45);
  for (int s = 7; s <= 11; ++s) EXPECT_EQ(window.produce(0, s), s - 5);
  EXPECT_EQ(window.produce(0, 6), -45);
  EXPECT_EQ(window.produce(0, 7), 2);
  EXPECT_EQ(window.produce(1, 3), -45);
  EXPECT_EQ(window.produce(1, 0), 7);
  EXPECT_EQ(window.produce(0, 12), -47);
  EXPECT_EQ(window.log().log_end_offset(), Offset(8));
}

TEST(IdempotentWindow, SequencesGoOnAtZeroAfterTheGreatest) {
  Window window;
  EXPECT_EQ(window.produce(0, 2147483646), 0);
  EXPECT_EQ(window.produce(0, 2147483647), 1);
  EXPECT_EQ(window.produce(0, 1), -45);
  EXPECT_EQ(window.produce(0, 0), 2);
}

TEST(IdempotentWindow, TheLastBatchIsKnownAfterARestart) {
  for (const bool clean : {true, false}) {
    Window window;
    window.produce(3, 0);
    window.produce(3, 1);
    window.restart(clean);
    EXPECT_EQ(window.produce(3, 1), 1);
    EXPECT_EQ(window.produce(3, 3), -45);
    EXPECT_EQ(window.produce(2, 2), -47);
    EXPECT_EQ(window.produce(3, 2), 2);
  }
}

TEST(IdempotentWindow, AnExpiredProducerMayStartAnywhere) {
  Window window;
  window.produce(0, 0);
  window.log().expire_producers(kGivenTimeMs + 999, 1000);
  EXPECT_EQ(window.produce(0, 5), -45);
  window.log().expire_producers(kGivenTimeMs + 1000, 1000);
  EXPECT_THAT(window.log().active_producers(), IsEmpty());
  EXPECT_EQ(window.produce(0, 5), 1);
}

TEST(IdempotentWindow, AMarkerOfAFencedCoordinatorIsRefused) {
  LogWorld world;
  const auto log = world.open();
  const auto append = [&](const Slice& batch) {
    const auto out = log->append_as_leader(batch, LeaderEpoch(0), AppendOrigin::kCoordinator);
    return out ? ErrorCode::NONE : to_kafka_error(out.error());
  };
  EXPECT_EQ(append(transactional(0, 1, 1)), ErrorCode::NONE);
  EXPECT_EQ(append(marker(0, 1, true, 0, 5)), ErrorCode::NONE);
  EXPECT_EQ(append(marker(0, 1, true, 0, 4)), ErrorCode::TRANSACTION_COORDINATOR_FENCED);
  EXPECT_EQ(append(marker(0, 1, true, 1, 5)), ErrorCode::NONE);
  EXPECT_EQ(append(marker(0, 1, true, 0, 5)), ErrorCode::INVALID_PRODUCER_EPOCH);
  EXPECT_EQ(log->last_stable_offset(), log->log_end_offset());
}

TEST(IdempotentWindow, DataOutsideAnOpenTransactionIsRefused) {
  LogWorld world;
  const auto log = world.open();
  BatchSpec spec;
  spec.producer_id = 7;
  spec.producer_epoch = 0;
  spec.base_sequence = 0;
  spec.transactional = true;
  spec.records = {{"k", "v"}};
  ASSERT_TRUE(log->append_as_leader(make_batch(spec), LeaderEpoch(0), AppendOrigin::kClient));
  spec.transactional = false;
  spec.base_sequence = 1;
  const auto out = log->append_as_leader(make_batch(spec), LeaderEpoch(0), AppendOrigin::kClient);
  ASSERT_FALSE(out);
  EXPECT_EQ(to_kafka_error(out.error()), ErrorCode::INVALID_TXN_STATE);
}

}  // namespace
}  // namespace kmirror::storage
