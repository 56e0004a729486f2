#include "kmirror/cli/tables.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace kmirror::cli {
namespace {

constexpr std::size_t kMirrorWidth = 30;
constexpr std::size_t kTopicWidth = 40;
constexpr std::size_t kPartitionWidth = 10;
constexpr std::size_t kErrorWidth = 80;
constexpr std::int16_t kNotRetried = -1;

std::string number(std::int64_t value) { return value < 0 ? "-" : std::to_string(value); }

void sort_rows(std::vector<PartitionRow>& rows) {
  std::sort(rows.begin(), rows.end(), [](const PartitionRow& a, const PartitionRow& b) {
    return std::tie(a.mirror, a.topic, a.partition) < std::tie(b.mirror, b.topic, b.partition);
  });
}

// One line of columns, one space between them, nothing behind the last text.
std::string line(std::initializer_list<std::pair<std::string, std::size_t>> columns) {
  std::string out;
  for (const auto& [text, width] : columns) {
    if (!out.empty()) out += ' ';
    out += column(text, width);
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out + '\n';
}

}  // namespace

std::int64_t PartitionRow::lag() const {
  if (source_offset < 0 || destination_offset < 0) return -1;
  return std::max<std::int64_t>(0, source_offset - destination_offset);
}

std::string column(std::string_view text, std::size_t width) {
  if (text.size() > width) {
    return "..." + std::string(text.substr(text.size() - (width - 3)));
  }
  return fmt::format("{:<{}}", text, width);
}

std::string java_list(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string list_table(std::vector<MirrorRow> rows) {
  std::sort(rows.begin(), rows.end(),
            [](const MirrorRow& a, const MirrorRow& b) { return a.mirror < b.mirror; });
  std::string out = line({{"MIRROR", kMirrorWidth},
                          {"TOPICS", 10},
                          {"SOURCE-CLUSTER-ID", 26},
                          {"SOURCE-BOOTSTRAP-SERVER", 50}});
  for (const MirrorRow& row : rows) {
    out += line({{row.mirror, kMirrorWidth},
                 {std::to_string(row.topic_count), 10},
                 {row.source_cluster_id, 26},
                 {row.source_bootstrap, 50}});
  }
  return out;
}

std::string describe_table(std::vector<PartitionRow> rows) {
  sort_rows(rows);
  std::string out = line({{"MIRROR", kMirrorWidth},
                          {"TOPIC", kTopicWidth},
                          {"PARTITION", kPartitionWidth},
                          {"SOURCE-OFFSET", 15},
                          {"DESTINATION-OFFSET", 18},
                          {"LAG", 10},
                          {"STATE", 12}});
  for (const PartitionRow& row : rows) {
    out += line({{row.mirror, kMirrorWidth},
                 {row.topic, kTopicWidth},
                 {std::to_string(row.partition), kPartitionWidth},
                 {number(row.source_offset), 15},
                 {number(row.destination_offset), 18},
                 {number(row.lag()), 10},
                 {row.state, std::max<std::size_t>(12, row.state.size())}});
  }
  return out;
}

std::string failed_table(std::vector<PartitionRow> rows, std::int32_t max_attempts) {
  sort_rows(rows);
  std::string out = line({{"MIRROR", kMirrorWidth},
                          {"TOPIC", kTopicWidth},
                          {"PARTITION", kPartitionWidth},
                          {"RETRY", 7},
                          {"ERROR", kErrorWidth}});
  for (const PartitionRow& row : rows) {
    const std::string retry = row.retry_attempt == kNotRetried
                                  ? "NonRetryable"
                                  : fmt::format("{}/{}", row.retry_attempt, max_attempts);
    out += line({{row.mirror, kMirrorWidth},
                 {row.topic, kTopicWidth},
                 {std::to_string(row.partition), kPartitionWidth},
                 {retry, std::max<std::size_t>(7, retry.size())},
                 {row.error.value_or("").substr(0, kErrorWidth), kErrorWidth}});
  }
  return out;
}

std::string describe_json(std::vector<PartitionRow> rows) {
  sort_rows(rows);
  boost::json::array out;
  for (const PartitionRow& row : rows) {
    boost::json::object item;
    item["mirror"] = row.mirror;
    item["topic"] = row.topic;
    item["partition"] = row.partition;
    item["sourceOffset"] = row.source_offset;
    item["destinationOffset"] = row.destination_offset;
    item["lag"] = row.lag();
    item["state"] = row.state;
    item["retryAttempt"] = row.retry_attempt;
    item["errorMessage"] = row.error ? boost::json::value(*row.error) : boost::json::value(nullptr);
    out.push_back(std::move(item));
  }
  return boost::json::serialize(out);
}

}  // namespace kmirror::cli
