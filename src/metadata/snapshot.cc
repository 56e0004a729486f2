#include "metadata/snapshot.h"

#include <algorithm>
#include <array>

#include "kmirror/base/check.h"
#include "kmirror/metadata/config_def.h"
#include "kmirror/model/error_code.h"
#include "kmirror/model/record.h"
#include "kmirror/model/record_batch.h"
#include "kmirror/wire/record_value.h"
#include "kmirror/wire/snapshot_footer_record.h"
#include "kmirror/wire/snapshot_header_record.h"

namespace kmirror::metadata {
namespace {

constexpr std::string_view kSuffix = ".checkpoint";
constexpr std::string_view kPartSuffix = ".checkpoint.part";
constexpr std::size_t kOffsetDigits = 20;
constexpr std::size_t kEpochDigits = 10;
constexpr std::size_t kBatchBytes = 1 << 20;
constexpr std::uint64_t kMaxFileBytes = 1ULL << 32;

template <class Record>
Slice encode(const Record& record, ApiVersion version = Record::kMaxVersion) {
  Result<Slice> encoded = wire::encode_metadata_record(record, version);
  KM_CHECK(encoded, "{} does not encode: {}", Record::kName, encoded.error().message);
  return *encoded;
}

wire::RegisterBrokerRecord broker_record(const BrokerImage& broker) {
  wire::RegisterBrokerRecord record;
  record.broker_id = broker.id;
  record.incarnation_id = broker.incarnation_id;
  record.broker_epoch = broker.broker_epoch;
  record.rack = broker.rack;
  record.fenced = broker.fenced;
  for (const ListenerEndpoint& listener : broker.listeners) {
    wire::RegisterBrokerRecord::BrokerEndpoint end_point;
    end_point.name = listener.name;
    end_point.host = listener.host;
    end_point.port = listener.port;
    end_point.security_protocol = listener.security_protocol;
    record.end_points.push_back(std::move(end_point));
  }
  return record;
}

void topic_records(const TopicImage& topic, const std::function<void(const Slice&)>& take) {
  wire::TopicRecord head;
  head.name = topic.name;
  head.topic_id = topic.id;
  take(encode(head));
  for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
    const PartitionImage& partition = topic.partitions[i];
    wire::PartitionRecord record;
    record.topic_id = topic.id;
    record.partition_id = static_cast<std::int32_t>(i);
    record.replicas = partition.replicas;
    record.isr = partition.isr;
    record.leader = partition.leader;
    record.leader_epoch = partition.leader_epoch;
    record.partition_epoch = partition.partition_epoch;
    take(encode(record, ApiVersion(0)));
  }
  if (topic.last_state_offset < 0) return;
  wire::MirrorTopicStateChangeRecord state;
  state.topic_id = topic.id;
  state.mirror_name = topic.mirror_name;
  state.desired_state = static_cast<std::int8_t>(topic.desired_mirror_state);
  state.state_offset = Offset(topic.last_state_offset);
  take(encode(state));
}

void config_records(const ConfigResource& resource, const ConfigMap& configs,
                    const std::function<void(const Slice&)>& take) {
  for (const auto& [key, value] : configs) {
    wire::ConfigRecord record;
    record.resource_type = static_cast<std::int8_t>(resource.type);
    record.resource_name = resource.name;
    record.name = key;
    record.value = value;
    take(encode(record));
  }
}

void acl_records(const AclImage& acl, const std::function<void(const Slice&)>& take) {
  wire::AccessControlEntryRecord record;
  record.id = acl.id;
  record.resource_type = acl.resource_type;
  record.resource_name = acl.resource_name;
  record.pattern_type = acl.pattern_type;
  record.principal = acl.principal;
  record.host = acl.host;
  record.operation = acl.operation;
  record.permission_type = acl.permission_type;
  take(encode(record));
  if (acl.owners == std::set<std::string>{""}) return;
  wire::AclOwnersRecord owners;
  owners.acl_id = acl.id;
  owners.owners.assign(acl.owners.begin(), acl.owners.end());
  take(encode(owners));
}

}  // namespace

void for_each_record(const MetadataImage& image, const std::function<void(const Slice&)>& take) {
  for (const auto& [name, level] : image.features) {
    wire::FeatureLevelRecord record;
    record.name = name;
    record.feature_level = level.finalized;
    take(encode(record));
  }
  for (const auto& [id, broker] : image.brokers) {
    take(encode(broker_record(*broker), ApiVersion(3)));
  }
  for (const auto& [name, topic] : image.topics) topic_records(*topic, take);
  for (const auto& [resource, configs] : image.configs) config_records(resource, *configs, take);
  for (const auto& [id, acl] : image.acls) acl_records(*acl, take);
  for (const auto& [mirror, topics] : image.deleted_here) {
    for (const std::string& topic : topics) {
      wire::DeletedMirrorTopicRecord record;
      record.mirror_name = mirror;
      record.topic_name = topic;
      record.deleted = true;
      take(encode(record));
    }
  }
  wire::ProducerIdsRecord producer_ids;
  producer_ids.broker_id = image.controller_id;
  producer_ids.next_producer_id = ProducerId(image.next_producer_id);
  take(encode(producer_ids));
}

std::string SnapshotId::file_name() const {
  return fmt::format("{:020}-{:010}{}", end_offset.get(), epoch.get(), kSuffix);
}

std::optional<SnapshotId> SnapshotId::parse(std::string_view file_name) {
  if (file_name.size() != kOffsetDigits + 1 + kEpochDigits + kSuffix.size()) return std::nullopt;
  if (!file_name.ends_with(kSuffix) || file_name[kOffsetDigits] != '-') return std::nullopt;
  const std::string_view numbers = file_name.substr(0, file_name.size() - kSuffix.size());
  const bool all_digits = std::all_of(numbers.begin(), numbers.end(), [&](const char& c) {
    return (c >= '0' && c <= '9') || &c == &numbers[kOffsetDigits];
  });
  const auto offset = parse_integer(numbers.substr(0, kOffsetDigits));
  const auto epoch = parse_integer(numbers.substr(kOffsetDigits + 1));
  if (!all_digits || !offset || !epoch || *epoch > 2'147'483'647) return std::nullopt;
  return SnapshotId(Offset(*offset), LeaderEpoch(static_cast<std::int32_t>(*epoch)));
}

namespace {

/// Writes batch after batch; remembers the first error.
class SnapshotWriter {
 public:
  SnapshotWriter(std::shared_ptr<env::File> file, LeaderEpoch epoch, std::int64_t timestamp_ms)
      : file_(std::move(file)), epoch_(epoch), timestamp_ms_(timestamp_ms) {}

  template <class Record>
  void control(ControlRecordType type, const Record& record) {
    flush();
    Writer value;
    const Result<void> encoded = record.encode(value, ApiVersion(0));
    KM_CHECK(encoded, "{}: {}", Record::kName, encoded.error().message);
    Writer key;
    key.integer<std::int16_t>(0);
    key.integer(static_cast<std::int16_t>(type));
    RecordBatchBuilder::Options options = batch_options();
    options.control = true;
    RecordBatchBuilder builder(options);
    builder.add(timestamp_ms_, bytes_of(key.take_slice()), bytes_of(value.take_slice()));
    write(builder);
  }
  void record(const Slice& value) {
    if (!builder_) builder_.emplace(batch_options());
    builder_->add(timestamp_ms_, std::nullopt, bytes_of(value));
    if (builder_->estimated_bytes() >= kBatchBytes) flush();
  }
  [[nodiscard]] Result<std::uint64_t> finish() {
    flush();
    if (error_) return *error_;
    KM_TRY_VOID(file_->sync());
    return position_;
  }

 private:
  static Bytes bytes_of(const Slice& slice) { return {slice.span().begin(), slice.span().end()}; }
  [[nodiscard]] RecordBatchBuilder::Options batch_options() const {
    RecordBatchBuilder::Options options;
    options.base_offset = Offset(next_offset_);
    options.partition_leader_epoch = epoch_;
    return options;
  }
  void flush() {
    if (builder_) write(*builder_);
    builder_.reset();
  }
  void write(RecordBatchBuilder& builder) {
    next_offset_ += static_cast<std::int64_t>(builder.record_count());
    const Slice batch = builder.build();
    if (error_) return;
    const Result<void> written = file_->write_at(position_, ByteChain(batch));
    if (!written) error_ = written.error();
    position_ += batch.size();
  }

  std::shared_ptr<env::File> file_;
  LeaderEpoch epoch_;
  std::int64_t timestamp_ms_;
  std::optional<RecordBatchBuilder> builder_;
  std::int64_t next_offset_ = 0;
  std::uint64_t position_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<std::uint64_t> write_snapshot(env::FileSystem& files, const std::string& directory,
                                     SnapshotId id, const MetadataImage& image,
                                     std::int64_t last_timestamp_ms) {
  const std::string path = directory + "/" + id.file_name();
  const std::string part = path + ".part";
  KM_TRY(file, files.open(part, env::OpenMode::kCreateEmpty, true));
  SnapshotWriter writer(file, id.epoch, std::max<std::int64_t>(last_timestamp_ms, 0));
  wire::SnapshotHeaderRecord header;
  header.last_contained_log_timestamp = std::max<std::int64_t>(last_timestamp_ms, 0);
  writer.control(ControlRecordType::kSnapshotHeader, header);
  for_each_record(image, [&writer](const Slice& record) { writer.record(record); });
  writer.control(ControlRecordType::kSnapshotFooter, wire::SnapshotFooterRecord());
  KM_TRY(size, writer.finish());
  KM_TRY_VOID(files.rename(part, path));
  KM_TRY_VOID(files.sync_directory(directory));
  return size;
}

namespace {

Error broken(const std::string& path, std::string text) {
  return kafka_error(ErrorCode::CORRUPT_MESSAGE,
                     fmt::format("metadata snapshot {}: {}; restore it from a backup", path, text));
}

Result<Slice> read_whole(env::FileSystem& files, const std::string& path) {
  KM_TRY(file, files.open(path, env::OpenMode::kRead));
  KM_TRY(size, file->size());
  if (size > kMaxFileBytes) return broken(path, fmt::format("{} bytes are too many", size));
  auto slab = std::make_shared<Slab>(static_cast<std::size_t>(size));
  KM_TRY(count, file->read_at(0, std::span<std::uint8_t>(slab->data(), slab->size())));
  return Slice(slab, ByteSpan(slab->data(), count));
}

/// One batch of the file; `state`: 0 before the header, 1 among records, 2 after the footer.
Result<void> take_batch(const std::string& path, const RecordBatchView& batch, int& state,
                        std::int64_t last_offset, ImageBuilder& builder) {
  if (batch.magic() != 2 || !batch.crc_is_valid() || batch.compression() != Compression::kNone) {
    return broken(path, fmt::format("the batch at {} is damaged", batch.base_offset()));
  }
  if (batch.is_control()) {
    KM_TRY(type, control_record_type(batch));
    if (type == ControlRecordType::kSnapshotHeader && state == 0) {
      state = 1;
    } else if (type == ControlRecordType::kSnapshotFooter && state == 1) {
      state = 2;
    } else if (state != 1) {
      return broken(path, "its header or footer is out of place");
    }
    return {};
  }
  if (state != 1) return broken(path, "it has records outside header and footer");
  RecordCursor cursor(batch.payload().span());
  while (true) {
    KM_TRY(record, cursor.next());
    if (!record) return {};
    if (!record->value) return broken(path, "it has a record without a value");
    const std::size_t from = static_cast<std::size_t>(record->value->data() - batch.bytes().data());
    KM_TRY_VOID(builder.replay(batch.bytes().sub(from, record->value->size()), last_offset));
  }
}

}  // namespace

Result<void> read_snapshot(env::FileSystem& files, const std::string& directory, SnapshotId id,
                           ImageBuilder& builder) {
  const std::string path = directory + "/" + id.file_name();
  KM_TRY(bytes, read_whole(files, path));
  BatchIterator batches(bytes);
  int state = 0;
  const std::int64_t last_offset = id.end_offset.get() - 1;
  while (true) {
    Result<std::optional<RecordBatchView>> batch = batches.next();
    if (!batch) return broken(path, batch.error().message);
    if (!*batch) break;
    KM_TRY_VOID(take_batch(path, **batch, state, last_offset, builder));
  }
  if (state != 2 || batches.left_over_bytes() != 0) return broken(path, "it has no footer");
  builder.set_offset(last_offset);
  return {};
}

Result<std::vector<SnapshotId>> find_snapshots(env::FileSystem& files,
                                               const std::string& directory) {
  KM_TRY(entries, files.list(directory));
  std::vector<SnapshotId> found;
  for (const env::DirectoryEntry& entry : entries) {
    if (entry.name.ends_with(kPartSuffix)) {
      KM_TRY_VOID(files.remove(directory + "/" + entry.name));
    }
    const std::optional<SnapshotId> id = SnapshotId::parse(entry.name);
    if (id) found.push_back(*id);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace kmirror::metadata
