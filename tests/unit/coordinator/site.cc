#include "site.h"

#include "kmirror/base/check.h"

namespace kmirror::coordinator::testing {
namespace {

[[noreturn]] void not_here() { check_failed("not in this test", __FILE__, __LINE__, ""); }

}  // namespace

void FakeEngine::publish(std::shared_ptr<metadata::MetadataImage> next,
                         metadata::MetadataDelta delta) {
  ++next->offset;
  delta.before = image_;
  delta.after = next;
  image_ = std::move(next);
  for (auto* listener : listeners_) listener->on_metadata(delta);
}

void FakeEngine::add_topic(const std::string& name, std::int32_t partitions) {
  auto topic = std::make_shared<metadata::TopicImage>();
  topic->name = name;
  std::array<std::uint8_t, 16> id{};
  id[15] = next_topic_++;
  topic->id = Uuid(id);
  topic->partitions.resize(static_cast<std::size_t>(partitions));
  auto next = std::make_shared<metadata::MetadataImage>(*image_);
  next->topics[name] = topic;
  next->topics_by_id[topic->id] = topic;
  metadata::MetadataDelta delta;
  delta.changed_topics.insert(name);
  publish(std::move(next), std::move(delta));
}

void FakeEngine::delete_topic(const std::string& name) {
  auto next = std::make_shared<metadata::MetadataImage>(*image_);
  metadata::MetadataDelta delta;
  delta.deleted_topics.push_back(image_->topic(name));
  next->topics_by_id.erase(image_->topic(name)->id);
  next->topics.erase(name);
  publish(std::move(next), std::move(delta));
}

void FakeEngine::set_mirror(const std::string& name, metadata::DesiredMirrorState desired) {
  auto next = std::make_shared<metadata::MetadataImage>(*image_);
  auto topic = std::make_shared<metadata::TopicImage>(*image_->topic(name));
  topic->mirror_name = "m";
  topic->desired_mirror_state = desired;
  next->topics[name] = topic;
  next->topics_by_id[topic->id] = topic;
  metadata::MetadataDelta delta;
  delta.changed_topics.insert(name);
  publish(std::move(next), std::move(delta));
}

void FakeEngine::add_listener(metadata::MetadataListener& listener) {
  listeners_.push_back(&listener);
  metadata::MetadataDelta first;
  first.after = image_;
  listener.on_metadata(first);
}

void FakeEngine::create_internal_topic(std::string name, std::int32_t partitions,
                                       metadata::ConfigMap, metadata::Done<Result<void>> done) {
  loop_->post([this, name = std::move(name), partitions, done = std::move(done)]() mutable {
    if (refuse_topics != ErrorCode::NONE) {
      done(kafka_error(refuse_topics, "no topics now"));
      return;
    }
    ++created_count;
    if (!image_->topic(name)) add_topic(name, partitions);
    done(Result<void>());
  });
}

void FakeEngine::create_topics(wire::CreateTopicsRequest, ApiVersion,
                               metadata::Done<wire::CreateTopicsResponse>) {
  not_here();
}
void FakeEngine::delete_topics(wire::DeleteTopicsRequest,
                               metadata::Done<wire::DeleteTopicsResponse>) {
  not_here();
}
void FakeEngine::create_partitions(wire::CreatePartitionsRequest, bool,
                                   metadata::Done<wire::CreatePartitionsResponse>) {
  not_here();
}
void FakeEngine::incremental_alter_configs(wire::IncrementalAlterConfigsRequest, bool,
                                           metadata::Done<wire::IncrementalAlterConfigsResponse>) {
  not_here();
}
void FakeEngine::alter_configs(wire::AlterConfigsRequest,
                               metadata::Done<wire::AlterConfigsResponse>) {
  not_here();
}
void FakeEngine::create_cluster_mirror(wire::CreateClusterMirrorRequest,
                                       metadata::Done<wire::CreateClusterMirrorResponse>) {
  not_here();
}
void FakeEngine::delete_cluster_mirror(wire::DeleteClusterMirrorRequest,
                                       metadata::Done<wire::DeleteClusterMirrorResponse>) {
  not_here();
}
void FakeEngine::start_mirror_topics(wire::StartMirrorTopicsRequest,
                                     metadata::Done<wire::StartMirrorTopicsResponse>) {
  not_here();
}
void FakeEngine::stop_mirror_topics(wire::StopMirrorTopicsRequest,
                                    metadata::Done<wire::StopMirrorTopicsResponse>) {
  not_here();
}
void FakeEngine::pause_mirror_topics(wire::PauseMirrorTopicsRequest,
                                     metadata::Done<wire::PauseMirrorTopicsResponse>) {
  not_here();
}
void FakeEngine::resume_mirror_topics(wire::ResumeMirrorTopicsRequest,
                                      metadata::Done<wire::ResumeMirrorTopicsResponse>) {
  not_here();
}
void FakeEngine::bump_leader_epochs(wire::BumpLeaderEpochsRequest,
                                    metadata::Done<wire::BumpLeaderEpochsResponse>) {
  not_here();
}
void FakeEngine::allocate_producer_ids(metadata::Done<Result<ProducerIdBlock>>) { not_here(); }
void FakeEngine::raise_producer_ids(ProducerId, metadata::Done<Result<void>>) { not_here(); }

Site::Site(std::uint64_t seed) : world(seed), disk(world) {
  group_config.offsets_topic_num_partitions = 5;
  mirror_config.topic_num_partitions = 5;
  // The log directory was there before: its name is durable.
  const auto files = disk.mount();
  EXPECT_TRUE(files->make_directories("/data"));
  EXPECT_TRUE(files->sync_directory("/"));
}

Site::~Site() {
  if (process) stop();
}

std::vector<storage::ExpectedLog> Site::expected_logs() const {
  std::vector<storage::ExpectedLog> expected;
  for (const auto& [name, topic] : engine.image()->topics) {
    for (std::size_t i = 0; i < topic->partitions.size(); ++i) {
      storage::ExpectedLog& log = expected.emplace_back();
      log.topic_partition = TopicPartition(name, static_cast<std::int32_t>(i));
      log.topic_id = topic->id;
      log.config.cleanup_compact = true;
    }
  }
  return expected;
}

void Site::start(env::Duration settle) {
  env::SimProcessOptions options;
  options.loop_count = 3;
  options.disk_latency = disk_latency;
  metrics = std::make_unique<metrics::Registry>();
  process = std::make_unique<env::SimProcess>(world, "here", disk, options);
  env::Environment& environment = process->environment();
  engine.use_loop(process->loop(0));
  storage::LogManagerConfig config;
  config.log_dirs = {"/data"};
  logs = std::make_unique<storage::LogManager>(environment, config, *metrics);
  const auto loaded = logs->load(expected_logs());
  ASSERT_TRUE(loaded) << loaded.error().message;
  groups = std::make_unique<GroupCoordinator>(environment, *logs, engine, group_config);
  mirrors = std::make_unique<ClusterMirrorCoordinator>(environment, *logs, engine, mirror_config);
  process->loop(0).post([this] {
    groups->start();
    mirrors->start();
  });
  world.run_for(settle);
}

void Site::drop() {
  engine.forget_process();
  groups.reset();
  mirrors.reset();
  logs.reset();
  process.reset();
}

void Site::crash(env::SimCrash how) {
  process->crash(how);
  int ended = 0;
  process->loop(0).post([this, &ended] {
    groups->shut_down([&ended] { ++ended; });
    mirrors->shut_down([&ended] { ++ended; });
  });
  EXPECT_TRUE(world.run_until([&] { return ended == 2; }, std::chrono::minutes(1)));
  world.run_for(std::chrono::seconds(1));
  drop();
}

void Site::stop() {
  int ended = 0;
  process->loop(0).post([this, &ended] {
    groups->shut_down([&ended] { ++ended; });
    mirrors->shut_down([&ended] { ++ended; });
  });
  EXPECT_TRUE(world.run_until([&] { return ended == 2; }, std::chrono::minutes(1)));
  EXPECT_TRUE(logs->shut_down_clean());
  world.run_for(std::chrono::seconds(1));
  drop();
}

}  // namespace kmirror::coordinator::testing
