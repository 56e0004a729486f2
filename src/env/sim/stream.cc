// The streams, acceptors and connecting of a simulated host.
// Owner: the loop of each stream. Sources: tcp(7) for which error follows what.
#include <boost/asio/error.hpp>
#include <cerrno>
#include <cstring>

#include "env/sim/network_core.h"

namespace kmirror::env {

namespace asio = boost::asio;
using sim::ConnectionPtr;
using sim::ListenerPtr;
using CorePtr = std::shared_ptr<SimNetwork::Core>;

namespace {

constexpr std::size_t kSegmentBytes = 64 * 1024;
// How long a lost connection request waits before it is sent again.
constexpr Duration kConnectRetry = std::chrono::seconds(1);

// Registers where a reader, writer or acceptor is parked, for as long as it is.
class Parked {
 public:
  explicit Parked(detail::Parking** slot) : slot_(slot) {
    KM_CHECK(*slot_ == nullptr, "two calls of one kind wait on a stream");
    *slot_ = &parking_;
  }
  ~Parked() { *slot_ = nullptr; }
  Parked(const Parked&) = delete;
  Parked& operator=(const Parked&) = delete;
  [[nodiscard]] Awaitable<void> park() { return parking_.park(); }

 private:
  detail::Parking** slot_;
  detail::Parking parking_;
};

Error peer_error(const char* what, const sim::Side& peer, int code) {
  return system_error(code, fmt::format("{} {}", what, peer.address.text()));
}

// Why a call on this side must not wait, if so.
std::optional<int> broken(const sim::Side& side, bool cancelled) {
  if (side.closed || cancelled) return ECANCELED;
  if (side.reset) return ECONNRESET;
  return std::nullopt;
}

Awaitable<Result<void>> wait_for_input(CorePtr core, ConnectionPtr connection, int side) {
  sim::Side& self = connection->sides[side];
  const sim::Pipe& pipe = connection->pipes[1 - side];
  static_cast<void>(core);  // alive while the connection is used
  for (;;) {
    const bool cancelled = co_await task_cancelled();
    if (const auto code = broken(self, cancelled)) {
      co_return peer_error("reading from", connection->sides[1 - side], *code);
    }
    if (pipe.unread_bytes > 0 || pipe.end_received) co_return Result<void>();
    Parked parked(&self.reader);
    co_await parked.park();
  }
}

std::size_t take(sim::Pipe& pipe, std::span<std::uint8_t> into) {
  std::size_t done = 0;
  while (done < into.size() && !pipe.received.empty()) {
    Bytes& front = pipe.received.front();
    const std::size_t count = std::min(into.size() - done, front.size() - pipe.read_position);
    std::memcpy(into.data() + done, front.data() + pipe.read_position, count);
    done += count;
    pipe.read_position += count;
    if (pipe.read_position < front.size()) break;
    pipe.received.pop_front();
    pipe.read_position = 0;
  }
  pipe.unread_bytes -= done;
  return done;
}

Awaitable<Result<std::size_t>> read_input(CorePtr core, ConnectionPtr connection, int side,
                                          std::span<std::uint8_t> into) {
  KM_CHECK(!into.empty(), "a read needs room for at least one byte");
  const Result<void> ready = co_await wait_for_input(core, connection, side);
  if (!ready) co_return ready.error();
  sim::Pipe& pipe = connection->pipes[1 - side];
  const std::size_t count = take(pipe, into.first(core->draw_size(into.size())));
  detail::Parking* const writer = connection->sides[1 - side].writer;
  if (count > 0 && writer != nullptr) writer->unpark();
  co_return count;
}

// The next bytes of a chain, at most `most` of them.
class ChainCursor {
 public:
  explicit ChainCursor(ByteChain chain) : chain_(std::move(chain)) {}
  [[nodiscard]] bool done() const { return next_ == chain_.fragments().size(); }
  Result<Bytes> next(std::size_t most) {
    const auto& fragment = chain_.fragments()[next_];
    Bytes bytes(std::min(most, fragment.size() - offset_));
    if (fragment.is_file()) {
      KM_TRY(count, fragment.file.source->read_at(fragment.file.position + offset_, bytes));
      if (count != bytes.size()) {
        return system_error(EIO, "a file became shorter than the range to send");
      }
    } else {
      std::memcpy(bytes.data(), fragment.memory.data() + offset_, bytes.size());
    }
    offset_ += bytes.size();
    if (offset_ == fragment.size()) {
      offset_ = 0;
      ++next_;
    }
    return bytes;
  }

 private:
  ByteChain chain_;
  std::size_t next_ = 0;
  std::size_t offset_ = 0;
};

Awaitable<Result<void>> write_output(CorePtr core, ConnectionPtr connection, int side,
                                     ByteChain bytes) {
  ChainCursor cursor(std::move(bytes));
  sim::Side& self = connection->sides[side];
  sim::Pipe& pipe = connection->pipes[side];
  while (!cursor.done()) {
    const bool cancelled = co_await task_cancelled();
    if (const auto code = broken(self, cancelled)) {
      co_return peer_error("writing to", connection->sides[1 - side], *code);
    }
    const std::size_t used = pipe.in_flight_bytes + pipe.unread_bytes;
    if (used >= core->window) {
      Parked parked(&self.writer);
      co_await parked.park();
      continue;
    }
    const std::size_t most = std::min(kSegmentBytes, core->window - used);
    Result<Bytes> part = cursor.next(core->draw_size(most));
    if (!part) co_return part.error();
    sim::Segment segment;
    segment.data = std::move(*part);
    // After end_direction() the peer has stopped listening; the bytes are lost.
    if (!pipe.end_sent) core->send(connection, side, std::move(segment));
  }
  co_return Result<void>();
}

class SimStream final : public Stream {
 public:
  SimStream(CorePtr core, ConnectionPtr connection, int side)
      : core_(std::move(core)), connection_(std::move(connection)), side_(side) {}
  ~SimStream() override { close(); }

  [[nodiscard]] Awaitable<Result<std::size_t>> read_some(std::span<std::uint8_t> into) override {
    return read_input(core_, connection_, side_, into);
  }
  [[nodiscard]] Awaitable<Result<void>> wait_readable() override {
    return wait_for_input(core_, connection_, side_);
  }
  [[nodiscard]] Awaitable<Result<void>> write(ByteChain bytes) override {
    return write_output(core_, connection_, side_, std::move(bytes));
  }
  void close() override { core_->close_side(connection_, side_); }
  [[nodiscard]] Endpoint peer() const override { return connection_->sides[1 - side_].address; }
  [[nodiscard]] Endpoint local() const override { return connection_->sides[side_].address; }

 private:
  CorePtr core_;
  ConnectionPtr connection_;
  int side_;
};

// --- Listening ------------------------------------------------------------------------------

Awaitable<Result<std::unique_ptr<Stream>>> accept_next(CorePtr core, ListenerPtr listener) {
  for (;;) {
    const bool cancelled = co_await task_cancelled();
    if (listener->closed || cancelled) {
      co_return system_error(ECANCELED, "accepting at " + listener->local.text());
    }
    if (!listener->pending.empty()) {
      ConnectionPtr connection = std::move(listener->pending.front());
      listener->pending.pop_front();
      co_return make_sim_stream(core, std::move(connection), 1);
    }
    detail::Parking parking;
    listener->acceptors.insert(&parking);
    co_await parking.park();
    listener->acceptors.erase(&parking);
  }
}

class SimAcceptor final : public Acceptor {
 public:
  SimAcceptor(CorePtr core, std::string host, std::uint64_t life, ListenerPtr listener)
      : core_(std::move(core)),
        host_(std::move(host)),
        life_(life),
        listener_(std::move(listener)) {}
  ~SimAcceptor() override { close(); }

  [[nodiscard]] Awaitable<Result<std::unique_ptr<Stream>>> accept(Loop& owner) override {
    static_cast<void>(owner);  // all loops are in one thread
    return accept_next(core_, listener_);
  }
  [[nodiscard]] Endpoint local() const override { return listener_->local; }
  void close() override {
    if (listener_->closed) return;
    listener_->closed = true;
    for (detail::Parking* acceptor : listener_->acceptors) acceptor->unpark();
    for (const ConnectionPtr& connection : listener_->pending) core_->close_side(connection, 1);
    sim::Host& host = core_->hosts[host_];
    if (host.life == life_) host.listeners.erase(listener_->local.port);
  }

 private:
  CorePtr core_;
  std::string host_;
  std::uint64_t life_;
  ListenerPtr listener_;
};

// --- Connecting -----------------------------------------------------------------------------

struct Attempt {
  CorePtr core;
  std::string from;
  std::uint64_t life = 0;
  Endpoint to;
  Instant deadline;

  [[nodiscard]] Error error(int code) const {
    return system_error(code, "connecting to " + to.text());
  }
  [[nodiscard]] bool host_alive() const {
    const sim::Host& host = core->hosts[from];
    return host.up && host.life == life;
  }
};

ConnectionPtr establish(const Attempt& attempt, const std::string& target,
                        const ListenerPtr& listener) {
  SimNetwork::Core& core = *attempt.core;
  auto connection = std::make_shared<sim::Connection>();
  connection->id = core.next_connection++;
  if (++core.next_client_port < 50'000) core.next_client_port = 50'000;
  connection->sides[0].host = attempt.from;
  connection->sides[0].host_life = attempt.life;
  connection->sides[0].address = Endpoint(attempt.from, core.next_client_port);
  connection->sides[1].host = target;
  connection->sides[1].host_life = core.hosts[target].life;
  connection->sides[1].address = listener->local;
  connection->pipes[0].from = connection->pipes[1].to = attempt.from;
  connection->pipes[0].to = connection->pipes[1].from = target;
  core.connections.emplace(connection->id, connection);
  core.world().note(fmt::format("net {} {} connects to {}", connection->id, attempt.from,
                                listener->local.text()));
  listener->pending.push_back(connection);
  for (detail::Parking* acceptor : listener->acceptors) acceptor->unpark();
  return connection;
}

enum class Answer { kNone, kRefused, kAccepted };

// What becomes of a connection request that arrives now.
Answer arrive(const Attempt& attempt, const std::string& target, ConnectionPtr& connection) {
  SimNetwork::Core& core = *attempt.core;
  sim::Host& host = core.hosts[target];
  if (core.is_cut(attempt.from, target) || core.is_cut(target, attempt.from) || !host.up) {
    return Answer::kNone;
  }
  const auto listener = host.listeners.find(attempt.to.port);
  if (listener == host.listeners.end()) return Answer::kRefused;
  connection = establish(attempt, target, listener->second);
  return Answer::kAccepted;
}

Awaitable<Result<std::unique_ptr<Stream>>> connect_to(Clock* clock, Loop* owner, Attempt attempt) {
  KM_CHECK(owner->is_current(), "connecting to {} from another loop", attempt.to.text());
  const auto target = attempt.core->resolve(attempt.from, attempt.to.host);
  if (!target) {
    const ErrorCodeBase code = asio::error::host_not_found;
    co_return Error(code, fmt::format("looking up {}: {}", attempt.to.text(), code.message()));
  }
  for (;;) {
    const Duration there = attempt.core->latency(attempt.from, *target);
    const Duration back = attempt.core->latency(*target, attempt.from);
    co_await clock->sleep_until(std::min(clock->now() + there, attempt.deadline));
    ConnectionPtr connection;
    Answer answer = Answer::kNone;
    const bool late = clock->now() >= attempt.deadline;
    const bool cancelled = co_await task_cancelled();
    if (!late && !cancelled && attempt.host_alive()) answer = arrive(attempt, *target, connection);
    const Duration pause = answer == Answer::kNone ? kConnectRetry : back;
    if (!late && !cancelled) {
      co_await clock->sleep_until(std::min(clock->now() + pause, attempt.deadline));
    }
    const bool cancelled_now = co_await task_cancelled();
    const bool alive = attempt.host_alive();
    if (answer == Answer::kAccepted && !cancelled_now && alive) {
      co_return make_sim_stream(attempt.core, std::move(connection), 0);
    }
    if (connection) attempt.core->close_side(connection, 0);
    if (cancelled_now) co_return attempt.error(ECANCELED);
    if (!alive) co_return attempt.error(ENETDOWN);
    if (answer == Answer::kRefused) co_return attempt.error(ECONNREFUSED);
    if (clock->now() >= attempt.deadline) co_return attempt.error(ETIMEDOUT);
  }
}

class SimHostNetwork final : public Network {
 public:
  SimHostNetwork(CorePtr core, std::string host)
      : core_(std::move(core)), host_(std::move(host)), life_(core_->hosts[host_].life) {}

  [[nodiscard]] Awaitable<Result<std::unique_ptr<Stream>>> connect(Loop& owner, Endpoint to,
                                                                   Instant deadline,
                                                                   SocketOptions options) override {
    static_cast<void>(options);  // SimNetwork::set_window() is for all
    Attempt attempt;
    attempt.core = core_;
    attempt.from = host_;
    attempt.life = life_;
    attempt.to = std::move(to);
    attempt.deadline = deadline;
    return connect_to(&core_->sim_world.clock(), &owner, std::move(attempt));
  }

  [[nodiscard]] Result<std::unique_ptr<Acceptor>> listen(Loop& owner, Endpoint at,
                                                         SocketOptions options) override {
    static_cast<void>(owner);
    static_cast<void>(options);
    const std::string what = "listening at " + at.text();
    sim::Host& host = core_->hosts[host_];
    if (!host.up || host.life != life_) return system_error(ENETDOWN, what);
    const auto target = core_->resolve(host_, at.host);
    if (!target || *target != host_) return system_error(EADDRNOTAVAIL, what);
    if (at.port == 0) {
      while (host.listeners.contains(core_->next_port)) ++core_->next_port;
      at.port = core_->next_port++;
    }
    if (host.listeners.contains(at.port)) return system_error(EADDRINUSE, what);
    auto listener = std::make_shared<sim::Listener>();
    listener->local = Endpoint(host_, at.port);
    host.listeners.emplace(at.port, listener);
    return std::unique_ptr<Acceptor>(
        std::make_unique<SimAcceptor>(core_, host_, life_, std::move(listener)));
  }

 private:
  CorePtr core_;
  std::string host_;
  std::uint64_t life_;
};

}  // namespace

std::unique_ptr<Stream> make_sim_stream(CorePtr core, ConnectionPtr connection, int side) {
  return std::make_unique<SimStream>(std::move(core), std::move(connection), side);
}

std::unique_ptr<Network> make_sim_host_network(CorePtr core, std::string host) {
  return std::make_unique<SimHostNetwork>(std::move(core), std::move(host));
}

}  // namespace kmirror::env
