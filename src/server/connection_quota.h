// ConnectionQuota: how many connections there are, in all and per address.
// Owner: loop 0. Sources: Kafka 4.4 ConnectionQuotas: max.connections, max.connections.per.ip.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace kmirror::server {

class ConnectionQuota {
 public:
  ConnectionQuota(std::int32_t max_total, std::int32_t max_per_ip,
                  std::map<std::string, std::int32_t> overrides)
      : max_total_(max_total), max_per_ip_(max_per_ip), overrides_(std::move(overrides)) {}

  /// True while no more may be accepted from anybody.
  [[nodiscard]] bool is_full() const { return total_ >= max_total_; }
  /// Counts one more from `ip`; false, and nothing counted, if that address has its share already.
  [[nodiscard]] bool try_add(const std::string& ip);
  void remove(const std::string& ip);
  [[nodiscard]] std::int32_t total() const { return total_; }

 private:
  [[nodiscard]] std::int32_t limit_of(const std::string& ip) const;

  std::int32_t max_total_;
  std::int32_t max_per_ip_;
  std::map<std::string, std::int32_t> overrides_;
  std::map<std::string, std::int32_t> per_ip_;
  std::int32_t total_ = 0;
};

}  // namespace kmirror::server
