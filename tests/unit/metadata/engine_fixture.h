// An EmbeddedEngine in a simulated process: virtual time, a disk that can fail and forget.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kmirror/base/check.h"
#include "kmirror/base/metrics.h"
#include "kmirror/env/sim.h"
#include "kmirror/metadata/embedded_engine.h"
#include "kmirror/metadata/meta_properties.h"
#include "unit/metadata/image_text.h"

namespace kmirror::metadata {

class EngineWorld {
 public:
  explicit EngineWorld(std::uint64_t seed) : world(seed), disk(world) {
    options.directory = "/d";
    options.cluster_id = "AAAAAAAAAAAAAAAAAAAAAg";
    options.node_id = NodeId(1);
    options.segment_bytes = 1 << 20;
    boot();
  }
  ~EngineWorld() { end_process(); }

  /// A new process on the same disk. The engine is not open yet.
  void boot() {
    end_process();
    process = std::make_unique<env::SimProcess>(world, "host", disk);
  }
  /// Opens the engine; the error's text if that fails.
  std::string open() {
    const Result<LogDirectories> prepared = prepare_log_directories(
        process->environment(), {options.directory}, options.node_id, options.cluster_id);
    if (!prepared) return prepared.error().message;
    Result<std::unique_ptr<EmbeddedEngine>> opened =
        EmbeddedEngine::open(process->environment(), options, registry);
    if (!opened) return opened.error().message;
    engine = std::move(*opened);
    engine->is_writable = [](const TopicImage&) { return true; };
    return {};
  }
  /// Opens it and registers the broker.
  void start() {
    const std::string error = open();
    ASSERT_EQ(error, "");
    ListenerEndpoint listener;
    listener.name = "PLAINTEXT";
    listener.host = "host";
    listener.port = 9092;
    const Result<void> registered = wait<Result<void>>([&](Done<Result<void>> done) {
      engine->register_broker({listener}, std::nullopt, std::move(done));
    });
    ASSERT_TRUE(registered) << registered.error().message;
  }
  /// Kills process (or machine) and starts anew.
  void crash(env::SimCrash how) {
    process->crash(how);
    boot();
  }
  void stop() {
    const Result<void> stopped =
        wait<Result<void>>([&](Done<Result<void>> done) { engine->shut_down(std::move(done)); });
    EXPECT_TRUE(stopped) << (stopped ? "" : stopped.error().message);
    boot();
  }

  /// Runs until `call`'s callback came.
  template <class Response, class CallIt>
  Response wait(CallIt call) {
    auto answer = std::make_shared<std::optional<Response>>();
    call(Done<Response>([answer](Response response) { *answer = std::move(response); }));
    const bool came = world.run_until([&] { return answer->has_value(); }, std::chrono::minutes(5));
    KM_CHECK(came, "no answer within five minutes of virtual time");
    return std::move(**answer);
  }
  void run() { world.run_for(std::chrono::seconds(1)); }

  static wire::CreateTopicsRequest create_request(const std::string& name,
                                                  std::int32_t partitions) {
    wire::CreateTopicsRequest request;
    request.topics.emplace_back();
    request.topics[0].name = name;
    request.topics[0].num_partitions = partitions;
    request.topics[0].replication_factor = 1;
    return request;
  }
  ErrorCode create_topic(const std::string& name, std::int32_t partitions = 1) {
    return wait<wire::CreateTopicsResponse>([&](Done<wire::CreateTopicsResponse> done) {
             engine->create_topics(create_request(name, partitions), ApiVersion(7),
                                   std::move(done));
           })
        .topics.at(0)
        .error_code;
  }
  [[nodiscard]] std::string text() const { return image_text(*engine->image()); }
  [[nodiscard]] std::vector<std::string> files_like(const std::string& part) const {
    std::vector<std::string> found;
    for (const std::string& path : disk.all_files()) {
      if (path.find(part) != std::string::npos) found.push_back(path);
    }
    return found;
  }

  metrics::Registry registry;
  env::SimWorld world;
  env::SimDisk disk;
  EmbeddedEngineOptions options;
  std::unique_ptr<env::SimProcess> process;
  std::unique_ptr<EmbeddedEngine> engine;

 private:
  void end_process() {
    // What is still queued holds parts of the engine: let it run out.
    if (process) run();
    engine.reset();
    process.reset();
  }
};

}  // namespace kmirror::metadata
