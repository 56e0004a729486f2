#include "unit/mirror/mirror_site.h"

#include "kmirror/wire/create_cluster_mirror_request.h"
#include "kmirror/wire/create_cluster_mirror_response.h"
#include "kmirror/wire/incremental_alter_configs_request.h"
#include "kmirror/wire/incremental_alter_configs_response.h"
#include "kmirror/wire/recover_mirror_topics_request.h"
#include "kmirror/wire/recover_mirror_topics_response.h"
#include "kmirror/wire/start_mirror_topics_request.h"
#include "kmirror/wire/start_mirror_topics_response.h"

namespace kmirror::mirror {
namespace {

storage::ExpectedLog expected_log(const metadata::ConfigResolver& configs,
                                  const metadata::MetadataImage& image,
                                  const metadata::TopicImage& topic, std::size_t index) {
  storage::ExpectedLog log;
  log.topic_partition = TopicPartition(topic.name, static_cast<std::int32_t>(index));
  log.topic_id = topic.id;
  log.config = configs.log_config(image, topic.name);
  return log;
}

env::Awaitable<void> stop_service(MirrorService* service) { co_await service->stop(); }

}  // namespace

void LogKeeper::on_metadata(const metadata::MetadataDelta& delta) {
  std::vector<std::shared_ptr<const metadata::TopicImage>> topics;
  for (const std::string& name : delta.changed_topics) {
    if (auto topic = delta.after->topic(name)) topics.push_back(std::move(topic));
  }
  if (!delta.before) {
    topics.clear();
    for (const auto& [name, topic] : delta.after->topics) topics.push_back(topic);
  }
  for (const auto& topic : topics) {
    for (std::size_t i = 0; i < topic->partitions.size(); ++i) {
      if (logs_.find(topic->id, static_cast<std::int32_t>(i))) continue;
      logs_.create(expected_log(configs_, *delta.after, *topic, i),
                   [this](Result<std::shared_ptr<storage::PartitionLog>> log) {
                     EXPECT_TRUE(log) << log.error().message;
                     if (log && on_created) on_created(*log);
                   });
    }
  }
  for (const auto& topic : delta.deleted_topics) {
    for (std::size_t i = 0; i < topic->partitions.size(); ++i) {
      logs_.remove(TopicPartition(topic->name, static_cast<std::int32_t>(i)), [](Result<void>) {});
    }
  }
}

MirrorSite::MirrorSite(std::uint64_t seed) : world(seed) {
  EXPECT_TRUE(source.add_node(kSourceOne, source_one.environment(), source_one.loop()));
  EXPECT_TRUE(source.add_node(kSourceTwo, source_two.environment(), source_two.loop()));
  const auto files = disk.mount();
  EXPECT_TRUE(files->make_directories("/data"));
  EXPECT_TRUE(files->sync_directory("/"));
  broker_file["mirror.topic.num.partitions"] = "3";
}

MirrorSite::~MirrorSite() {
  if (process) stop();
  world.run(source_one.loop(), source.stop());
  world.run_for(std::chrono::seconds(1));  // the last steps of the nodes' own tasks
}

void MirrorSite::start() {
  env::SimProcessOptions options;
  options.loop_count = 2;
  metrics = std::make_unique<metrics::Registry>();
  process = std::make_unique<env::SimProcess>(world, "mirror", disk, options);
  env::Environment& environment = process->environment();
  metadata::EmbeddedEngineOptions engine_options;
  engine_options.directory = "/data";
  engine_options.cluster_id = cluster_id_;
  engine_options.node_id = NodeId{1};
  for (const auto& [key, value] : broker_file) engine_options.file[key] = value;
  auto opened = metadata::EmbeddedEngine::open(environment, engine_options, *metrics);
  ASSERT_TRUE(opened) << opened.error().message;
  engine = std::move(*opened);
  storage::LogManagerConfig config;
  config.log_dirs = {"/data"};
  logs = std::make_unique<storage::LogManager>(environment, config, *metrics);
  std::vector<storage::ExpectedLog> expected;
  const auto image = engine->image();
  for (const auto& [name, topic] : image->topics) {
    for (std::size_t i = 0; i < topic->partitions.size(); ++i) {
      expected.push_back(expected_log(engine->resolver(), *image, *topic, i));
    }
  }
  const auto loaded = logs->load(expected);
  ASSERT_TRUE(loaded) << loaded.error().message;
  coordinator::ClusterMirrorCoordinatorConfig states;
  states.topic_num_partitions = 3;
  coordinator =
      std::make_unique<coordinator::ClusterMirrorCoordinator>(environment, *logs, *engine, states);
  const MirrorDeps deps(environment, *engine, engine->resolver(), *coordinator, *logs, *metrics);
  service = std::make_unique<MirrorService>(deps);
  engine->is_writable = [this](const metadata::TopicImage& topic) {
    return service->is_writable(topic.name);
  };
  keeper = std::make_unique<LogKeeper>(*logs, engine->resolver());
  keeper->on_created = [this](const std::shared_ptr<storage::PartitionLog>& log) {
    coordinator->log_created(log);
    service->log_created(log);
  };
  bool registered = false;
  process->loop(0).post([this, &registered] {
    metadata::ListenerEndpoint at;
    at.name = "PLAINTEXT";
    at.host = "mirror";
    at.port = 9092;
    engine->register_broker({at}, std::nullopt, [this, &registered](Result<void> done) {
      EXPECT_TRUE(done);
      engine->add_listener(*keeper);
      logs->start();
      coordinator->start();
      service->start();
      registered = true;
    });
  });
  ASSERT_TRUE(world.run_until([&] { return registered; }, std::chrono::minutes(1)));
}

void MirrorSite::drop() {
  service.reset();
  keeper.reset();
  coordinator.reset();
  logs.reset();
  engine.reset();
  process.reset();
}

void MirrorSite::stop() {
  world.run(process->loop(0), stop_service(service.get()));
  int ended = 0;
  process->loop(0).post([this, &ended] {
    coordinator->shut_down([&ended] { ++ended; });
    engine->shut_down([&ended](Result<void>) { ++ended; });
  });
  EXPECT_TRUE(world.run_until([&] { return ended == 2; }, std::chrono::minutes(1)));
  EXPECT_TRUE(logs->shut_down_clean());
  world.run_for(std::chrono::seconds(1));
  drop();
}

void MirrorSite::crash(env::SimCrash how) {
  process->crash(how);
  world.run(process->loop(0), stop_service(service.get()));
  int ended = 0;
  process->loop(0).post([this, &ended] {
    coordinator->shut_down([&ended] { ++ended; });
    engine->shut_down([&ended](Result<void>) { ++ended; });
  });
  EXPECT_TRUE(world.run_until([&] { return ended == 2; }, std::chrono::minutes(1)));
  world.run_for(std::chrono::seconds(1));
  drop();
}

void MirrorSite::create_mirror(const std::map<std::string, std::string>& configs) {
  wire::CreateClusterMirrorRequest request;
  request.mirror_name = "m";
  std::map<std::string, std::string> all = {{"bootstrap.servers", source.bootstrap()}};
  for (const auto& [key, value] : configs) all[key] = value;
  for (const auto& [key, value] : all) {
    auto& config = request.configs.emplace_back();
    config.name = key;
    config.value = value;
  }
  const auto response = call(&MirrorService::create_cluster_mirror, std::move(request));
  EXPECT_EQ(response.error_code, ErrorCode::NONE) << response.error_message.value_or("");
}

namespace {

template <class Request>
Request topics_request(const std::vector<std::string>& topics) {
  Request request;
  request.mirror_name = "m";
  for (const std::string& topic : topics) request.topics.emplace_back().topic_name = topic;
  return request;
}

}  // namespace

ErrorCode MirrorSite::start_topics(const std::vector<std::string>& topics) {
  return call(&MirrorService::start_mirror_topics,
              topics_request<wire::StartMirrorTopicsRequest>(topics))
      .error_code;
}

ErrorCode MirrorSite::stop_topics(const std::vector<std::string>& topics) {
  return call(&MirrorService::stop_mirror_topics,
              topics_request<wire::StopMirrorTopicsRequest>(topics))
      .error_code;
}

ErrorCode MirrorSite::pause_topics(const std::vector<std::string>& topics) {
  return call(&MirrorService::pause_mirror_topics,
              topics_request<wire::PauseMirrorTopicsRequest>(topics))
      .error_code;
}

ErrorCode MirrorSite::resume_topics(const std::vector<std::string>& topics) {
  return call(&MirrorService::resume_mirror_topics,
              topics_request<wire::ResumeMirrorTopicsRequest>(topics))
      .error_code;
}

void MirrorSite::recover(const std::vector<std::string>& topics) {
  const auto response = call(&MirrorService::recover_mirror_topics,
                             topics_request<wire::RecoverMirrorTopicsRequest>(topics));
  EXPECT_EQ(response.error_code, ErrorCode::NONE);
}

namespace {

void set_config(MirrorSite& site, metadata::ConfigResourceType type, const std::string& resource,
                const std::string& key, const std::string& value) {
  wire::IncrementalAlterConfigsRequest request;
  auto& entry = request.resources.emplace_back();
  entry.resource_type = static_cast<std::int8_t>(type);
  entry.resource_name = resource;
  auto& config = entry.configs.emplace_back();
  config.name = key;
  config.value = value;
  std::optional<wire::IncrementalAlterConfigsResponse> got;
  site.engine->incremental_alter_configs(
      std::move(request), false,
      [&got](wire::IncrementalAlterConfigsResponse response) { got = std::move(response); });
  ASSERT_TRUE(site.world.run_until([&] { return got.has_value(); }, std::chrono::minutes(1)));
  ASSERT_EQ(got->responses.size(), 1U);
  EXPECT_EQ(got->responses[0].error_code, ErrorCode::NONE)
      << got->responses[0].error_message.value_or("");
}

}  // namespace

void MirrorSite::set_mirror_config(const std::string& key, const std::string& value) {
  set_config(*this, metadata::ConfigResourceType::kClusterMirror, "m", key, value);
}

void MirrorSite::set_topic_config(const std::string& topic, const std::string& key,
                                  const std::string& value) {
  set_config(*this, metadata::ConfigResourceType::kTopic, topic, key, value);
}

Described MirrorSite::describe(const TopicPartition& of) {
  Described result;
  result.state = "ABSENT";
  wire::DescribeClusterMirrorsRequest request;
  const auto response = call(&MirrorService::describe_cluster_mirrors, std::move(request));
  for (const auto& mirror : response.mirrors) {
    for (const auto& topic : mirror.topics) {
      if (topic.topic_name != of.topic) continue;
      for (const auto& partition : topic.partitions) {
        if (partition.partition_index != of.partition) continue;
        result.state = partition.state_value;
        result.error = partition.error_message.value_or("");
        result.attempt = partition.retry_attempt;
        result.source_offset = partition.source_offset.get();
        result.destination_offset = partition.destination_offset.get();
        result.last_mirror_epoch = partition.last_mirror_epoch.get();
        result.last_mirror_offset = partition.last_mirror_offset.get();
      }
    }
  }
  return result;
}

std::shared_ptr<storage::PartitionLog> MirrorSite::log(const TopicPartition& of) {
  return logs->find(of);
}

std::int64_t MirrorSite::end_of(const TopicPartition& of) {
  const auto found = log(of);
  return found ? found->log_end_offset().get() : -1;
}

bool MirrorSite::reaches(const TopicPartition& of, const std::string& state, env::Duration limit) {
  const env::Instant until = world.clock().now() + limit;
  while (world.clock().now() < until) {
    if (describe(of).state == state) return true;
    world.run_for(std::chrono::milliseconds(20));
  }
  return describe(of).state == state;
}

bool MirrorSite::catches_up(const TopicPartition& of, std::int64_t end, env::Duration limit) {
  return world.run_until([&] { return end_of(of) == end; }, limit);
}

Bytes MirrorSite::bytes_of(const TopicPartition& of) {
  Bytes all;
  const auto found = log(of);
  if (!found) return all;
  storage::ReadRequest request;
  request.from = found->log_start_offset();
  request.max_bytes = 100UL << 20;
  request.isolation = storage::Isolation::kLogEnd;
  while (request.from < found->log_end_offset()) {
    const auto read = found->read(request);
    if (!read || read->records.empty()) break;
    const Slice bytes = read->records.flatten().value();
    BatchIterator batches(bytes);
    for (auto batch = batches.next(); batch && batch->has_value(); batch = batches.next()) {
      request.from = (*batch)->next_offset();
      all.insert(all.end(), (*batch)->bytes().span().begin(), (*batch)->bytes().span().end());
    }
  }
  return all;
}

Bytes MirrorSite::source_bytes_of(const TopicPartition& of) {
  Bytes all;
  for (const auto& batch : source.log(of).batches()) {
    all.insert(all.end(), batch.bytes.span().begin(), batch.bytes.span().end());
  }
  return all;
}

std::size_t MirrorSite::fetches(NodeId node) const {
  std::size_t count = 0;
  for (const auto& seen : source.fetch.seen) count += seen.call.node == node ? 1U : 0U;
  return count;
}

}  // namespace kmirror::mirror
