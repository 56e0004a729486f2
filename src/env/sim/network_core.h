// SimNetwork::Core: hosts, links, listeners and connections.
// Owner: the test's thread. Invariant: each pipe's segments are delivered in the order they were
// sent; a delivery event exists for each segment in flight unless the link is cut.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <optional>
#include <set>

#include "env/sim/world.h"
#include "kmirror/env/async.h"

namespace kmirror::env {

namespace sim {

struct Segment {
  Bytes data;
  bool is_end = false;
};

/// One direction of a connection.
struct Pipe {
  std::string from;
  std::string to;
  std::deque<Segment> in_flight;
  std::size_t held = 0;  ///< deliveries that found the link cut and wait for heal
  Instant last_arrival{};
  std::deque<Bytes> received;
  std::size_t read_position = 0;  ///< in received.front()
  std::size_t unread_bytes = 0;
  std::size_t in_flight_bytes = 0;
  bool end_sent = false;
  bool end_received = false;
};

/// One side of a connection.
struct Side {
  std::string host;
  std::uint64_t host_life = 0;
  Endpoint address;
  bool closed = false;
  bool reset = false;
  detail::Parking* reader = nullptr;
  detail::Parking* writer = nullptr;
};

struct Connection {
  std::uint64_t id = 0;
  Side sides[2];  ///< 0 connected, 1 accepted
  Pipe pipes[2];  ///< [i] carries what side i writes
};
using ConnectionPtr = std::shared_ptr<Connection>;

struct Listener {
  Endpoint local;
  std::deque<ConnectionPtr> pending;
  bool closed = false;
  std::set<detail::Parking*> acceptors;
};
using ListenerPtr = std::shared_ptr<Listener>;

/// What a host is at one time. Sockets of an earlier life are dead.
struct Host {
  bool up = false;
  std::uint64_t life = 0;
  std::map<std::uint16_t, ListenerPtr> listeners;
};

}  // namespace sim

struct SimNetwork::Core : std::enable_shared_from_this<SimNetwork::Core> {
  explicit Core(SimWorld& w) : sim_world(w) {}

  [[nodiscard]] SimWorld::Impl& world() { return sim_world.impl(); }
  [[nodiscard]] SimLink& link(const std::string& from, const std::string& to);
  /// Delay and jitter of one packet.
  [[nodiscard]] Duration latency(const std::string& from, const std::string& to);
  [[nodiscard]] bool is_cut(const std::string& from, const std::string& to);
  /// Nothing if nobody has that name.
  [[nodiscard]] std::optional<std::string> resolve(const std::string& host,
                                                   const std::string& name);

  /// Puts `segment` on its way.
  void send(const sim::ConnectionPtr& connection, int side, sim::Segment segment);
  void schedule_delivery(const sim::ConnectionPtr& connection, int side, std::size_t size_bytes);
  /// The first segment of the pipe arrives, or is held if the link is cut.
  void deliver(const sim::ConnectionPtr& connection, int side);
  /// The host of `side` answers a packet that has no socket any more: the other side sees a reset.
  void send_reset(const sim::ConnectionPtr& connection, int side);
  void close_side(const sim::ConnectionPtr& connection, int side);
  /// Both sides see a reset now.
  void break_connection(const sim::ConnectionPtr& connection);
  void release_held(const sim::ConnectionPtr& connection);
  void forget_closed();
  [[nodiscard]] bool side_lives(const sim::Connection& connection, int side);
  [[nodiscard]] std::size_t draw_size(std::size_t most);

  SimWorld& sim_world;
  SimLink default_link;
  std::map<std::pair<std::string, std::string>, SimLink> links;
  std::map<std::string, sim::Host> hosts;
  std::map<std::string, std::string> names;
  std::map<std::uint64_t, sim::ConnectionPtr> connections;
  std::map<std::pair<std::string, std::string>, std::uint64_t> delivered;
  std::uint64_t next_connection = 1;
  std::uint16_t next_port = 30'000;
  std::uint16_t next_client_port = 50'000;
  std::size_t window = 256 * 1024;
  std::size_t fragment = 0;
};

/// The stream of one side.
[[nodiscard]] std::unique_ptr<Stream> make_sim_stream(std::shared_ptr<SimNetwork::Core> core,
                                                      sim::ConnectionPtr connection, int side);
/// The network as `host` sees it in its present life.
[[nodiscard]] std::unique_ptr<Network> make_sim_host_network(std::shared_ptr<SimNetwork::Core> core,
                                                             std::string host);

}  // namespace kmirror::env
