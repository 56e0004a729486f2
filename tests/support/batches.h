// Batches that several tests use: stored bytes from the field, and short ways to build new ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kmirror/model/record_batch.h"

namespace kmirror::testing {

/// 1700000000000: the record time of the given batches.
inline constexpr std::int64_t kGivenTimeMs = 1'700'000'000'000;

inline Slice hex_slice(std::string_view text) { return Slice::take(from_hex(text)); }

inline Bytes bytes_of(std::string_view text) {
  const ByteSpan span = as_bytes(text);
  return {span.begin(), span.end()};
}

// A compacted batch: base 100, last 105, records only at 100 and 103.
inline constexpr std::string_view kGappedBatch =
    "0000000000000064000000410000000202d9bc463a0000000000050000018bcfe568000000018bcfe56800ffffffff"
    "ffffffffffffffffffff000000020e000000010261000e00000601026200";
// Base 40, last 44, no records, producer 9 at sequence 10.
inline constexpr std::string_view kEmptyBatch =
    "0000000000000028000000310000000302c833b0020000000000040000018bcfe568000000018bcfe5680000000000"
    "0000000900000000000a00000000";
// Base 200: tombstone a, then b=x five ms later; the base timestamp is the delete horizon.
inline constexpr std::string_view kHorizonBatch =
    "00000000000000c80000004c0000000302f220e9880040000000010000019b76daa8000000018bcfe56805ffffffff"
    "ffffffffffffffffffff000000021800ffffa9eff40300026101001a00f5ffa9eff403020262027800";

/// A batch of plain records, one per value, without producer.
struct BatchSpec {
  BatchSpec() = default;
  std::int64_t base_offset = 0;
  std::int32_t epoch = 0;
  std::int64_t timestamp_ms = kGivenTimeMs;
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = -1;
  std::int32_t base_sequence = -1;
  bool transactional = false;
  std::vector<std::pair<std::optional<std::string>, std::optional<std::string>>> records;
};

inline Slice make_batch(const BatchSpec& spec) {
  RecordBatchBuilder::Options options;
  options.base_offset = Offset(spec.base_offset);
  options.partition_leader_epoch = LeaderEpoch(spec.epoch);
  options.producer_id = ProducerId(spec.producer_id);
  options.producer_epoch = ProducerEpoch(spec.producer_epoch);
  options.base_sequence = spec.base_sequence;
  options.transactional = spec.transactional;
  RecordBatchBuilder builder(options);
  for (const auto& [key, value] : spec.records) {
    builder.add(spec.timestamp_ms, key ? std::optional<Bytes>(bytes_of(*key)) : std::nullopt,
                value ? std::optional<Bytes>(bytes_of(*value)) : std::nullopt);
  }
  return builder.build();
}

/// `count` records "k<i>" = "v<i>" from `base_offset` on, in one batch.
inline Slice simple_batch(std::int64_t base_offset, int count = 1, std::int32_t epoch = 0,
                          std::int64_t timestamp_ms = kGivenTimeMs) {
  BatchSpec spec;
  spec.base_offset = base_offset;
  spec.epoch = epoch;
  spec.timestamp_ms = timestamp_ms;
  for (int i = 0; i < count; ++i) {
    const auto n = std::to_string(base_offset + i);
    spec.records.emplace_back("k" + n, "v" + n);
  }
  return make_batch(spec);
}

}  // namespace kmirror::testing
