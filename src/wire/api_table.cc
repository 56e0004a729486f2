#include "kmirror/wire/api_table.h"

#include <algorithm>
#include <array>

namespace kmirror::wire {
namespace {

constexpr std::array kApis = {
#define KM_API(name, key, min, max, flexible_from, latest_unstable, broker, controller)          \
  ApiInfo{                                                                                       \
      #name,           ApiKey{key}, ApiVersion{min}, ApiVersion{max}, ApiVersion{flexible_from}, \
      latest_unstable, broker,      controller},
#include "kmirror/wire/api_table.inc"
#undef KM_API
};

}  // namespace

std::span<const ApiInfo> all_apis() { return kApis; }

const ApiInfo* find_api(ApiKey key) {
  const auto found = std::lower_bound(kApis.begin(), kApis.end(), key,
                                      [](const ApiInfo& api, ApiKey k) { return api.key < k; });
  return found != kApis.end() && found->key == key ? &*found : nullptr;
}

const ApiInfo* find_api(std::string_view name) {
  const auto found = std::find_if(kApis.begin(), kApis.end(),
                                  [&](const ApiInfo& api) { return api.name == name; });
  return found != kApis.end() ? &*found : nullptr;
}

std::string_view api_name(ApiKey key) {
  const ApiInfo* api = find_api(key);
  return api != nullptr ? api->name : std::string_view("Unknown");
}

}  // namespace kmirror::wire
