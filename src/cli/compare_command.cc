#include "cli/compare_command.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <re2/re2.h>

#include "cli/command.h"
#include "cli/partition_reader.h"
#include "kmirror/cli/simple_options.h"
#include "kmirror/wire/metadata_response.h"

namespace kmirror::cli {
namespace {

const std::vector<OptionRule>& rules() {
  static const std::vector<OptionRule> table{
      {"source", "HOST:PORT", "the cluster that is mirrored", true},
      {"mirror", "HOST:PORT", "the cluster with the copies", true},
      {"topics", "REGEX", "topics to compare; default: all but those with __ in front", false},
      {"source-config", "FILE", "properties for the connection to the source", false},
      {"help", "", "print this text", false},
  };
  return table;
}

struct Comparison {
  Comparison() = default;
  PartitionEnds source;
  PartitionEnds mirror;
  std::int64_t batches = 0;
  std::int64_t bytes = 0;
  std::string difference;  ///< empty: equal
};

struct Side {
  Side(client::AdminClient& client, NodeId partition_leader)
      : admin(client), leader(partition_leader) {}
  client::AdminClient& admin;
  NodeId leader;
};

std::string first_difference(const RecordBatchView& source, const RecordBatchView& mirror) {
  const ByteSpan a = source.bytes().span();
  const ByteSpan b = mirror.bytes().span();
  const auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (at == a.end() && other == b.end()) return "";
  return fmt::format("batch at {} differs from byte {} on (source batch {} bytes, mirror {})",
                     source.base_offset(), at - a.begin(), a.size(), b.size());
}

env::Awaitable<Result<Comparison>> compare_partition(Side source, Side mirror,
                                                     TopicPartition partition) {
  Comparison out;
  KM_CO_TRY(source_ends, co_await partition_ends(source.admin, source.leader, partition));
  KM_CO_TRY(mirror_ends, co_await partition_ends(mirror.admin, mirror.leader, partition));
  out.source = source_ends;
  out.mirror = mirror_ends;
  PartitionReader left(source.admin, source.leader, partition, source_ends);
  PartitionReader right(mirror.admin, mirror.leader, partition, mirror_ends);
  while (out.difference.empty()) {
    KM_CO_TRY(a, co_await left.next());
    KM_CO_TRY(b, co_await right.next());
    if (!a && !b) break;
    if (!a || !b) {
      const RecordBatchView& extra = a ? *a : *b;
      out.difference = fmt::format("batch at {} is only in the {}", extra.base_offset(),
                                   a ? "source" : "mirror");
      break;
    }
    out.difference = first_difference(*a, *b);
    ++out.batches;
    out.bytes += static_cast<std::int64_t>(a->size());
  }
  if (out.difference.empty() && source_ends.start != mirror_ends.start) {
    out.difference =
        fmt::format("start: source {}, mirror {}", source_ends.start, mirror_ends.start);
  }
  if (out.difference.empty() && source_ends.end != mirror_ends.end) {
    out.difference = fmt::format("end: source {}, mirror {}", source_ends.end, mirror_ends.end);
  }
  co_return out;
}

struct Totals {
  Totals() = default;
  std::int64_t partitions = 0;
  std::int64_t different = 0;
  std::int64_t records = 0;
  std::int64_t bytes = 0;
};

using Topic = wire::MetadataResponse::MetadataResponseTopic;

NodeId leader_of(const Topic& topic, std::int32_t partition) {
  for (const auto& item : topic.partitions) {
    if (item.partition_index == partition) return item.leader_id;
  }
  return NodeId(-1);
}

void print_row(const TopicPartition& partition, const Comparison& row, Totals& totals) {
  print(fmt::format("{:<32} {:>10} {:>10} {:>8} {:>12}  {}\n", fmt::format("{}", partition),
                    row.source.start, row.source.end, row.batches, row.bytes,
                    row.difference.empty() ? "equal" : "DIFFERENT: " + row.difference));
  ++totals.partitions;
  totals.different += row.difference.empty() ? 0 : 1;
  totals.records += row.source.end - row.source.start;
  totals.bytes += row.bytes;
}

env::Awaitable<Result<void>> compare_topic(client::AdminClient& source, client::AdminClient& mirror,
                                           const Topic& at_source, const Topic* at_mirror,
                                           Totals& totals) {
  std::vector<std::int32_t> indexes;
  for (const auto& item : at_source.partitions) indexes.push_back(item.partition_index);
  std::sort(indexes.begin(), indexes.end());
  for (const std::int32_t index : indexes) {
    const TopicPartition partition(at_source.name.value_or(""), index);
    const NodeId source_leader = leader_of(at_source, index);
    const NodeId mirror_leader = at_mirror != nullptr ? leader_of(*at_mirror, index) : NodeId(-1);
    if (source_leader.get() < 0 || mirror_leader.get() < 0) {
      Comparison missing;
      missing.difference = source_leader.get() < 0 ? "the source has no leader for it"
                                                   : "the mirror has no such partition";
      print_row(partition, missing, totals);
      continue;
    }
    const Side left(source, source_leader);
    const Side right(mirror, mirror_leader);
    KM_CO_TRY(row, co_await compare_partition(left, right, partition));
    print_row(partition, row, totals);
  }
  co_return Result<void>();
}

env::Awaitable<Result<int>> compare(client::AdminClient& source, client::AdminClient& mirror,
                                    std::string expression) {
  const re2::RE2 pattern(expression, re2::RE2::Quiet);
  KM_CO_TRY(source_metadata, co_await source.metadata(std::nullopt));
  KM_CO_TRY(mirror_metadata, co_await mirror.metadata(std::nullopt));
  print(fmt::format("{:<32} {:>10} {:>10} {:>8} {:>12}  {}\n", "PARTITION", "START", "END",
                    "BATCHES", "BYTES", "RESULT"));
  std::sort(source_metadata.topics.begin(), source_metadata.topics.end(),
            [](const Topic& a, const Topic& b) { return a.name < b.name; });
  Totals totals;
  for (const Topic& topic : source_metadata.topics) {
    const std::string topic_name = topic.name.value_or("");
    if (!re2::RE2::FullMatch(topic_name, pattern)) continue;
    const auto found = std::find_if(mirror_metadata.topics.begin(), mirror_metadata.topics.end(),
                                    [&topic](const Topic& t) { return t.name == topic.name; });
    const Topic* at_mirror = found == mirror_metadata.topics.end() ? nullptr : &*found;
    KM_CO_TRY_VOID(co_await compare_topic(source, mirror, topic, at_mirror, totals));
  }
  if (totals.partitions == 0) {
    co_return kafka_error(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                          fmt::format("the source has no topic that matches '{}'", expression));
  }
  print(fmt::format("{} partitions, {} offsets, {} bytes: {}\n", totals.partitions, totals.records,
                    totals.bytes,
                    totals.different == 0 ? std::string("all equal")
                                          : fmt::format("{} DIFFERENT", totals.different)));
  co_return totals.different == 0 ? kExitOk : kExitFailed;
}

env::Awaitable<int> run_compare(env::Environment& environment, SimpleOptions options) {
  std::optional<std::string> source_config;
  if (options.has("source-config")) source_config = options.text("source-config");
  auto source = make_admin(environment, options.text("source"), source_config);
  if (!source) co_return fail(source.error());
  auto mirror = make_admin(environment, options.text("mirror"), std::nullopt);
  if (!mirror) co_return fail(mirror.error());
  const std::string expression = options.text("topics", "(?:[^_]|_[^_]|_$).*");
  const re2::RE2 pattern(expression, re2::RE2::Quiet);
  if (!pattern.ok()) {
    print_error(fmt::format("Error: --topics '{}': {}", expression, pattern.error()));
    co_return kExitFailed;
  }
  auto result = co_await compare(**source, **mirror, expression);
  if (!result) co_return fail(result.error());
  co_return *result;
}

}  // namespace

int compare_command(const std::vector<std::string>& arguments) {
  const auto options = SimpleOptions::parse(arguments, rules());
  if (!options) return fail(options.error());
  if (options->has("help")) {
    print(options_help("kmirror compare: every batch of two clusters' topics, byte for byte.",
                       rules()));
    return kExitOk;
  }
  return run_task(
      [&options](env::Environment& environment) { return run_compare(environment, *options); });
}

}  // namespace kmirror::cli
