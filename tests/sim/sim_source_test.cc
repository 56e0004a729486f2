// The fake source answers as Kafka does (cases G14, G18 to G21, G24, observed on real brokers).
#include "sim/sim_source_fixture.h"
#include "support/batches.h"

namespace kmirror::testing {
namespace {

using namespace std::chrono_literals;

class SimSourceTest : public SimSourceFixture {};

TEST_F(SimSourceTest, ServesBytesAsStored) {
  const Slice batch = simple_batch(0, 3);
  source_.append(kT0, batch);
  source_.append(kT0, hex_slice(kGappedBatch));
  const auto first = ask(fetch_of({at(1)}), 11);
  const auto& data = only(first);
  EXPECT_EQ(data.error_code, ErrorCode::NONE);
  EXPECT_EQ(data.high_watermark, Offset(106));
  EXPECT_EQ(data.log_start_offset, Offset(0));
  ByteChain both(batch);
  both.append(hex_slice(kGappedBatch));
  EXPECT_TRUE(*data.records == both) << "from the batch that holds the offset";
  const auto gap = ask(fetch_of({at(101)}), 11);
  EXPECT_TRUE(*only(gap).records == ByteChain(hex_slice(kGappedBatch)));
}

TEST_F(SimSourceTest, CutsByBytesButGivesOneWholeBatch) {
  const Slice small = simple_batch(0, 1);
  source_.append(kT0, small);
  source_.append(kT0, simple_batch(1, 1));
  Ask ask_small = at(0);
  ask_small.most_bytes = static_cast<std::int32_t>(small.size()) + 5;
  auto answer = ask(fetch_of({ask_small}), 11);
  EXPECT_EQ(only(answer).records->size(), small.size() + 5) << "a trailing partial batch (G24)";
  ask_small.most_bytes = 1;
  answer = ask(fetch_of({ask_small}), 11);
  EXPECT_EQ(only(answer).records->size(), small.size());
}

TEST_F(SimSourceTest, SessionsLiveAndDieAsInG14) {
  for (int i = 0; i < 10; ++i) source_.produce(kT0);
  source_.move_leader(TopicPartition("t", 1), kOne, LeaderEpoch(0));
  const std::vector<Ask> both = {at(10, 0), at(0, 1)};
  const auto opened = ask(fetch_of(both, 0, 0), 11);
  EXPECT_EQ(opened.responses.at(0).partitions.size(), 2U);
  const std::int32_t id = opened.session_id;
  EXPECT_GT(id, 0);
  auto answer = ask(fetch_of({}, id, 1), 11);
  EXPECT_EQ(answer.error_code, ErrorCode::NONE);
  EXPECT_EQ(answer.session_id, id);
  EXPECT_TRUE(answer.responses.empty());
  source_.produce(kT0);
  answer = ask(fetch_of({}, id, 2), 11);
  EXPECT_EQ(only(answer).partition_index, 0);
  EXPECT_FALSE(only(answer).records->empty());
  answer = ask(fetch_of({}, id, 2), 11);
  EXPECT_EQ(answer.error_code, ErrorCode::INVALID_FETCH_SESSION_EPOCH);
  EXPECT_EQ(answer.session_id, 0);
  wire::FetchRequest forgetting = fetch_of({}, id, 3);
  auto& forgotten = forgetting.forgotten_topics_data.emplace_back();
  forgotten.topic = "t";
  forgotten.partitions = {0};
  EXPECT_TRUE(ask(forgetting, 11).responses.empty());
  EXPECT_EQ(ask(fetch_of({}, 123'456, 1), 11).error_code, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  answer = ask(fetch_of(both, id, -1), 11);
  EXPECT_EQ(answer.session_id, 0);
  EXPECT_EQ(answer.responses.at(0).partitions.size(), 2U);
  EXPECT_EQ(ask(fetch_of({}, id, 4), 11).error_code, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  source_.sessions.grants_sessions = false;
  answer = ask(fetch_of(both, 0, 0), 11);
  EXPECT_EQ(answer.session_id, 0);
  EXPECT_EQ(answer.error_code, ErrorCode::NONE);
}

TEST_F(SimSourceTest, AMovedLogStartIsNewsInASession) {
  for (int i = 0; i < 10; ++i) source_.produce(kT0);
  const auto opened = ask(fetch_of({at(10)}, 0, 0), 11);
  source_.log(kT0).set_start(Offset(4));
  const auto answer = ask(fetch_of({}, opened.session_id, 1), 11);
  EXPECT_EQ(only(answer).log_start_offset, Offset(4));
  EXPECT_TRUE(ask(fetch_of({}, opened.session_id, 2), 11).responses.empty());
  EXPECT_EQ(only(ask(fetch_of({at(3)}), 11)).error_code, ErrorCode::OFFSET_OUT_OF_RANGE);
  EXPECT_EQ(only(ask(fetch_of({at(11)}), 11)).error_code, ErrorCode::OFFSET_OUT_OF_RANGE);
}

TEST_F(SimSourceTest, IdentityChecksAsInG18) {
  const Uuid id = source_.topic("t").id;
  EXPECT_EQ(only(ask(fetch_of({at(0)}, 0, -1, "", id), 13)).error_code, ErrorCode::NONE);
  std::array<std::uint8_t, 16> other{1, 2, 3};
  const auto unknown = ask(fetch_of({at(0)}, 0, -1, "", Uuid(other)), 13);
  EXPECT_EQ(unknown.error_code, ErrorCode::NONE);
  EXPECT_EQ(only(unknown).error_code, ErrorCode::UNKNOWN_TOPIC_ID);
  EXPECT_EQ(only(unknown).high_watermark, kNoOffset);
  EXPECT_EQ(only(ask(fetch_of({at(0)}, 0, -1, "none"), 11)).error_code,
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  source_.move_leader(kT0, kOne, LeaderEpoch(4));
  const std::pair<int, ErrorCode> cases[] = {{-1, ErrorCode::NONE},
                                             {0, ErrorCode::FENCED_LEADER_EPOCH},
                                             {3, ErrorCode::FENCED_LEADER_EPOCH},
                                             {4, ErrorCode::NONE},
                                             {5, ErrorCode::UNKNOWN_LEADER_EPOCH}};
  for (const auto& [epoch, code] : cases) {
    Ask one = at(0);
    one.epoch = epoch;
    EXPECT_EQ(only(ask(fetch_of({one}), 11)).error_code, code) << epoch;
    wire::ListOffsetsRequest list;
    auto& topic = list.topics.emplace_back();
    topic.name = "t";
    auto& partition = topic.partitions.emplace_back();
    partition.current_leader_epoch = LeaderEpoch(epoch);
    partition.timestamp = -1;
    EXPECT_EQ(ask(list, 5).topics.at(0).partitions.at(0).error_code, code) << epoch;
  }
}

// Epochs 0, 2 and 4 begin at 0, 11 and 12; the log ends at 13 (cases G19 and G21).
void write_epochs(SimSource& source) {
  for (int i = 0; i < 11; ++i) source.append(kT0, simple_batch(i, 1, 0, kGivenTimeMs + i));
  source.move_leader(kT0, kTwo);
  source.move_leader(kT0, kOne);
  source.append(kT0, simple_batch(11, 1, 2, kGivenTimeMs + 11));
  source.move_leader(kT0, kTwo);
  source.move_leader(kT0, kOne);
  source.append(kT0, simple_batch(12, 1, 4, kGivenTimeMs + 12));
}

TEST_F(SimSourceTest, EpochEndsAsInG19) {
  write_epochs(source_);
  const std::pair<int, EpochEnd> cases[] = {
      {-1, EpochEnd()},
      {0, EpochEnd(LeaderEpoch(0), Offset(11))},
      {1, EpochEnd(LeaderEpoch(0), Offset(11))},
      {2, EpochEnd(LeaderEpoch(2), Offset(12))},
      {3, EpochEnd(LeaderEpoch(2), Offset(12))},
      {4, EpochEnd(LeaderEpoch(4), Offset(13))},
      {5, EpochEnd()},
  };
  for (const auto& [epoch, end] : cases) {
    wire::OffsetForLeaderEpochRequest request;
    auto& topic = request.topics.emplace_back();
    topic.topic = "t";
    topic.partitions.emplace_back().leader_epoch = LeaderEpoch(epoch);
    const auto answer = ask(request, 4);
    const auto& entry = answer.topics.at(0).partitions.at(0);
    EXPECT_EQ(entry.error_code, ErrorCode::NONE);
    EXPECT_EQ(EpochEnd(entry.leader_epoch, entry.end_offset), end) << epoch;
  }
}

TEST_F(SimSourceTest, OffsetsCarryTheirOwnEpochAsInG21) {
  write_epochs(source_);
  const std::tuple<std::int64_t, int, int> cases[] = {
      {-2, 0, 0}, {-1, 13, 4}, {kGivenTimeMs + 5, 5, 0}, {kGivenTimeMs + 99, -1, -1}, {-3, 12, 4}};
  for (const auto& [timestamp, offset, epoch] : cases) {
    wire::ListOffsetsRequest list;
    auto& topic = list.topics.emplace_back();
    topic.name = "t";
    topic.partitions.emplace_back().timestamp = timestamp;
    const auto answer = ask(list, 7);
    const auto& entry = answer.topics.at(0).partitions.at(0);
    EXPECT_EQ(entry.offset, Offset(offset)) << timestamp;
    EXPECT_EQ(entry.leader_epoch, LeaderEpoch(epoch)) << timestamp;
  }
}

TEST_F(SimSourceTest, DivergenceAsInG20) {
  source_.produce(kT0);
  Ask one = at(1);
  one.last_fetched = 0;
  auto answer = ask(fetch_of({one}), 12);
  EXPECT_TRUE(only(answer).records->empty());
  EXPECT_EQ(only(answer).diverging_epoch.epoch, kNoLeaderEpoch);
  one.offset = 5;
  answer = ask(fetch_of({one}), 12);
  EXPECT_EQ(only(answer).error_code, ErrorCode::NONE);
  EXPECT_EQ(only(answer).diverging_epoch.epoch, LeaderEpoch(0));
  EXPECT_EQ(only(answer).diverging_epoch.end_offset, Offset(1));
  answer = ask(fetch_of({at(0)}), 12);
  EXPECT_FALSE(only(answer).records->empty());
}

TEST_F(SimSourceTest, AFetchWaitsForDataOrTheTime) {
  const env::Instant start = world_.clock().now();
  wire::FetchRequest request = fetch_of({at(0)});
  request.max_wait_ms = 1'500;
  EXPECT_TRUE(only(ask(request, 11)).records->empty());
  EXPECT_GE(world_.clock().now() - start, 1'500ms);
  EXPECT_LT(world_.clock().now() - start, 1'600ms);
  world_.schedule(300ms, [this] { source_.produce(kT0); });
  const env::Instant again = world_.clock().now();
  EXPECT_FALSE(only(ask(request, 11)).records->empty());
  EXPECT_LT(world_.clock().now() - again, 400ms);
}

TEST_F(SimSourceTest, TheHighWatermarkMayLag) {
  for (int i = 0; i < 100; ++i) source_.produce(kT0);
  source_.log(kT0).set_high_watermark(Offset(90));
  source_.partition(kT0).offset_not_available = true;
  const auto idle = ask(fetch_of({at(100)}), 11);
  EXPECT_EQ(only(idle).error_code, ErrorCode::NONE);
  EXPECT_EQ(only(idle).high_watermark, Offset(90));
  EXPECT_TRUE(only(idle).records->empty());
  EXPECT_TRUE(only(ask(fetch_of({at(95)}), 11)).records->empty());
  wire::ListOffsetsRequest list;
  auto& topic = list.topics.emplace_back();
  topic.name = "t";
  topic.partitions.emplace_back().timestamp = -1;
  EXPECT_EQ(ask(list, 5).topics.at(0).partitions.at(0).error_code, ErrorCode::OFFSET_NOT_AVAILABLE);
}

}  // namespace
}  // namespace kmirror::testing
