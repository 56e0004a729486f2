// G54 (session lost or never granted), G53 (throttled answers) and what each request names.
#include "mirror/fetch_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace kmirror::mirror {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;
using Verdict = FetchSession::Verdict;

const Uuid kIdT = *Uuid::parse("AAAAAAAAAAAAAAAAAAAAAQ");
const Uuid kIdU = *Uuid::parse("AAAAAAAAAAAAAAAAAAAAAg");
constexpr ApiVersion kV12(12);
constexpr ApiVersion kV18(18);

FetchPosition at(std::int64_t offset, Uuid id = kIdT) {
  FetchPosition position;
  position.topic_id = id;
  position.offset = Offset(offset);
  position.last_fetched_epoch = LeaderEpoch{3};
  position.current_leader_epoch = LeaderEpoch{4};
  return position;
}

wire::FetchResponse answer(std::int32_t session_id, ErrorCode error = ErrorCode::NONE) {
  wire::FetchResponse response;
  response.session_id = session_id;
  response.error_code = error;
  return response;
}

/// "topic-partition@offset" of everything the request names, in its order.
std::vector<std::string> named(const wire::FetchRequest& request) {
  std::vector<std::string> names;
  for (const auto& topic : request.topics) {
    for (const auto& partition : topic.partitions) {
      names.push_back(
          fmt::format("{}-{}@{}", topic.topic, partition.partition, partition.fetch_offset));
    }
  }
  return names;
}

class FetchSessionTest : public testing::Test {
 protected:
  FetchSessionTest() {
    session_.set(TopicPartition("t", 0), at(10));
    session_.set(TopicPartition("t", 1), at(20));
    session_.set(TopicPartition("u", 0), at(30, kIdU));
  }
  wire::FetchRequest next(ApiVersion version = kV12) {
    return session_.next_request(version, FetchLimits());
  }
  /// Opens a session with id 77.
  void open() {
    next();
    EXPECT_EQ(session_.accept(answer(77)), Verdict::kUse);
  }
  FetchSession session_;
};

TEST_F(FetchSessionTest, TheFirstRequestIsFullAndNamesEverything) {
  const wire::FetchRequest request = next();
  EXPECT_EQ(request.session_id, 0);
  EXPECT_EQ(request.session_epoch, 0);
  EXPECT_EQ(request.replica_id, NodeId{-1});
  EXPECT_EQ(request.isolation_level, 0);
  EXPECT_EQ(request.rack_id, "");
  EXPECT_THAT(named(request), ElementsAre("t-0@10", "t-1@20", "u-0@30"));
  EXPECT_EQ(request.topics[0].partitions[0].current_leader_epoch, LeaderEpoch{4});
  EXPECT_EQ(request.topics[0].partitions[0].last_fetched_epoch, LeaderEpoch{3});
}

TEST_F(FetchSessionTest, LaterRequestsNameOnlyWhatChanged) {
  open();
  wire::FetchRequest request = next();
  EXPECT_EQ(request.session_id, 77);
  EXPECT_EQ(request.session_epoch, 1);
  EXPECT_TRUE(request.topics.empty()) << "idle partitions cost nothing";
  EXPECT_EQ(session_.accept(answer(77)), Verdict::kUse);

  session_.set(TopicPartition("t", 1), at(25));
  session_.set(TopicPartition("t", 0), at(10));  // the same again
  session_.remove(TopicPartition("u", 0));
  request = next();
  EXPECT_EQ(request.session_epoch, 2);
  EXPECT_THAT(named(request), ElementsAre("t-1@25"));
  ASSERT_EQ(request.forgotten_topics_data.size(), 1U);
  EXPECT_EQ(request.forgotten_topics_data[0].topic, "u");
  EXPECT_EQ(request.forgotten_topics_data[0].topic_id, kIdU);
  EXPECT_THAT(request.forgotten_topics_data[0].partitions, ElementsAre(0));
}

// G54 (a): the next request is a full one at the current positions.
TEST_F(FetchSessionTest, ALostSessionIsRenewedWithAllPositions) {
  open();
  session_.set(TopicPartition("t", 0), at(15));
  next();
  EXPECT_EQ(session_.accept(answer(0, ErrorCode::FETCH_SESSION_ID_NOT_FOUND)), Verdict::kRenew);
  const wire::FetchRequest request = next();
  EXPECT_EQ(request.session_id, 0);
  EXPECT_EQ(request.session_epoch, 0);
  EXPECT_THAT(named(request), UnorderedElementsAre("t-0@15", "t-1@20", "u-0@30"));
}

// G54 (b)
TEST_F(FetchSessionTest, AWrongEpochRenewsAndClosesTheOldSession) {
  open();
  next();
  EXPECT_EQ(session_.accept(answer(77, ErrorCode::INVALID_FETCH_SESSION_EPOCH)), Verdict::kRenew);
  const wire::FetchRequest request = next();
  EXPECT_EQ(request.session_id, 77);
  EXPECT_EQ(request.session_epoch, 0);
  EXPECT_EQ(named(request).size(), 3U);
}

// G54 (c): works for ever with full requests; no partition is always last.
TEST_F(FetchSessionTest, WithoutASessionEveryRequestIsFullAndTheOrderRotates) {
  std::set<std::string> firsts;
  for (int round = 0; round < 6; ++round) {
    const wire::FetchRequest request = next();
    EXPECT_EQ(request.session_epoch, 0);
    EXPECT_THAT(named(request), UnorderedElementsAre("t-0@10", "t-1@20", "u-0@30"));
    std::set<std::string> topics;
    for (const auto& topic : request.topics) EXPECT_TRUE(topics.insert(topic.topic).second);
    firsts.insert(request.topics.front().topic);
    EXPECT_EQ(session_.accept(answer(0)), Verdict::kUse);
  }
  EXPECT_EQ(firsts.size(), 2U);
}

// G54 (d)
TEST_F(FetchSessionTest, ANewConnectionStartsWithAFullRequest) {
  open();
  session_.reset();
  const wire::FetchRequest request = next();
  EXPECT_EQ(request.session_id, 0);
  EXPECT_EQ(named(request).size(), 3U);
}

// G53 (b): an empty, throttled answer says nothing about partitions and keeps the session.
TEST_F(FetchSessionTest, AnEmptyAnswerCountsAsARound) {
  open();
  next();
  EXPECT_EQ(session_.accept(answer(77)), Verdict::kUse);
  next();
  EXPECT_EQ(session_.accept(answer(77)), Verdict::kUse);
  wire::FetchResponse throttled = answer(77);
  throttled.throttle_time_ms = 1'500;
  EXPECT_EQ(next().session_epoch, 3);
  EXPECT_EQ(session_.accept(throttled), Verdict::kUse);
  const wire::FetchRequest request = next();
  EXPECT_EQ(request.session_epoch, 4);
  EXPECT_TRUE(request.topics.empty());
  EXPECT_EQ(session_.positions().at(TopicPartition("t", 0)).offset, Offset(10));
}

TEST_F(FetchSessionTest, TheBrokerMayTakeTheSessionAway) {
  open();
  next();
  EXPECT_EQ(session_.accept(answer(0)), Verdict::kUse);
  EXPECT_EQ(next().session_epoch, 0);
}

TEST_F(FetchSessionTest, AnAnswerOfAnotherSessionCountsForNothing) {
  open();
  next();
  EXPECT_EQ(session_.accept(answer(78)), Verdict::kRenew);
  EXPECT_EQ(named(next()).size(), 3U);
}

TEST_F(FetchSessionTest, OtherErrorsAreTheCallersToJudge) {
  open();
  next();
  EXPECT_EQ(session_.accept(answer(0, ErrorCode::CLUSTER_AUTHORIZATION_FAILED)), Verdict::kRefused);
}

TEST_F(FetchSessionTest, CloseNamesTheSessionWithTheFinalEpoch) {
  open();
  const wire::FetchRequest request = session_.close_request();
  EXPECT_EQ(request.session_id, 77);
  EXPECT_EQ(request.session_epoch, -1);
  EXPECT_TRUE(request.topics.empty());
  EXPECT_EQ(request.max_wait_ms, 0);
}

TEST_F(FetchSessionTest, ATopicWithoutIdKeepsTheVersionWithNames) {
  EXPECT_EQ(session_.usable_version(kV18), kV18);
  session_.set(TopicPartition("old", 0), at(0, Uuid()));
  EXPECT_EQ(session_.usable_version(kV18), kV12);
  EXPECT_EQ(session_.usable_version(ApiVersion(10)), ApiVersion(10));
  session_.set(TopicPartition("old", 0), at(0, *Uuid::parse("AAAAAAAAAAAAAAAAAAAAAw")));
  EXPECT_EQ(session_.usable_version(kV18), kV18);
  session_.set(TopicPartition("old", 0), at(0, Uuid()));
  session_.remove(TopicPartition("old", 0));
  EXPECT_EQ(session_.usable_version(kV18), kV18);
}

TEST_F(FetchSessionTest, ChangingFromNamesToIdsOpensANewSession) {
  open();
  const wire::FetchRequest request = next(kV18);
  EXPECT_EQ(request.session_id, 77);
  EXPECT_EQ(request.session_epoch, 0);
  EXPECT_EQ(named(request).size(), 3U);
  EXPECT_EQ(request.topics[0].topic_id, kIdT);
}

TEST_F(FetchSessionTest, IdsAreNamesOnlyWhileTheTopicIsFetched) {
  EXPECT_EQ(session_.topic_name(kIdT), "t");
  session_.remove(TopicPartition("t", 0));
  EXPECT_EQ(session_.topic_name(kIdT), "t");
  session_.remove(TopicPartition("t", 1));
  EXPECT_EQ(session_.topic_name(kIdT), "");
}

}  // namespace
}  // namespace kmirror::mirror
