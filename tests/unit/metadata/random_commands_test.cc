// Random requests against the newest image: whatever comes, the image keeps its rules, the records
// alone lead to the same image, and so does a snapshot of it.
#include "metadata/snapshot.h"
#include "unit/metadata/command_fixture.h"

namespace kmirror::metadata {
namespace {

class RandomCommandsTest : public CommandTest {
 protected:
  std::string pick(const std::vector<std::string>& words) {
    return words[dice_.below(words.size())];
  }
  std::string topic() {
    return pick({"a", "b", "a.b", "a_b", "orders", "__x", "__mirror_state", "/"});
  }
  std::string mirror() { return pick({"m", "n", "gone"}); }

  void create_random_topic() {
    const auto partitions = static_cast<std::int32_t>(dice_.below(5)) - 1;
    ConfigMap configs;
    if (dice_.below(3) == 0) configs["retention.ms"] = pick({"1", "x"});
    if (dice_.below(4) == 0) configs["mirror.name"] = pick({"m", "n.paused", "m.stopped"});
    create_topic(topic(), partitions, configs);
  }
  void alter_random() {
    const std::string key =
        pick({"retention.ms", "cleanup.policy", "mirror.name", "foo", "mirror.topics.include",
              "topics.exclude", "log.retention.ms", "consumer.session.timeout.ms"});
    const std::string value = pick({"5", "compact", "m", "m.paused", "n.stopped", "", "a.*", "("});
    const auto operation = static_cast<std::int8_t>(dice_.below(5));
    const auto type = std::vector<ConfigResourceType>{
        ConfigResourceType::kTopic, ConfigResourceType::kBroker, ConfigResourceType::kGroup,
        ConfigResourceType::kClusterMirror}[dice_.below(4)];
    const std::string name = type == ConfigResourceType::kTopic           ? topic()
                             : type == ConfigResourceType::kClusterMirror ? mirror()
                                                                          : pick({"", "1", "g"});
    alter(type, name, {Entry{key, operation, value}}, dice_.below(8) == 0);
  }
  void start_random() {
    auto request =
        start_request(mirror(), {topic(), topic()}, static_cast<std::int32_t>(dice_.below(4)) - 1);
    if (dice_.below(3) == 0) request.topics[0].topic_id = dice_.uuid();
    if (dice_.below(3) == 0) request.exclude_patterns = {pick({"a.*", "b", "("})};
    if (dice_.below(3) == 0) request.include_patterns = {pick({"a.*", "o.*", "b,c"})};
    if (dice_.below(4) == 0) request.state_offset = Offset(image().offset - 5);
    run_request(request);
  }
  void bump_random() {
    wire::BumpLeaderEpochsRequest request;
    request.topics.resize(1);
    request.topics[0].topic_name = topic();
    request.topics[0].partitions.resize(2);
    request.topics[0].partitions[1].partition_index = 1;
    request.topics[0].partitions[0].min_leader_epoch =
        LeaderEpoch(static_cast<std::int32_t>(dice_.below(100)));
    run_request(request);
  }
  void acl_random() {
    AclImage acl;
    acl.resource_type = 2;
    acl.resource_name = topic();
    acl.principal = pick({"User:a", "User:b"});
    acl.operation = 3;
    acl.permission_type = 3;
    if (dice_.below(2) == 0) acl.owners.insert(mirror());
    std::vector<Uuid> ids;
    for (const auto& [id, entry] : image().acls) {
      if (dice_.below(4) == 0) ids.push_back(id);
    }
    const std::optional<std::string> owner =
        dice_.below(4) == 0 ? std::nullopt : std::optional<std::string>(mirror());
    const bool adds = dice_.below(2) == 0;
    const Result<void> done =
        run([&](Command& c) { return adds ? add_acls(c, {acl}) : remove_acls(c, ids, owner); });
    EXPECT_TRUE(done);
  }
  void step() {
    switch (dice_.below(12)) {
      case 0:
        create_random_topic();
        break;
      case 1:
        delete_topic(topic());
        break;
      case 2:
        create_mirror(mirror());
        break;
      case 3:
        delete_mirror(mirror());
        break;
      case 4:
        start_random();
        break;
      case 5:
        stop(mirror(), topic());
        break;
      case 6:
        pause(mirror(), topic());
        break;
      case 7:
        resume(mirror(), topic());
        break;
      case 8:
        alter_random();
        break;
      case 9:
        bump_random();
        break;
      case 10:
        acl_random();
        break;
      default:
        toggle_stopped();
        break;
    }
  }
  void toggle_stopped() {
    const std::string name = topic();
    if (!stopped_.erase(name)) stopped_.insert(name);
  }

  void check_rules() {
    for (const auto& [name, topic] : image().topics) {
      EXPECT_FALSE(topic->partitions.empty()) << name;
      for (const PartitionImage& partition : topic->partitions) {
        EXPECT_EQ(partition.leader, NodeId(1)) << name;
        EXPECT_GE(partition.leader_epoch, LeaderEpoch(0)) << name;
      }
      EXPECT_EQ(topic->is_mirrored(), topic->mirror_name.has_value()) << name;
      EXPECT_TRUE(!topic->mirror_name || image().has_mirror(*topic->mirror_name)) << name;
      EXPECT_FALSE(topic->is_mirrored() && is_internal_topic(name)) << name;
    }
    EXPECT_FALSE(image().topics.contains("/"));
    for (const auto& [resource, configs] : image().configs) {
      EXPECT_FALSE(configs->empty());
      if (resource.type == ConfigResourceType::kTopic) {
        EXPECT_TRUE(image().topics.contains(resource.name)) << resource.name;
        EXPECT_FALSE(configs->contains("mirror.name"));
      }
      if (resource.type == ConfigResourceType::kClusterMirror) {
        EXPECT_TRUE(configs->contains("bootstrap.servers"));
      }
    }
    for (const auto& [name, topics] : image().deleted_here) {
      EXPECT_TRUE(image().has_mirror(name)) << name;
    }
    for (const auto& [id, acl] : image().acls) EXPECT_FALSE(acl->owners.empty());
  }
  void check_snapshot() {
    ImageBuilder copy(nullptr);
    for_each_record(image(), [&](const Slice& record) {
      const Result<void> replayed = copy.replay(record, image().offset);
      EXPECT_TRUE(replayed) << (replayed ? "" : replayed.error().message);
    });
    copy.set_offset(image().offset);
    copy.set_identity(image().cluster_id, image().controller_id);
    EXPECT_EQ(image_text(copy.image()), image_text(image()));
  }
  void run_seed(std::uint64_t seed) {
    dice_.seed(seed);
    for (int i = 0; i < 400 && !HasFailure(); ++i) {
      step();
      check_rules();
      if (i % 20 == 0) check_snapshot();
    }
  }

  TestRng dice_;
};

class RandomCommands : public RandomCommandsTest, public ::testing::WithParamInterface<int> {};
TEST_P(RandomCommands, KeepTheRules) { run_seed(static_cast<std::uint64_t>(GetParam())); }
INSTANTIATE_TEST_SUITE_P(Seeds, RandomCommands, ::testing::Range(1, 26));

}  // namespace
}  // namespace kmirror::metadata
