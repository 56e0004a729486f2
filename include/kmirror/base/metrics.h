// Metrics: counters and gauges with labels, collected by the HTTP port.
// Owner: any thread. A Counter or Gauge reference stays valid as long as its Registry.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace kmirror::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

class Counter {
 public:
  void add(std::uint64_t amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add(std::int64_t amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

enum class Kind { kCounter, kGauge };

struct Sample {
  std::string name;  ///< Prometheus name, unit as suffix
  std::string help;
  Kind kind = Kind::kGauge;
  Labels labels;
  double value = 0;
};

class Registry {
 public:
  Registry() = default;
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// The counter of this name and label set, made on first use. Any thread.
  Counter& counter(std::string_view name, std::string_view help, Labels labels = {});
  /// The gauge of this name and label set, made on first use. Any thread.
  Gauge& gauge(std::string_view name, std::string_view help, Labels labels = {});
  /// Forgets one label set, so that a deleted partition does not stay for ever. References to it
  /// become invalid. Any thread; a set that is not there is ignored.
  void remove(std::string_view name, const Labels& labels);
  /// `collect` is called by every snapshot(), on the caller's thread; it must be thread-safe.
  void add_collector(std::function<void(std::vector<Sample>&)> collect);
  /// All values now, sorted by name and labels. Any thread.
  [[nodiscard]] std::vector<Sample> snapshot() const;

 private:
  using Key = std::pair<std::string, Labels>;
  template <class T>
  struct Entry {
    std::string help;
    T value;
  };
  mutable std::mutex mutex_;
  std::map<Key, std::unique_ptr<Entry<Counter>>> counters_;
  std::map<Key, std::unique_ptr<Entry<Gauge>>> gauges_;
  std::vector<std::function<void(std::vector<Sample>&)>> collectors_;
};

}  // namespace kmirror::metrics
