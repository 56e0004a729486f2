// One outgoing connection: framing, version negotiation, deadlines.
// Owner: one task on the connection's loop.
// Sources: Kafka protocol guide; KIP-511.
#include "kmirror/client/connection.h"

#include <algorithm>
#include <cstring>

#include "kmirror/wire/api_table.h"
#include "kmirror/wire/api_versions_request.h"
#include "kmirror/wire/api_versions_response.h"

namespace kmirror::client {
namespace {

// Read ahead of a frame: a small answer costs one read, and at most this much of a big one is
// copied.
constexpr std::size_t kStagingBytes = 4096;
constexpr char kSoftwareName[] = "kmirror";
constexpr char kSoftwareVersion[] = "0.1.0";

void count(metrics::Counter* counter, std::uint64_t amount) {
  if (counter != nullptr) counter->add(amount);
}

}  // namespace

Connection::Connection(env::Environment& environment, env::Loop& loop, env::Endpoint to,
                       ConnectionOptions options)
    : clock_(environment.clock),
      loop_(loop),
      peer_(std::move(to)),
      options_(std::move(options)),
      pool_(loop, options_.pool_bytes),
      staging_(kStagingBytes) {}

Connection::~Connection() { close(); }

env::Awaitable<Result<std::unique_ptr<Connection>>> Connection::open(env::Environment& environment,
                                                                     env::Loop& loop,
                                                                     env::Endpoint to,
                                                                     ConnectionOptions options) {
  const env::Instant deadline = environment.clock.now() + options.connect_timeout;
  std::unique_ptr<Connection> connection(new Connection(environment, loop, to, std::move(options)));
  const env::SocketOptions socket = connection->options_.socket;
  KM_CO_TRY(stream, co_await environment.network.connect(loop, to, deadline, socket));
  connection->stream_ = std::move(stream);
  const std::shared_ptr<ConnectionSecurity> security = connection->options_.security;
  if (security) {
    KM_CO_TRY(wrapped, co_await security->wrap(std::move(connection->stream_), to, deadline));
    connection->stream_ = std::move(wrapped);
  }
  KM_CO_TRY_VOID(co_await connection->negotiate(deadline));
  if (security) {
    Connection& bare = *connection;
    KM_CO_TRY_VOID(co_await security->authenticate(bare, deadline));
  }
  count(connection->options_.counters.connections, 1);
  co_return std::move(connection);
}

void Connection::close() {
  if (!broken_) broken_ = client_error(ClientErrc::kClosed, peer_.text() + ": connection closed");
  if (stream_) stream_->close();
}

Error Connection::in_context(const Error& error, const char* api) const {
  return {error.code, fmt::format("{} ({}): {}", peer_.text(), api, error.message)};
}

Error Connection::fail(Error error) {
  if (!broken_) broken_ = error;
  if (stream_) stream_->close();
  return error;
}

env::Awaitable<Result<void>> Connection::send_frame(ByteChain frame, Outstanding outstanding,
                                                    env::Instant deadline) {
  if (broken_) co_return *broken_;
  outstanding_.push_back(outstanding);
  const std::size_t size_bytes = frame.size();
  auto write = stream_->write(std::move(frame));
  std::string what = fmt::format("{} ({}): send", peer_.text(), outstanding.api);
  Result<void> sent =
      co_await env::with_deadline(clock_, deadline, std::move(write), std::move(what));
  if (!sent) co_return fail(in_context(sent.error(), outstanding.api));
  count(options_.counters.requests, 1);
  count(options_.counters.bytes_sent, size_bytes);
  co_return sent;
}

/// Reads until at least `count` bytes are staged; `count` <= kStagingBytes.
env::Awaitable<Result<void>> Connection::stage(std::size_t count) {
  while (staged_to_ - staged_from_ < count) {
    if (staged_from_ > 0) {
      std::memmove(staging_.data(), staging_.data() + staged_from_, staged_to_ - staged_from_);
      staged_to_ -= staged_from_;
      staged_from_ = 0;
    }
    const std::span<std::uint8_t> room(staging_.data() + staged_to_, kStagingBytes - staged_to_);
    KM_CO_TRY(got, co_await stream_->read_some(room));
    if (got == 0) {
      co_return client_error(ClientErrc::kClosed, "the broker closed the connection");
    }
    staged_to_ += got;
  }
  co_return Result<void>();
}

env::Awaitable<Result<Slice>> Connection::read_frame() {
  KM_CO_TRY_VOID(co_await stage(wire::kFramePrefixBytes));
  const auto announced = load_be<std::int32_t>(staging_.data() + staged_from_);
  if (announced < 4) {
    co_return client_error(ClientErrc::kBadFrame,
                           fmt::format("not a Kafka response: frame length {}", announced));
  }
  const auto size_bytes = static_cast<std::size_t>(announced);
  if (size_bytes > options_.max_response_bytes) {
    co_return client_error(ClientErrc::kFrameTooLarge,
                           fmt::format("response of {} bytes is above the limit of {}", size_bytes,
                                       options_.max_response_bytes));
  }
  staged_from_ += wire::kFramePrefixBytes;
  std::shared_ptr<Slab> slab = pool_.take(size_bytes);
  std::size_t filled = std::min(size_bytes, staged_to_ - staged_from_);
  std::memcpy(slab->data(), staging_.data() + staged_from_, filled);
  staged_from_ += filled;
  while (filled < size_bytes) {
    const std::span<std::uint8_t> room(slab->data() + filled, size_bytes - filled);
    KM_CO_TRY(got, co_await stream_->read_some(room));
    if (got == 0) {
      co_return client_error(
          ClientErrc::kClosed,
          fmt::format("the broker closed the connection after {} of {} bytes of a response", filled,
                      size_bytes));
    }
    filled += got;
  }
  count(options_.counters.responses, 1);
  count(options_.counters.bytes_received, size_bytes + wire::kFramePrefixBytes);
  const ByteSpan bytes(slab->data(), size_bytes);
  co_return Slice(std::move(slab), bytes);
}

env::Awaitable<Result<Slice>> Connection::receive_body(env::Instant deadline) {
  if (broken_) co_return *broken_;
  const Outstanding expected = outstanding_.front();
  auto read = read_frame();
  std::string what = fmt::format("{} ({}): wait for the response", peer_.text(), expected.api);
  Result<Slice> frame =
      co_await env::with_deadline(clock_, deadline, std::move(read), std::move(what));
  if (!frame) co_return fail(in_context(frame.error(), expected.api));
  outstanding_.pop_front();
  ++answered_;
  Reader reader(*frame);
  Result<wire::ResponseHeader> header =
      wire::decode_response_header(reader, expected.key, expected.version);
  if (!header) co_return fail(in_context(header.error(), expected.api));
  if (header->correlation_id != expected.correlation_id) {
    Error mismatch = client_error(
        ClientErrc::kBadFrame, fmt::format("not a Kafka response: correlation id {} instead of {}",
                                           header->correlation_id, expected.correlation_id));
    co_return fail(in_context(mismatch, expected.api));
  }
  co_return frame->sub(reader.position(), reader.remaining());
}

env::Awaitable<Result<void>> Connection::negotiate(env::Instant deadline) {
  wire::ApiVersionsRequest request;
  request.client_software_name = kSoftwareName;
  request.client_software_version = kSoftwareVersion;
  ApiVersion version{3};
  // Two rounds at most: a broker that does not know our form answers in version 0 (KIP-511).
  for (int round = 0; round < 2; ++round) {
    KM_CO_TRY_VOID(co_await send(request, version, deadline));
    KM_CO_TRY(body, co_await receive_body(deadline));
    const bool refused =
        body.size() >= 2 && load_be<std::int16_t>(body.data()) ==
                                static_cast<std::int16_t>(ErrorCode::UNSUPPORTED_VERSION);
    if (refused && version > ApiVersion{0}) {
      version = ApiVersion{0};
      request = wire::ApiVersionsRequest();
      continue;
    }
    Reader reader(std::move(body));
    auto answer = wire::ApiVersionsResponse::decode(reader, version);
    if (!answer) co_return fail(in_context(answer.error(), "ApiVersions"));
    if (answer->error_code != ErrorCode::NONE) {
      Error error = kafka_error(answer->error_code, fmt::format("{}", answer->error_code));
      co_return fail(in_context(error, "ApiVersions"));
    }
    for (const auto& api : answer->api_keys) {
      versions_[ApiKey{api.api_key}] =
          VersionRange(ApiVersion{api.min_version}, ApiVersion{api.max_version});
    }
    co_return Result<void>();
  }
  Error error = kafka_error(ErrorCode::UNSUPPORTED_VERSION, "no common version");
  co_return fail(in_context(error, "ApiVersions"));
}

Result<ApiVersion> Connection::choose_version(const char* api, ApiKey key, ApiVersion min,
                                              ApiVersion max) const {
  const auto found = versions_.find(key);
  if (found == versions_.end()) {
    return kafka_error(ErrorCode::UNSUPPORTED_VERSION,
                       fmt::format("{} does not serve {}", peer_.text(), api));
  }
  const wire::ApiInfo* info = wire::find_api(key);
  const ApiVersion ours = info == nullptr ? max : std::min(max, info->stable_max());
  const ApiVersion highest = std::min(ours, found->second.max);
  if (highest < std::max(min, found->second.min)) {
    return kafka_error(
        ErrorCode::UNSUPPORTED_VERSION,
        fmt::format("{} serves {} in versions {} to {}, we speak {} to {}", peer_.text(), api,
                    found->second.min, found->second.max, min, ours));
  }
  return highest;
}

}  // namespace kmirror::client
