// Small record batches for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include "kmirror/bytes/endian.h"
#include "kmirror/model/record_batch.h"

namespace kmirror::mirror {

/// A valid batch of the offsets `first` … `last`, one record each.
inline Bytes batch(std::int64_t first, std::int64_t last, std::int32_t epoch,
                   const std::string& value = "v") {
  RecordBatchBuilder::Options options;
  options.base_offset = Offset(first);
  options.partition_leader_epoch = LeaderEpoch{epoch};
  RecordBatchBuilder builder(options);
  for (std::int64_t offset = first; offset <= last; ++offset) {
    builder.add(1'700'000'000'000 + offset, std::nullopt, Bytes(value.begin(), value.end()));
  }
  const Slice built = builder.build();
  return {built.span().begin(), built.span().end()};
}

inline Slice join(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return Slice::take(std::move(all));
}

inline Bytes with_bad_crc(Bytes bytes) {
  bytes.back() ^= 1;
  return bytes;
}

template <class T>
Bytes with_field(Bytes bytes, std::size_t position, T value) {
  store_be<T>(bytes.data() + position, value);
  return bytes;
}

}  // namespace kmirror::mirror
