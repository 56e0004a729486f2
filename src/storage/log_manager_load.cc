// Loading: what lies in the log directories meets what metadata expects.
#include <charconv>

#include <fmt/format.h>

#include "kmirror/base/log.h"
#include "kmirror/model/error_code.h"
#include "storage/log_manager_impl.h"
#include "storage/partition_log_impl.h"

namespace kmirror::storage {
namespace {

constexpr std::string_view kDeleteEnd = "-delete";
constexpr std::string_view kStrayEnd = "-stray";

// "<topic>-<partition>"; nothing for any other name.
std::optional<TopicPartition> parse_directory_name(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0 || dash + 1 == name.size()) return std::nullopt;
  std::int32_t partition = 0;
  const auto [end, error] =
      std::from_chars(name.data() + dash + 1, name.data() + name.size(), partition);
  if (error != std::errc{} || end != name.data() + name.size() || partition < 0) {
    return std::nullopt;
  }
  return TopicPartition(std::string(name.substr(0, dash)), partition);
}

Offset offset_in(const OffsetCheckpoint& checkpoint, const TopicPartition& partition) {
  const auto found = checkpoint.find(partition);
  return found == checkpoint.end() ? Offset(0) : found->second;
}

}  // namespace

Result<LoadReport> LogManager::Impl::load(const std::vector<ExpectedLog>& expected) {
  LoadReport report;
  std::map<TopicPartition, const ExpectedLog*> missing;
  for (const auto& log : expected) missing[log.topic_partition] = &log;
  for (const auto& directory : directories) {
    KM_TRY_VOID(env.files.make_directories(directory->path));
    KM_TRY(lock, env.files.lock(directory->path + '/' + std::string(kLockName)));
    directory->lock = std::move(lock);
  }
  for (const auto& directory : directories) {
    auto loaded = open_directory(*directory);
    if (loaded) loaded = load_directory(*directory, missing, report);
    if (loaded) continue;
    report.offline.push_back(fmt::format("{}: {}", directory->path, loaded.error().message));
    take_offline(*directory, loaded.error());
  }
  // With a directory offline nobody knows whether a log that is not found lies there.
  if (report.offline.empty()) {
    for (const auto& [partition, wanted] : missing) {
      Directory& directory = *directories.front();
      PartitionLog::OpenOptions options = open_options(directory, *wanted);
      options.clean = false;
      KM_TRY(log, open_log(directory, *wanted, std::move(options)));
      enter(log, directory);
      ++report.loaded;
    }
  }
  return report;
}

Result<void> LogManager::Impl::open_directory(Directory& directory) {
  const auto read = [&](std::string_view name) {
    return read_offset_checkpoint(env.files, directory.path + '/' + std::string(name));
  };
  KM_TRY(recovery_points, read(kRecoveryPointName));
  KM_TRY(high_watermarks, read(kHighWatermarkName));
  KM_TRY(log_starts, read(kLogStartName));
  KM_TRY(cleaner_offsets, read(kCleanerName));
  directory.recovery_points = std::move(recovery_points);
  directory.high_watermarks = std::move(high_watermarks);
  directory.log_starts = std::move(log_starts);
  directory.cleaner_offsets = std::move(cleaner_offsets);
  const std::string mark = directory.path + '/' + std::string(kCleanMarkName);
  directory.was_clean = env.files.exists(mark);
  return {};
}

Result<void> LogManager::Impl::load_directory(Directory& directory,
                                              std::map<TopicPartition, const ExpectedLog*>& missing,
                                              LoadReport& report) {
  KM_TRY(entries, env.files.list(directory.path));
  for (const auto& entry : entries) {
    if (!entry.is_directory || entry.name.ends_with(kStrayEnd)) continue;
    if (entry.name.ends_with(kDeleteEnd)) {
      env.disk.submit([&files = env.files, path = directory.path + '/' + entry.name] {
        const auto removed = files.remove_all(path);
        if (!removed) KM_LOG(kWarn, "storage.delete_failed", "{}", removed.error().message);
      });
      continue;
    }
    const auto partition = parse_directory_name(entry.name);
    if (!partition || partition->topic == kMetadataTopic) continue;
    const auto wanted = missing.find(*partition);
    if (wanted == missing.end()) {
      KM_TRY_VOID(move_aside(directory, entry.name, report));
      continue;
    }
    auto opened = open_log(directory, *wanted->second, open_options(directory, *wanted->second));
    if (!opened && to_kafka_error(opened.error()) == ErrorCode::INCONSISTENT_TOPIC_ID) {
      KM_TRY_VOID(move_aside(directory, entry.name, report));
      continue;
    }
    if (!opened) return opened.error();
    enter(*opened, directory);
    missing.erase(wanted);
    ++report.loaded;
  }
  // From here on a crash is a crash.
  if (directory.was_clean) {
    KM_TRY_VOID(env.files.remove(directory.path + '/' + std::string(kCleanMarkName)));
    KM_TRY_VOID(env.files.sync_directory(directory.path));
  }
  return {};
}

Result<void> LogManager::Impl::move_aside(Directory& directory, const std::string& name,
                                          LoadReport& report) {
  const std::string aside = fmt::format("{}/{}.{:016x}{:016x}{}", directory.path, name,
                                        env.rng.next(), env.rng.next(), kStrayEnd);
  KM_TRY_VOID(env.files.rename(directory.path + '/' + name, aside));
  report.strays.push_back(aside);
  return {};
}

PartitionLog::OpenOptions LogManager::Impl::open_options(Directory& directory,
                                                         const ExpectedLog& wanted) {
  const TopicPartition& partition = wanted.topic_partition;
  PartitionLog::OpenOptions options;
  options.clean = directory.was_clean;
  options.log_start_offset = offset_in(directory.log_starts, partition);
  options.recovery_point = offset_in(directory.recovery_points, partition);
  options.high_watermark = offset_in(directory.high_watermarks, partition);
  const std::weak_ptr<Impl> weak = weak_from_this();
  options.on_offline = [weak, &directory](const Error& reason) {
    const auto self = weak.lock();
    if (!self) return;
    self->env.loops[0]->post([self, &directory, reason] { self->take_offline(directory, reason); });
  };
  options.on_truncated = [weak, partition](Offset new_end) {
    const auto self = weak.lock();
    if (!self) return;
    self->env.loops[0]->post([self, partition, new_end] { self->truncated(partition, new_end); });
  };
  return options;
}

Result<LogManager::Impl::Log> LogManager::Impl::open_log(Directory& directory,
                                                         const ExpectedLog& wanted,
                                                         PartitionLog::OpenOptions options) {
  PartitionLog::Identity identity;
  identity.topic_partition = wanted.topic_partition;
  identity.topic_id = wanted.topic_id;
  identity.directory = fmt::format("{}/{}", directory.path, wanted.topic_partition);
  return PartitionLog::open(env, std::move(identity), wanted.config, std::move(options));
}

}  // namespace kmirror::storage
