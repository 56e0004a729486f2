// SimDisk::Core: the tree, the faults and the counters of one simulated disk.
// Owner: the test's thread.
#pragma once

#include <optional>

#include "env/sim/disk_nodes.h"
#include "env/sim/world.h"

namespace kmirror::env {

struct SimDisk::Core {
  struct Rate {
    double rate = 0;
    int error = 0;
  };

  explicit Core(SimWorld::Impl& w) : world(w) {
    root = std::make_shared<sim::Node>();
    root->is_directory = true;
  }

  /// Counts the call and says whether it shall fail, with which errno. `mount` is the caller's
  /// generation: a process that crashed gets EIO for everything.
  [[nodiscard]] std::optional<int> enter(std::uint64_t mount, DiskOp op, const std::string& path);

  /// The node of `path`, or null.
  [[nodiscard]] sim::NodePtr find(const std::string& path) const;
  /// The directory that holds `path` and the last part of it; null if there is no such directory.
  [[nodiscard]] std::pair<sim::NodePtr, std::string> find_parent(const std::string& path) const;
  [[nodiscard]] std::uint64_t used_bytes() const;
  [[nodiscard]] bool is_cold(const std::string& path) const;

  SimWorld::Impl& world;
  sim::NodePtr root;
  std::uint64_t generation = 0;
  std::uint64_t operation_count = 0;
  std::optional<std::uint64_t> capacity;
  std::vector<DiskFault> faults;
  std::map<DiskOp, Rate> rates;
  std::map<std::string, bool> cold;
  std::map<std::string, std::uint64_t> locks;  // path → generation of the holder
  std::function<void(std::uint64_t, DiskOp, const std::string&)> observer;
};

/// The files as one process sees them.
[[nodiscard]] std::unique_ptr<FileSystem> make_sim_file_system(std::shared_ptr<SimDisk::Core> core);

}  // namespace kmirror::env
