// FetchSessionCache and plan_fetch: KIP-227 without a socket (the pure half of G14).
#include "server/handlers/fetch_session.h"

#include <gtest/gtest.h>

#include "server/handlers/fetch_plan.h"

namespace kmirror::server {
namespace {

using std::chrono::seconds;

class CountingRng final : public env::Rng {
 public:
  std::uint64_t next() override { return next_++; }

 private:
  std::uint64_t next_ = 0;
};

class FetchSessionTest : public testing::Test {
 protected:
  static wire::FetchRequest request(std::int32_t id, std::int32_t epoch,
                                    const std::vector<std::string>& topics) {
    wire::FetchRequest fetch;
    fetch.session_id = id;
    fetch.session_epoch = epoch;
    for (const auto& name : topics) {
      auto& topic = fetch.topics.emplace_back();
      topic.topic = name;
      topic.partitions.emplace_back().partition = 0;
    }
    return fetch;
  }
  FetchPlan plan(const wire::FetchRequest& fetch, std::int16_t version = 11) {
    return plan_fetch(cache_, fetch, ApiVersion(version), 1'000'000, now_);
  }
  static std::string names(const FetchPlan& plan) {
    std::string text;
    for (const auto& partition : plan.partitions) text += partition->topic.name;
    return text;
  }
  std::int32_t open(const std::vector<std::string>& topics) {
    FetchPlan first = plan(request(0, 0, topics));
    const auto session = cache_.create(std::move(first.listed), first.by_id, now_);
    return session != nullptr ? session->id : 0;
  }

  metrics::Registry registry_;
  metrics::Gauge& kept_ = registry_.gauge("kept", "");
  CountingRng rng_;
  env::Instant now_ = env::Instant() + seconds(1'000);
  FetchSessionCache cache_{2, seconds(120), rng_, kept_, 1, 4};
};

TEST_F(FetchSessionTest, an_id_names_its_loop_and_is_positive) {
  const std::int32_t id = open({"a"});
  EXPECT_GT(id, 0);
  EXPECT_EQ(id % 4, 1);
  EXPECT_NE(open({"b"}), id);
}

TEST_F(FetchSessionTest, epochs_must_follow_each_other) {
  const std::int32_t id = open({"e", "m"});
  EXPECT_EQ(names(plan(request(id, 1, {}))), "em");
  EXPECT_EQ(names(plan(request(id, 2, {}))), "em");
  EXPECT_EQ(plan(request(id, 2, {})).error, ErrorCode::INVALID_FETCH_SESSION_EPOCH);
  EXPECT_EQ(plan(request(id, 4, {})).error, ErrorCode::INVALID_FETCH_SESSION_EPOCH);
  EXPECT_EQ(plan(request(id, 3, {})).error, ErrorCode::NONE);
  EXPECT_EQ(plan(request(123'456, 1, {})).error, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  EXPECT_EQ(FetchSessionCache::next_epoch(INT32_MAX), 1);
}

TEST_F(FetchSessionTest, forgotten_and_added_partitions) {
  const std::int32_t id = open({"e", "m"});
  wire::FetchRequest forget = request(id, 1, {"x"});
  auto& gone = forget.forgotten_topics_data.emplace_back();
  gone.topic = "e";
  gone.partitions = {0, 7};
  EXPECT_EQ(names(plan(forget)), "mx");
  EXPECT_EQ(names(plan(request(id, 2, {"m"}))), "mx");
}

TEST_F(FetchSessionTest, a_session_without_partitions_ends) {
  const std::int32_t id = open({"e"});
  wire::FetchRequest forget = request(id, 1, {});
  auto& gone = forget.forgotten_topics_data.emplace_back();
  gone.topic = "e";
  gone.partitions = {0};
  const FetchPlan last = plan(forget);
  EXPECT_EQ(last.error, ErrorCode::NONE);
  EXPECT_FALSE(last.is_incremental());
  EXPECT_FALSE(last.wants_session);
  EXPECT_EQ(plan(request(id, 2, {})).error, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
}

TEST_F(FetchSessionTest, the_final_epoch_closes_and_answers_in_full) {
  const std::int32_t id = open({"e", "m"});
  const FetchPlan last = plan(request(id, -1, {"e", "m"}));
  EXPECT_EQ(names(last), "em");
  EXPECT_FALSE(last.is_incremental());
  EXPECT_FALSE(last.wants_session);
  EXPECT_EQ(cache_.size(), 0U);
  EXPECT_EQ(kept_.value(), 0);
}

TEST_F(FetchSessionTest, ids_and_names_do_not_mix) {
  const std::int32_t id = open({"e"});
  EXPECT_EQ(plan(request(id, 1, {}), 13).error, ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR);
}

TEST_F(FetchSessionTest, a_full_cache_gives_no_session_until_one_is_old) {
  const std::int32_t first = open({"a"});
  now_ += seconds(60);
  const std::int32_t second = open({"b"});
  EXPECT_EQ(open({"c"}), 0);
  now_ += seconds(60);
  EXPECT_GT(open({"c"}), 0);
  EXPECT_EQ(plan(request(first, 1, {})).error, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  EXPECT_EQ(plan(request(second, 1, {})).error, ErrorCode::NONE);
  EXPECT_EQ(kept_.value(), 2);
}

TEST_F(FetchSessionTest, a_partition_named_twice_is_kept_once_with_the_later_wish) {
  wire::FetchRequest twice = request(0, 0, {"a", "a"});
  twice.topics[1].partitions[0].fetch_offset = Offset(9);
  const FetchPlan full = plan(twice);
  ASSERT_EQ(full.partitions.size(), 1U);
  EXPECT_EQ(full.partitions[0]->fetch_offset, Offset(9));
}

TEST_F(FetchSessionTest, those_that_gave_data_go_to_the_end) {
  const std::int32_t id = open({"a", "b", "c"});
  const FetchPlan one = plan(request(id, 1, {}));
  one.session->partitions.move_to_end(*one.partitions[0]);
  EXPECT_EQ(names(plan(request(id, 2, {}))), "bca");
}

TEST_F(FetchSessionTest, limits_are_bounded_by_the_broker) {
  wire::FetchRequest fetch = request(0, -1, {"a"});
  fetch.max_bytes = INT32_MAX;
  fetch.min_bytes = INT32_MAX;
  fetch.max_wait_ms = -5;
  const FetchPlan full = plan(fetch);
  EXPECT_EQ(full.max_bytes, 1'000'000U);
  EXPECT_EQ(full.min_bytes, 1'000'000U);
  EXPECT_EQ(full.max_wait.count(), 0);
}

}  // namespace
}  // namespace kmirror::server
