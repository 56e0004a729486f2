// A controller without a log: commands are evaluated against an ImageBuilder, their records checked
// by replaying them into a second one.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kmirror/metadata/names.h"
#include "metadata/commands.h"
#include "unit/metadata/image_text.h"

namespace kmirror::metadata {

/// The same numbers in every run.
class TestRng final : public env::Rng {
 public:
  void seed(std::uint64_t value) { state_ = value; }
  std::uint64_t next() override {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_ = 1;
};

class CommandTest : public ::testing::Test {
 protected:
  explicit CommandTest(ConfigMap file = {})
      : resolver_(std::move(file), NodeId(1)), services_(resolver_, rng_) {
    services_.is_writable = [this](const TopicImage& topic) {
      return stopped_.contains(topic.name);
    };
    ListenerEndpoint listener;
    listener.name = "PLAINTEXT";
    listener.host = "h";
    listener.port = 9092;
    const Result<void> registered = run([&](Command& command) {
      write_features(command);
      return register_broker(command, {listener}, std::nullopt, {});
    });
    EXPECT_TRUE(registered);
  }

  /// Evaluates `work` as one command, and checks that its records alone lead to the same image.
  template <class Work>
  std::invoke_result_t<Work&, Command&> run(Work work) {
    Command command(tip_, services_);
    auto answer = work(command);
    const std::vector<Slice> records = command.take_records();
    last_record_count_ = records.size();
    for (const Slice& record : records) {
      const Result<void> replayed = replica_.replay(record, replica_.image().offset + 1);
      EXPECT_TRUE(replayed) << (replayed ? "" : replayed.error().message);
    }
    EXPECT_EQ(image_text(replica_.image()), image_text(tip_.image()));
    return answer;
  }
  template <class Request>
  auto run_request(const Request& request) {
    return run([&](Command& command) { return evaluate(command, request); });
  }

  [[nodiscard]] const MetadataImage& image() const { return tip_.image(); }

  ErrorCode create_topic(const std::string& name, std::int32_t partitions = 1,
                         const ConfigMap& configs = {}) {
    wire::CreateTopicsRequest request;
    wire::CreateTopicsRequest::CreatableTopic topic;
    topic.name = name;
    topic.num_partitions = partitions;
    topic.replication_factor = 1;
    for (const auto& [key, value] : configs) {
      wire::CreateTopicsRequest::CreatableTopicConfig config;
      config.name = key;
      config.value = value;
      topic.configs.push_back(std::move(config));
    }
    request.topics.push_back(std::move(topic));
    return run_request(request).topics.at(0).error_code;
  }
  wire::CreateClusterMirrorResponse create_mirror(const std::string& name, ConfigMap configs = {}) {
    wire::CreateClusterMirrorRequest request;
    request.mirror_name = name;
    configs.emplace("bootstrap.servers", "source:9092");
    for (const auto& [key, value] : configs) {
      wire::CreateClusterMirrorRequest::MirrorConfig config;
      config.name = key;
      config.value = value;
      request.configs.push_back(std::move(config));
    }
    return run_request(request);
  }
  static wire::StartMirrorTopicsRequest start_request(const std::string& mirror,
                                                      const std::vector<std::string>& topics,
                                                      std::int32_t partitions = 2) {
    wire::StartMirrorTopicsRequest request;
    request.mirror_name = mirror;
    for (const std::string& name : topics) {
      wire::StartMirrorTopicsRequest::TopicData topic;
      topic.topic_name = name;
      topic.num_partitions = partitions;
      request.topics.push_back(std::move(topic));
    }
    return request;
  }
  template <class Request>
  static Request topics_request(const std::string& mirror, const std::vector<std::string>& topics) {
    Request request;
    request.mirror_name = mirror;
    for (const std::string& name : topics) {
      typename Request::TopicData topic;
      topic.topic_name = name;
      request.topics.push_back(std::move(topic));
    }
    return request;
  }
  ErrorCode start(const std::string& mirror, const std::string& topic) {
    return run_request(start_request(mirror, {topic})).error_code;
  }
  ErrorCode stop(const std::string& mirror, const std::string& topic) {
    const auto answer = run_request(topics_request<wire::StopMirrorTopicsRequest>(mirror, {topic}));
    return answer.topics.empty() ? answer.error_code : answer.topics[0].error_code;
  }
  ErrorCode pause(const std::string& mirror, const std::string& topic) {
    const auto answer =
        run_request(topics_request<wire::PauseMirrorTopicsRequest>(mirror, {topic}));
    return answer.topics.empty() ? answer.error_code : answer.topics[0].error_code;
  }
  ErrorCode resume(const std::string& mirror, const std::string& topic) {
    const auto answer =
        run_request(topics_request<wire::ResumeMirrorTopicsRequest>(mirror, {topic}));
    return answer.topics.empty() ? answer.error_code : answer.topics[0].error_code;
  }
  ErrorCode delete_mirror(const std::string& mirror) {
    wire::DeleteClusterMirrorRequest request;
    request.mirror_name = mirror;
    return run_request(request).error_code;
  }
  ErrorCode delete_topic(const std::string& name) {
    wire::DeleteTopicsRequest request;
    wire::DeleteTopicsRequest::DeleteTopicState state;
    state.name = name;
    request.topics.push_back(std::move(state));
    return run_request(request).responses.at(0).error_code;
  }

  struct Entry {
    std::string key;
    std::int8_t operation = 0;  // 0 set, 1 delete, 2 append, 3 subtract
    std::optional<std::string> value;
  };
  ErrorCode alter(ConfigResourceType type, const std::string& name,
                  const std::vector<Entry>& entries, bool validate_only = false) {
    wire::IncrementalAlterConfigsRequest request;
    wire::IncrementalAlterConfigsRequest::AlterConfigsResource resource;
    resource.resource_type = static_cast<std::int8_t>(type);
    resource.resource_name = name;
    for (const Entry& entry : entries) {
      wire::IncrementalAlterConfigsRequest::AlterableConfig config;
      config.name = entry.key;
      config.config_operation = entry.operation;
      config.value = entry.value;
      resource.configs.push_back(std::move(config));
    }
    request.resources.push_back(std::move(resource));
    request.validate_only = validate_only;
    const auto answer = run_request(request);
    last_message_ = answer.responses.at(0).error_message.value_or("");
    return answer.responses.at(0).error_code;
  }
  [[nodiscard]] std::optional<std::string> override_of(ConfigResourceType type,
                                                       const std::string& name,
                                                       const std::string& key) const {
    const ConfigMap& configs = image().config(ConfigResource(type, name));
    const auto found = configs.find(key);
    return found == configs.end() ? std::nullopt : std::optional<std::string>(found->second);
  }
  [[nodiscard]] DesiredMirrorState state_of(const std::string& topic) const {
    return image().topic(topic)->desired_mirror_state;
  }
  [[nodiscard]] std::string in_force(const std::string& mirror, const std::string& key) const {
    return resolver_.mirror_value(image(), mirror, key).value_or("");
  }

  TestRng rng_;
  ConfigResolver resolver_;
  CommandServices services_;
  ImageBuilder tip_{nullptr};
  ImageBuilder replica_{nullptr};
  std::set<std::string> stopped_;  ///< topics whose partitions all have the actual state STOPPED
  std::size_t last_record_count_ = 0;
  std::string last_message_;
};

}  // namespace kmirror::metadata
