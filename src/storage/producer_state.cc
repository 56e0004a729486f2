#include "storage/producer_state.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "kmirror/model/error_code.h"

namespace kmirror::storage {
namespace {

constexpr std::int32_t kMaxSequence = std::numeric_limits<std::int32_t>::max();

bool follows(std::int32_t last, std::int32_t next) {
  return last == kMaxSequence ? next == 0 : next == last + 1;
}

bool is_marker(const BatchSummary& batch) {
  return batch.control && (batch.control_type == ControlRecordType::kAbort ||
                           batch.control_type == ControlRecordType::kCommit);
}

}  // namespace

std::int32_t BatchMemory::first_sequence() const {
  if (last_sequence < 0) return -1;
  const std::int64_t first = static_cast<std::int64_t>(last_sequence) - offset_delta;
  return static_cast<std::int32_t>(first >= 0 ? first : first + kMaxSequence + 1LL);
}

const BatchMemory* ProducerEntry::find(std::int32_t first_sequence,
                                       std::int32_t last_sequence) const {
  for (std::size_t i = 0; i < count_; ++i) {
    const BatchMemory& batch = batches_[(newest_ + kWindow - i) % kWindow];
    if (batch.first_sequence() == first_sequence && batch.last_sequence == last_sequence) {
      return &batch;
    }
  }
  return nullptr;
}

void ProducerEntry::add(const BatchMemory& batch) {
  newest_ = static_cast<std::uint8_t>((newest_ + 1U) % kWindow);
  batches_[newest_] = batch;
  if (count_ < kWindow) ++count_;
}

void ProducerEntry::use_epoch(ProducerEpoch next) {
  if (epoch == next) return;
  epoch = next;
  forget_batches();
}

void ProducerState::set_transaction(ProducerId id, ProducerEntry& entry, Offset first_offset) {
  if (entry.transaction_first_offset != kNoOffset) ongoing_.erase(entry.transaction_first_offset);
  entry.transaction_first_offset = first_offset;
  if (first_offset != kNoOffset) ongoing_[first_offset] = id;
}

std::optional<AbortedEntry> ProducerState::apply(const BatchSummary& batch) {
  if (batch.control && batch.control_type == ControlRecordType::kMirrorPidReset) {
    reset();
    return std::nullopt;
  }
  if (batch.producer_id.get() < 0) return std::nullopt;
  max_id_ = std::max(max_id_, batch.producer_id);
  if (is_marker(batch)) return apply_marker(batch);
  if (batch.control) return std::nullopt;  // of unknown type: means nothing
  ProducerEntry& entry = entries_[batch.producer_id];
  entry.use_epoch(batch.producer_epoch);
  BatchMemory memory;
  memory.last_sequence = batch.last_sequence;
  memory.offset_delta = static_cast<std::int32_t>(batch.last_offset - batch.base_offset);
  memory.last_offset = batch.last_offset;
  memory.timestamp_ms = batch.max_timestamp_ms;
  entry.add(memory);
  entry.last_timestamp_ms = batch.max_timestamp_ms;
  if (batch.transactional && entry.transaction_first_offset == kNoOffset) {
    set_transaction(batch.producer_id, entry, batch.base_offset);
  }
  return std::nullopt;
}

// The producer id alone names the open transaction: with transaction version 2 the marker carries
// the next epoch.
std::optional<AbortedEntry> ProducerState::apply_marker(const BatchSummary& batch) {
  ProducerEntry& entry = entries_[batch.producer_id];
  entry.use_epoch(batch.producer_epoch);
  entry.coordinator_epoch = batch.coordinator_epoch;
  entry.last_timestamp_ms = batch.max_timestamp_ms;
  const Offset first = entry.transaction_first_offset;
  if (first == kNoOffset) return std::nullopt;
  set_transaction(batch.producer_id, entry, kNoOffset);
  if (batch.control_type != ControlRecordType::kAbort) return std::nullopt;
  AbortedEntry aborted;
  aborted.producer_id = batch.producer_id;
  aborted.first_offset = first;
  aborted.last_offset = batch.last_offset;
  aborted.last_stable_offset = first_unstable_offset().value_or(batch.last_offset.next());
  return aborted;
}

const BatchMemory* ProducerState::find_duplicate(const BatchSummary& batch) const {
  const auto found = entries_.find(batch.producer_id);
  if (found == entries_.end() || found->second.epoch != batch.producer_epoch) return nullptr;
  return found->second.find(batch.base_sequence, batch.last_sequence);
}

Result<void> ProducerState::check(const BatchSummary& batch, AppendOrigin origin) const {
  const auto found = entries_.find(batch.producer_id);
  const ProducerEntry* entry = found == entries_.end() ? nullptr : &found->second;
  if (entry != nullptr && batch.producer_epoch < entry->epoch) {
    return kafka_error(ErrorCode::INVALID_PRODUCER_EPOCH,
                       fmt::format("producer {} has epoch {}, the batch {}", batch.producer_id,
                                   entry->epoch, batch.producer_epoch));
  }
  if (is_marker(batch)) {
    if (entry != nullptr && batch.coordinator_epoch < entry->coordinator_epoch) {
      return kafka_error(
          ErrorCode::TRANSACTION_COORDINATOR_FENCED,
          fmt::format("producer {}: coordinator epoch {} after {}", batch.producer_id,
                      batch.coordinator_epoch, entry->coordinator_epoch));
    }
    return {};
  }
  if (batch.control) return {};
  if (origin == AppendOrigin::kClient) KM_TRY_VOID(check_sequence(entry, batch));
  if (entry != nullptr && entry->transaction_first_offset != kNoOffset && !batch.transactional) {
    return kafka_error(
        ErrorCode::INVALID_TXN_STATE,
        fmt::format("producer {} has an open transaction and sent a batch outside it",
                    batch.producer_id));
  }
  return {};
}

Result<void> ProducerState::check_sequence(const ProducerEntry* entry,
                                           const BatchSummary& batch) const {
  // An unknown producer may start anywhere: its state may have expired here.
  if (entry == nullptr || entry->epoch == kNoProducerEpoch) return {};
  const bool new_epoch = entry->epoch != batch.producer_epoch;
  const std::int32_t last = new_epoch ? -1 : entry->last_sequence();
  if (follows(last, batch.base_sequence)) return {};
  return kafka_error(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER,
                     fmt::format("producer {} epoch {}: sequence {} after {}", batch.producer_id,
                                 batch.producer_epoch, batch.base_sequence, last));
}

std::optional<Offset> ProducerState::first_unstable_offset() const {
  if (ongoing_.empty()) return std::nullopt;
  return ongoing_.begin()->first;
}

namespace {

ActiveProducer describe(ProducerId id, const ProducerEntry& entry) {
  ActiveProducer out;
  out.producer_id = id;
  out.producer_epoch = entry.epoch;
  out.last_sequence = entry.last_sequence();
  out.last_timestamp_ms = entry.last_timestamp_ms;
  out.coordinator_epoch = entry.coordinator_epoch;
  out.current_transaction_first_offset = entry.transaction_first_offset;
  return out;
}

}  // namespace

std::vector<ActiveProducer> ProducerState::producers() const {
  std::vector<ActiveProducer> out;
  out.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) out.push_back(describe(id, entry));
  std::sort(out.begin(), out.end(), [](const ActiveProducer& a, const ActiveProducer& b) {
    return a.producer_id < b.producer_id;
  });
  return out;
}

std::vector<ActiveProducer> ProducerState::open_transactions() const {
  std::vector<ActiveProducer> out;
  out.reserve(ongoing_.size());
  for (const auto& [offset, id] : ongoing_) out.push_back(describe(id, entries_.at(id)));
  return out;
}

void ProducerState::expire(std::int64_t now_ms, std::int64_t expiry_ms) {
  std::erase_if(entries_, [&](const auto& item) {
    const ProducerEntry& entry = item.second;
    return entry.transaction_first_offset == kNoOffset &&
           now_ms - entry.last_timestamp_ms >= expiry_ms;
  });
}

void ProducerState::clear() {
  entries_.clear();
  ongoing_.clear();
}

void ProducerState::reset() {
  std::erase_if(entries_,
                [](const auto& item) { return item.second.transaction_first_offset == kNoOffset; });
  for (auto& [id, entry] : entries_) entry.use_epoch(kNoProducerEpoch);
}

}  // namespace kmirror::storage
