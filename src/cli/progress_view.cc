#include "kmirror/cli/progress_view.h"

#include <algorithm>

#include <fmt/format.h>

namespace kmirror::cli {
namespace {

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

double megabytes_per_second(const ProgressSample& before, const ProgressSample& now) {
  const double seconds = now.seconds - before.seconds;
  const auto bytes = static_cast<double>(std::max<std::int64_t>(0, now.bytes - before.bytes));
  return seconds > 0 ? bytes / seconds / 1e6 : 0;
}

double share(const ProgressSample& now) {
  const std::int64_t total = now.source_records();
  return total > 0 ? static_cast<double>(now.mirrored_records()) / static_cast<double>(total) : 0;
}

std::string lags(const ProgressSample& now) {
  std::string out;
  for (const auto& [topic, progress] : now.topics) {
    const bool waiting = progress.mirroring < progress.partitions;
    if (progress.lag() == 0 && !waiting) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", topic,
                       progress.failed > 0              ? fmt::format("{} FAILED", progress.failed)
                       : waiting && progress.lag() == 0 ? std::string("starting")
                                                        : grouped(progress.lag()));
  }
  return out.empty() ? "lag 0" : "lag: " + out;
}

}  // namespace

std::int64_t TopicProgress::lag() const {
  return std::max<std::int64_t>(0, source_records - mirrored_records);
}

std::int64_t ProgressSample::source_records() const {
  std::int64_t sum = 0;
  for (const auto& [name, topic] : topics) sum += topic.source_records;
  return sum;
}

std::int64_t ProgressSample::mirrored_records() const {
  std::int64_t sum = 0;
  for (const auto& [name, topic] : topics) sum += topic.mirrored_records;
  return sum;
}

std::int64_t ProgressSample::lag() const {
  std::int64_t sum = 0;
  for (const auto& [name, topic] : topics) sum += topic.lag();
  return sum;
}

bool ProgressSample::caught_up() const {
  return !topics.empty() && std::all_of(topics.begin(), topics.end(), [](const auto& item) {
    return item.second.mirroring == item.second.partitions && item.second.lag() == 0;
  });
}

bool ProgressSample::any_failed() const {
  return std::any_of(topics.begin(), topics.end(),
                     [](const auto& item) { return item.second.failed > 0; });
}

std::string plain_line(const ProgressSample& before, const ProgressSample& now) {
  return fmt::format("{:6.1f} s  {:>11} of {} records ({:3.0f} %)  {:7.1f} MB/s  {}", now.seconds,
                     grouped(now.mirrored_records()), grouped(now.source_records()),
                     share(now) * 100, megabytes_per_second(before, now), lags(now));
}

std::string bar_line(const ProgressSample& before, const ProgressSample& now, int width) {
  const int full = std::clamp(static_cast<int>(share(now) * width), 0, width);
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i < full ? '#' : '.';
  return fmt::format("[{}] {:3.0f} %  {:>11} records  {:7.1f} MB/s  {}", bar, share(now) * 100,
                     grouped(now.mirrored_records()), megabytes_per_second(before, now), lags(now));
}

}  // namespace kmirror::cli
