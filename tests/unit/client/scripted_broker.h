// ScriptedBroker: a listener on 127.0.0.1 that answers each request frame with what a function of
// the test says. Requests and answers are whole messages; ApiVersions is answered by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kmirror/env/async.h"
#include "kmirror/env/environment.h"
#include "kmirror/wire/api_versions_response.h"
#include "kmirror/wire/framing.h"

namespace kmirror::client {

/// What the script does with one request.
struct Reply {
  Reply() = default;
  explicit Reply(ByteChain bytes) : frame(std::move(bytes)) {}
  ByteChain frame;     ///< sent as it is; empty: no answer
  bool close = false;  ///< end the connection afterwards
};

struct Asked {
  Asked() = default;
  ApiKey key;
  ApiVersion version;
  std::int32_t correlation_id = 0;
  std::string client_id;
  Slice body;
};

class ScriptedBroker {
 public:
  using Script = std::function<Reply(const Asked&)>;

  /// Listens at once; start() serves. `highest`: api key to highest version served (lowest is 0).
  ScriptedBroker(env::Environment& environment, env::Loop& loop,
                 std::map<std::int16_t, std::int16_t> highest, Script script)
      : loop_(loop), tasks_(loop), highest_(std::move(highest)), script_(std::move(script)) {
    const env::Endpoint at("127.0.0.1", 0);
    acceptor_ = std::move(environment.network.listen(loop, at, env::SocketOptions()).value());
  }

  [[nodiscard]] env::Endpoint endpoint() const { return acceptor_->local(); }
  [[nodiscard]] int connections() const { return static_cast<int>(streams_.size()); }
  /// Highest ApiVersions version understood; a newer one is answered with error 35 in version 0.
  ::kmirror::ApiVersion newest_api_versions{4};
  std::vector<Asked> asked;  ///< everything but ApiVersions

  void start() { tasks_.spawn("scripted broker", serve()); }
  env::Awaitable<void> stop() {
    acceptor_->close();
    drop_connections();
    tasks_.cancel();
    co_await tasks_.join();
  }
  void drop_connections() {
    for (auto& stream : streams_) stream->close();
  }

  template <class Response>
  static Reply reply(const Asked& request, const Response& response) {
    return Reply(wire::encode_response(response, request.version, request.correlation_id).value());
  }

 private:
  env::Awaitable<void> serve() {
    for (;;) {
      auto stream = co_await acceptor_->accept(loop_);
      if (!stream) co_return;
      streams_.push_back(std::move(*stream));
      tasks_.spawn("scripted connection", serve_one(streams_.back().get()));
    }
  }

  static env::Awaitable<bool> read_exactly(env::Stream* stream, std::uint8_t* into,
                                           std::size_t count) {
    while (count > 0) {
      const std::span<std::uint8_t> room(into, count);
      auto got = co_await stream->read_some(room);
      if (!got || *got == 0) co_return false;
      into += *got;
      count -= *got;
    }
    co_return true;
  }

  env::Awaitable<void> serve_one(env::Stream* stream) {
    for (;;) {
      Bytes prefix(4);
      const bool more = co_await read_exactly(stream, prefix.data(), prefix.size());
      if (!more) co_return;
      Bytes frame(static_cast<std::size_t>(load_be<std::int32_t>(prefix.data())));
      const bool whole = co_await read_exactly(stream, frame.data(), frame.size());
      if (!whole) co_return;
      Reply answer = answer_to(Slice::take(std::move(frame)));
      const bool close = answer.close;
      if (!answer.frame.empty()) {
        auto sent = co_await stream->write(std::move(answer.frame));
        if (!sent) co_return;
      }
      if (close) stream->close();
    }
  }

  Reply answer_to(Slice frame) {
    Reader reader(std::move(frame));
    const wire::RequestHeader header = wire::decode_request_header(reader).value();
    Asked request;
    request.key = ApiKey{header.request_api_key};
    request.version = ::kmirror::ApiVersion{header.request_api_version};
    request.correlation_id = header.correlation_id;
    request.client_id = header.client_id.value_or("");
    request.body = reader.slice(reader.remaining()).value();
    if (request.key == ApiKey{18}) return api_versions(request);
    asked.push_back(request);
    return script_(request);
  }

  Reply api_versions(const Asked& request) {
    wire::ApiVersionsResponse response;
    for (const auto& [key, version] : highest_) {
      wire::ApiVersionsResponse::ApiVersion api;
      api.api_key = key;
      api.max_version = version;
      response.api_keys.push_back(api);
    }
    Asked answered = request;
    if (request.version > newest_api_versions) {
      response.error_code = ErrorCode::UNSUPPORTED_VERSION;
      answered.version = ::kmirror::ApiVersion{0};
    }
    return reply(answered, response);
  }

  env::Loop& loop_;
  env::TaskGroup tasks_;
  std::map<std::int16_t, std::int16_t> highest_;
  Script script_;
  std::unique_ptr<env::Acceptor> acceptor_;
  std::vector<std::unique_ptr<env::Stream>> streams_;
};

}  // namespace kmirror::client
