// FAILED: what leads there, how it is tried again, and that neighbours do not notice.
// Cases G29, G58, G62, G63, G71, G73; decisions 3.18.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kmirror/model/batch_header.h"
#include "unit/mirror/batches.h"
#include "unit/mirror/mirror_site.h"

namespace kmirror::mirror {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

const TopicPartition kT0("t", 0);
const TopicPartition kT1("t", 1);
const TopicPartition kT2("t", 2);

class MirrorFailureTest : public ::testing::Test {
 protected:
  void start_mirror(std::int32_t partitions) {
    site_.source.create_topic("t", partitions);
    for (std::int32_t i = 0; i < partitions; ++i) {
      site_.source.move_leader(TopicPartition("t", i), kSourceOne, LeaderEpoch{5});
      site_.source.produce(TopicPartition("t", i), 5);
    }
    site_.start();
    site_.create_mirror();
    ASSERT_EQ(site_.start_topics({"t"}), ErrorCode::NONE);
    for (std::int32_t i = 0; i < partitions; ++i) {
      ASSERT_TRUE(site_.catches_up(TopicPartition("t", i), 5));
      ASSERT_TRUE(site_.reaches(TopicPartition("t", i), "MIRRORING"));
    }
  }
  MirrorSite site_;
};

struct Break {
  const char* name;
  std::function<Bytes(Bytes)> damage;
  const char* reason;
};

void PrintTo(const Break& broken, std::ostream* out) { *out << broken.name; }

class MirrorCorruptTest : public MirrorFailureTest, public ::testing::WithParamInterface<Break> {};

// G58 (b)-(f): one answer with p0 good, p1 bad, p2 good, ten rounds.
TEST_P(MirrorCorruptTest, OneBadPartitionDoesNotStopItsNeighbours) {
  site_.broker_file["mirror.failed.retry.max.attempts"] = "3";
  start_mirror(3);
  site_.source.fetch.hook = [&](const auto& exchange) {
    for (auto& topic : exchange->response.responses) {
      for (auto& partition : topic.partitions) {
        const bool is_bad =
            partition.partition_index == 1 && partition.records && !partition.records->empty();
        if (!is_bad) continue;
        const Slice bytes = partition.records->flatten().value();
        partition.records = ByteChain(
            Slice::take(GetParam().damage(Bytes(bytes.span().begin(), bytes.span().end()))));
      }
    }
  };
  const testing::Unhook unhook(site_.source);
  const Bytes before = site_.bytes_of(kT1);
  site_.source.produce(kT1, 5);
  for (int round = 1; round <= 10; ++round) {
    site_.source.produce(kT0, 1);
    site_.source.produce(kT2, 1);
    ASSERT_TRUE(site_.catches_up(kT0, 5 + round, seconds(2))) << round;
    ASSERT_TRUE(site_.catches_up(kT2, 5 + round, seconds(2))) << round;
  }
  site_.world.run_for(seconds(30));
  const Described shown = site_.describe(kT1);
  EXPECT_EQ(shown.state, "FAILED");
  EXPECT_EQ(shown.attempt, 3);
  EXPECT_THAT(shown.error, HasSubstr(GetParam().reason));
  EXPECT_EQ(site_.bytes_of(kT1), before);
  const std::size_t fetches = site_.source.fetch.seen.size();
  site_.world.run_for(seconds(400));
  EXPECT_EQ(site_.describe(kT1).state, "FAILED") << "no attempt is left";
  for (std::size_t i = fetches; i < site_.source.fetch.seen.size(); ++i) {
    for (const auto& topic : site_.source.fetch.seen[i].request.topics) {
      for (const auto& partition : topic.partitions) EXPECT_NE(partition.partition, 1);
    }
  }
  // Right again: only an operator brings it back, and nothing is missing or doubled.
  site_.source.fetch.hook = nullptr;
  site_.recover({"t"});
  ASSERT_TRUE(site_.catches_up(kT1, 10));
  EXPECT_EQ(site_.bytes_of(kT1), site_.source_bytes_of(kT1));
}

INSTANTIATE_TEST_SUITE_P(
    G58, MirrorCorruptTest,
    ::testing::Values(
        Break{"crc", [](Bytes b) { return with_bad_crc(std::move(b)); },
              "CRC of the batch at offset 5 is wrong"},
        Break{"magic",
              [](Bytes b) { return with_field<std::int8_t>(std::move(b), kMagicPosition, 3); },
              "magic 3"},
        Break{"length10",
              [](Bytes b) { return with_field<std::int32_t>(std::move(b), batch_at::kLength, 10); },
              "length 10"},
        Break{"lengthminus1",
              [](Bytes b) { return with_field<std::int32_t>(std::move(b), batch_at::kLength, -1); },
              "length -1"},
        Break{"delta",
              [](Bytes b) {
                return with_field<std::int32_t>(std::move(b), batch_at::kLastOffsetDelta, -1);
              },
              "last offset delta -1"}),
    [](const auto& run) { return run.param.name; });

// G58 (a): wrong once, then right.
TEST_F(MirrorFailureTest, ACorruptAnswerHealsByItself) {
  start_mirror(1);
  bool bent = false;
  site_.source.fetch.hook = [&](const auto& exchange) {
    if (exchange->response.responses.empty()) return;
    auto& partition = exchange->response.responses[0].partitions.at(0);
    if (!partition.records || partition.records->empty() || std::exchange(bent, true)) return;
    const Slice bytes = partition.records->flatten().value();
    partition.records =
        ByteChain(Slice::take(with_bad_crc(Bytes(bytes.span().begin(), bytes.span().end()))));
  };
  const testing::Unhook unhook(site_.source);
  site_.source.produce(kT0, 5);
  ASSERT_TRUE(site_.catches_up(kT0, 10, seconds(5)));
  EXPECT_TRUE(bent);
  EXPECT_EQ(site_.bytes_of(kT0), site_.source_bytes_of(kT0));
  ASSERT_TRUE(site_.reaches(kT0, "MIRRORING"));
  site_.world.run_for(seconds(1));
  EXPECT_EQ(site_.describe(kT0).attempt, 0) << "progress forgets the failure";
  EXPECT_EQ(site_.describe(kT0).error, "");
}

// G58 (b): what stands before the bad batch is kept.
TEST_F(MirrorFailureTest, GoodBatchesBeforeABadOneAreKept) {
  start_mirror(1);
  site_.source.fetch.hook = [&](const auto& exchange) {
    if (exchange->response.responses.empty()) return;
    auto& partition = exchange->response.responses[0].partitions.at(0);
    if (!partition.records || partition.records->empty()) return;
    Bytes bad = with_bad_crc(batch(10, 14, 5));
    const Slice bytes = partition.records->flatten().value();
    Bytes all(bytes.span().begin(), bytes.span().end());
    all.insert(all.end(), bad.begin(), bad.end());
    partition.records = ByteChain(Slice::take(std::move(all)));
  };
  const testing::Unhook unhook(site_.source);
  site_.source.produce(kT0, 5);
  ASSERT_TRUE(site_.reaches(kT0, "FAILED"));
  EXPECT_EQ(site_.end_of(kT0), 10);
  EXPECT_EQ(site_.bytes_of(kT0), site_.source_bytes_of(kT0));
}

// G71: each answer holds one batch of epoch 6 while Metadata says 5 for ever.
TEST_F(MirrorFailureTest, ARefusedBatchDoesNotClearTheRetryCounter) {
  site_.broker_file["mirror.failed.retry.max.attempts"] = "3";
  site_.broker_file["mirror.failed.retry.initial.backoff.ms"] = "100";
  start_mirror(1);
  site_.source.fetch.hook = [&](const auto& exchange) {
    for (auto& topic : exchange->response.responses) {
      for (auto& partition : topic.partitions) {
        // Empty answers at this position would be progress.
        if (partition.error_code == ErrorCode::NONE && partition.high_watermark > Offset(5)) {
          partition.records = ByteChain(Slice::take(batch(5, 5, 6)));
        }
      }
    }
  };
  const testing::Unhook unhook(site_.source);
  std::set<int> attempts;
  site_.source.append(kT0, Slice::take(batch(5, 5, 6)));
  for (int i = 0; i < 1'000; ++i) {
    const Described shown = site_.describe(kT0);
    attempts.insert(shown.attempt);
    if (shown.attempt == 3) break;
    site_.world.run_for(milliseconds(5));
  }
  EXPECT_THAT(attempts, ::testing::ElementsAre(0, 1, 2, 3));
  site_.world.run_for(seconds(60));
  const Described shown = site_.describe(kT0);
  EXPECT_EQ(shown.state, "FAILED");
  EXPECT_EQ(shown.attempt, 3);
  EXPECT_THAT(shown.error, AllOf(HasSubstr("leader epoch 6"), HasSubstr("still says 5")));
  EXPECT_EQ(site_.end_of(kT0), 5);
  site_.source.fetch.hook = nullptr;
  site_.source.move_leader(kT0, kSourceOne, LeaderEpoch{6});
  site_.recover({"t"});
  ASSERT_TRUE(site_.catches_up(kT0, 6));
  ASSERT_TRUE(site_.reaches(kT0, "MIRRORING"));
  site_.world.run_for(seconds(1));
  EXPECT_EQ(site_.describe(kT0).attempt, 0);
  EXPECT_EQ(site_.describe(kT0).error, "");
}

// The source is gone for minutes: FAILED shows, attempts are not used up, it comes back by itself.
TEST_F(MirrorFailureTest, ASourceThatIsGoneComesBackByItself) {
  site_.broker_file["mirror.failed.retry.max.attempts"] = "3";
  start_mirror(2);
  site_.source.stop_node(kSourceOne);
  site_.source.stop_node(kSourceTwo);
  ASSERT_TRUE(site_.reaches(kT0, "FAILED", seconds(60)));
  EXPECT_THAT(site_.describe(kT0).error, HasSubstr(site_.source.endpoint(kSourceOne).text()));
  site_.world.run_for(std::chrono::hours(1));
  EXPECT_EQ(site_.describe(kT0).state, "FAILED");
  EXPECT_LT(site_.describe(kT0).attempt, 3) << "a connection error never uses up the attempts";
  ASSERT_TRUE(site_.source.start_node(kSourceOne));
  ASSERT_TRUE(site_.source.start_node(kSourceTwo));
  site_.source.produce(kT0, 5);
  ASSERT_TRUE(site_.catches_up(kT0, 10, seconds(15)));
  ASSERT_TRUE(site_.reaches(kT1, "MIRRORING", seconds(15)));
  EXPECT_EQ(site_.bytes_of(kT0), site_.source_bytes_of(kT0));
  site_.world.run_for(seconds(2));
  EXPECT_EQ(site_.describe(kT0).attempt, 0);
}

// G29 (a): deleted and made again under the same name.
TEST_F(MirrorFailureTest, ATopicMadeAgainIsNotGluedOn) {
  start_mirror(1);
  const Bytes before = site_.bytes_of(kT0);
  const std::string old_id = site_.source.topic("t").id.text();
  site_.source.recreate_topic("t");
  site_.source.produce(kT0, 8);
  ASSERT_TRUE(site_.reaches(kT0, "FAILED", seconds(60)));
  const Described shown = site_.describe(kT0);
  EXPECT_EQ(shown.attempt, -1);
  EXPECT_THAT(shown.error, AllOf(HasSubstr(old_id), HasSubstr(site_.source.topic("t").id.text())));
  site_.world.run_for(seconds(100));
  EXPECT_EQ(site_.bytes_of(kT0), before);
}

// G29 (b): error 3 for two seconds is no deletion.
TEST_F(MirrorFailureTest, AShortUnknownTopicIsWaitedOut) {
  start_mirror(1);
  const env::Instant until = site_.world.clock().now() + seconds(2);
  const auto unknown = [&](auto& code) {
    if (site_.world.clock().now() < until) code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
  };
  site_.source.fetch.hook = [&](const auto& exchange) {
    for (auto& topic : exchange->response.responses) {
      for (auto& partition : topic.partitions) unknown(partition.error_code);
    }
  };
  site_.source.metadata.hook = [&](const auto& exchange) {
    for (auto& topic : exchange->response.topics) unknown(topic.error_code);
  };
  const testing::Unhook unhook(site_.source);
  site_.source.produce(kT0, 5);
  ASSERT_TRUE(site_.catches_up(kT0, 10, seconds(10)));
  EXPECT_EQ(site_.bytes_of(kT0), site_.source_bytes_of(kT0));
  EXPECT_EQ(site_.describe(kT0).state, "MIRRORING");
}

// G63: deleted at the source; nothing of ours brings it back.
TEST_F(MirrorFailureTest, ADeletedTopicStaysDeleted) {
  start_mirror(1);
  const Bytes before = site_.bytes_of(kT0);
  site_.source.delete_topic("t");
  ASSERT_TRUE(site_.reaches(kT0, "FAILED", seconds(120)));
  EXPECT_EQ(site_.describe(kT0).attempt, -1);
  EXPECT_THAT(site_.describe(kT0).error, HasSubstr("deleted at the source"));
  site_.world.run_for(seconds(150));
  site_.stop();
  site_.start();
  EXPECT_EQ(site_.start_topics({"nope"}), ErrorCode::NONE);
  site_.world.run_for(seconds(60));
  EXPECT_EQ(site_.describe(kT0).state, "FAILED");
  EXPECT_EQ(site_.bytes_of(kT0), before);
  EXPECT_TRUE(site_.source.topics().empty());
  for (const auto& seen : site_.source.metadata.seen) {
    EXPECT_FALSE(seen.request.allow_auto_topic_creation);
  }
}

// G62: READ and DESCRIBE on one topic are taken away for four refreshes.
TEST_F(MirrorFailureTest, LosingARightIsNotADeletion) {
  site_.source.create_topic("b", 1);
  const TopicPartition b0("b", 0);
  site_.source.produce(b0, 3);
  start_mirror(1);
  ASSERT_EQ(site_.start_topics({"b"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.catches_up(b0, 3));
  const auto refuse = [](auto& code) { code = ErrorCode::TOPIC_AUTHORIZATION_FAILED; };
  const Uuid id = site_.source.topic("b").id;
  site_.source.fetch.hook = [&](const auto& exchange) {
    for (auto& topic : exchange->response.responses) {
      if (topic.topic_id != id && topic.topic != "b") continue;
      for (auto& partition : topic.partitions) {
        partition.records.reset();
        refuse(partition.error_code);
      }
    }
  };
  site_.source.metadata.hook = [&](const auto& exchange) {
    auto& topics = exchange->response.topics;
    const bool is_full_list = !exchange->request.topics.has_value();
    if (is_full_list) {
      std::erase_if(topics, [](const auto& topic) { return topic.name == "b"; });
    }
    for (auto& topic : topics) {
      if (topic.name != "b") continue;
      refuse(topic.error_code);
      topic.partitions.clear();
    }
  };
  const testing::Unhook unhook(site_.source);
  site_.source.produce(b0, 2);
  ASSERT_TRUE(site_.reaches(b0, "FAILED", seconds(60)));
  for (int i = 0; i < 4; ++i) {
    site_.source.produce(kT0, 1);
    site_.world.run_for(seconds(30));
    EXPECT_THAT(site_.describe(b0).error, AllOf(HasSubstr("not authorized"), HasSubstr("topic b")));
    EXPECT_GE(site_.describe(b0).attempt, 0);
  }
  EXPECT_EQ(site_.end_of(kT0), 9) << "the other topic goes on";
  site_.source.fetch.hook = nullptr;
  site_.source.metadata.hook = nullptr;
  ASSERT_TRUE(site_.catches_up(b0, 5, seconds(60)));
  ASSERT_TRUE(site_.reaches(b0, "MIRRORING"));
}

// G73: another cluster behind the same address.
TEST_F(MirrorFailureTest, AnotherClusterBehindTheAddressIsNotBelieved) {
  start_mirror(1);
  const Bytes before = site_.bytes_of(kT0);
  const std::string right = site_.source.cluster_id();
  site_.source.set_cluster_id("another-cluster-000001");
  site_.source.drop_connections(kSourceOne);
  site_.source.drop_connections(kSourceTwo);
  for (int i = 0; i < 10; ++i) site_.source.produce(kT0, 5);
  ASSERT_TRUE(site_.reaches(kT0, "FAILED", seconds(60)));
  site_.world.run_for(seconds(100));
  const Described shown = site_.describe(kT0);
  EXPECT_EQ(shown.attempt, -1);
  EXPECT_THAT(shown.error, AllOf(HasSubstr(right), HasSubstr("another-cluster-000001")));
  EXPECT_EQ(site_.bytes_of(kT0), before);
  site_.source.set_cluster_id(right);
  site_.recover({"t"});
  ASSERT_TRUE(site_.catches_up(kT0, 55, seconds(60)));
  EXPECT_EQ(site_.bytes_of(kT0), site_.source_bytes_of(kT0));
}

}  // namespace
}  // namespace kmirror::mirror
