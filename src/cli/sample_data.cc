#include "kmirror/cli/sample_data.h"

#include <fmt/format.h>

#include "kmirror/compression/compression.h"

namespace kmirror::cli {
namespace {

// Each key of the compacted topic is written this many times on average: most records are then
// superseded, and the cleaner leaves gaps.
constexpr std::int64_t kKeysOfCompacted = 500;

Bytes bytes_of(const std::string& text) { return Bytes(text.begin(), text.end()); }

// A small deterministic mixer: sample data must be the same everywhere, random or not.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 33)) * 0xff51afd7ed558ccdULL;
  value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return value ^ (value >> 33);
}

std::string order(std::int64_t number, std::uint64_t dice) {
  static constexpr const char* kCities[] = {"Lisbon", "Osaka", "Tromso", "Quito", "Accra"};
  std::string value =
      fmt::format(R"({{"order":{},"customer":"c{}","city":"{}","amount":{}.{:02},"items":[)",
                  number, dice % 9973, kCities[dice % 5], dice % 2000, (dice >> 11) % 100);
  const std::uint64_t items = 1 + (dice >> 20) % 6;
  for (std::uint64_t i = 0; i < items; ++i) {
    value += fmt::format(R"({}{{"sku":"{:016x}","count":{}}})", i == 0 ? "" : ",", mix(dice + i),
                         1 + (dice >> (i + 3)) % 9);
  }
  return value + "]}";
}

}  // namespace

const std::vector<SampleTopic>& sample_topics() {
  static const std::vector<SampleTopic> topics{{"sample-plain", Compression::kNone, false},
                                               {"sample-gzip", Compression::kGzip, false},
                                               {"sample-snappy", Compression::kSnappy, false},
                                               {"sample-lz4", Compression::kLz4, false},
                                               {"sample-zstd", Compression::kZstd, false},
                                               {"sample-compacted", Compression::kNone, true}};
  return topics;
}

Result<Slice> sample_batch(const SampleTopic& topic, std::int32_t partition, std::int64_t first,
                           std::int64_t count, std::int64_t base_timestamp_ms) {
  RecordBatchBuilder builder{RecordBatchBuilder::Options()};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t number = first + i;
    const std::uint64_t dice =
        mix(static_cast<std::uint64_t>(number) * 31 + static_cast<std::uint64_t>(partition) * 7919);
    const std::int64_t key =
        topic.compacted ? static_cast<std::int64_t>(dice % kKeysOfCompacted) : number;
    std::vector<RecordHeader> headers;
    if (number % 10 == 0) {
      RecordHeader header;
      header.key = "trace";
      header.value = bytes_of(fmt::format("{:016x}", dice));
      headers.push_back(std::move(header));
    }
    builder.add(base_timestamp_ms + number, bytes_of(fmt::format("key-{}", key)),
                bytes_of(order(number, dice)), headers);
  }
  if (topic.compression == Compression::kNone) return builder.build();
  KM_TRY(compressed,
         compression::compress(topic.compression, Slice::copy_of(ByteSpan(builder.payload()))));
  return builder.build_compressed(topic.compression, compressed.span());
}

}  // namespace kmirror::cli
