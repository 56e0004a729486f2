// RequestContext: what a handler may know of a request beyond its body.
// Owner: the connection's loop; valid during Handler::start() only. What is needed longer is
// copied.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kmirror/base/unique_function.h"
#include "kmirror/env/clock.h"
#include "kmirror/env/loop.h"
#include "kmirror/env/network.h"
#include "kmirror/model/types.h"
#include "kmirror/server/listener_security.h"

namespace kmirror::server {

/// Fixed facts of one connection. Shared; never changes, but `who` is filled by the login.
struct ConnectionInfo {
  ConnectionInfo() = default;
  std::string listener;
  env::Endpoint peer;
  env::Endpoint local;
  std::shared_ptr<Peer> who = std::make_shared<Peer>();
};

struct RequestContext {
  RequestContext() = default;
  std::shared_ptr<const ConnectionInfo> connection;
  env::Loop* loop = nullptr;  ///< of the connection
  ApiKey key;
  ApiVersion version;
  std::int32_t correlation_id = 0;
  std::optional<std::string> client_id;
  /// Set by start() of a request that waits on purpose: called on the connection's loop when nobody
  /// should wait any longer (the peer is gone, the server stops). The answer is still due.
  UniqueFunction<void()>* hurry = nullptr;
};

}  // namespace kmirror::server
