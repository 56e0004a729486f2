// ListenerSecurity: what stands between a listener's sockets and the Kafka protocol: TLS and login.
// The seam is here so that a plain listener needs none of it.
// Owner: calls come from the loop of the stream; one object serves a listener on all loops.
// Sources: Kafka 4.4 ChannelBuilder; house rules section 6.
#pragma once

#include <memory>
#include <string>

#include "kmirror/base/result.h"
#include "kmirror/env/awaitable.h"
#include "kmirror/env/network.h"

namespace kmirror::server {

/// Who speaks on a connection.
struct Peer {
  Peer() = default;
  std::string principal = "User:ANONYMOUS";
};

class ListenerSecurity {
 public:
  ListenerSecurity() = default;
  ListenerSecurity(const ListenerSecurity&) = delete;
  ListenerSecurity& operator=(const ListenerSecurity&) = delete;
  virtual ~ListenerSecurity() = default;

  /// Turns a raw stream into one that carries Kafka frames, and fills `peer`; on return the
  /// transport is safe. Bounded by its own deadline. Error: the handshake failed; the connection
  /// ends.
  [[nodiscard]] virtual env::Awaitable<Result<std::unique_ptr<env::Stream>>> secure(
      std::unique_ptr<env::Stream> raw, env::Loop& loop, std::shared_ptr<Peer> peer) = 0;
};

}  // namespace kmirror::server
