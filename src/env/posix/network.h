// The real network: TCP over Asio's reactor.
// Owner: a stream belongs to one loop; PosixNetwork may be used from any.
// Sources: Linux man pages sendmsg(2), sendfile(2), tcp(7).
#pragma once

#include <utility>

#include <boost/asio/ip/tcp.hpp>

#include "kmirror/env/network.h"

namespace kmirror::env {

/// What the coroutines of one stream share, so that a stream may be destroyed while they wait.
struct Connection {
  explicit Connection(boost::asio::ip::tcp::socket s) : socket(std::move(s)) {}
  boost::asio::ip::tcp::socket socket;
  Endpoint peer;
  Endpoint local;
};

class PosixStream final : public Stream {
 public:
  /// `connection` is open and connected; sets its options and remembers both ends.
  explicit PosixStream(std::shared_ptr<Connection> connection);
  ~PosixStream() override;

  [[nodiscard]] Awaitable<Result<std::size_t>> read_some(std::span<std::uint8_t> into) override;
  [[nodiscard]] Awaitable<Result<void>> wait_readable() override;
  [[nodiscard]] Awaitable<Result<void>> write(ByteChain bytes) override;
  void close() override;
  [[nodiscard]] Endpoint peer() const override { return connection_->peer; }
  [[nodiscard]] Endpoint local() const override { return connection_->local; }

 private:
  std::shared_ptr<Connection> connection_;
};

/// Address and port in our own words; an IPv4 address mapped into IPv6 is shown as IPv4.
[[nodiscard]] Endpoint to_endpoint(const boost::asio::ip::tcp::endpoint& from);

class PosixNetwork final : public Network {
 public:
  explicit PosixNetwork(Clock& clock) : clock_(clock) {}
  [[nodiscard]] Awaitable<Result<std::unique_ptr<Stream>>> connect(Loop& owner, Endpoint to,
                                                                   Instant deadline,
                                                                   SocketOptions options) override;
  [[nodiscard]] Result<std::unique_ptr<Acceptor>> listen(Loop& owner, Endpoint at,
                                                         SocketOptions options) override;

 private:
  Clock& clock_;
};

}  // namespace kmirror::env
