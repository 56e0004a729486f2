#include "cli/sample_data_command.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/partition_reader.h"
#include "kmirror/cli/sample_data.h"
#include "kmirror/cli/simple_options.h"
#include "kmirror/wire/create_topics_request.h"
#include "kmirror/wire/create_topics_response.h"
#include "kmirror/wire/produce_request.h"
#include "kmirror/wire/produce_response.h"

namespace kmirror::cli {
namespace {

constexpr std::int64_t kRecordsPerBatch = 300;
constexpr std::int64_t kDefaultRecords = 302'400;
constexpr std::chrono::seconds kCleanerPatience{20};
constexpr std::chrono::milliseconds kCleanerPoll{500};
constexpr std::chrono::seconds kLeaderPatience{30};
constexpr std::chrono::milliseconds kLeaderPoll{50};
// By topic name, and old enough for every broker.
constexpr ApiVersion kProduceByName{8};

const std::vector<OptionRule>& rules() {
  static const std::vector<OptionRule> table{
      {"bootstrap-server", "HOST:PORT", "the cluster to fill", true},
      {"records", "N", "how many records in all; default 302400", false},
      {"help", "", "print this text", false},
  };
  return table;
}

void add_config(wire::CreateTopicsRequest::CreatableTopic& topic, std::string key,
                std::string value) {
  wire::CreateTopicsRequest::CreatableTopicConfig config;
  config.name = std::move(key);
  config.value = std::move(value);
  topic.configs.push_back(std::move(config));
}

env::Awaitable<Result<void>> create_topics(client::AdminClient& admin) {
  wire::CreateTopicsRequest request;
  request.timeout_ms = 30'000;
  for (const SampleTopic& sample : sample_topics()) {
    wire::CreateTopicsRequest::CreatableTopic topic;
    topic.name = sample.name;
    topic.num_partitions = kSamplePartitions;
    topic.replication_factor = -1;
    if (sample.compacted) {
      add_config(topic, "cleanup.policy", "compact");
      add_config(topic, "segment.bytes", "1048576");
      add_config(topic, "min.cleanable.dirty.ratio", "0.01");
    }
    request.topics.push_back(std::move(topic));
  }
  KM_CO_TRY(response, co_await admin.call_controller(std::move(request)));
  for (const auto& topic : response.topics) {
    if (topic.error_code == ErrorCode::NONE) continue;
    co_return kafka_error(
        topic.error_code,
        fmt::format("cannot create topic {}: {}", topic.name,
                    topic.error_message.value_or(std::string(name(topic.error_code)))));
  }
  co_return Result<void>();
}

env::Awaitable<Result<void>> produce_once(client::AdminClient& admin, NodeId leader,
                                          TopicPartition partition, Slice batch) {
  wire::ProduceRequest request;
  request.acks = 1;
  request.timeout_ms = 30'000;
  wire::ProduceRequest::TopicProduceData topic;
  topic.name = partition.topic;
  wire::ProduceRequest::PartitionProduceData data;
  data.index = partition.partition;
  data.records = ByteChain(std::move(batch));
  topic.partition_data.push_back(std::move(data));
  request.topic_data.push_back(std::move(topic));
  KM_CO_TRY(response, co_await admin.call_on(leader, std::move(request), kProduceByName));
  if (response.responses.size() != 1 ||
      response.responses.front().partition_responses.size() != 1) {
    co_return kafka_error(ErrorCode::UNKNOWN_SERVER_ERROR,
                          fmt::format("Produce to {}: no answer in the response", partition));
  }
  const auto& answer = response.responses.front().partition_responses.front();
  if (answer.error_code != ErrorCode::NONE) {
    co_return kafka_error(answer.error_code,
                          fmt::format("Produce to {}: {}", partition, answer.error_code));
  }
  co_return Result<void>();
}

// A broker says for a moment that it does not lead a partition that was just created.
env::Awaitable<Result<void>> produce(env::Environment& environment, client::AdminClient& admin,
                                     NodeId leader, TopicPartition partition, Slice batch) {
  const env::Instant give_up = environment.clock.now() + kLeaderPatience;
  while (true) {
    auto done = co_await produce_once(admin, leader, partition, batch);
    const bool again = !done && is_retriable(to_kafka_error(done.error()));
    if (!again || environment.clock.now() > give_up) co_return done;
    const env::Instant next = environment.clock.now() + kLeaderPoll;
    co_await environment.clock.sleep_until(next);
  }
}

// The leader of each partition of `topic`; waits a bounded time until all have one.
env::Awaitable<Result<std::vector<NodeId>>> leaders(env::Environment& environment,
                                                    client::AdminClient& admin, std::string topic) {
  const env::Instant give_up = environment.clock.now() + kLeaderPatience;
  while (true) {
    std::optional<std::vector<std::string>> names(std::vector<std::string>{topic});
    KM_CO_TRY(metadata, co_await admin.metadata(std::move(names)));
    std::vector<NodeId> out(static_cast<std::size_t>(kSamplePartitions), NodeId(-1));
    std::int32_t known = 0;
    for (const auto& item : metadata.topics) {
      for (const auto& partition : item.partitions) {
        const bool usable = partition.error_code == ErrorCode::NONE &&
                            partition.leader_id.get() >= 0 && partition.partition_index >= 0 &&
                            partition.partition_index < kSamplePartitions;
        if (!usable) continue;
        out[static_cast<std::size_t>(partition.partition_index)] = partition.leader_id;
        ++known;
      }
    }
    if (known == kSamplePartitions) co_return out;
    if (environment.clock.now() > give_up) {
      co_return kafka_error(ErrorCode::LEADER_NOT_AVAILABLE,
                            fmt::format("topic {}: no leader within 30 s", topic));
    }
    const env::Instant next = environment.clock.now() + kLeaderPoll;
    co_await environment.clock.sleep_until(next);
  }
}

env::Awaitable<Result<void>> fill(env::Environment& environment, client::AdminClient& admin,
                                  const SampleTopic& topic, std::int64_t records_per_partition) {
  KM_CO_TRY(partition_leaders, co_await leaders(environment, admin, topic.name));
  const std::int64_t base_timestamp = environment.clock.wall_ms() - records_per_partition;
  for (std::int64_t first = 0; first < records_per_partition; first += kRecordsPerBatch) {
    const std::int64_t count = std::min(kRecordsPerBatch, records_per_partition - first);
    for (std::int32_t index = 0; index < kSamplePartitions; ++index) {
      KM_CO_TRY(batch, sample_batch(topic, index, first, count, base_timestamp));
      const NodeId leader = partition_leaders[static_cast<std::size_t>(index)];
      TopicPartition partition(topic.name, index);
      KM_CO_TRY_VOID(
          co_await produce(environment, admin, leader, std::move(partition), std::move(batch)));
    }
  }
  print(fmt::format("  {:<18} {} partitions, {} records{}\n", topic.name, kSamplePartitions,
                    records_per_partition * kSamplePartitions,
                    topic.compacted ? ", compacted" : ""));
  co_return Result<void>();
}

// True once a batch is missing records that were written to it.
env::Awaitable<Result<bool>> has_gaps(client::AdminClient& admin, NodeId leader,
                                      TopicPartition partition) {
  KM_CO_TRY(ends, co_await partition_ends(admin, leader, partition));
  PartitionReader reader(admin, leader, partition, ends);
  std::int64_t records = 0;
  while (true) {
    KM_CO_TRY(batch, co_await reader.next());
    if (!batch) break;
    records += batch->record_count();
  }
  co_return records < ends.end - ends.start;
}

env::Awaitable<Result<void>> wait_for_cleaner(env::Environment& environment,
                                              client::AdminClient& admin, std::string topic) {
  KM_CO_TRY(partition_leaders, co_await leaders(environment, admin, topic));
  const env::Instant give_up = environment.clock.now() + kCleanerPatience;
  for (std::int32_t index = 0; index < kSamplePartitions;) {
    const NodeId leader = partition_leaders[static_cast<std::size_t>(index)];
    TopicPartition partition(topic, index);
    KM_CO_TRY(cleaned, co_await has_gaps(admin, leader, std::move(partition)));
    if (cleaned) {
      ++index;
      continue;
    }
    if (environment.clock.now() > give_up) {
      print(fmt::format("  {:<18} not compacted within {} s: it has no gaps yet\n", topic,
                        kCleanerPatience.count()));
      co_return Result<void>();
    }
    const env::Instant next = environment.clock.now() + kCleanerPoll;
    co_await environment.clock.sleep_until(next);
  }
  print(fmt::format("  {:<18} the cleaner has left gaps in every partition\n", topic));
  co_return Result<void>();
}

env::Awaitable<Result<void>> fill_all(env::Environment& environment, client::AdminClient& admin,
                                      std::int64_t records) {
  KM_CO_TRY_VOID(co_await create_topics(admin));
  const auto topic_count = static_cast<std::int64_t>(sample_topics().size());
  const std::int64_t partitions = topic_count * kSamplePartitions;
  const std::int64_t per_partition = (records + partitions - 1) / partitions;
  for (const SampleTopic& topic : sample_topics()) {
    KM_CO_TRY_VOID(co_await fill(environment, admin, topic, per_partition));
  }
  for (const SampleTopic& topic : sample_topics()) {
    if (!topic.compacted) continue;
    KM_CO_TRY_VOID(co_await wait_for_cleaner(environment, admin, topic.name));
  }
  co_return Result<void>();
}

env::Awaitable<int> run_sample_data(env::Environment& environment, std::string bootstrap,
                                    std::int64_t records) {
  auto admin = make_admin(environment, bootstrap, std::nullopt);
  if (!admin) co_return fail(admin.error());
  auto filled = co_await fill_all(environment, **admin, records);
  if (!filled) co_return fail(filled.error());
  co_return kExitOk;
}

}  // namespace

int sample_data_command(const std::vector<std::string>& arguments) {
  const auto options = SimpleOptions::parse(arguments, rules());
  if (!options) return fail(options.error());
  if (options->has("help")) {
    print(options_help("kmirror sample-data: six topics with 24 partitions to try a mirror on.",
                       rules()));
    return kExitOk;
  }
  const auto records = options->number("records", kDefaultRecords, 1);
  if (!records) return fail(records.error());
  const std::string bootstrap = options->text("bootstrap-server");
  const std::int64_t count = *records;
  return run_task([&bootstrap, count](env::Environment& environment) {
    return run_sample_data(environment, bootstrap, count);
  });
}

}  // namespace kmirror::cli
