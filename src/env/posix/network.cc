// PosixNetwork: names, connecting, listening.
// Owner: connect() runs on the owner's loop; listen() on any thread.
// Sources: Linux man page tcp(7).
#include "env/posix/network.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "kmirror/env/async.h"

namespace kmirror::env {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

using Addresses = std::vector<tcp::endpoint>;

Error endpoint_error(const char* what, const Endpoint& endpoint, const ErrorCodeBase& code) {
  return {code, fmt::format("{} {}: {}", what, endpoint.text(), code.message())};
}

template <class Socket>
ErrorCodeBase set_buffers(Socket& socket, const SocketOptions& options) {
  ErrorCodeBase error;
  if (options.send_buffer_bytes >= 0) {
    socket.set_option(asio::socket_base::send_buffer_size(options.send_buffer_bytes), error);
  }
  if (!error && options.receive_buffer_bytes >= 0) {
    socket.set_option(asio::socket_base::receive_buffer_size(options.receive_buffer_bytes), error);
  }
  return error;
}

Addresses endpoints_of(const tcp::resolver::results_type& results) {
  Addresses addresses;
  for (const auto& entry : results) addresses.push_back(entry.endpoint());
  return addresses;
}

// Asio asks the system's resolver on a thread of its own. A slow one is left behind at the
// deadline.
Awaitable<Result<Addresses>> resolve(Clock* clock, Loop* owner, Endpoint to, Instant deadline) {
  ErrorCodeBase error;
  const asio::ip::address literal = asio::ip::make_address(to.host, error);
  if (!error) co_return Addresses(1, tcp::endpoint(literal, to.port));
  auto resolver = std::make_shared<tcp::resolver>(owner->context());
  const Completion<Result<Addresses>> answer;
  resolver->async_resolve(to.host, std::to_string(to.port), tcp::resolver::numeric_service,
                          [resolver, answer, to](const ErrorCodeBase& code,
                                                 const tcp::resolver::results_type& results) {
                            if (code) {
                              answer.complete(endpoint_error("looking up", to, code));
                            } else {
                              answer.complete(endpoints_of(results));
                            }
                          });
  Result<Addresses> found = co_await answer.wait_until(*clock, deadline);
  if (!answer.is_complete()) {
    resolver->cancel();
    co_return endpoint_error("looking up", to, found.error().code);
  }
  co_return found;
}

Awaitable<Result<std::unique_ptr<Stream>>> connect_one(Loop* owner, tcp::endpoint address,
                                                       Endpoint to, SocketOptions options) {
  auto connection = std::make_shared<Connection>(tcp::socket(owner->context()));
  tcp::socket& socket = connection->socket;
  ErrorCodeBase error;
  socket.open(address.protocol(), error);
  // Before connecting: the receive buffer decides on the window scale.
  if (!error) error = set_buffers(socket, options);
  if (error) co_return endpoint_error("connecting to", to, error);
  const auto outcome = co_await socket.async_connect(address, asio::as_tuple(asio::use_awaitable));
  error = std::get<0>(outcome);
  if (error) co_return endpoint_error("connecting to", to, error);
  co_return std::unique_ptr<Stream>(std::make_unique<PosixStream>(std::move(connection)));
}

Awaitable<Result<std::unique_ptr<Stream>>> connect_any(Clock* clock, Loop* owner, Endpoint to,
                                                       Instant deadline, SocketOptions options) {
  KM_CHECK(owner->is_current(), "connecting to {} from another loop", to.text());
  Result<Addresses> addresses = co_await resolve(clock, owner, to, deadline);
  if (!addresses) co_return addresses.error();
  Error last = endpoint_error("looking up", to, asio::error::host_not_found);
  const auto count = static_cast<std::int64_t>(addresses->size());
  for (std::int64_t i = 0; i < count; ++i) {
    const bool cancelled = co_await task_cancelled();
    if (cancelled) co_return endpoint_error("connecting to", to, asio::error::operation_aborted);
    // One address that does not answer must not use up the time of the others.
    const Instant now = clock->now();
    const Instant until = now + (deadline - now) / (count - i);
    auto attempt = connect_one(owner, (*addresses)[static_cast<std::size_t>(i)], to, options);
    std::string what = "connecting to " + to.text();
    Result<std::unique_ptr<Stream>> stream =
        co_await with_deadline(*clock, until, std::move(attempt), std::move(what));
    if (stream) co_return stream;
    last = std::move(stream).error();
  }
  co_return last;
}

struct AcceptorState {
  AcceptorState(tcp::acceptor a, SocketOptions o) : acceptor(std::move(a)), options(o) {}
  tcp::acceptor acceptor;
  SocketOptions options;
  Endpoint local;
};

Awaitable<Result<std::unique_ptr<Stream>>> accept_one(std::shared_ptr<AcceptorState> state,
                                                      Loop* owner) {
  const bool cancelled = co_await task_cancelled();
  if (cancelled || !state->acceptor.is_open()) {
    co_return endpoint_error("accepting at", state->local, asio::error::operation_aborted);
  }
  auto outcome =
      co_await state->acceptor.async_accept(owner->context(), asio::as_tuple(asio::use_awaitable));
  auto& [error, socket] = outcome;
  if (error) co_return endpoint_error("accepting at", state->local, error);
  // The receive buffer is inherited from the listening socket; the send buffer is not on Linux.
  error = set_buffers(socket, state->options);
  if (error) co_return endpoint_error("accepting at", state->local, error);
  auto connection = std::make_shared<Connection>(std::move(socket));
  co_return std::unique_ptr<Stream>(std::make_unique<PosixStream>(std::move(connection)));
}

class PosixAcceptor final : public Acceptor {
 public:
  explicit PosixAcceptor(std::shared_ptr<AcceptorState> state) : state_(std::move(state)) {}
  ~PosixAcceptor() override { close(); }

  [[nodiscard]] Awaitable<Result<std::unique_ptr<Stream>>> accept(Loop& owner) override {
    return accept_one(state_, &owner);
  }
  [[nodiscard]] Endpoint local() const override { return state_->local; }
  void close() override {
    ErrorCodeBase ignored;
    state_->acceptor.close(ignored);
  }

 private:
  std::shared_ptr<AcceptorState> state_;
};

ErrorCodeBase open_acceptor(tcp::acceptor& acceptor, const tcp::endpoint& at,
                            const SocketOptions& options) {
  ErrorCodeBase error;
  acceptor.open(at.protocol(), error);
  if (error) return error;
  acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  // "::" means every address of this machine, of both kinds.
  if (!error && at.address().is_v6()) {
    const bool only_v6 = !at.address().is_unspecified();
    acceptor.set_option(asio::ip::v6_only(only_v6), error);
  }
  if (!error) error = set_buffers(acceptor, options);
  if (!error) acceptor.bind(at, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  return error;
}

// Where to listen; an empty host is every address. Blocks on a name: listeners are few and are made
// at start-up.
Result<Addresses> listen_addresses(Loop& owner, const Endpoint& at) {
  if (at.host.empty()) {
    return Addresses{tcp::endpoint(tcp::v6(), at.port), tcp::endpoint(tcp::v4(), at.port)};
  }
  ErrorCodeBase error;
  const asio::ip::address literal = asio::ip::make_address(at.host, error);
  if (!error) return Addresses(1, tcp::endpoint(literal, at.port));
  tcp::resolver resolver(owner.context());
  const auto results =
      resolver.resolve(at.host, std::to_string(at.port),
                       tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error) return endpoint_error("looking up", at, error);
  return endpoints_of(results);
}

}  // namespace

Awaitable<Result<std::unique_ptr<Stream>>> PosixNetwork::connect(Loop& owner, Endpoint to,
                                                                 Instant deadline,
                                                                 SocketOptions options) {
  return connect_any(&clock_, &owner, std::move(to), deadline, options);
}

Result<std::unique_ptr<Acceptor>> PosixNetwork::listen(Loop& owner, Endpoint at,
                                                       SocketOptions options) {
  KM_TRY(addresses, listen_addresses(owner, at));
  ErrorCodeBase error = asio::error::host_not_found;
  for (const tcp::endpoint& address : addresses) {
    auto state = std::make_shared<AcceptorState>(tcp::acceptor(owner.context()), options);
    error = open_acceptor(state->acceptor, address, options);
    if (error) continue;
    ErrorCodeBase ignored;
    state->local = to_endpoint(state->acceptor.local_endpoint(ignored));
    return std::unique_ptr<Acceptor>(std::make_unique<PosixAcceptor>(std::move(state)));
  }
  return endpoint_error("listening at", at, error);
}

}  // namespace kmirror::env
