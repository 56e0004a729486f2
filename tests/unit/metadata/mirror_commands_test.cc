#include <gmock/gmock.h>

#include "unit/metadata/command_fixture.h"

namespace kmirror::metadata {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MirrorCommandTest : public CommandTest {
 protected:
  wire::StartMirrorTopicsResponse start_with(wire::StartMirrorTopicsRequest request) {
    return run_request(request);
  }
  ErrorCode stop_all(const std::string& mirror, std::vector<std::string> patterns) {
    wire::StopMirrorTopicsRequest request;
    request.mirror_name = mirror;
    request.patterns = std::move(patterns);
    return run_request(request).error_code;
  }
};

TEST_F(MirrorCommandTest, CreateMakesTheMirrorAndItsStateTopic) {
  EXPECT_EQ(create_mirror("m").error_code, ErrorCode::NONE);
  EXPECT_TRUE(image().has_mirror("m"));
  EXPECT_THAT(image().mirror_names(), ElementsAre("m"));
  const auto topic = image().topic("__mirror_state");
  ASSERT_NE(topic, nullptr);
  EXPECT_EQ(topic->partitions.size(), 50U);
  EXPECT_EQ(override_of(ConfigResourceType::kTopic, "__mirror_state", "cleanup.policy"), "compact");
  EXPECT_EQ(override_of(ConfigResourceType::kTopic, "__mirror_state", "retention.ms"), "-1");
  EXPECT_EQ(create_mirror("n").error_code, ErrorCode::NONE);
  EXPECT_THAT(image().mirror_names(), ElementsAre("m", "n"));
}

TEST_F(MirrorCommandTest, CreateRefusesWhatIsWrong) {
  const auto code = [this](const std::string& name, const ConfigMap& configs) {
    return create_mirror(name, configs).error_code;
  };
  EXPECT_EQ(code("a/b", {}), ErrorCode::INVALID_CLUSTER_MIRROR_NAME);
  EXPECT_EQ(code("", {}), ErrorCode::INVALID_CLUSTER_MIRROR_NAME);
  EXPECT_EQ(code("m.stopped", {}), ErrorCode::INVALID_CLUSTER_MIRROR_NAME);
  EXPECT_EQ(code("m", {{"foo", "1"}}), ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(code("m", {{"bootstrap.servers", ""}}), ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(code("m", {{"mirror.topics.include", "("}}), ErrorCode::INVALID_REGULAR_EXPRESSION);
  EXPECT_EQ(code("m", {{"mirror.acl.include", "topic;a;LOOK"}}), ErrorCode::INVALID_CONFIG);
  EXPECT_EQ(code("m", {{"topics.include", "a"}, {"mirror.topics.include", "a"}}),
            ErrorCode::INVALID_CONFIG);
  EXPECT_FALSE(image().has_mirror("m"));
  EXPECT_EQ(image().topic("__mirror_state"), nullptr);
  wire::CreateClusterMirrorRequest empty;
  empty.mirror_name = "m";
  const auto answer = run_request(empty);
  EXPECT_EQ(answer.error_code, ErrorCode::INVALID_CONFIG);
  EXPECT_THAT(answer.error_message.value_or(""), HasSubstr("bootstrap.servers"));
  EXPECT_EQ(code("m", {}), ErrorCode::NONE);
  EXPECT_EQ(code("m", {}), ErrorCode::CLUSTER_MIRROR_ALREADY_EXISTS);
}

TEST_F(MirrorCommandTest, WithTheFeatureOffEverythingIsUnsupported) {
  create_mirror("m");
  run([](Command& command) {
    wire::FeatureLevelRecord off;
    off.name = "mirror.version";
    off.feature_level = 0;
    command.emit(off);
    return 0;
  });
  EXPECT_EQ(create_mirror("n").error_code, ErrorCode::UNSUPPORTED_VERSION);
  EXPECT_EQ(start("m", "t"), ErrorCode::UNSUPPORTED_VERSION);
  EXPECT_EQ(delete_mirror("m"), ErrorCode::UNSUPPORTED_VERSION);
}

TEST_F(MirrorCommandTest, StartCreatesTheTopicWithTheSourcesIdAndSize) {
  create_mirror("m");
  auto request = start_request("m", {"orders.v1"}, 7);
  request.topics[0].topic_id = rng_.uuid();
  const auto answer = start_with(request);
  EXPECT_EQ(answer.error_code, ErrorCode::NONE);
  ASSERT_EQ(answer.topics.size(), 1U);
  const auto topic = image().topic("orders.v1");
  ASSERT_NE(topic, nullptr);
  EXPECT_EQ(topic->id, request.topics[0].topic_id);
  EXPECT_EQ(topic->partitions.size(), 7U);
  EXPECT_EQ(topic->mirror_name, "m");
  EXPECT_EQ(topic->desired_mirror_state, DesiredMirrorState::kMirroring);
  EXPECT_EQ(topic->last_state_offset, image().offset);
  EXPECT_EQ(in_force("m", "mirror.topics.include"), "orders\\.v1");
  EXPECT_EQ(start_with(request).error_code, ErrorCode::NONE);
  EXPECT_EQ(last_record_count_, 0U);  // it is so already
}

TEST_F(MirrorCommandTest, StartOfATopicThatIsNotThereYetIsRemembered) {
  create_mirror("m");
  EXPECT_EQ(start_with(start_request("m", {"later"}, 0)).error_code, ErrorCode::NONE);
  EXPECT_EQ(image().topic("later"), nullptr);
  EXPECT_EQ(in_force("m", "mirror.topics.include"), "later");
}

TEST_F(MirrorCommandTest, IdentityIsChecked) {
  create_mirror("m");
  create_topic("t");
  create_topic("u");
  auto request = start_request("m", {"t"});
  request.topics[0].topic_id = rng_.uuid();
  EXPECT_EQ(start_with(request).error_code, ErrorCode::INCONSISTENT_TOPIC_ID);
  request.topics[0].topic_id = image().topic("u")->id;
  EXPECT_EQ(start_with(request).error_code, ErrorCode::TOPIC_ALREADY_EXISTS);
  request.topics[0].topic_id = Uuid();  // an old source: by name
  EXPECT_EQ(start_with(request).error_code, ErrorCode::NONE);
  EXPECT_EQ(state_of("t"), DesiredMirrorState::kMirroring);
}

TEST_F(MirrorCommandTest, OneTopicOneMirror) {
  create_mirror("m");
  create_mirror("n");
  ASSERT_EQ(start("m", "t"), ErrorCode::NONE);
  EXPECT_EQ(start("n", "t"), ErrorCode::TOPIC_ALREADY_IN_CLUSTER_MIRROR);
  stop("m", "t");
  EXPECT_EQ(start("n", "t"), ErrorCode::MIRROR_TOPIC_NOT_STOPPED);  // still stopping
  stopped_.insert("t");
  EXPECT_EQ(start("n", "t"), ErrorCode::NONE);
  EXPECT_EQ(image().topic("t")->mirror_name, "n");
}

TEST_F(MirrorCommandTest, OneBadTopicDoesNotStopTheOthers) {
  create_mirror("m");
  create_mirror("n");
  ASSERT_EQ(start("n", "taken"), ErrorCode::NONE);
  const auto answer = start_with(start_request("m", {"a", "taken", "b"}));
  EXPECT_EQ(answer.error_code, ErrorCode::TOPIC_ALREADY_IN_CLUSTER_MIRROR);
  ASSERT_EQ(answer.topics.size(), 3U);
  EXPECT_EQ(answer.topics[0].error_code, ErrorCode::NONE);
  EXPECT_EQ(answer.topics[1].error_code, ErrorCode::TOPIC_ALREADY_IN_CLUSTER_MIRROR);
  EXPECT_EQ(answer.topics[2].error_code, ErrorCode::NONE);
  EXPECT_EQ(state_of("b"), DesiredMirrorState::kMirroring);
}

TEST_F(MirrorCommandTest, PatternsAreKept) {
  create_mirror("m");
  auto request = start_request("m", {"log-1"});
  request.include_patterns = {"log-.*"};
  request.exclude_patterns = {"log-debug"};
  EXPECT_EQ(start_with(request).error_code, ErrorCode::NONE);
  EXPECT_EQ(in_force("m", "mirror.topics.include"), "log-.*");  // log-1 is in it
  EXPECT_EQ(in_force("m", "mirror.topics.exclude"), "__.*,log-debug");
  auto back = start_request("m", {"log-debug"});
  EXPECT_EQ(start_with(back).error_code, ErrorCode::NONE);  // named by hand: out of exclude
  EXPECT_EQ(in_force("m", "mirror.topics.exclude"), "__.*");
}

TEST_F(MirrorCommandTest, ANamedTopicThatIsExcludedIsRefusedWhole) {
  create_mirror("m");
  const auto answer = start_with(start_request("m", {"ok", "__secret"}));
  EXPECT_EQ(answer.error_code, ErrorCode::INVALID_REQUEST);
  EXPECT_THAT(answer.error_message.value_or(""), HasSubstr("mirror.topics.exclude"));
  EXPECT_EQ(last_record_count_, 0U);
}

TEST_F(MirrorCommandTest, BrokenPatternsAreRefusedWhole) {
  create_mirror("m");
  auto request = start_request("m", {"ok"});
  request.include_patterns = {"("};
  EXPECT_EQ(start_with(request).error_code, ErrorCode::INVALID_REGULAR_EXPRESSION);
  request.include_patterns = {"a{1,2}"};
  EXPECT_EQ(start_with(request).error_code, ErrorCode::INVALID_REGULAR_EXPRESSION);
  EXPECT_EQ(image().topic("ok"), nullptr);
}

TEST_F(MirrorCommandTest, ExcludePatternsStopTopicsThatRun) {
  create_mirror("m");
  start("m", "a1");
  start("m", "b1");
  wire::StartMirrorTopicsRequest request;
  request.mirror_name = "m";
  request.exclude_patterns = {"a.*"};
  EXPECT_EQ(start_with(request).error_code, ErrorCode::NONE);
  EXPECT_EQ(state_of("a1"), DesiredMirrorState::kStopped);
  EXPECT_EQ(state_of("b1"), DesiredMirrorState::kMirroring);
}

TEST_F(MirrorCommandTest, InternalTopicsAreNotMirrored) {
  create_mirror("m", {{"mirror.topics.exclude", ""}});
  EXPECT_EQ(start("m", "__mirror_state"), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(start("m", "__consumer_offsets"), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(start("m", "__other"), ErrorCode::NONE);
}

TEST_F(MirrorCommandTest, StatesAndTheirVerbs) {
  create_mirror("m");
  EXPECT_EQ(pause("m", "t"), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  create_topic("plain");
  EXPECT_EQ(pause("m", "plain"), ErrorCode::TOPIC_NOT_IN_CLUSTER_MIRROR);
  EXPECT_EQ(resume("m", "plain"), ErrorCode::TOPIC_NOT_IN_CLUSTER_MIRROR);
  EXPECT_EQ(stop("m", "plain"), ErrorCode::TOPIC_NOT_IN_CLUSTER_MIRROR);
  EXPECT_EQ(stop("x", "plain"), ErrorCode::UNKNOWN_CLUSTER_MIRROR);
  ASSERT_EQ(start("m", "t"), ErrorCode::NONE);
  EXPECT_EQ(resume("m", "t"), ErrorCode::NONE);
  EXPECT_EQ(last_record_count_, 0U);
  EXPECT_EQ(pause("m", "t"), ErrorCode::NONE);
  EXPECT_EQ(last_record_count_, 1U);
  EXPECT_EQ(pause("m", "t"), ErrorCode::NONE);
  EXPECT_EQ(last_record_count_, 0U);
  EXPECT_EQ(start("m", "t"), ErrorCode::MIRROR_TOPIC_NOT_STOPPED);
  EXPECT_EQ(resume("m", "t"), ErrorCode::NONE);
  EXPECT_EQ(state_of("t"), DesiredMirrorState::kMirroring);
  pause("m", "t");
  EXPECT_EQ(stop("m", "t"), ErrorCode::NONE);  // from paused
  EXPECT_EQ(stop("m", "t"), ErrorCode::NONE);
  EXPECT_EQ(last_record_count_, 0U);
  EXPECT_EQ(pause("m", "t"), ErrorCode::MIRROR_TOPIC_ALREADY_STOPPED);
  EXPECT_EQ(resume("m", "t"), ErrorCode::MIRROR_TOPIC_NOT_PAUSED);
  EXPECT_EQ(start("m", "t"), ErrorCode::MIRROR_TOPIC_NOT_STOPPED);  // in fact still stopping
  stopped_.insert("t");
  EXPECT_EQ(start("m", "t"), ErrorCode::NONE);
}

TEST_F(MirrorCommandTest, StopByPatternStopsAndExcludes) {
  create_mirror("m", {{"mirror.topics.include", "a.*"}});
  start("m", "a1");
  start("m", "a2");
  start("m", "b1");
  EXPECT_EQ(stop_all("m", {"a.*"}), ErrorCode::NONE);
  EXPECT_EQ(state_of("a1"), DesiredMirrorState::kStopped);
  EXPECT_EQ(state_of("a2"), DesiredMirrorState::kStopped);
  EXPECT_EQ(state_of("b1"), DesiredMirrorState::kMirroring);
  EXPECT_EQ(in_force("m", "mirror.topics.include"), "b1");
  EXPECT_EQ(in_force("m", "mirror.topics.exclude"), "__.*,a.*");
}

TEST_F(MirrorCommandTest, TheLockRefusesWhatChangedSinceTheCheck) {
  create_mirror("m");
  start("m", "t");
  start("m", "u");
  const Offset checked(image().offset);
  const auto locked = [&](auto request, const std::vector<std::string>& names) {
    request.mirror_name = "m";
    for (const std::string& name : names) {
      request.topics.emplace_back();
      request.topics.back().topic_name = name;
    }
    request.state_offset = checked;
    return run_request(request);
  };
  EXPECT_EQ(locked(wire::PauseMirrorTopicsRequest(), {"t"}).error_code, ErrorCode::NONE);
  // t changed after `checked`: pause, resume and start refuse the whole request.
  const auto resumed = locked(wire::ResumeMirrorTopicsRequest(), {"u", "t"});
  EXPECT_EQ(resumed.error_code, ErrorCode::INVALID_CLUSTER_MIRROR_STATE);
  EXPECT_EQ(locked(wire::StartMirrorTopicsRequest(), {"u", "t"}).error_code,
            ErrorCode::INVALID_CLUSTER_MIRROR_STATE);
  // Stop goes topic by topic.
  const auto stopped = locked(wire::StopMirrorTopicsRequest(), {"u", "t"});
  EXPECT_EQ(stopped.error_code, ErrorCode::NONE);
  EXPECT_EQ(stopped.topics[0].error_code, ErrorCode::NONE);
  EXPECT_EQ(stopped.topics[1].error_code, ErrorCode::INVALID_CLUSTER_MIRROR_STATE);
  EXPECT_EQ(state_of("u"), DesiredMirrorState::kStopped);
  EXPECT_EQ(state_of("t"), DesiredMirrorState::kPaused);
}

TEST_F(MirrorCommandTest, DeleteNeedsEverythingStopped) {
  EXPECT_EQ(delete_mirror("m"), ErrorCode::UNKNOWN_CLUSTER_MIRROR);
  create_mirror("m", {{"sasl.jaas.config", "secret;"}});
  start("m", "t");
  EXPECT_EQ(delete_mirror("m"), ErrorCode::CLUSTER_MIRROR_NOT_EMPTY);
  pause("m", "t");
  EXPECT_EQ(delete_mirror("m"), ErrorCode::CLUSTER_MIRROR_NOT_EMPTY);
  stop("m", "t");
  EXPECT_EQ(delete_mirror("m"), ErrorCode::INVALID_CLUSTER_MIRROR_STATE);
  stopped_.insert("t");
  wire::DeleteClusterMirrorRequest stale;
  stale.mirror_name = "m";
  stale.state_offset = Offset(image().topic("t")->last_state_offset - 1);
  EXPECT_EQ(run_request(stale).error_code, ErrorCode::INVALID_CLUSTER_MIRROR_STATE);
  EXPECT_EQ(delete_mirror("m"), ErrorCode::NONE);
  EXPECT_FALSE(image().has_mirror("m"));
  const auto topic = image().topic("t");
  ASSERT_NE(topic, nullptr);  // topics survive
  EXPECT_EQ(topic->mirror_name, std::nullopt);
  EXPECT_FALSE(topic->is_mirrored());
  EXPECT_EQ(create_mirror("m").error_code, ErrorCode::NONE);  // the name is free again
  EXPECT_EQ(override_of(ConfigResourceType::kClusterMirror, "m", "sasl.jaas.config"), std::nullopt);
}

AclImage acl(std::string name, std::set<std::string> owners) {
  AclImage image;
  image.resource_type = 2;
  image.resource_name = std::move(name);
  image.principal = "User:a";
  image.host = "*";
  image.operation = 3;
  image.permission_type = 3;
  image.owners = std::move(owners);
  return image;
}

TEST_F(MirrorCommandTest, AnAclGoesWithItsLastOwner) {
  create_mirror("m");
  const auto add = [this](std::vector<AclImage> acls) {
    return run([&](Command& c) { return add_acls(c, acls); });
  };
  const auto remove = [this](std::optional<std::string> owner) {
    return run([&](Command& c) {
      std::vector<Uuid> ids;
      for (const auto& [id, entry] : c.image().acls) ids.push_back(id);
      return remove_acls(c, ids, owner);
    });
  };
  EXPECT_TRUE(add({acl("t", {})}));
  EXPECT_TRUE(add({acl("t", {"m"}), acl("t", {"n"}), acl("u", {"m"})}));
  ASSERT_EQ(image().acls.size(), 2U);
  EXPECT_TRUE(add({acl("t", {"m"})}));
  EXPECT_EQ(last_record_count_, 0U);
  EXPECT_TRUE(remove("m"));
  ASSERT_EQ(image().acls.size(), 1U);
  EXPECT_THAT(image().acls.begin()->second->owners, ElementsAre("", "n"));
  EXPECT_TRUE(remove(""));
  EXPECT_TRUE(remove("m"));  // not an owner any more
  ASSERT_EQ(image().acls.size(), 1U);
  EXPECT_TRUE(remove(std::nullopt));  // an administrator
  EXPECT_TRUE(image().acls.empty());
}

TEST_F(MirrorCommandTest, DeletingAMirrorKeepsItsAcls) {
  create_mirror("m");
  const std::vector<AclImage> acls = {acl("t", {"m"}), acl("u", {"m", "n"})};
  ASSERT_TRUE(run([&](Command& c) { return add_acls(c, acls); }));
  EXPECT_EQ(delete_mirror("m"), ErrorCode::NONE);
  ASSERT_EQ(image().acls.size(), 2U);
  for (const auto& [id, entry] : image().acls) {
    EXPECT_THAT(entry->owners, ElementsAre(entry->resource_name == "t" ? "" : "n"));
  }
}

TEST_F(MirrorCommandTest, DeletingAMirrorForgetsItsMarks) {
  create_mirror("m");
  start("m", "t");
  stop("m", "t");
  stopped_.insert("t");
  ASSERT_EQ(delete_topic("t"), ErrorCode::NONE);
  ASSERT_FALSE(image().deleted_here.empty());
  EXPECT_EQ(delete_mirror("m"), ErrorCode::NONE);
  EXPECT_TRUE(image().deleted_here.empty());
}

}  // namespace
}  // namespace kmirror::metadata
