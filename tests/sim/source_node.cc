#include "sim/source_node.h"

#include "sim/sim_source.h"

namespace kmirror::testing {

namespace {

constexpr std::size_t kMostFrameBytes = 64UL << 20;

// Exactly `size` bytes; fewer only at the peer's end.
env::Awaitable<Result<Bytes>> read_exactly(env::Stream* stream, std::size_t size) {
  Bytes bytes(size);
  std::size_t have = 0;
  while (have < size) {
    const std::span<std::uint8_t> rest(bytes.data() + have, size - have);
    KM_CO_TRY(count, co_await stream->read_some(rest));
    if (count == 0) break;
    have += count;
  }
  bytes.resize(have);
  co_return bytes;
}

env::Awaitable<Result<Slice>> read_frame(env::Stream* stream) {
  KM_CO_TRY(prefix, co_await read_exactly(stream, wire::kFramePrefixBytes));
  auto length = wire::frame_length(prefix, kMostFrameBytes);
  if (!length) co_return length.error();
  KM_CO_TRY(body, co_await read_exactly(stream, *length));
  if (body.size() < *length) co_return env::aborted_error("a frame was cut");
  co_return Slice::take(std::move(body));
}

}  // namespace

SourceNode::SourceNode(SimSource& source, NodeId id, env::Environment& environment, env::Loop& loop)
    : source_(source),
      id_(id),
      environment_(environment),
      loop_(loop),
      changed_(loop),
      tasks_(loop),
      ending_(loop) {}

SourceNode::~SourceNode() { *alive_ = false; }

Result<void> SourceNode::listen(env::Endpoint at) {
  KM_TRY(acceptor, environment_.network.listen(loop_, std::move(at), env::SocketOptions()));
  endpoint_ = acceptor->local();
  acceptor_ = std::move(acceptor);
  tasks_.spawn("fake source accepts", accept_all(acceptor_.get()));
  return {};
}

void SourceNode::close() {
  if (acceptor_) {
    acceptor_->close();
    // The task that accepts still looks at it.
    closed_acceptors_.push_back(std::move(acceptor_));
  }
  drop_connections();
}

void SourceNode::drop_connections() {
  for (const auto& [id, stream] : streams_) stream->close();
  wake();
}

env::Awaitable<void> SourceNode::stop() {
  const env::Completion<bool> ended;
  loop_.post([this, ended] { ending_.spawn("fake source ends", end_here(ended)); });
  const auto done = co_await ended.wait();  // bounded: every wait of a task ends by its cancel
  KM_CHECK(done.has_value(), "the end of a fake source was cancelled");
}

env::Awaitable<void> SourceNode::end_here(env::Completion<bool> ended) {
  close();
  tasks_.cancel();
  co_await tasks_.join();
  streams_.clear();
  closed_acceptors_.clear();
  ended.complete(true);
}

void SourceNode::wake() {
  // Through the queue: a script may run on another node's loop.
  loop_.post([this, alive = alive_] {
    if (!*alive) return;
    changed_.set();
    changed_.reset();
  });
}

env::Awaitable<void> SourceNode::wait_for_change(env::Instant deadline) {
  const bool changed = co_await changed_.wait_until(environment_.clock, deadline);
  static_cast<void>(changed);  // the caller looks by itself
}

env::Awaitable<void> SourceNode::accept_all(env::Acceptor* acceptor) {
  for (;;) {
    auto stream = co_await acceptor->accept(loop_);
    if (!stream) co_return;
    const std::uint64_t connection = source_.next_connection_++;
    streams_.emplace(connection, std::move(*stream));
    tasks_.spawn("fake source serves", serve(connection));
  }
}

env::Awaitable<void> SourceNode::serve(std::uint64_t connection) {
  env::Stream* const stream = streams_.at(connection).get();
  for (;;) {
    auto frame = co_await read_frame(stream);
    if (!frame) break;
    auto reply = co_await answer(connection, std::move(*frame));
    if (!reply || !*reply) break;
    ByteChain bytes = std::move(**reply);
    const auto written = co_await stream->write(std::move(bytes));
    if (!written) break;
  }
  streams_.erase(connection);
}

env::Awaitable<Result<Answer>> SourceNode::answer(std::uint64_t connection, Slice frame) {
  Reader reader(std::move(frame));
  auto header = wire::decode_request_header(reader);
  if (!header) co_return header.error();
  Call call;
  call.node = id_;
  call.connection = connection;
  call.key = ApiKey(header->request_api_key);
  call.version = ApiVersion(header->request_api_version);
  call.correlation_id = header->correlation_id;
  call.client_id = header->client_id;
  call.at = environment_.clock.now();
  SimApiBase* const api = source_.find(call.key);
  if (api == nullptr) {
    source_.unknown_requests.push_back(call.key);
    co_return Answer();  // as Kafka does: an unknown key ends the connection
  }
  const bool too_new = call.version < api->min_version || call.version > api->max_version;
  if (too_new && call.key == wire::ApiVersionsRequest::kApiKey) {
    // The form that every client can read (KIP-511).
    wire::ApiVersionsResponse oldest = source_.api_versions_of(call);
    oldest.error_code = ErrorCode::UNSUPPORTED_VERSION;
    auto encoded = wire::encode_response(oldest, ApiVersion(0), call.correlation_id);
    if (!encoded) co_return encoded.error();
    co_return Answer(std::move(*encoded));
  }
  if (too_new) co_return Answer();
  auto reply = co_await api->answer(std::move(call), std::move(reader), &environment_.clock);
  co_return reply;
}

}  // namespace kmirror::testing
