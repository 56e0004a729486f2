#include "server/request_metrics.h"

#include <algorithm>
#include <chrono>
#include <string>

#include <fmt/format.h>

namespace kmirror::server {
namespace {

constexpr std::array<const char*, 6> kPhases = {"request_queue",  "local",         "remote",
                                                "response_queue", "response_send", "total"};
// Upper ends of the histogram of TotalTimeMs.
constexpr std::array<std::int64_t, 11> kBucketMs = {1,   2,   5,     10,    20,    50,
                                                    100, 500, 1'000, 5'000, 30'000};

std::uint64_t micros(env::Instant from, env::Instant to) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(to - from).count();
  return us > 0 ? static_cast<std::uint64_t>(us) : 0;
}

}  // namespace

struct RequestMetrics::PerApi {
  PerApi(metrics::Registry& registry, std::string name) : request(std::move(name)) {
    const metrics::Labels labels = {{"request", request}};
    request_bytes = &registry.counter("kafka_network_request_metrics_request_bytes_total",
                                      "RequestBytes: bytes of requests, header included", labels);
    response_bytes = &registry.counter("kafka_network_request_metrics_response_bytes_total",
                                       "ResponseBytes: bytes of answers, header included", labels);
    for (std::size_t i = 0; i < kPhases.size(); ++i) {
      phase_us[i] = &registry.counter(
          fmt::format("kafka_network_request_metrics_{}_time_us_total", kPhases[i]),
          "Microseconds all requests together spent there", labels);
    }
  }

  std::string request;
  metrics::Counter* request_bytes = nullptr;
  metrics::Counter* response_bytes = nullptr;
  std::array<metrics::Counter*, kPhases.size()> phase_us{};
  std::array<metrics::Counter*, kBucketMs.size() + 1> buckets{};
  std::map<ApiVersion, metrics::Counter*> by_version;
  std::map<ErrorCode, metrics::Counter*> by_error;
};

RequestMetrics::PerApi& RequestMetrics::of(const wire::ApiInfo& api) {
  auto& entry = per_api_[api.key];
  if (entry == nullptr) entry = std::make_shared<PerApi>(registry_, std::string(api.name));
  return *entry;
}

void RequestMetrics::record(const wire::ApiInfo& api, ApiVersion version, const RequestTimes& times,
                            std::size_t request_bytes, std::size_t response_bytes,
                            const ErrorCounts& errors) {
  PerApi& entry = of(api);
  auto& requests = entry.by_version[version];
  if (requests == nullptr) {
    requests = &registry_.counter(
        "kafka_network_request_metrics_requests_total", "RequestsPerSec: requests that are done",
        {{"request", entry.request}, {"version", fmt::format("{}", version)}});
  }
  requests->add();
  entry.request_bytes->add(request_bytes);
  entry.response_bytes->add(response_bytes);
  for (const auto& [code, count] : errors.all()) {
    auto& counter = entry.by_error[code];
    if (counter == nullptr) {
      counter =
          &registry_.counter("kafka_network_request_metrics_errors_total",
                             "ErrorsPerSec: error codes in answers, NONE included",
                             {{"request", entry.request}, {"error", std::string(name(code))}});
    }
    counter->add(count);
  }
  const std::array<std::uint64_t, kPhases.size()> spent = {
      micros(times.received, times.started),  micros(times.started, times.returned),
      micros(times.returned, times.answered), micros(times.answered, times.dequeued),
      micros(times.dequeued, times.sent),     micros(times.received, times.sent)};
  for (std::size_t i = 0; i < spent.size(); ++i) entry.phase_us[i]->add(spent[i]);
  const auto total_ms = static_cast<std::int64_t>(spent.back() / 1'000);
  const auto place = static_cast<std::size_t>(
      std::lower_bound(kBucketMs.begin(), kBucketMs.end(), total_ms) - kBucketMs.begin());
  auto& bucket = entry.buckets[place];
  if (bucket == nullptr) {
    bucket = &registry_.counter(
        "kafka_network_request_metrics_total_time_requests",
        "TotalTimeMs: requests that took at most le_ms milliseconds, more than the next smaller",
        {{"request", entry.request},
         {"le_ms", place < kBucketMs.size() ? std::to_string(kBucketMs[place]) : "more"}});
  }
  bucket->add();
}

}  // namespace kmirror::server
