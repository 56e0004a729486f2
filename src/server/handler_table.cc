#include "server/handler_table.h"

#include <algorithm>

#include "kmirror/base/check.h"

namespace kmirror::server {
namespace {

auto place_of(const std::vector<std::unique_ptr<Handler>>& handlers, ApiKey key) {
  return std::lower_bound(
      handlers.begin(), handlers.end(), key,
      [](const std::unique_ptr<Handler>& handler, ApiKey k) { return handler->api().key < k; });
}

}  // namespace

const wire::ApiInfo& HandlerTable::known_api(ApiKey key) {
  const wire::ApiInfo* api = wire::find_api(key);
  KM_CHECK(api != nullptr, "no schema of api {}", key);
  return *api;
}

Handler& HandlerTable::add(std::unique_ptr<Handler> handler) {
  const auto place = place_of(handlers_, handler->api().key);
  KM_CHECK(place == handlers_.end() || (*place)->api().key != handler->api().key,
           "{} is added twice", handler->api().name);
  return **handlers_.insert(place, std::move(handler));
}

Handler* HandlerTable::find(ApiKey key) const {
  const auto place = place_of(handlers_, key);
  return place != handlers_.end() && (*place)->api().key == key ? place->get() : nullptr;
}

}  // namespace kmirror::server
