// The inodes of a simulated disk: what a process sees, and beside it what the platter holds.
// Owner: the test's thread. Invariants: `durable` changes only by sync, damage and crash; applying
// every pending operation to `durable` gives the visible state, except for what a failed sync lost.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kmirror/env/clock.h"
#include "kmirror/env/sim_disk.h"

namespace kmirror::env::sim {

struct Node;
using NodePtr = std::shared_ptr<Node>;
using Entries = std::map<std::string, NodePtr>;

struct PendingWrite {
  bool is_truncate = false;
  std::uint64_t position = 0;  ///< of a truncation: the new size
  Bytes data;
};

/// A change of one directory: an entry goes, an entry comes, or both in one step (a rename).
struct PendingName {
  std::string removed;
  std::weak_ptr<Node> removed_from;  ///< the directory itself or a rename's source; empty: none
  std::string added;
  NodePtr node;  ///< null: nothing comes
};

struct Node {
  bool is_directory = false;
  // A file:
  Bytes content;
  Bytes durable;
  std::vector<PendingWrite> pending_writes;
  // A directory:
  Entries entries;
  Entries durable_entries;
  std::vector<PendingName> pending_names;
};

/// Puts `data` at `position`, filling a gap with zeros.
void overwrite(Bytes& bytes, std::uint64_t position, ByteSpan data);
void apply(Bytes& bytes, const PendingWrite& write);
void apply(Node& directory, const PendingName& name);

/// Makes everything done to the file durable.
void sync_file(Node& file);
void sync_names(Node& directory);

/// Lets the tree under `root` forget as `crash` says; afterwards visible and durable are the same.
void crash_tree(const NodePtr& root, SimCrash crash, Rng& rng);

/// A deep copy; hard links do not exist, so a tree stays one.
NodePtr copy_tree(const NodePtr& root);

/// Parts of `path` without "" and ".".
[[nodiscard]] std::vector<std::string> split_path(const std::string& path);

}  // namespace kmirror::env::sim
