#include "kmirror/metadata/names.h"

#include <gtest/gtest.h>

#include "kmirror/model/error_code.h"

namespace kmirror::metadata {
namespace {

TEST(NamesTest, TopicNames) {
  for (const std::string& good :
       std::vector<std::string>{"a", "a.b", "a_b", "A-1", "__x", std::string(249, 'x')}) {
    EXPECT_TRUE(check_topic_name(good)) << good;
  }
  for (const std::string& bad :
       std::vector<std::string>{"", ".", "..", "a/b", "a b", "ä", std::string(250, 'x')}) {
    const Result<void> result = check_topic_name(bad);
    ASSERT_FALSE(result) << bad;
    EXPECT_EQ(to_kafka_error(result.error()), ErrorCode::INVALID_TOPIC_EXCEPTION);
  }
  EXPECT_EQ(collision_key("a.b"), collision_key("a_b"));
  EXPECT_NE(collision_key("a.b"), collision_key("a-b"));
}

TEST(NamesTest, MirrorNamesMustNotLookLikeAState) {
  EXPECT_TRUE(check_mirror_name("dc1-to-dc2"));
  for (const char* bad : {"", "..", "a/b", "m.paused", "m.stopped", "m.removed"}) {
    const Result<void> result = check_mirror_name(bad);
    ASSERT_FALSE(result) << bad;
    EXPECT_EQ(to_kafka_error(result.error()), ErrorCode::INVALID_CLUSTER_MIRROR_NAME);
  }
}

TEST(NamesTest, FormsOfMirrorName) {
  EXPECT_EQ(MirrorNameForm::parse("m")->state, DesiredMirrorState::kMirroring);
  EXPECT_EQ(MirrorNameForm::parse("m.paused")->state, DesiredMirrorState::kPaused);
  EXPECT_EQ(MirrorNameForm::parse("m.stopped")->mirror, "m");
  EXPECT_FALSE(MirrorNameForm::parse(".paused"));
  EXPECT_FALSE(MirrorNameForm::parse("m.stopped.paused"));
  for (const char* form : {"m", "m.paused", "m.stopped", "a.b"}) {
    EXPECT_EQ(MirrorNameForm::parse(form)->text(), form);
  }
}

TEST(NamesTest, MirrorNameOfATopic) {
  TopicImage topic;
  EXPECT_EQ(mirror_name_of(topic), "");
  topic.mirror_name = "m";
  topic.desired_mirror_state = DesiredMirrorState::kPaused;
  EXPECT_EQ(mirror_name_of(topic), "m.paused");
}

}  // namespace
}  // namespace kmirror::metadata
