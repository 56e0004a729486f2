// Random changes with crashes in between: nothing that was answered is lost, no command survives in
// part, and what a start shows stays.
#include <map>
#include <set>

#include "unit/metadata/engine_fixture.h"

namespace kmirror::metadata {
namespace {

/// What the answers so far allow to expect of one topic.
struct Expected {
  Expected() = default;
  bool must_exist = false;
  bool must_be_absent = true;
  int open_changes = 0;  ///< commands whose answer has not come
};

class ImageLog final : public MetadataListener {
 public:
  void on_metadata(const MetadataDelta& delta) override {
    if (delta.before != nullptr && delta.after->offset <= last_)
      ADD_FAILURE() << "offset went back";
    last_ = delta.after->offset;
    texts_[last_] = image_text(*delta.after);
  }
  [[nodiscard]] std::int64_t last() const { return last_; }
  [[nodiscard]] const std::string* text_at(std::int64_t offset) const {
    const auto found = texts_.find(offset);
    return found == texts_.end() ? nullptr : &found->second;
  }

 private:
  std::int64_t last_ = -1;
  std::map<std::int64_t, std::string> texts_;
};

class CrashRun {
 public:
  explicit CrashRun(std::uint64_t seed) : w_(seed) {
    w_.options.snapshot_after_bytes = w_.world.rng().below(2) == 0 ? 1500 : 20'000;
    w_.start();
    w_.engine->add_listener(*seen_);
  }

  void run() {
    for (int round = 0; round < 12 && !::testing::Test::HasFailure(); ++round) {
      const std::uint64_t bursts = 1 + w_.world.rng().below(20);
      for (std::uint64_t i = 0; i < bursts; ++i) {
        const std::uint64_t commands = 1 + w_.world.rng().below(6);
        for (std::uint64_t j = 0; j < commands; ++j) change();
        w_.world.run_for(std::chrono::microseconds(w_.world.rng().below(400)));
      }
      restart();
    }
  }

 private:
  void change() {
    const std::string name = fmt::format("t{}", w_.world.rng().below(30));
    std::shared_ptr<Expected> topic = expected_[name];
    if (topic == nullptr) topic = expected_[name] = std::make_shared<Expected>();
    ++topic->open_changes;
    if (w_.world.rng().below(3) == 0) {
      remove(name, topic);
    } else {
      create(name, topic);
    }
  }
  void create(const std::string& name, const std::shared_ptr<Expected>& topic) {
    w_.engine->create_topics(EngineWorld::create_request(name, kPartitions), ApiVersion(7),
                             [topic](const wire::CreateTopicsResponse& response) {
                               --topic->open_changes;
                               const ErrorCode code = response.topics.at(0).error_code;
                               EXPECT_TRUE(code == ErrorCode::NONE ||
                                           code == ErrorCode::TOPIC_ALREADY_EXISTS ||
                                           code == ErrorCode::KAFKA_STORAGE_ERROR);
                               if (code == ErrorCode::KAFKA_STORAGE_ERROR) return;
                               topic->must_exist = true;
                               topic->must_be_absent = false;
                             });
    topic->must_be_absent = false;
  }
  void remove(const std::string& name, const std::shared_ptr<Expected>& topic) {
    wire::DeleteTopicsRequest request;
    request.topic_names = {name};
    w_.engine->delete_topics(request, [topic](const wire::DeleteTopicsResponse& response) {
      --topic->open_changes;
      const ErrorCode code = response.responses.at(0).error_code;
      if (code == ErrorCode::KAFKA_STORAGE_ERROR) return;
      topic->must_exist = false;
      topic->must_be_absent = true;
    });
    topic->must_exist = false;
  }

  void restart() {
    const std::int64_t answered = w_.engine->image()->offset;
    // Only what was answered before the crash binds; an answer that comes after it reaches nobody.
    std::map<std::string, Expected> before;
    for (const auto& [name, topic] : expected_) before[name] = *topic;
    switch (w_.world.rng().below(4)) {
      case 0:
        w_.stop();
        break;
      case 1:
        w_.crash(env::SimCrash::kProcessDies);
        break;
      case 2:
        w_.crash(env::SimCrash::kPowerCut);
        break;
      default:
        w_.crash(env::SimCrash::kPowerCutLosesAll);
        break;
    }
    ASSERT_EQ(w_.open(), "");
    check(answered, before);
    const std::string shown = w_.text();
    w_.crash(env::SimCrash::kPowerCutLosesAll);
    ASSERT_EQ(w_.open(), "");
    EXPECT_EQ(w_.text(), shown);
    seen_ = std::make_unique<ImageLog>();
    w_.engine->add_listener(*seen_);
    expected_.clear();
    for (const auto& [name, topic] : w_.engine->image()->topics) {
      auto known = std::make_shared<Expected>();
      known->must_exist = true;
      known->must_be_absent = false;
      expected_[name] = known;
    }
  }
  void check(std::int64_t answered, const std::map<std::string, Expected>& before) {
    const auto image = w_.engine->image();
    EXPECT_GE(image->offset, answered);
    const std::string* text = seen_->text_at(image->offset);
    EXPECT_EQ(w_.text(), text != nullptr ? *text : w_.text());
    for (const auto& [name, topic] : image->topics) {
      EXPECT_EQ(topic->partitions.size(), static_cast<std::size_t>(kPartitions)) << name;
    }
    for (const auto& [name, topic] : before) {
      if (topic.open_changes > 0) continue;
      const bool is_there = image->topics.contains(name);
      EXPECT_FALSE(topic.must_exist && !is_there) << name;
      EXPECT_FALSE(topic.must_be_absent && is_there) << name;
    }
  }

  static constexpr std::int32_t kPartitions = 5;
  EngineWorld w_;
  std::unique_ptr<ImageLog> seen_ = std::make_unique<ImageLog>();
  std::map<std::string, std::shared_ptr<Expected>> expected_;
};

class EngineCrash : public ::testing::TestWithParam<int> {};
TEST_P(EngineCrash, NothingAnsweredIsLost) {
  CrashRun run(static_cast<std::uint64_t>(GetParam()));
  run.run();
}
INSTANTIATE_TEST_SUITE_P(Seeds, EngineCrash, ::testing::Range(1, 41));

}  // namespace
}  // namespace kmirror::metadata
