#include "cli/progress_command.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/command.h"
#include "kmirror/cli/progress_view.h"
#include "kmirror/cli/simple_options.h"
#include "kmirror/env/process.h"
#include "kmirror/wire/describe_cluster_mirrors_request.h"
#include "kmirror/wire/describe_cluster_mirrors_response.h"
#include "kmirror/wire/describe_log_dirs_request.h"
#include "kmirror/wire/describe_log_dirs_response.h"

namespace kmirror::cli {
namespace {

constexpr int kBarWidth = 30;

const std::vector<OptionRule>& rules() {
  static const std::vector<OptionRule> table{
      {"bootstrap-server", "HOST:PORT", "the cluster with the copies", true},
      {"mirror", "NAME", "the mirror to watch", true},
      {"interval-ms", "N", "time between two looks; default 1000", false},
      {"until-caught-up", "", "end when nothing is missing any more", false},
      {"timeout-s", "N", "give up after this time; default: never", false},
      {"help", "", "print this text", false},
  };
  return table;
}

struct Settings {
  Settings() = default;
  std::string bootstrap;
  std::string mirror;
  std::chrono::milliseconds interval{1000};
  std::optional<std::chrono::seconds> timeout;
  bool until_caught_up = false;
};

void add_partition(TopicProgress& topic,
                   const wire::DescribeClusterMirrorsResponse::PartitionDetail& partition) {
  ++topic.partitions;
  if (partition.state_value == "FAILED") ++topic.failed;
  const bool known = partition.source_offset.get() >= 0 && partition.destination_offset.get() >= 0;
  if (!known) return;
  if (partition.state_value == "MIRRORING") ++topic.mirroring;
  topic.source_records += partition.source_offset.get();
  topic.mirrored_records +=
      std::min(partition.destination_offset.get(), partition.source_offset.get());
}

env::Awaitable<Result<std::int64_t>> log_bytes(client::AdminClient& admin,
                                               const ProgressSample& sample) {
  wire::DescribeLogDirsRequest request;
  request.topics = std::nullopt;
  KM_CO_TRY(response, co_await admin.call(std::move(request)));
  std::int64_t bytes = 0;
  for (const auto& directory : response.results) {
    for (const auto& topic : directory.topics) {
      if (!sample.topics.contains(topic.name)) continue;
      for (const auto& partition : topic.partitions) bytes += partition.partition_size;
    }
  }
  co_return bytes;
}

env::Awaitable<Result<ProgressSample>> look(client::AdminClient& admin, std::string mirror) {
  wire::DescribeClusterMirrorsRequest request;
  request.mirror_names = std::vector<std::string>{mirror};
  KM_CO_TRY(response, co_await admin.call(std::move(request)));
  ProgressSample sample;
  for (const auto& described : response.mirrors) {
    if (described.error_code != ErrorCode::NONE) {
      co_return kafka_error(described.error_code,
                            fmt::format("mirror {}: {}", mirror, described.error_code));
    }
    for (const auto& topic : described.topics) {
      TopicProgress& progress = sample.topics[topic.topic_name];
      for (const auto& partition : topic.partitions) add_partition(progress, partition);
    }
  }
  KM_CO_TRY(bytes, co_await log_bytes(admin, sample));
  sample.bytes = bytes;
  co_return sample;
}

void show(const ProgressSample& before, const ProgressSample& now, bool terminal, bool last) {
  if (terminal) {
    print("\r\x1b[K" + bar_line(before, now, kBarWidth) + (last ? "\n" : ""));
  } else {
    print(plain_line(before, now) + "\n");
  }
}

env::Awaitable<int> watch(env::Environment& environment, Settings settings) {
  auto admin = make_admin(environment, settings.bootstrap, std::nullopt);
  if (!admin) co_return fail(admin.error());
  const bool terminal = env::standard_output_is_terminal();
  const env::Instant begin = environment.clock.now();
  ProgressSample before;
  bool first = true;
  while (true) {
    auto now = co_await look(**admin, settings.mirror);
    if (!now) co_return fail(now.error());
    const env::Instant instant = environment.clock.now();
    now->seconds = std::chrono::duration<double>(instant - begin).count();
    if (first) before = *now;
    const bool done = settings.until_caught_up && now->caught_up();
    const bool late = settings.timeout && instant - begin > *settings.timeout;
    // Idle, nothing to end for: a line only when something moved.
    if (first || done || terminal || now->bytes != before.bytes || !now->caught_up()) {
      show(before, *now, terminal, done || late);
    }
    first = false;
    if (done) co_return kExitOk;
    if (late) {
      print_error(fmt::format("Error: mirror {} has not caught up within {} s", settings.mirror,
                              settings.timeout->count()));
      co_return kExitFailed;
    }
    before = std::move(*now);
    const env::Instant next = instant + settings.interval;
    co_await environment.clock.sleep_until(next);
  }
}

Result<Settings> settings_of(const SimpleOptions& options) {
  Settings settings;
  settings.bootstrap = options.text("bootstrap-server");
  settings.mirror = options.text("mirror");
  settings.until_caught_up = options.has("until-caught-up");
  KM_TRY(interval, options.number("interval-ms", 1000, 10));
  settings.interval = std::chrono::milliseconds(interval);
  KM_TRY(timeout, options.number("timeout-s", 0, 1));
  if (timeout > 0) settings.timeout = std::chrono::seconds(timeout);
  return settings;
}

}  // namespace

int progress_command(const std::vector<std::string>& arguments) {
  const auto options = SimpleOptions::parse(arguments, rules());
  if (!options) return fail(options.error());
  if (options->has("help")) {
    print(options_help("kmirror progress: how a mirror catches up.", rules()));
    return kExitOk;
  }
  const auto settings = settings_of(*options);
  if (!settings) return fail(settings.error());
  return run_task(
      [&settings](env::Environment& environment) { return watch(environment, *settings); });
}

}  // namespace kmirror::cli
