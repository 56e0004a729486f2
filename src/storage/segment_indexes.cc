#include "storage/segment_indexes.h"

#include "kmirror/bytes/endian.h"

namespace kmirror::storage {
namespace {

// Transaction index entry, version 0: where its fields stand.
constexpr std::int16_t kAbortedVersion = 0;
constexpr std::size_t kVersionAt = 0;
constexpr std::size_t kProducerIdAt = 2;
constexpr std::size_t kFirstOffsetAt = 10;
constexpr std::size_t kLastOffsetAt = 18;
constexpr std::size_t kLastStableOffsetAt = 26;
static_assert(kLastStableOffsetAt + 8 == kTransactionEntryBytes);

}  // namespace

OffsetPosition OffsetIndex::decode(const EntryStore<kOffsetEntryBytes>::Entry& entry) const {
  return {base_ + load_be<std::int32_t>(entry.data()), load_be<std::uint32_t>(entry.data() + 4)};
}

Result<OffsetPosition> OffsetIndex::lookup(Offset target) const {
  KM_TRY(count, store_.partition_point(store_.size(), [&](const auto& entry) {
    return decode(entry).offset <= target;
  }));
  if (count == 0) return OffsetPosition(base_, 0);
  KM_TRY(entry, store_.at(count - 1));
  return decode(entry);
}

Result<std::optional<OffsetPosition>> OffsetIndex::last() const {
  const std::size_t count = store_.size();
  if (count == 0) return std::optional<OffsetPosition>{};
  KM_TRY(entry, store_.at(count - 1));
  return std::optional<OffsetPosition>{decode(entry)};
}

Result<OffsetPosition> OffsetIndex::entry(std::size_t i) const {
  KM_TRY(raw, store_.at(i));
  return decode(raw);
}

Result<std::size_t> OffsetIndex::entries_below(std::uint64_t position) const {
  return store_.partition_point(
      store_.size(), [&](const auto& entry) { return decode(entry).position < position; });
}

void OffsetIndex::append(OffsetPosition entry) {
  EntryStore<kOffsetEntryBytes>::Entry raw{};
  store_be(raw.data(), static_cast<std::int32_t>(entry.offset - base_));
  store_be(raw.data() + 4, static_cast<std::uint32_t>(entry.position));
  store_.append(raw);
}

TimestampOffset TimeIndex::decode(const EntryStore<kTimeEntryBytes>::Entry& entry) const {
  return {load_be<std::int64_t>(entry.data()), base_ + load_be<std::int32_t>(entry.data() + 8)};
}

Result<TimestampOffset> TimeIndex::lookup(std::int64_t timestamp_ms) const {
  KM_TRY(count, store_.partition_point(store_.size(), [&](const auto& entry) {
    return decode(entry).timestamp_ms <= timestamp_ms;
  }));
  if (count == 0) return TimestampOffset(-1, base_);
  KM_TRY(entry, store_.at(count - 1));
  return decode(entry);
}

Result<TimestampOffset> TimeIndex::last() const {
  const std::size_t count = store_.size();
  if (count == 0) return TimestampOffset(-1, base_);
  KM_TRY(entry, store_.at(count - 1));
  return decode(entry);
}

Result<std::size_t> TimeIndex::entries_below(Offset offset) const {
  return store_.partition_point(store_.size(),
                                [&](const auto& entry) { return decode(entry).offset < offset; });
}

Result<std::size_t> TimeIndex::usable_entries(Offset offset) const {
  TimestampOffset before(-1, base_ - 1);
  const std::size_t count = store_.size();
  for (std::size_t i = 0; i < count; ++i) {
    KM_TRY(raw, store_.at(i));
    const TimestampOffset entry = decode(raw);
    const bool rises = entry.timestamp_ms > before.timestamp_ms && entry.offset > before.offset;
    if (!rises || entry.offset >= offset) return i;
    before = entry;
  }
  return count;
}

void TimeIndex::maybe_append(TimestampOffset entry) {
  if (const std::size_t count = store_.size(); count > 0) {
    // An unreadable last entry counts as passed: an index may have fewer entries, never wrong ones.
    const auto newest = store_.at(count - 1);
    if (!newest) return;
    const TimestampOffset before = decode(*newest);
    if (entry.timestamp_ms <= before.timestamp_ms || entry.offset <= before.offset) return;
  } else if (entry.timestamp_ms < 0) {
    return;
  }
  EntryStore<kTimeEntryBytes>::Entry raw{};
  store_be(raw.data(), entry.timestamp_ms);
  store_be(raw.data() + 8, static_cast<std::int32_t>(entry.offset - base_));
  store_.append(raw);
}

Result<AbortedEntry> TransactionIndex::at(std::size_t i) const {
  KM_TRY(raw, store_.at(i));
  AbortedEntry entry;
  entry.producer_id = ProducerId(load_be<std::int64_t>(raw.data() + kProducerIdAt));
  entry.first_offset = Offset(load_be<std::int64_t>(raw.data() + kFirstOffsetAt));
  entry.last_offset = Offset(load_be<std::int64_t>(raw.data() + kLastOffsetAt));
  entry.last_stable_offset = Offset(load_be<std::int64_t>(raw.data() + kLastStableOffsetAt));
  return entry;
}

Result<bool> TransactionIndex::collect(Offset from, Offset upper,
                                       std::vector<AbortedEntry>& out) const {
  const std::size_t count = store_.size();
  for (std::size_t i = 0; i < count; ++i) {
    KM_TRY(entry, at(i));
    if (entry.last_offset >= from && entry.first_offset < upper) out.push_back(entry);
    if (entry.last_stable_offset >= upper) return true;
  }
  return false;
}

Result<std::size_t> TransactionIndex::entries_below(Offset offset) const {
  return store_.partition_point(store_.size(), [&](const auto& raw) {
    return Offset(load_be<std::int64_t>(raw.data() + kLastOffsetAt)) < offset;
  });
}

void TransactionIndex::append(const AbortedEntry& entry) {
  EntryStore<kTransactionEntryBytes>::Entry raw{};
  store_be(raw.data() + kVersionAt, kAbortedVersion);
  store_be<std::int64_t>(raw.data() + kProducerIdAt, entry.producer_id.get());
  store_be<std::int64_t>(raw.data() + kFirstOffsetAt, entry.first_offset.get());
  store_be<std::int64_t>(raw.data() + kLastOffsetAt, entry.last_offset.get());
  store_be<std::int64_t>(raw.data() + kLastStableOffsetAt, entry.last_stable_offset.get());
  store_.append(raw);
}

}  // namespace kmirror::storage
