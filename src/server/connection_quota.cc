#include "server/connection_quota.h"

#include "kmirror/base/check.h"

namespace kmirror::server {

std::int32_t ConnectionQuota::limit_of(const std::string& ip) const {
  const auto found = overrides_.find(ip);
  return found != overrides_.end() ? found->second : max_per_ip_;
}

bool ConnectionQuota::try_add(const std::string& ip) {
  const auto found = per_ip_.find(ip);
  if ((found != per_ip_.end() ? found->second : 0) >= limit_of(ip)) return false;
  ++per_ip_[ip];
  ++total_;
  return true;
}

void ConnectionQuota::remove(const std::string& ip) {
  const auto found = per_ip_.find(ip);
  KM_CHECK(found != per_ip_.end() && total_ > 0, "no connection of {} is counted", ip);
  if (--found->second == 0) per_ip_.erase(found);
  --total_;
}

}  // namespace kmirror::server
