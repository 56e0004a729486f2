// SimNetwork: links, deliveries and faults.
// Owner: the test's thread.
#include "env/sim/network_core.h"
#include "kmirror/base/check.h"

namespace kmirror::env {

using sim::ConnectionPtr;

namespace {

void wake(detail::Parking* parking) {
  if (parking != nullptr) parking->unpark();
}

void wake(sim::Side& side) {
  wake(side.reader);
  wake(side.writer);
}

bool joins(const sim::Connection& connection, const std::string& a, const std::string& b) {
  const std::string& first = connection.sides[0].host;
  const std::string& second = connection.sides[1].host;
  return (first == a && second == b) || (first == b && second == a);
}

}  // namespace

SimLink& SimNetwork::Core::link(const std::string& from, const std::string& to) {
  const auto key = std::pair(from, to);
  const auto found = links.find(key);
  return found != links.end() ? found->second : links.emplace(key, default_link).first->second;
}

Duration SimNetwork::Core::latency(const std::string& from, const std::string& to) {
  const SimLink& way = link(from, to);
  if (way.jitter.count() <= 0) return way.delay;
  const auto most = static_cast<std::uint64_t>(way.jitter.count());
  return way.delay + Duration(world().fault_rng.below(most + 1));
}

bool SimNetwork::Core::is_cut(const std::string& from, const std::string& to) {
  return link(from, to).is_cut;
}

std::optional<std::string> SimNetwork::Core::resolve(const std::string& host,
                                                     const std::string& name) {
  if (name.empty() || name == "localhost" || name == "127.0.0.1" || name == "0.0.0.0" ||
      name == "::" || name == "::1") {
    return host;
  }
  const auto alias = names.find(name);
  if (alias != names.end()) return alias->second;
  if (hosts.contains(name)) return name;
  return std::nullopt;
}

bool SimNetwork::Core::side_lives(const sim::Connection& connection, int side) {
  const sim::Side& end = connection.sides[side];
  const sim::Host& host = hosts[end.host];
  return host.up && host.life == end.host_life;
}

std::size_t SimNetwork::Core::draw_size(std::size_t most) {
  if (fragment == 0 || most <= 1) return most;
  return std::min<std::size_t>(most, 1 + world().fault_rng.below(fragment));
}

void SimNetwork::Core::send(const ConnectionPtr& connection, int side, sim::Segment segment) {
  sim::Pipe& pipe = connection->pipes[side];
  const std::size_t size = segment.data.size();
  pipe.in_flight_bytes += size;
  pipe.in_flight.push_back(std::move(segment));
  schedule_delivery(connection, side, size);
}

void SimNetwork::Core::schedule_delivery(const ConnectionPtr& connection, int side,
                                         std::size_t size_bytes) {
  sim::Pipe& pipe = connection->pipes[side];
  Instant arrival = world().clock.now() + latency(pipe.from, pipe.to);
  const std::uint64_t rate = link(pipe.from, pipe.to).bytes_per_second;
  // One packet after the other: neither overtakes, and the line is busy while one passes.
  arrival = std::max(arrival, pipe.last_arrival);
  if (rate > 0) {
    arrival +=
        std::chrono::nanoseconds(static_cast<std::uint64_t>(size_bytes) * 1'000'000'000 / rate);
  }
  pipe.last_arrival = arrival;
  world().queue.add(
      arrival, [core = shared_from_this(), connection, side] { core->deliver(connection, side); });
}

void SimNetwork::Core::deliver(const ConnectionPtr& connection, int side) {
  sim::Pipe& pipe = connection->pipes[side];
  if (is_cut(pipe.from, pipe.to) || !hosts[pipe.to].up) {
    ++pipe.held;
    return;
  }
  if (pipe.in_flight.empty()) return;  // the connection broke meanwhile
  sim::Segment segment = std::move(pipe.in_flight.front());
  pipe.in_flight.pop_front();
  pipe.in_flight_bytes -= segment.data.size();
  const int other = 1 - side;
  sim::Side& receiver = connection->sides[other];
  if (!side_lives(*connection, other) || receiver.closed) {
    if (!segment.data.empty()) send_reset(connection, other);
    return;
  }
  world().note(fmt::format("net {} {}>{} {}", connection->id, pipe.from, pipe.to,
                           segment.is_end ? "end" : std::to_string(segment.data.size())));
  if (segment.is_end) {
    pipe.end_received = true;
  } else {
    delivered[{pipe.from, pipe.to}] += segment.data.size();
    pipe.unread_bytes += segment.data.size();
    pipe.received.push_back(std::move(segment.data));
  }
  wake(receiver.reader);
}

void SimNetwork::Core::send_reset(const ConnectionPtr& connection, int side) {
  const sim::Pipe& pipe = connection->pipes[side];
  const Duration delay = latency(pipe.from, pipe.to);
  world().after(delay, [core = shared_from_this(), connection, side] {
    const sim::Pipe& way = connection->pipes[side];
    if (core->is_cut(way.from, way.to)) return;
    sim::Side& target = connection->sides[1 - side];
    target.reset = true;
    wake(target);
  });
}

void SimNetwork::Core::close_side(const ConnectionPtr& connection, int side) {
  sim::Side& end = connection->sides[side];
  if (end.closed) return;
  end.closed = true;
  wake(end);
  sim::Pipe& pipe = connection->pipes[side];
  if (!end.reset && !pipe.end_sent && side_lives(*connection, side)) {
    pipe.end_sent = true;
    sim::Segment segment;
    segment.is_end = true;
    send(connection, side, std::move(segment));
  }
  forget_closed();
}

void SimNetwork::Core::break_connection(const ConnectionPtr& connection) {
  for (int side = 0; side < 2; ++side) {
    connection->pipes[side].in_flight.clear();
    connection->pipes[side].in_flight_bytes = 0;
    connection->pipes[side].held = 0;
    connection->sides[side].reset = true;
    wake(connection->sides[side]);
  }
}

void SimNetwork::Core::release_held(const ConnectionPtr& connection) {
  for (int side = 0; side < 2; ++side) {
    sim::Pipe& pipe = connection->pipes[side];
    if (is_cut(pipe.from, pipe.to) || !hosts[pipe.to].up) continue;
    for (std::size_t count = std::exchange(pipe.held, 0); count > 0; --count) {
      schedule_delivery(connection, side, 0);
    }
  }
}

void SimNetwork::Core::forget_closed() {
  std::erase_if(connections, [](const auto& entry) {
    return entry.second->sides[0].closed && entry.second->sides[1].closed;
  });
}

// --- SimNetwork -----------------------------------------------------------------------------

SimNetwork::SimNetwork(SimWorld& world) : core_(std::make_shared<Core>(world)) {}

SimNetwork::~SimNetwork() = default;

std::unique_ptr<Network> SimNetwork::attach(const std::string& host) {
  sim::Host& entry = core_->hosts[host];
  entry.up = true;
  ++entry.life;
  // What was sent to the host while it was down is answered now.
  for (const auto& [id, connection] : core_->connections) core_->release_held(connection);
  return make_sim_host_network(core_, host);
}

void SimNetwork::add_name(const std::string& name, const std::string& host) {
  core_->names[name] = host;
}

void SimNetwork::remove_name(const std::string& name) { core_->names.erase(name); }

void SimNetwork::set_default_link(SimLink link) { core_->default_link = link; }

void SimNetwork::set_link(const std::string& from, const std::string& to, SimLink link) {
  const bool was_cut = core_->is_cut(from, to);
  core_->link(from, to) = link;
  if (!was_cut || link.is_cut) return;
  for (const auto& [id, connection] : core_->connections) core_->release_held(connection);
}

void SimNetwork::cut(const std::string& a, const std::string& b) {
  cut_one_way(a, b);
  cut_one_way(b, a);
}

void SimNetwork::cut_one_way(const std::string& from, const std::string& to) {
  core_->world().note(fmt::format("net cut {}>{}", from, to));
  core_->link(from, to).is_cut = true;
}

void SimNetwork::heal(const std::string& a, const std::string& b) {
  core_->world().note(fmt::format("net heal {}<>{}", a, b));
  core_->link(a, b).is_cut = false;
  core_->link(b, a).is_cut = false;
  for (const auto& [id, connection] : core_->connections) core_->release_held(connection);
}

void SimNetwork::heal_all() {
  core_->world().note("net heal all");
  for (auto& [hosts, link] : core_->links) link.is_cut = false;
  for (const auto& [id, connection] : core_->connections) core_->release_held(connection);
}

void SimNetwork::reset_connections(const std::string& a, const std::string& b) {
  core_->world().note(fmt::format("net reset {}<>{}", a, b));
  for (const auto& [id, connection] : core_->connections) {
    if (joins(*connection, a, b)) core_->break_connection(connection);
  }
}

void SimNetwork::end_direction(const std::string& from, const std::string& to) {
  core_->world().note(fmt::format("net end {}>{}", from, to));
  for (const auto& [id, connection] : core_->connections) {
    for (int side = 0; side < 2; ++side) {
      sim::Pipe& pipe = connection->pipes[side];
      if (pipe.from != from || pipe.to != to || pipe.end_sent) continue;
      pipe.end_sent = true;
      sim::Segment segment;
      segment.is_end = true;
      core_->send(connection, side, std::move(segment));
    }
  }
}

void SimNetwork::crash_host(const std::string& host, bool silently) {
  sim::Host& entry = core_->hosts[host];
  entry.up = !silently;
  ++entry.life;
  for (auto& [port, listener] : entry.listeners) {
    listener->closed = true;
    for (detail::Parking* acceptor : listener->acceptors) acceptor->unpark();
  }
  entry.listeners.clear();
  const auto connections = core_->connections;
  for (const auto& [id, connection] : connections) {
    for (int side = 0; side < 2; ++side) {
      if (connection->sides[side].host != host) continue;
      if (!silently) core_->send_reset(connection, side);
      connection->sides[side].closed = true;
      wake(connection->sides[side]);
    }
  }
  core_->forget_closed();
}

void SimNetwork::set_window(std::size_t bytes) {
  KM_CHECK(bytes > 0, "a window of no bytes");
  core_->window = bytes;
}

void SimNetwork::set_fragmentation(std::size_t most_bytes) { core_->fragment = most_bytes; }

std::size_t SimNetwork::connection_count() const { return core_->connections.size(); }

std::uint64_t SimNetwork::bytes_delivered(const std::string& from, const std::string& to) const {
  const auto found = core_->delivered.find({from, to});
  return found != core_->delivered.end() ? found->second : 0;
}

}  // namespace kmirror::env
