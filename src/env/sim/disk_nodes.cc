#include "env/sim/disk_nodes.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace kmirror::env::sim {
namespace {

constexpr std::uint64_t kSectorBytes = 512;

// The sectors of a write that reached the platter, each by chance.
void apply_torn(Bytes& bytes, const PendingWrite& write, Rng& rng) {
  const std::uint64_t end = write.position + write.data.size();
  for (std::uint64_t at = write.position; at < end;) {
    const std::uint64_t next = std::min(end, (at / kSectorBytes + 1) * kSectorBytes);
    if (rng.below(2) == 0) {
      const ByteSpan part(write.data.data() + (at - write.position), next - at);
      overwrite(bytes, at, part);
    }
    at = next;
  }
}

void crash_file(Node& file, SimCrash crash, double kept_share, Rng& rng) {
  if (crash == SimCrash::kPowerCut) {
    for (const PendingWrite& write : file.pending_writes) {
      if (rng.unit() < kept_share) {
        apply(file.durable, write);
      } else if (!write.is_truncate && rng.below(2) == 0) {
        apply_torn(file.durable, write, rng);
      }
    }
  }
  file.pending_writes.clear();
  file.content = file.durable;
}

void crash_directory(Node& directory, SimCrash crash, double kept_share, Rng& rng) {
  if (crash == SimCrash::kPowerCut) {
    // A journal keeps the changes of a directory in order: some of the first ones survive.
    std::size_t kept = 0;
    while (kept < directory.pending_names.size() && rng.unit() < kept_share) ++kept;
    for (std::size_t i = 0; i < kept; ++i) apply(directory, directory.pending_names[i]);
  }
  directory.pending_names.clear();
}

// Every node that is reachable by a visible or a durable name, each once.
void collect(const NodePtr& node, std::set<Node*>& seen, std::vector<NodePtr>& all) {
  if (!seen.insert(node.get()).second) return;
  all.push_back(node);
  for (const auto& [name, child] : node->entries) collect(child, seen, all);
  for (const auto& [name, child] : node->durable_entries) collect(child, seen, all);
  for (const auto& change : node->pending_names) {
    if (change.node) collect(change.node, seen, all);
  }
}

NodePtr copy_node(const NodePtr& node, std::map<Node*, NodePtr>& copies) {
  if (!node) return nullptr;
  const auto known = copies.find(node.get());
  if (known != copies.end()) return known->second;
  auto copy = std::make_shared<Node>();
  copies.emplace(node.get(), copy);
  copy->is_directory = node->is_directory;
  copy->content = node->content;
  copy->durable = node->durable;
  copy->pending_writes = node->pending_writes;
  for (const auto& [name, child] : node->entries) copy->entries[name] = copy_node(child, copies);
  for (const auto& [name, child] : node->durable_entries) {
    copy->durable_entries[name] = copy_node(child, copies);
  }
  for (PendingName change : node->pending_names) {
    change.removed_from = copy_node(change.removed_from.lock(), copies);
    change.node = copy_node(change.node, copies);
    copy->pending_names.push_back(std::move(change));
  }
  return copy;
}

}  // namespace

void overwrite(Bytes& bytes, std::uint64_t position, ByteSpan data) {
  if (data.empty()) return;
  if (bytes.size() < position + data.size()) bytes.resize(position + data.size());
  std::memcpy(bytes.data() + position, data.data(), data.size());
}

void apply(Bytes& bytes, const PendingWrite& write) {
  if (write.is_truncate) {
    bytes.resize(write.position);
  } else {
    overwrite(bytes, write.position, write.data);
  }
}

void apply(Node& directory, const PendingName& name) {
  if (const NodePtr from = name.removed_from.lock()) from->durable_entries.erase(name.removed);
  if (name.node) directory.durable_entries[name.added] = name.node;
}

void sync_file(Node& file) {
  for (const PendingWrite& write : file.pending_writes) apply(file.durable, write);
  file.pending_writes.clear();
}

void sync_names(Node& directory) {
  for (const PendingName& name : directory.pending_names) apply(directory, name);
  directory.pending_names.clear();
}

void crash_tree(const NodePtr& root, SimCrash crash, Rng& rng) {
  if (crash == SimCrash::kProcessDies) return;
  std::set<Node*> seen;
  std::vector<NodePtr> all;
  collect(root, seen, all);
  // Sometimes nearly all is kept, sometimes nearly nothing.
  const double kept_share = rng.unit();
  for (const NodePtr& node : all) {
    if (node->is_directory) {
      crash_directory(*node, crash, kept_share, rng);
    } else {
      crash_file(*node, crash, kept_share, rng);
    }
  }
  // After all changes are decided: a rename between directories changes two of them.
  for (const NodePtr& node : all) node->entries = node->durable_entries;
}

NodePtr copy_tree(const NodePtr& root) {
  std::map<Node*, NodePtr> copies;
  return copy_node(root, copies);
}

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start < path.size();) {
    const std::size_t slash = std::min(path.find('/', start), path.size());
    std::string part = path.substr(start, slash - start);
    if (!part.empty() && part != ".") parts.push_back(std::move(part));
    start = slash + 1;
  }
  return parts;
}

}  // namespace kmirror::env::sim
