// Network: byte streams to and from peers. No TLS here (security wraps a Stream).
// Owner: a Stream belongs to the loop it was made on; all its calls come from there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/bytes/byte_chain.h"
#include "kmirror/env/awaitable.h"
#include "kmirror/env/clock.h"
#include "kmirror/env/loop.h"

namespace kmirror::env {

struct Endpoint {
  Endpoint() = default;
  Endpoint(std::string host_name, std::uint16_t port_number)
      : host(std::move(host_name)), port(port_number) {}
  std::string host;
  std::uint16_t port = 0;
  [[nodiscard]] std::string text() const;  ///< host:port, an IPv6 host in brackets
  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

/// Parses "host:port" or "[v6 address]:port". Error (EINVAL): no port, a port outside 0 … 65535, no
/// host, an IPv6 address without brackets; the message quotes the text and says what is missing.
[[nodiscard]] Result<Endpoint> parse_endpoint(std::string_view text);

/// Parses a list such as bootstrap.servers: endpoints separated by commas, blanks around them
/// allowed. Errors: those of parse_endpoint(), an empty list, port 0.
[[nodiscard]] Result<std::vector<Endpoint>> parse_endpoints(std::string_view text);

struct SocketOptions {
  SocketOptions() = default;
  int send_buffer_bytes = -1;     ///< -1: the system's
  int receive_buffer_bytes = -1;  ///< -1: the system's
};

class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  /// Waits for bytes and puts at most `into.size()` of them there; 0 is the peer's end. At most one
  /// read at a time; `into` must stay valid until it returns. Errors: the system's;
  /// operation_aborted after close() or a cancelled task.
  [[nodiscard]] virtual Awaitable<Result<std::size_t>> read_some(std::span<std::uint8_t> into) = 0;
  /// Waits until read_some() would return at once (bytes, the peer's end or an error are there), so
  /// that an idle connection needs no buffer. Counts as a read. Errors: as read_some().
  [[nodiscard]] virtual Awaitable<Result<void>> wait_readable() = 0;
  /// Sends all of `bytes`; file ranges go from file to socket without passing through our memory.
  /// At most one write at a time. After an error the stream is of no further use.
  [[nodiscard]] virtual Awaitable<Result<void>> write(ByteChain bytes) = 0;
  /// Ends both directions at once; waiting calls return operation_aborted. May be repeated.
  virtual void close() = 0;
  [[nodiscard]] virtual Endpoint peer() const = 0;
  [[nodiscard]] virtual Endpoint local() const = 0;
};

class Acceptor {
 public:
  Acceptor() = default;
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  virtual ~Acceptor() = default;

  /// Waits for the next connection and makes its stream belong to `owner`. Errors: the system's (a
  /// passing one such as EMFILE is worth another try after a pause); operation_aborted after
  /// close().
  [[nodiscard]] virtual Awaitable<Result<std::unique_ptr<Stream>>> accept(Loop& owner) = 0;
  [[nodiscard]] virtual Endpoint local() const = 0;  ///< with the real port where 0 was asked for
  virtual void close() = 0;
};

class Network {
 public:
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  /// Connects from the calling coroutine's loop `owner`; tries every address of the name in turn.
  /// Errors: name not found, refused, timed_out at `deadline`; the message names host and port.
  [[nodiscard]] virtual Awaitable<Result<std::unique_ptr<Stream>>> connect(
      Loop& owner, Endpoint to, Instant deadline, SocketOptions options) = 0;
  /// Listens at once (port 0: any free port). Error: address in use, …, naming host and port.
  [[nodiscard]] virtual Result<std::unique_ptr<Acceptor>> listen(Loop& owner, Endpoint at,
                                                                 SocketOptions options) = 0;
};

}  // namespace kmirror::env
