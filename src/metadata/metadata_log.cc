#include "metadata/metadata_log.h"

#include <limits>

#include "kmirror/base/check.h"
#include "kmirror/base/log.h"
#include "kmirror/metadata/names.h"
#include "kmirror/model/error_code.h"
#include "kmirror/model/record.h"

namespace kmirror::metadata {
namespace {

// One controller for life: leaders of the metadata log never change here.
constexpr LeaderEpoch kEpoch{1};
constexpr std::size_t kReadBytes = 8 << 20;

/// The id that every Kafka cluster's metadata log has: AAAAAAAAAAAAAAAAAAAAAQ.
constexpr Uuid metadata_topic_id() {
  std::array<std::uint8_t, 16> bytes{};
  bytes[15] = 1;
  return Uuid(bytes);
}

storage::LogConfig log_config(std::int64_t segment_bytes) {
  storage::LogConfig config;
  config.segment_bytes = segment_bytes;
  config.segment_ms = std::numeric_limits<std::int64_t>::max();
  config.retention_ms = -1;
  config.retention_bytes = -1;
  config.max_message_bytes = std::numeric_limits<std::int32_t>::max();
  config.cleanup_delete = false;
  config.file_delete_delay_ms = 0;
  config.timestamp_after_max_ms = std::numeric_limits<std::int64_t>::max();
  return config;
}

Error corrupt(std::string text) {
  return kafka_error(ErrorCode::CORRUPT_MESSAGE, "metadata log: " + std::move(text));
}

}  // namespace

Result<std::unique_ptr<MetadataLog>> MetadataLog::open(env::Environment& environment,
                                                       const std::string& directory,
                                                       std::int64_t segment_bytes,
                                                       ImageBuilder& builder) {
  const std::string path = fmt::format("{}/{}-0", directory, kMetadataTopic);
  std::unique_ptr<MetadataLog> log(new MetadataLog(environment, path));
  KM_TRY_VOID(environment.files.make_directories(path));
  KM_TRY_VOID(environment.files.sync_directory(directory));
  KM_TRY(start, log->load_newest_snapshot(builder));
  KM_TRY_VOID(log->open_log(start, segment_bytes));
  KM_TRY_VOID(log->replay(start, builder));
  // What a killed process left in the page cache was replayed just now: it must not vanish later.
  const storage::PartitionLog::FlushTask task = log->log_->start_flush();
  KM_TRY_VOID(task.run());
  log->log_->flush_done(task);
  return log;
}

Result<Offset> MetadataLog::load_newest_snapshot(ImageBuilder& builder) {
  KM_TRY(found, find_snapshots(environment_.files, directory_));
  snapshots_ = std::move(found);
  if (snapshots_.empty()) return Offset(0);
  const SnapshotId newest = snapshots_.back();
  KM_TRY_VOID(read_snapshot(environment_.files, directory_, newest, builder));
  return newest.end_offset;
}

Result<void> MetadataLog::open_log(Offset start, std::int64_t segment_bytes) {
  storage::PartitionLog::Identity identity;
  identity.topic_partition = TopicPartition(std::string(kMetadataTopic), 0);
  identity.topic_id = metadata_topic_id();
  identity.directory = directory_;
  storage::PartitionLog::OpenOptions options;
  options.log_start_offset = start;
  options.recovery_point = start;
  KM_TRY(log, storage::PartitionLog::open(environment_, std::move(identity),
                                          log_config(segment_bytes), std::move(options)));
  log_ = std::move(log);
  if (log_->log_start_offset() > start) {
    return corrupt(
        fmt::format("{} begins at offset {}, but the newest snapshot ends at {}; restore "
                    "the missing snapshot from a backup",
                    directory_, log_->log_start_offset(), start));
  }
  // A power cut may take the log's unsynced tail, but never what the snapshot holds.
  if (log_->log_end_offset() < start) KM_TRY_VOID(log_->truncate_fully_and_start_at(start));
  return {};
}

Result<void> MetadataLog::replay(Offset from, ImageBuilder& builder) {
  Offset next = from;
  while (next < log_->log_end_offset()) {
    storage::ReadRequest request;
    request.from = next;
    request.max_bytes = kReadBytes;
    request.isolation = storage::Isolation::kLogEnd;
    KM_TRY(read, log_->read(request));
    KM_TRY(bytes, read.records.flatten());
    BatchIterator batches(bytes);
    const Offset before = next;
    while (true) {
      KM_TRY(batch, batches.next());
      if (!batch) break;
      KM_TRY_VOID(replay_batch(*batch, next, builder));
      next = batch->next_offset();
      bytes_since_snapshot_ += batch->size();
      last_timestamp_ms_ = batch->max_timestamp_ms();
    }
    if (next == before) return corrupt(fmt::format("no batch at offset {}", next));
  }
  return {};
}

Result<void> MetadataLog::replay_batch(const RecordBatchView& batch, Offset expected,
                                       ImageBuilder& builder) {
  if (batch.base_offset() != expected) {
    return corrupt(
        fmt::format("a batch begins at offset {} where {} is due", batch.base_offset(), expected));
  }
  if (batch.magic() != 2 || batch.compression() != Compression::kNone) {
    return corrupt(fmt::format("the batch at offset {} is of an unknown form", expected));
  }
  if (batch.is_control()) {
    builder.set_offset(batch.last_offset().get());
    return {};
  }
  RecordCursor cursor(batch.payload().span());
  while (true) {
    KM_TRY(record, cursor.next());
    if (!record) return {};
    const std::int64_t offset = batch.base_offset().get() + record->offset_delta;
    if (!record->value) return corrupt(fmt::format("the record at offset {} is empty", offset));
    const auto from = static_cast<std::size_t>(record->value->data() - batch.bytes().data());
    KM_TRY_VOID(builder.replay(batch.bytes().sub(from, record->value->size()), offset));
  }
}

Result<void> MetadataLog::append(const std::vector<Slice>& records, std::int64_t timestamp_ms) {
  RecordBatchBuilder::Options options;
  options.base_offset = Offset(0);
  RecordBatchBuilder builder(options);
  for (const Slice& record : records) {
    builder.add(timestamp_ms, std::nullopt, Bytes(record.span().begin(), record.span().end()));
  }
  const Slice batch = builder.build();
  const Offset expected = log_->log_end_offset();
  KM_TRY(info, log_->append_as_leader(batch, kEpoch, storage::AppendOrigin::kCoordinator));
  KM_CHECK(info.first_offset == expected, "appended at {} instead of {}", info.first_offset,
           expected);
  bytes_since_snapshot_ += info.bytes;
  last_timestamp_ms_ = timestamp_ms;
  return {};
}

Result<MetadataLog::SnapshotTask> MetadataLog::start_snapshot(const MetadataImage& image) {
  SnapshotTask task;
  task.id = SnapshotId(Offset(image.offset + 1), kEpoch);
  task.last_timestamp_ms = last_timestamp_ms_;
  KM_TRY_VOID(log_->roll());
  task.bytes_before = std::exchange(bytes_since_snapshot_, 0);
  return task;
}

Result<std::uint64_t> MetadataLog::write(const SnapshotTask& task,
                                         const MetadataImage& image) const {
  return write_snapshot(environment_.files, directory_, task.id, image, task.last_timestamp_ms);
}

Result<std::vector<std::string>> MetadataLog::snapshot_written(const SnapshotTask& task) {
  KM_TRY_VOID(log_->advance_log_start_offset(task.id.end_offset));
  std::vector<std::string> removable = log_->take_deletable_files(environment_.clock.wall_ms());
  for (const SnapshotId& old : snapshots_) {
    if (old != task.id) removable.push_back(directory_ + "/" + old.file_name());
  }
  snapshots_ = {task.id};
  return removable;
}

}  // namespace kmirror::metadata
