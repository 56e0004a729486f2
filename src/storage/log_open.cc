// Opening a log: the files of its directory become segments; a clean stop needs no look inside them
// but at the very end.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "kmirror/base/log.h"
#include "kmirror/model/error_code.h"
#include "storage/checkpoint_file.h"
#include "storage/cleaner_swap.h"
#include "storage/header_scanner.h"
#include "storage/partition_log_impl.h"

namespace kmirror::storage {
namespace {

constexpr std::size_t kMaxPartitionMetadataBytes = 4096;

std::optional<Uuid> parse_partition_metadata(std::string_view text) {
  constexpr std::string_view kKey = "topic_id: ";
  const std::size_t at = text.find(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  text = text.substr(at + kKey.size());
  return Uuid::parse(text.substr(0, text.find_first_of("\r\n")));
}

}  // namespace

Result<void> PartitionLog::Impl::open(OpenOptions options) {
  on_offline = std::move(options.on_offline);
  on_truncated = std::move(options.on_truncated);
  if (!env.files.exists(identity.directory)) {
    KM_TRY_VOID(env.files.make_directories(identity.directory));
  }
  KM_TRY_VOID(check_partition_metadata());
  KM_TRY_VOID(load_segments());
  if (segments.empty()) {
    KM_TRY_VOID(start_empty_at(options.log_start_offset));
    return {};
  }
  publish_view();
  // A clean mark over a broken tail is a lie; the tail decides.
  if (options.clean) options.clean = read_log_end().has_value();
  options.recovery_point = std::min(options.recovery_point, Offset(checkpoint_limit.load()));
  KM_TRY(index_from, recover(options.recovery_point, options.clean));
  KM_TRY(log_end_now, read_log_end());
  const Offset log_start_now = std::max(options.log_start_offset, segments.front()->base_offset());
  if (log_start_now > log_end_now) {
    KM_LOG(kWarn, "storage.start_beyond_end", "{}: starts at {} but ends at {}; begun anew", name(),
           log_start_now, log_end_now);
    log_end.store(log_end_now.get());
    return truncate_fully_and_start_at(log_start_now);
  }
  log_start.store(log_start_now.get());
  KM_TRY_VOID(rebuild_producers(std::min(index_from, log_end_now), log_end_now));
  KM_TRY_VOID(remove_snapshots_above(log_end_now));
  publish_end(log_end_now);
  KM_TRY_VOID(load_epochs(options.clean));
  recovery_point.store(options.clean ? log_end_now.get()
                                     : std::min(options.recovery_point, log_end_now).get());
  return {};
}

Result<void> PartitionLog::Impl::check_partition_metadata() {
  if (identity.topic_id.is_zero()) return {};
  const std::string path = place->path(kPartitionMetadataName);
  if (env.files.exists(path)) {
    KM_TRY(text, env.files.read_text(path, kMaxPartitionMetadataBytes));
    const auto found = parse_partition_metadata(text);
    if (found && *found == identity.topic_id) return {};
    if (found) {
      return kafka_error(ErrorCode::INCONSISTENT_TOPIC_ID,
                         fmt::format("{} belongs to topic id {}, not {}", identity.directory,
                                     *found, identity.topic_id));
    }
  }
  const std::string text = fmt::format("version: 0\ntopic_id: {}\n", identity.topic_id);
  return replace_file(path, as_bytes(text));
}

Result<void> PartitionLog::Impl::load_segments() {
  KM_TRY(swapped, finish_interrupted_cleaning(*place));
  if (swapped) directory_dirty = true;
  KM_TRY(entries, env.files.list(identity.directory));
  std::map<Offset, SegmentSizes> found;
  std::vector<std::pair<Offset, std::string>> companions;
  for (const auto& entry : entries) {
    if (entry.is_directory) continue;
    if (entry.name.ends_with(kDeletedSuffix)) {
      KM_TRY_VOID(env.files.remove(place->path(entry.name)));
      continue;
    }
    const auto parsed = parse_segment_file_name(entry.name);
    if (!parsed) continue;
    if (parsed->suffix == kUnsyncedSuffix) {
      checkpoint_limit.store(std::min(checkpoint_limit.load(), parsed->base.get()));
    }
    if (parsed->suffix == kLogSuffix) found[parsed->base].log_bytes = entry.size_bytes;
    if (parsed->suffix == kSnapshotSuffix) snapshots.insert(parsed->base);
    const bool companion = parsed->suffix == kOffsetIndexSuffix ||
                           parsed->suffix == kTimeIndexSuffix ||
                           parsed->suffix == kTransactionIndexSuffix;
    if (companion) companions.emplace_back(parsed->base, entry.name);
  }
  for (const auto& entry : entries) {
    const auto parsed = parse_segment_file_name(entry.name);
    const auto segment = parsed ? found.find(parsed->base) : found.end();
    if (segment == found.end()) continue;
    SegmentSizes& sizes = segment->second;
    if (parsed->suffix == kOffsetIndexSuffix) sizes.offset_index_bytes = entry.size_bytes;
    if (parsed->suffix == kTimeIndexSuffix) sizes.time_index_bytes = entry.size_bytes;
    if (parsed->suffix == kTransactionIndexSuffix) {
      sizes.transaction_index_bytes = entry.size_bytes;
    }
  }
  // An index without its log says nothing.
  for (const auto& [base, file_name] : companions) {
    if (!found.contains(base)) KM_TRY_VOID(env.files.remove(place->path(file_name)));
  }
  std::uint64_t total = 0;
  for (const auto& [base, sizes] : found) {
    segments.push_back(std::make_shared<Segment>(place, base, sizes, nullptr));
    total += sizes.log_bytes;
  }
  size_bytes.store(total);
  sealed_bytes = segments.empty() ? 0 : total - segments.back()->size_bytes();
  return {};
}

Result<void> PartitionLog::Impl::start_empty_at(Offset offset) {
  auto first = std::make_shared<Segment>(place, offset, SegmentSizes{}, nullptr);
  KM_TRY_VOID(first->writable());
  segments.assign(1, std::move(first));
  sealed_bytes = 0;
  size_bytes.store(0);
  directory_dirty = true;
  publish_view();
  producers.clear();
  KM_TRY_VOID(remove_snapshots_above(kNoOffset));
  epochs.replace({});
  KM_TRY_VOID(write_epochs());
  log_start.store(offset.get());
  publish_end(offset);
  recovery_point.store(offset.get());
  return {};
}

// From the last index entry to the end of the newest segment: a few kilobytes of headers.
Result<Offset> PartitionLog::Impl::read_log_end() const {
  const Segment& newest = *segments.back();
  if (newest.size_bytes() == 0) return newest.base_offset();
  KM_TRY(indexed, newest.last_indexed());
  KM_TRY(file, newest.file());
  HeaderScanner scanner(file, indexed.position, newest.size_bytes());
  Offset next = newest.base_offset();
  for (;;) {
    KM_TRY(batch, scanner.next());
    if (!batch) return next;
    if (batch->last_offset < next) {
      return kafka_error(ErrorCode::CORRUPT_MESSAGE,
                         fmt::format("{}: offsets do not rise at {}", name(), batch->base_offset));
    }
    next = batch->last_offset.next();
  }
}

Result<void> PartitionLog::Impl::load_epochs(bool clean) {
  const std::string path = place->path(kEpochFileName);
  Result<LeaderEpochCache::Entries> entries = LeaderEpochCache::Entries{};
  bool readable = false;
  if (env.files.exists(path)) {
    KM_TRY(text, env.files.read_text(path, kMaxCheckpointBytes));
    entries = LeaderEpochCache::parse(text);
    readable = entries.has_value();
  }
  if (readable && clean) {
    epochs.replace(std::move(*entries));
    epochs.mark_clean();
  } else {
    KM_TRY_VOID(verify_epochs(readable ? std::move(*entries) : LeaderEpochCache::Entries{}, end()));
  }
  epochs.truncate_from_end(end());
  epochs.truncate_from_start(start());
  if (epochs.is_dirty()) return write_epochs();
  return {};
}

}  // namespace kmirror::storage
