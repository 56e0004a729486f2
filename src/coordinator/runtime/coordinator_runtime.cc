#include "coordinator/runtime/coordinator_runtime.h"

#include "coordinator/runtime/log_partition.h"
#include "kmirror/base/check.h"
#include "kmirror/base/log.h"

namespace kmirror::coordinator {
namespace {

constexpr std::size_t kMaxWaitingForTopic = 10'000;

/// Calls `done` on loop 0 when the last copy of the shared pointer is gone.
class WhenAllGone {
 public:
  WhenAllGone(env::Loop& loop, UniqueFunction<void()> done) : loop_(loop), done_(std::move(done)) {}
  ~WhenAllGone() { loop_.post(std::move(done_)); }
  WhenAllGone(const WhenAllGone&) = delete;
  WhenAllGone& operator=(const WhenAllGone&) = delete;

 private:
  env::Loop& loop_;
  UniqueFunction<void()> done_;
};

Error closed_error(const std::string& topic) {
  return kafka_error(ErrorCode::COORDINATOR_NOT_AVAILABLE, topic + " is being shut down");
}

}  // namespace

CoordinatorRuntime::CoordinatorRuntime(env::Environment& environment, storage::LogManager& logs,
                                       metadata::MetadataEngine& engine,
                                       CoordinatorRuntimeConfig config, ShardFactory factory)
    : environment_(environment),
      logs_(logs),
      engine_(engine),
      config_(std::move(config)),
      factory_(std::move(factory)) {}

CoordinatorRuntime::~CoordinatorRuntime() = default;

void CoordinatorRuntime::start() { engine_.add_listener(*this); }

void CoordinatorRuntime::on_metadata(const metadata::MetadataDelta& delta) {
  if (closed_.load()) return;
  const auto table = table_.load();
  const auto topic = delta.after->topic(config_.topic);
  if (table && (!topic || topic->id != table->topic_id)) {
    KM_LOG(kWarn, "coordinator.topic_gone", "topic {} was deleted: its shards end", config_.topic);
    close_table([] {});
  }
  if (topic && !table_.load()) open(*topic);
}

std::shared_ptr<ShardRunner> CoordinatorRuntime::make_runner(env::Loop& loop,
                                                             std::int32_t partition) {
  ShardRunnerOptions options;
  options.name = fmt::format("{}-{}", config_.topic, partition);
  options.flush = config_.flush;
  options.wait_while_loading = config_.wait_while_loading;
  env::Clock& clock = environment_.clock;
  auto arm = [&clock, &loop](env::Instant when, UniqueFunction<void()> wake) {
    return env::call_at(clock, loop, when, std::move(wake));
  };
  return std::make_shared<ShardRunner>(clock, environment_.rng, std::move(arm), factory_,
                                       std::move(options));
}

void CoordinatorRuntime::open(const metadata::TopicImage& topic) {
  auto table = std::make_shared<Table>();
  table->topic_id = topic.id;
  const auto count = static_cast<std::int32_t>(topic.partitions.size());
  for (std::int32_t partition = 0; partition < count; ++partition) {
    Entry& entry = table->entries.emplace_back();
    entry.loop = &logs_.loop_of(topic.id, partition);
    entry.runner = make_runner(*entry.loop, partition);
  }
  given_.assign(table->entries.size(), false);
  table_.store(table);
  for (std::int32_t partition = 0; partition < count; ++partition) open_log(topic.id, partition);
  resolve_waiting(Result<void>());
}

void CoordinatorRuntime::open_log(const Uuid& topic_id, std::int32_t partition) {
  storage::ExpectedLog expected;
  expected.topic_partition = TopicPartition(config_.topic, partition);
  expected.topic_id = topic_id;
  expected.config = config_.log_config;
  logs_.create(std::move(expected), [self = weak_from_this(), partition,
                                     topic_id](Result<std::shared_ptr<storage::PartitionLog>> log) {
    const auto runtime = self.lock();
    const auto table = runtime ? runtime->table_.load() : nullptr;
    if (!table || table->topic_id != topic_id) return;
    if (log) {
      runtime->give_log(*table, std::move(*log));
      return;
    }
    const Entry& entry = table->entries.at(static_cast<std::size_t>(partition));
    entry.loop->post(
        [runner = entry.runner, error = std::move(log).error()] { runner->fail(error); });
  });
}

void CoordinatorRuntime::give_log(const Table& table, std::shared_ptr<storage::PartitionLog> log) {
  const auto partition = static_cast<std::size_t>(log->topic_partition().partition);
  if (partition >= table.entries.size() || given_.at(partition)) return;
  given_.at(partition) = true;
  const Entry& entry = table.entries.at(partition);
  auto leader_epoch = [self = weak_from_this(), index = log->topic_partition().partition] {
    const auto runtime = self.lock();
    const auto image = runtime ? runtime->engine_.image() : nullptr;
    const auto* now = image ? image->partition(runtime->config_.topic, index) : nullptr;
    return now != nullptr ? now->leader_epoch : LeaderEpoch(0);
  };
  entry.loop->post([self = shared_from_this(), runner = entry.runner, loop = entry.loop,
                    log = std::move(log), leader_epoch = std::move(leader_epoch)] {
    runner->load(std::make_unique<LogPartitionWriter>(self->logs_, log, leader_epoch),
                 std::make_unique<LogPartitionLoader>(self->environment_.disk, *loop, log));
  });
}

void CoordinatorRuntime::log_created(std::shared_ptr<storage::PartitionLog> log) {
  if (log->topic_partition().topic != config_.topic) return;
  environment_.loops.front()->post([self = weak_from_this(), log = std::move(log)] {
    const auto runtime = self.lock();
    const auto table = runtime ? runtime->table_.load() : nullptr;
    if (table && table->topic_id == log->topic_id()) runtime->give_log(*table, log);
  });
}

void CoordinatorRuntime::close_table(UniqueFunction<void()> done) {
  const auto table = table_.load();
  table_.store(nullptr);
  const auto all = std::make_shared<WhenAllGone>(*environment_.loops.front(), std::move(done));
  if (!table) return;
  for (const Entry& entry : table->entries) {
    entry.loop->post([runner = entry.runner, all] { runner->close(); });
  }
}

void CoordinatorRuntime::shut_down(UniqueFunction<void()> done) {
  closed_.store(true);
  resolve_waiting(closed_error(config_.topic));
  close_table(std::move(done));
}

void CoordinatorRuntime::ensure_topic(UniqueFunction<void(Result<void>)> done) {
  if (closed_.load()) {
    done(closed_error(config_.topic));
    return;
  }
  if (has_topic()) {
    done(Result<void>());
    return;
  }
  environment_.loops.front()->post([self = shared_from_this(), done = std::move(done)]() mutable {
    if (self->closed_.load()) {
      done(closed_error(self->config_.topic));
    } else if (self->has_topic()) {
      done(Result<void>());
    } else if (self->waiting_.size() >= kMaxWaitingForTopic) {
      done(kafka_error(ErrorCode::COORDINATOR_NOT_AVAILABLE,
                       "too many requests wait for " + self->config_.topic));
    } else {
      self->waiting_.push_back(std::move(done));
      self->create_topic();
    }
  });
}

void CoordinatorRuntime::if_topic(UniqueFunction<void()> there,
                                  UniqueFunction<void(Result<void>)> nowhere) {
  // The image may know the topic a moment before start() has run.
  if (!has_topic() && !engine_.image()->topic(config_.topic)) {
    nowhere(Result<void>());
    return;
  }
  ensure_topic(
      [there = std::move(there), nowhere = std::move(nowhere)](Result<void> ready) mutable {
        if (ready) {
          there();
        } else {
          nowhere(std::move(ready));
        }
      });
}

void CoordinatorRuntime::create_topic() {
  if (creating_) return;
  creating_ = true;
  engine_.create_internal_topic(
      config_.topic, config_.partition_count, config_.topic_configs,
      [self = shared_from_this()](Result<void> result) {
        self->creating_ = false;
        if (self->closed_.load()) return;
        const auto topic = self->engine_.image()->topic(self->config_.topic);
        if (topic && !self->has_topic()) self->open(*topic);
        if (self->has_topic()) {
          self->resolve_waiting(Result<void>());
          return;
        }
        if (!result) {
          KM_LOG(kWarn, "coordinator.topic_refused", "topic {} cannot be made: {}",
                 self->config_.topic, result.error().message);
          self->resolve_waiting(result);
          return;
        }
        self->resolve_waiting(kafka_error(ErrorCode::COORDINATOR_NOT_AVAILABLE,
                                          self->config_.topic + " is not there yet"));
      });
}

void CoordinatorRuntime::resolve_waiting(const Result<void>& result) {
  std::deque<UniqueFunction<void(Result<void>)>> waiting;
  waiting.swap(waiting_);
  for (auto& done : waiting) done(result);
}

std::int32_t CoordinatorRuntime::partition_count() const {
  const auto table = table_.load();
  return table ? static_cast<std::int32_t>(table->entries.size()) : config_.partition_count;
}

void CoordinatorRuntime::dispatch(std::int32_t partition, Operation operation, Refuse refuse) {
  const auto table = table_.load();
  if (!table || static_cast<std::size_t>(partition) >= table->entries.size()) {
    refuse(ErrorCode::NOT_COORDINATOR);
    return;
  }
  const Entry& entry = table->entries[static_cast<std::size_t>(partition)];
  entry.loop->post([runner = entry.runner, operation = std::move(operation),
                    refuse = std::move(refuse)]() mutable {
    runner->run(std::move(operation), std::move(refuse));
  });
}

void CoordinatorRuntime::for_each_active(std::function<void(CoordinatorShard&)> work) {
  const auto table = table_.load();
  if (!table) return;
  for (const Entry& entry : table->entries) {
    entry.loop->post([runner = entry.runner, work] {
      if (runner->is_active()) work(*runner->shard());
    });
  }
}

}  // namespace kmirror::coordinator
