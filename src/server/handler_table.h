// HandlerTable: every API this server answers, once. Dispatch, ApiVersions and the metrics are
// derived from it; an API without an entry is not advertised and not answered. Owner: built on loop
// 0 before the first connection, then read by any thread. Sources: proto-json/ for the version
// ranges; decisions section 2 for Produce's lower bound.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/handler.h"

namespace kmirror::server {

class HandlerTable {
 public:
  HandlerTable() = default;
  HandlerTable(const HandlerTable&) = delete;
  HandlerTable& operator=(const HandlerTable&) = delete;

  /// Adds the handler of one API; each key once (checked). Returns it for further settings.
  Handler& add(std::unique_ptr<Handler> handler);
  template <class Request, class Response, class Deps>
  Handler& add(Deps deps,
               void (*function)(const Deps&, const RequestContext&, Request, Reply<Response>)) {
    return add(std::make_unique<TypedHandler<Request, Response, Deps>>(known_api(Request::kApiKey),
                                                                       std::move(deps), function));
  }
  /// Null if there is none. Any thread.
  [[nodiscard]] Handler* find(ApiKey key) const;
  /// All of them, by key.
  [[nodiscard]] const std::vector<std::unique_ptr<Handler>>& all() const { return handlers_; }

 private:
  [[nodiscard]] static const wire::ApiInfo& known_api(ApiKey key);
  std::vector<std::unique_ptr<Handler>> handlers_;  // sorted by key
};

}  // namespace kmirror::server
