// PosixStream: one TCP connection.
// Owner: the loop of its socket. Invariants: the descriptor is touched directly only while the
// socket is open, and never across a wait without looking again.
// Sources: Linux man pages sendmsg(2), sendfile(2).
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "env/posix/files.h"
#include "env/posix/network.h"
#include "kmirror/env/async.h"

namespace kmirror::env {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::size_t kMostPieces = 64;
constexpr std::size_t kSendfileBytes = 1024 * 1024;
constexpr std::size_t kStagingBytes = 256 * 1024;
// After so many bytes without a wait a writer lets the loop's other work run.
constexpr std::size_t kTurnBytes = 2 * 1024 * 1024;

Error stream_error(const char* what, const Connection& connection, const ErrorCodeBase& code) {
  return {code, fmt::format("{} {}: {}", what, connection.peer.text(), code.message())};
}

// Walks through a chain, one system call a step.
class ChainSender {
 public:
  explicit ChainSender(ByteChain bytes) : bytes_(std::move(bytes)) {}

  [[nodiscard]] bool done() const { return next_ == bytes_.fragments().size(); }

  // Bytes sent, 0 if the socket is full. Errors: the system's; EIO if a file is too short.
  Result<std::size_t> step(int socket) {
    const ByteChain::Fragment& fragment = bytes_.fragments()[next_];
    if (!fragment.is_file()) return send_memory(socket);
    const auto* file = dynamic_cast<const PosixFile*>(fragment.file.source.get());
    return file != nullptr ? send_file(socket, *file, fragment.file)
                           : send_staged(socket, fragment.file);
  }

 private:
  Result<std::size_t> send_memory(int socket) {
    const auto& fragments = bytes_.fragments();
    std::array<iovec, kMostPieces> pieces;
    std::size_t count = 0;
    std::size_t at = next_;
    for (std::size_t skip = offset_; at < fragments.size() && count < pieces.size();
         ++at, ++count) {
      if (fragments[at].is_file()) break;
      const Slice& memory = fragments[at].memory;
      pieces[count].iov_base = const_cast<std::uint8_t*>(memory.data() + skip);
      pieces[count].iov_len = memory.size() - skip;
      skip = 0;
    }
    return send_pieces(socket, {pieces.data(), count}, at < fragments.size());
  }

  Result<std::size_t> send_pieces(int socket, std::span<iovec> pieces, bool more) {
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    // MSG_MORE joins a response's head with the file range behind it in one packet.
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0);
    return advance(::sendmsg(socket, &message, flags));
  }

  Result<std::size_t> send_file(int socket, const PosixFile& file, const FileRange& range) {
    auto position = static_cast<off_t>(range.position + offset_);
    const std::size_t count = std::min(range.size - offset_, kSendfileBytes);
    const ssize_t sent = ::sendfile(socket, file.descriptor(), &position, count);
    if (sent == 0) return too_short(file.path());
    return advance(sent);
  }

  // A range of something that is no file of ours passes through memory.
  Result<std::size_t> send_staged(int socket, const FileRange& range) {
    if (staged_begin_ == staged_.size()) {
      staged_.resize(std::min(range.size - offset_, kStagingBytes));
      staged_begin_ = 0;
      KM_TRY(count, range.source->read_at(range.position + offset_, staged_));
      if (count != staged_.size()) return too_short("a file");
    }
    iovec piece{staged_.data() + staged_begin_, staged_.size() - staged_begin_};
    KM_TRY(sent, send_pieces(socket, {&piece, 1}, false));
    staged_begin_ += sent;
    return sent;
  }

  static Error too_short(const std::string& path) {
    return system_error(EIO, path + " became shorter than the range to send");
  }

  Result<std::size_t> advance(ssize_t sent) {
    if (sent < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return std::size_t{0};
      return system_error(errno, "sending");
    }
    offset_ += static_cast<std::size_t>(sent);
    const auto& fragments = bytes_.fragments();
    while (next_ < fragments.size() && offset_ >= fragments[next_].size()) {
      offset_ -= fragments[next_].size();
      ++next_;
    }
    return static_cast<std::size_t>(sent);
  }

  ByteChain bytes_;
  std::size_t next_ = 0;    // fragment
  std::size_t offset_ = 0;  // bytes of it that were sent
  Bytes staged_;
  std::size_t staged_begin_ = 0;
};

Awaitable<Result<void>> write_chain(std::shared_ptr<Connection> connection, ByteChain bytes) {
  ChainSender sender(std::move(bytes));
  tcp::socket& socket = connection->socket;
  std::size_t turn = 0;
  while (!sender.done()) {
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none || !socket.is_open()) {
      co_return stream_error("writing to", *connection, asio::error::operation_aborted);
    }
    Result<std::size_t> sent = sender.step(socket.native_handle());
    if (!sent) {
      co_return Error(sent.error().code, fmt::format("writing to {}: {}", connection->peer.text(),
                                                     sent.error().message));
    }
    if (*sent == 0) {
      const auto waited =
          co_await socket.async_wait(tcp::socket::wait_write, asio::as_tuple(asio::use_awaitable));
      const ErrorCodeBase& error = std::get<0>(waited);
      if (error) co_return stream_error("writing to", *connection, error);
      turn = 0;
      continue;
    }
    turn += *sent;
    if (turn >= kTurnBytes) {
      turn = 0;
      co_await yield_now();
    }
  }
  co_return Result<void>();
}

Awaitable<Result<std::size_t>> read_into(std::shared_ptr<Connection> connection,
                                         std::span<std::uint8_t> into) {
  KM_CHECK(!into.empty(), "a read needs room for at least one byte");
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) {
    co_return stream_error("reading from", *connection, asio::error::operation_aborted);
  }
  const asio::mutable_buffer buffer(into.data(), into.size());
  const auto outcome =
      co_await connection->socket.async_read_some(buffer, asio::as_tuple(asio::use_awaitable));
  const auto& [error, count] = outcome;
  if (error == asio::error::eof) co_return std::size_t{0};
  if (error == asio::error::bad_descriptor) {
    co_return stream_error("reading from", *connection, asio::error::operation_aborted);
  }
  if (error) co_return stream_error("reading from", *connection, error);
  co_return count;
}

Awaitable<Result<void>> wait_for_bytes(std::shared_ptr<Connection> connection) {
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none || !connection->socket.is_open()) {
    co_return stream_error("reading from", *connection, asio::error::operation_aborted);
  }
  const auto waited = co_await connection->socket.async_wait(tcp::socket::wait_read,
                                                             asio::as_tuple(asio::use_awaitable));
  const ErrorCodeBase& error = std::get<0>(waited);
  if (error) co_return stream_error("reading from", *connection, error);
  co_return Result<void>();
}

}  // namespace

Endpoint to_endpoint(const tcp::endpoint& from) {
  asio::ip::address address = from.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  }
  return {address.to_string(), from.port()};
}

PosixStream::PosixStream(std::shared_ptr<Connection> connection)
    : connection_(std::move(connection)) {
  // A peer that is already gone makes these fail; the first read or write tells the caller.
  ErrorCodeBase ignored;
  tcp::socket& socket = connection_->socket;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  socket.native_non_blocking(true, ignored);
  connection_->peer = to_endpoint(socket.remote_endpoint(ignored));
  connection_->local = to_endpoint(socket.local_endpoint(ignored));
}

PosixStream::~PosixStream() { close(); }

Awaitable<Result<std::size_t>> PosixStream::read_some(std::span<std::uint8_t> into) {
  return read_into(connection_, into);
}

Awaitable<Result<void>> PosixStream::wait_readable() { return wait_for_bytes(connection_); }

Awaitable<Result<void>> PosixStream::write(ByteChain bytes) {
  return write_chain(connection_, std::move(bytes));
}

void PosixStream::close() {
  ErrorCodeBase ignored;
  connection_->socket.close(ignored);
}

}  // namespace kmirror::env
