// Connection: one outgoing connection to one broker: negotiated versions, requests in order,
// answers in order, a deadline for each, a limit for each answer. Owner: one task on one loop at a
// time. Sends and receives never overlap: a caller may send several requests before it receives,
// and then receives their answers in the order of sending. To keep the peer from blocking both
// sides, send a big request only when nothing is outstanding. Invariant: after the first error the
// connection is closed for good and every call returns that error. Sources: Kafka protocol guide
// (framing, headers), KIP-35, KIP-511 (ApiVersions), KIP-482.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "kmirror/base/metrics.h"
#include "kmirror/client/client_error.h"
#include "kmirror/client/response_to.h"
#include "kmirror/client/slab_pool.h"
#include "kmirror/env/async.h"
#include "kmirror/env/environment.h"
#include "kmirror/model/error_code.h"
#include "kmirror/model/types.h"
#include "kmirror/wire/framing.h"

namespace kmirror::client {

class Connection;

/// What turns a fresh TCP stream into one that may carry requests. Null: PLAINTEXT.
class ConnectionSecurity {
 public:
  ConnectionSecurity() = default;
  ConnectionSecurity(const ConnectionSecurity&) = delete;
  ConnectionSecurity& operator=(const ConnectionSecurity&) = delete;
  virtual ~ConnectionSecurity() = default;
  /// Wraps the stream (TLS handshake with `peer`), or hands it back as it is.
  [[nodiscard]] virtual env::Awaitable<Result<std::unique_ptr<env::Stream>>> wrap(
      std::unique_ptr<env::Stream> stream, env::Endpoint peer, env::Instant deadline) = 0;
  /// Logs in after ApiVersions (SASL). Errors with SASL_AUTHENTICATION_FAILED are authorization
  /// errors.
  [[nodiscard]] virtual env::Awaitable<Result<void>> authenticate(Connection& connection,
                                                                  env::Instant deadline) = 0;
};

/// Counters of one connection or of a family of connections; null members count nothing.
struct ConnectionCounters {
  ConnectionCounters() = default;
  metrics::Counter* connections = nullptr;
  metrics::Counter* requests = nullptr;
  metrics::Counter* responses = nullptr;
  metrics::Counter* bytes_sent = nullptr;
  metrics::Counter* bytes_received = nullptr;
};

struct ConnectionOptions {
  ConnectionOptions() = default;
  std::string client_id = "kmirror";
  std::chrono::milliseconds connect_timeout{10'000};  ///< socket.connection.setup.timeout.ms
  std::chrono::milliseconds request_timeout{30'000};  ///< request.timeout.ms
  std::size_t max_response_bytes = 256UL << 20;       ///< a longer answer ends the connection
  std::size_t pool_bytes = 0;  ///< unused receive slabs to keep; see SlabPool
  env::SocketOptions socket;
  std::shared_ptr<ConnectionSecurity> security;
  ConnectionCounters counters;
};

struct VersionRange {
  VersionRange() = default;
  VersionRange(ApiVersion lowest, ApiVersion highest) : min(lowest), max(highest) {}
  ApiVersion min{0};
  ApiVersion max{-1};
};

class Connection {
 public:
  /// Connects, wraps, asks for ApiVersions (KIP-511: newest form first, version 0 if the peer is
  /// old) and logs in. Errors: the network's, time-out, an answer that is not Kafka's; each names
  /// host:port and the API.
  [[nodiscard]] static env::Awaitable<Result<std::unique_ptr<Connection>>> open(
      env::Environment& environment, env::Loop& loop, env::Endpoint to, ConnectionOptions options);
  ~Connection();  ///< closes; no task may be inside a call
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Sends `request` and waits for its answer, at most request_timeout (or `timeout`). Nothing may
  /// be outstanding. The answer's records share the receive slab. Errors close the connection.
  template <class Request>
  [[nodiscard]] env::Awaitable<Result<ResponseTo<Request>>> call(
      Request request, ApiVersion version,
      std::optional<std::chrono::milliseconds> timeout = std::nullopt) {
    const env::Instant deadline = clock_.now() + timeout.value_or(options_.request_timeout);
    KM_CO_TRY_VOID(co_await send(std::move(request), version, deadline));
    auto response = co_await receive<Request>(deadline);
    co_return response;
  }

  /// Puts `request` on the wire; its answer is fetched by receive(). `version` must be one that
  /// both sides know (see version_for).
  template <class Request>
  [[nodiscard]] env::Awaitable<Result<void>> send(Request request, ApiVersion version,
                                                  env::Instant deadline) {
    Outstanding outstanding(ResponseOf<Request>::kApiName, Request::kApiKey, version,
                            ++last_correlation_id_);
    Result<ByteChain> frame =
        wire::encode_request(request, version, outstanding.correlation_id, options_.client_id);
    if (!frame) co_return in_context(frame.error(), outstanding.api);
    auto sent = co_await send_frame(std::move(*frame), outstanding, deadline);
    co_return sent;
  }

  /// The answer to the oldest request without one, which must have been a `Request`.
  template <class Request>
  [[nodiscard]] env::Awaitable<Result<ResponseTo<Request>>> receive(env::Instant deadline) {
    KM_CHECK(!outstanding_.empty() && outstanding_.front().key == Request::kApiKey,
             "{} outstanding requests", outstanding_.size());
    const Outstanding expected = outstanding_.front();
    KM_CO_TRY(body, co_await receive_body(deadline));
    Reader reader(std::move(body));
    auto decoded = ResponseTo<Request>::decode(reader, expected.version);
    if (!decoded) co_return fail(in_context(decoded.error(), expected.api));
    co_return std::move(*decoded);
  }

  /// The highest version that we and the peer have, not above `at_most`. Error UNSUPPORTED_VERSION
  /// naming both ranges if there is none.
  template <class Request>
  [[nodiscard]] Result<ApiVersion> version_for(ApiVersion at_most = Request::kMaxVersion) const {
    return choose_version(ResponseOf<Request>::kApiName, Request::kApiKey, Request::kMinVersion,
                          std::min(at_most, Request::kMaxVersion));
  }
  /// What the peer says it serves.
  [[nodiscard]] const std::map<ApiKey, VersionRange>& peer_versions() const { return versions_; }

  [[nodiscard]] const env::Endpoint& peer() const { return peer_; }
  [[nodiscard]] bool is_open() const { return !broken_.has_value(); }
  [[nodiscard]] std::size_t outstanding() const { return outstanding_.size(); }
  /// Answers received so far, the one to ApiVersions included.
  [[nodiscard]] std::uint64_t answered() const { return answered_; }
  /// Ends the connection; a waiting call returns operation_aborted. May be repeated.
  void close();

 private:
  struct Outstanding {
    Outstanding(const char* api_name, ApiKey api_key, ApiVersion api_version, std::int32_t id)
        : api(api_name), key(api_key), version(api_version), correlation_id(id) {}
    const char* api;
    ApiKey key;
    ApiVersion version;
    std::int32_t correlation_id;
  };
  Connection(env::Environment& environment, env::Loop& loop, env::Endpoint to,
             ConnectionOptions options);
  [[nodiscard]] env::Awaitable<Result<void>> send_frame(ByteChain frame, Outstanding outstanding,
                                                        env::Instant deadline);
  [[nodiscard]] env::Awaitable<Result<Slice>> receive_body(env::Instant deadline);
  [[nodiscard]] env::Awaitable<Result<Slice>> read_frame();
  [[nodiscard]] env::Awaitable<Result<void>> stage(std::size_t count);
  [[nodiscard]] env::Awaitable<Result<void>> negotiate(env::Instant deadline);
  [[nodiscard]] Result<ApiVersion> choose_version(const char* api, ApiKey key, ApiVersion min,
                                                  ApiVersion max) const;
  [[nodiscard]] Error in_context(const Error& error, const char* api) const;
  Error fail(Error error);

  env::Clock& clock_;
  env::Loop& loop_;
  env::Endpoint peer_;
  ConnectionOptions options_;
  std::unique_ptr<env::Stream> stream_;
  SlabPool pool_;
  Bytes staging_;  ///< bytes read ahead of the current frame
  std::size_t staged_from_ = 0;
  std::size_t staged_to_ = 0;
  std::int32_t last_correlation_id_ = 0;
  std::uint64_t answered_ = 0;
  std::deque<Outstanding> outstanding_;
  std::map<ApiKey, VersionRange> versions_;
  std::optional<Error> broken_;
};

}  // namespace kmirror::client
