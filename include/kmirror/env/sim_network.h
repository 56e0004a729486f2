// SimNetwork: hosts, links and connections of a simulated site.
// Owner: the test's thread. Invariants: a connection delivers its bytes in order or breaks; a link
// that is cut holds everything back until it heals, as TCP does; nothing is ever duplicated.
#pragma once

#include <memory>
#include <string>

#include "kmirror/env/network.h"

namespace kmirror::env {

class SimWorld;

/// One direction between two hosts.
struct SimLink {
  SimLink() = default;
  Duration delay = std::chrono::microseconds(200);
  Duration jitter{};                   ///< up to so much is added, drawn each time
  std::uint64_t bytes_per_second = 0;  ///< 0: no limit
  bool is_cut = false;
};

class SimNetwork {
 public:
  explicit SimNetwork(SimWorld& world);
  ~SimNetwork();
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  /// The network as `host` sees it, until crash_host() or the next attach() of the same host: one
  /// process a host.
  /// Ports 0 … 65535 of each host; "", "0.0.0.0", "::", "127.0.0.1", "localhost" and the host's own
  /// name all mean the host itself.
  [[nodiscard]] std::unique_ptr<Network> attach(const std::string& host);
  /// Lets `name` be looked up as `host`. Host names resolve to themselves.
  void add_name(const std::string& name, const std::string& host);
  void remove_name(const std::string& name);

  /// Links not set otherwise.
  void set_default_link(SimLink link);
  void set_link(const std::string& from, const std::string& to, SimLink link);
  void cut(const std::string& a, const std::string& b);
  void cut_one_way(const std::string& from, const std::string& to);
  void heal(const std::string& a, const std::string& b);
  void heal_all();
  /// Every connection between the two breaks at once: ECONNRESET on both sides.
  void reset_connections(const std::string& a, const std::string& b);
  /// Half-close: `to` reads the end of every present connection, although `from` does not know it
  /// and still receives.
  void end_direction(const std::string& from, const std::string& to);
  /// All sockets of `host` are gone. If `silently`, the host is down until the next attach(): it
  /// answers nothing, and its peers notice only when it is up again and they send something. Else
  /// they see a reset and new connections are refused.
  void crash_host(const std::string& host, bool silently);

  /// Bytes a connection takes before the writer waits for the reader. Default 256 KiB.
  void set_window(std::size_t bytes);
  /// Reads and segments have at most so many bytes, drawn evenly from 1; 0: whole.
  void set_fragmentation(std::size_t most_bytes);

  /// Connections that are open on at least one side.
  [[nodiscard]] std::size_t connection_count() const;
  /// Bytes delivered from one host to another so far.
  [[nodiscard]] std::uint64_t bytes_delivered(const std::string& from, const std::string& to) const;

  struct Core;

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace kmirror::env
