#include "kmirror/base/metrics.h"

#include <algorithm>
#include <utility>

namespace kmirror::metrics {

Counter& Registry::counter(std::string_view name, std::string_view help, Labels labels) {
  std::lock_guard lock(mutex_);
  auto& entry = counters_[Key{std::string(name), std::move(labels)}];
  if (!entry) {
    entry = std::make_unique<Entry<Counter>>();
    entry->help = help;
  }
  return entry->value;
}

Gauge& Registry::gauge(std::string_view name, std::string_view help, Labels labels) {
  std::lock_guard lock(mutex_);
  auto& entry = gauges_[Key{std::string(name), std::move(labels)}];
  if (!entry) {
    entry = std::make_unique<Entry<Gauge>>();
    entry->help = help;
  }
  return entry->value;
}

void Registry::remove(std::string_view name, const Labels& labels) {
  std::lock_guard lock(mutex_);
  const Key key{std::string(name), labels};
  counters_.erase(key);
  gauges_.erase(key);
}

void Registry::add_collector(std::function<void(std::vector<Sample>&)> collect) {
  std::lock_guard lock(mutex_);
  collectors_.push_back(std::move(collect));
}

std::vector<Sample> Registry::snapshot() const {
  std::vector<Sample> samples;
  std::vector<std::function<void(std::vector<Sample>&)>> collectors;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [key, entry] : counters_) {
      samples.push_back({key.first, entry->help, Kind::kCounter, key.second,
                         static_cast<double>(entry->value.value())});
    }
    for (const auto& [key, entry] : gauges_) {
      samples.push_back({key.first, entry->help, Kind::kGauge, key.second,
                         static_cast<double>(entry->value.value())});
    }
    collectors = collectors_;
  }
  for (const auto& collect : collectors) collect(samples);
  std::stable_sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
    return std::tie(a.name, a.labels) < std::tie(b.name, b.labels);
  });
  return samples;
}

}  // namespace kmirror::metrics
