// The producer snapshot file: version, CRC-32C of what follows it, number of entries, entries.
// Only the last batch of a producer is kept, as Kafka does.
// Sources: Kafka 4.4 ProducerStateManager.writeSnapshot; docs/formats/log.md.
#include <algorithm>

#include <fmt/format.h>

#include "kmirror/bytes/crc32c.h"
#include "kmirror/bytes/endian.h"
#include "kmirror/bytes/reader.h"
#include "storage/producer_state.h"

namespace kmirror::storage {
namespace {

constexpr std::int16_t kVersion = 1;
constexpr std::size_t kCrcAt = 2;
constexpr std::size_t kCountAt = 6;
static_assert(kCountAt + 4 == kSnapshotHeaderBytes);

// Where the fields of an entry stand.
constexpr std::size_t kIdAt = 0;
constexpr std::size_t kEpochAt = 8;
constexpr std::size_t kLastSequenceAt = 10;
constexpr std::size_t kLastOffsetAt = 14;
constexpr std::size_t kOffsetDeltaAt = 22;
constexpr std::size_t kTimestampAt = 26;
constexpr std::size_t kCoordinatorEpochAt = 34;
constexpr std::size_t kTransactionAt = 38;
static_assert(kTransactionAt + 8 == kSnapshotEntryBytes);

Error bad(std::string text) {
  return bytes_error(BytesErrc::kBadValue, "producer snapshot: " + std::move(text));
}

void encode(std::uint8_t* p, ProducerId id, const ProducerEntry& entry) {
  const BatchMemory last = entry.has_batches() ? entry.last_batch() : BatchMemory{};
  store_be<std::int64_t>(p + kIdAt, id.get());
  store_be<std::int16_t>(p + kEpochAt, entry.epoch.get());
  store_be(p + kLastSequenceAt, last.last_sequence);
  store_be<std::int64_t>(p + kLastOffsetAt, last.last_offset.get());
  store_be(p + kOffsetDeltaAt, last.offset_delta);
  store_be(p + kTimestampAt, entry.last_timestamp_ms);
  store_be(p + kCoordinatorEpochAt, entry.coordinator_epoch);
  store_be<std::int64_t>(p + kTransactionAt, entry.transaction_first_offset.get());
}

}  // namespace

Bytes ProducerState::encode_snapshot() const {
  std::vector<ProducerId> ids;
  ids.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  Bytes out(kSnapshotHeaderBytes + ids.size() * kSnapshotEntryBytes);
  store_be(out.data(), kVersion);
  store_be(out.data() + kCountAt, static_cast<std::int32_t>(ids.size()));
  std::uint8_t* p = out.data() + kSnapshotHeaderBytes;
  for (const ProducerId id : ids) {
    encode(p, id, entries_.at(id));
    p += kSnapshotEntryBytes;
  }
  store_be(out.data() + kCrcAt, crc32c(ByteSpan(out).subspan(kCountAt)));
  return out;
}

Result<void> ProducerState::load_snapshot(ByteSpan bytes) {
  clear();
  if (bytes.size() < kSnapshotHeaderBytes) return bad("too short");
  if (load_be<std::int16_t>(bytes.data()) != kVersion) return bad("not version 1");
  if (load_be<std::uint32_t>(bytes.data() + kCrcAt) != crc32c(bytes.subspan(kCountAt))) {
    return bad("its CRC is wrong");
  }
  const auto count = load_be<std::int32_t>(bytes.data() + kCountAt);
  if (count < 0 || bytes.size() - kSnapshotHeaderBytes !=
                       static_cast<std::size_t>(count) * kSnapshotEntryBytes) {
    return bad(fmt::format("{} entries in {} bytes", count, bytes.size()));
  }
  const std::uint8_t* p = bytes.data() + kSnapshotHeaderBytes;
  for (std::int32_t i = 0; i < count; ++i, p += kSnapshotEntryBytes) {
    const ProducerId id(load_be<std::int64_t>(p + kIdAt));
    ProducerEntry& entry = entries_[id];
    entry.epoch = ProducerEpoch(load_be<std::int16_t>(p + kEpochAt));
    entry.last_timestamp_ms = load_be<std::int64_t>(p + kTimestampAt);
    entry.coordinator_epoch = load_be<std::int32_t>(p + kCoordinatorEpochAt);
    BatchMemory batch;
    batch.last_sequence = load_be<std::int32_t>(p + kLastSequenceAt);
    batch.last_offset = Offset(load_be<std::int64_t>(p + kLastOffsetAt));
    batch.offset_delta = load_be<std::int32_t>(p + kOffsetDeltaAt);
    batch.timestamp_ms = entry.last_timestamp_ms;
    if (batch.last_offset.get() >= 0) entry.add(batch);
    const Offset first(load_be<std::int64_t>(p + kTransactionAt));
    set_transaction(id, entry, first.get() < 0 ? kNoOffset : first);
    max_id_ = std::max(max_id_, id);
  }
  return {};
}

}  // namespace kmirror::storage
