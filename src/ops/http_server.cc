#include "kmirror/ops/http_server.h"

#include <array>
#include <set>

#include <fmt/format.h>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>

#include "kmirror/base/log.h"
#include "kmirror/env/async.h"

namespace kmirror::ops {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kMaxConnections = 64;
constexpr std::uint32_t kMaxHeaderBytes = 8192;
constexpr std::chrono::seconds kIdle{30};

std::string head(const HttpAnswer& answer, bool keep_alive) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: {}\r\n\r\n",
      answer.status, std::string(http::obsolete_reason(static_cast<http::status>(answer.status))),
      answer.content_type, answer.body.size(), keep_alive ? "keep-alive" : "close");
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(env::Environment& environment, metrics::Registry& metrics,
       std::function<std::vector<Check>()> ready)
      : environment_(environment),
        metrics_(metrics),
        ready_(std::move(ready)),
        tasks_(*environment.loops.front()) {}

  Result<env::Endpoint> start(env::Endpoint at) {
    KM_TRY(acceptor, environment_.network.listen(loop(), std::move(at), env::SocketOptions()));
    acceptor_ = std::move(acceptor);
    tasks_.spawn("http accept", accept());
    return acceptor_->local();
  }

  env::Awaitable<void> stop() {
    if (acceptor_) acceptor_->close();
    for (env::Stream* stream : streams_) stream->close();
    tasks_.cancel();
    co_await tasks_.join();
  }

 private:
  env::Loop& loop() { return *environment_.loops.front(); }

  env::Awaitable<void> accept() {
    while (!tasks_.is_cancelled()) {
      auto accepted = co_await acceptor_->accept(loop());
      if (accepted) {
        if (streams_.size() < kMaxConnections) {
          tasks_.spawn("http connection", serve(std::move(*accepted)));
        }
        continue;
      }
      if (tasks_.is_cancelled() || accepted.error().code == boost::asio::error::operation_aborted) {
        break;
      }
      KM_LOG(kWarn, "ops.http_accept_failed", "{}", accepted.error().message);
      const auto pause = environment_.clock.now() + std::chrono::milliseconds(200);
      co_await environment_.clock.sleep_until(pause);
    }
  }

  env::Awaitable<void> serve(std::unique_ptr<env::Stream> stream) {
    streams_.insert(stream.get());
    std::string pending;
    bool open = true;
    while (open && !tasks_.is_cancelled()) open = co_await serve_one(*stream, pending);
    streams_.erase(stream.get());
    stream->close();
  }

  // Reads and answers one request; `pending` holds bytes read beyond it. False ends the connection.
  env::Awaitable<bool> serve_one(env::Stream& stream, std::string& pending) {
    http::request_parser<http::empty_body> parser;
    parser.header_limit(kMaxHeaderBytes);
    parser.eager(false);
    while (!parser.is_header_done()) {
      boost::beast::error_code error;
      const std::size_t used =
          parser.put(boost::asio::buffer(pending.data(), pending.size()), error);
      pending.erase(0, used);
      if (error && error != http::error::need_more) co_return false;
      if (parser.is_header_done()) break;
      std::array<std::uint8_t, 2048> buffer{};
      const auto deadline = environment_.clock.now() + kIdle;
      const std::span<std::uint8_t> into(buffer);
      auto read = stream.read_some(into);
      auto count = co_await env::with_deadline<std::size_t>(environment_.clock, deadline,
                                                            std::move(read), "http request");
      if (!count || *count == 0) co_return false;
      pending.append(reinterpret_cast<const char*>(buffer.data()), *count);
    }
    const auto& request = parser.get();
    const bool has_body = parser.content_length().value_or(0) > 0 || parser.chunked();
    HttpAnswer reply = has_body ? HttpAnswer(413, "text/plain", "no request body is taken here\n")
                                : answer(std::string_view(request.method_string()),
                                         std::string_view(request.target()), metrics_, ready_);
    const bool keep = request.keep_alive() && !has_body;
    std::string text = head(reply, keep);
    if (request.method() != http::verb::head) text += reply.body;
    ByteChain bytes(Slice::copy_of(text));
    auto written = co_await stream.write(std::move(bytes));
    co_return written.has_value() && keep;
  }

  env::Environment& environment_;
  metrics::Registry& metrics_;
  std::function<std::vector<Check>()> ready_;
  std::unique_ptr<env::Acceptor> acceptor_;
  std::set<env::Stream*> streams_;
  env::TaskGroup tasks_;
};

HttpServer::HttpServer(env::Environment& environment, metrics::Registry& metrics,
                       std::function<std::vector<Check>()> ready)
    : impl_(std::make_unique<Impl>(environment, metrics, std::move(ready))) {}
HttpServer::~HttpServer() = default;

Result<env::Endpoint> HttpServer::start(env::Endpoint at) { return impl_->start(std::move(at)); }
env::Awaitable<void> HttpServer::stop() { return impl_->stop(); }

}  // namespace kmirror::ops
