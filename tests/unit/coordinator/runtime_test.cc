// TimerQueue, ShardRunner and the records of coordinators: order, durability, loading, failing.
#include <deque>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/runtime/partition_io.h"
#include "coordinator/runtime/shard_runner.h"
#include "coordinator/runtime/timer_queue.h"
#include "fakes.h"

namespace kmirror::coordinator::testing {
namespace {

using std::chrono::milliseconds;

// --- TimerQueue ---------------------------------------------------------------------------------

class TimerQueueTest : public ::testing::Test {
 protected:
  FakeClock clock;
  std::vector<env::Instant> armed;
  TimerQueue queue{clock, [this](env::Instant when, UniqueFunction<void()>) {
                     armed.push_back(when);
                     return nullptr;
                   }};
  std::vector<int> ran;

  TimerId at(int ms, int mark) {
    return queue.schedule(milliseconds(ms), [this, mark] { ran.push_back(mark); });
  }
};

TEST_F(TimerQueueTest, RunsInOrderOfTimeAndOnlyWhatIsDue) {
  (void)at(30, 3);
  (void)at(10, 1);
  (void)at(10, 2);
  clock.advance(milliseconds(10));
  queue.run_due();
  EXPECT_EQ(ran, (std::vector{1, 2}));
  clock.advance(milliseconds(20));
  queue.run_due();
  queue.run_due();
  EXPECT_EQ(ran, (std::vector{1, 2, 3}));
}

TEST_F(TimerQueueTest, CancelledCallsNeverRun) {
  TimerId id = at(10, 1);
  queue.cancel(id);
  EXPECT_EQ(id, 0u);
  queue.cancel(id);
  clock.advance(milliseconds(50));
  queue.run_due();
  EXPECT_TRUE(ran.empty());
  EXPECT_EQ(queue.size(), 0u);
}

TEST_F(TimerQueueTest, CallsScheduledByACallWaitForTheNextRun) {
  int left = 3;
  const std::function<void()> step = [&] {
    ran.push_back(left);
    if (--left > 0) (void)queue.schedule(milliseconds(0), step);
  };
  (void)queue.schedule(milliseconds(-5), step);
  queue.run_due();
  EXPECT_EQ(ran.size(), 1u) << "no endless run";
  queue.run_due();
  queue.run_due();
  EXPECT_EQ(ran.size(), 3u);
}

TEST_F(TimerQueueTest, ArmsOnlyForAnEarlierCall) {
  (void)at(50, 1);
  (void)at(60, 2);
  (void)at(20, 3);
  ASSERT_EQ(armed.size(), 2u);
  EXPECT_EQ(armed[1], env::Instant(milliseconds(20)));
}

// --- ShardRunner --------------------------------------------------------------------------------

class FakeWriter final : public PartitionWriter {
 public:
  [[nodiscard]] Result<Offset> append(Slice batch) override {
    if (append_error) return *append_error;
    auto view = RecordBatchView::parse(std::move(batch));
    EXPECT_TRUE(view && view->crc_is_valid());
    batches.push_back(*view);
    end = end + view->record_count();
    return end;
  }
  void flush(UniqueFunction<void(Result<void>)> done) override {
    flushes.push_back(std::move(done));
  }
  Offset end{0};
  std::optional<Error> append_error;
  std::vector<RecordBatchView> batches;
  std::deque<UniqueFunction<void(Result<void>)>> flushes;
};

class FakeLoader final : public PartitionLoader {
 public:
  void load(UniqueFunction<void(std::vector<LoadedBatch>)> on_batches,
            UniqueFunction<void(Result<void>)> done) override {
    give = std::move(on_batches);
    finish = std::move(done);
  }
  void cancel() override {
    if (on_cancel != nullptr) *on_cancel = true;
  }
  UniqueFunction<void(std::vector<LoadedBatch>)> give;
  UniqueFunction<void(Result<void>)> finish;
  bool* on_cancel = nullptr;
};

struct RecordingShard final : CoordinatorShard {
  explicit RecordingShard(ShardContext& c) : context(c) {}
  void replay(const CoordinatorRecord& record, ProducerId transaction) override {
    replayed.emplace_back(to_hex(record.key), transaction.get());
  }
  void replay_end_transaction(ProducerId producer_id, bool commit) override {
    replayed.emplace_back(commit ? "commit" : "abort", producer_id.get());
  }
  void on_loaded() override { ++loaded; }
  void on_unloaded() override { ++*unloaded; }
  ShardContext& context;
  std::vector<std::pair<std::string, std::int64_t>> replayed;
  int loaded = 0;
  int* unloaded = nullptr;
};

CoordinatorRecord record_with(Bytes key) {
  CoordinatorRecord record;
  record.key = std::move(key);
  record.value = Bytes{1};
  return record;
}

class ShardRunnerTest : public ::testing::Test {
 protected:
  void make(bool wait_while_loading) {
    ShardRunnerOptions options;
    options.name = "t-0";
    options.wait_while_loading = wait_while_loading;
    options.max_waiting_count = 2;
    options.max_batch_bytes = 200;
    runner = std::make_shared<ShardRunner>(
        clock, rng, [](env::Instant, UniqueFunction<void()>) { return nullptr; },
        [this](ShardContext& context) {
          auto made = std::make_unique<RecordingShard>(context);
          made->unloaded = &unloaded;
          shard = made.get();
          return made;
        },
        options);
  }
  void load() {
    auto w = std::make_unique<FakeWriter>();
    auto l = std::make_unique<FakeLoader>();
    writer = w.get();
    loader = l.get();
    runner->load(std::move(w), std::move(l));
  }
  void make_active() {
    make(false);
    load();
    loader->finish(Result<void>());
  }
  void request(int mark) {
    runner->run([this, mark](CoordinatorShard&) { ran.push_back(mark); },
                [this](ErrorCode code) { refused.push_back(code); });
  }
  void append(std::size_t count) {
    std::vector<CoordinatorRecord> records;
    for (std::size_t i = 0; i < count; ++i) records.push_back(record_with(Bytes(20)));
    outcome = runner->append(records);
  }
  void hold(int mark) {
    runner->when_durable([this, mark](ErrorCode code) { answers.emplace_back(mark, code); });
  }
  void finish_flush(Result<void> result = {}) {
    auto done = std::move(writer->flushes.front());
    writer->flushes.pop_front();
    done(std::move(result));
  }

  FakeClock clock;
  FakeRng rng;
  std::shared_ptr<ShardRunner> runner;
  RecordingShard* shard = nullptr;
  FakeWriter* writer = nullptr;
  FakeLoader* loader = nullptr;
  AppendOutcome outcome;
  std::vector<int> ran;
  std::vector<ErrorCode> refused;
  std::vector<std::pair<int, ErrorCode>> answers;
  int unloaded = 0;
};

TEST_F(ShardRunnerTest, RequestsWaitForTheLogButNotForTheReplay) {
  make(false);
  request(1);
  EXPECT_TRUE(ran.empty() && refused.empty()) << "the log is being made: that takes a moment";
  load();
  request(2);
  EXPECT_EQ(refused, std::vector{ErrorCode::COORDINATOR_LOAD_IN_PROGRESS});
  loader->finish(Result<void>());
  EXPECT_EQ(ran, std::vector{1});
  EXPECT_EQ(shard->loaded, 1);
  request(3);
  EXPECT_EQ(ran, (std::vector{1, 3}));
}

TEST_F(ShardRunnerTest, RequestsThatWaitForTheReplayAreBounded) {
  make(true);
  load();
  for (int i = 0; i < 3; ++i) request(i);
  EXPECT_EQ(refused, std::vector{ErrorCode::COORDINATOR_LOAD_IN_PROGRESS});
  loader->finish(Result<void>());
  EXPECT_EQ(ran, (std::vector{0, 1}));
}

TEST_F(ShardRunnerTest, ReplaysInOrderWithTransactions) {
  make(false);
  load();
  std::vector<LoadedBatch> batches(3);
  batches[0].records = {record_with({1}), record_with({2})};
  batches[1].transaction = ProducerId(7);
  batches[1].records = {record_with({3})};
  batches[2].transaction = ProducerId(7);
  batches[2].control = ControlRecordType::kCommit;
  loader->give(std::move(batches));
  const std::vector<std::pair<std::string, std::int64_t>> expected{
      {"01", -1}, {"02", -1}, {"03", 7}, {"commit", 7}};
  EXPECT_EQ(shard->replayed, expected);
}

TEST_F(ShardRunnerTest, AFailedLoadRefusesForGood) {
  make(true);
  load();
  request(1);
  loader->finish(kafka_error(ErrorCode::KAFKA_STORAGE_ERROR, "gone"));
  request(2);
  EXPECT_EQ(refused,
            (std::vector{ErrorCode::COORDINATOR_NOT_AVAILABLE, ErrorCode::NOT_COORDINATOR}));
  EXPECT_TRUE(ran.empty());
}

TEST_F(ShardRunnerTest, AnswersWaitForTheirFlushAndShareIt) {
  make_active();
  hold(0);
  EXPECT_EQ(answers.size(), 1u) << "nothing to wait for";
  append(1);
  hold(1);
  hold(2);
  ASSERT_EQ(writer->flushes.size(), 1u) << "one flush for both";
  append(1);
  hold(3);
  EXPECT_EQ(writer->flushes.size(), 1u) << "one at a time";
  finish_flush();
  EXPECT_EQ(answers.size(), 3u) << "the third was appended after the flush began";
  ASSERT_EQ(writer->flushes.size(), 1u);
  finish_flush();
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(answers[3], std::pair(3, ErrorCode::NONE));
  EXPECT_TRUE(writer->flushes.empty());
}

TEST_F(ShardRunnerTest, AFailedFlushEndsTheShard) {
  make_active();
  append(1);
  hold(1);
  finish_flush(kafka_error(ErrorCode::KAFKA_STORAGE_ERROR, "fsync failed"));
  EXPECT_EQ(answers, (std::vector{std::pair(1, ErrorCode::NOT_COORDINATOR)}));
  EXPECT_EQ(unloaded, 1);
  request(2);
  EXPECT_EQ(refused, std::vector{ErrorCode::NOT_COORDINATOR});
}

TEST_F(ShardRunnerTest, LargeAppendsAreSplitAndStopAtTheFirstError) {
  make_active();
  append(7);
  EXPECT_EQ(outcome.appended_count, 7u);
  EXPECT_GT(writer->batches.size(), 2u);
  EXPECT_EQ(writer->end, Offset(7));
  writer->append_error = kafka_error(ErrorCode::KAFKA_STORAGE_ERROR, "no space");
  append(3);
  EXPECT_EQ(outcome.appended_count, 0u);
  ASSERT_TRUE(outcome.error);
  request(1);
  EXPECT_EQ(ran, std::vector{1}) << "a full disk does not end the shard";
}

TEST_F(ShardRunnerTest, ClosingAnswersEverything) {
  make_active();
  append(1);
  hold(1);
  runner->close();
  EXPECT_EQ(answers, (std::vector{std::pair(1, ErrorCode::NOT_COORDINATOR)}));
  EXPECT_EQ(unloaded, 1);
  hold(2);
  EXPECT_EQ(answers.size(), 2u);
  append(1);
  EXPECT_EQ(outcome.appended_count, 0u);
  runner->close();
  EXPECT_EQ(unloaded, 1);
}

TEST_F(ShardRunnerTest, ClosingWhileLoadingCancelsTheLoader) {
  make(true);
  load();
  request(1);
  bool cancelled = false;
  loader->on_cancel = &cancelled;
  runner->close();
  EXPECT_TRUE(cancelled);
  EXPECT_EQ(refused, std::vector{ErrorCode::NOT_COORDINATOR});
  EXPECT_EQ(unloaded, 0) << "it never served";
}

// --- Records ------------------------------------------------------------------------------------

TEST(CoordinatorRecords, ABatchComesBackAsItsRecords) {
  std::vector<CoordinatorRecord> records{record_with({0, 2, 9}), record_with({0, 1})};
  records[1].value.reset();
  RecordHeader& header = records[0].headers.emplace_back();
  header.key = "mirror.name";
  header.value = Bytes{'m'};
  const auto batch = RecordBatchView::parse(batch_of(records, 1'700'000'000'000));
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->max_timestamp_ms(), 1'700'000'000'000);
  const auto loaded = loaded_batch(*batch);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->records, records);
  EXPECT_EQ(loaded->transaction, kNoProducerId);
}

TEST(CoordinatorRecords, AnEndMarkerIsNoRecord) {
  const auto batch = RecordBatchView::parse(end_transaction_marker(
      Offset(5), LeaderEpoch(1), 1'700'000'000'000, ProducerId(9), ProducerEpoch(0), false, 3));
  ASSERT_TRUE(batch);
  const auto loaded = loaded_batch(*batch);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->control, ControlRecordType::kAbort);
  EXPECT_EQ(loaded->transaction, ProducerId(9));
  EXPECT_TRUE(loaded->records.empty());
}

}  // namespace
}  // namespace kmirror::coordinator::testing
