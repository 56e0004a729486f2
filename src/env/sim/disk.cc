// SimDisk: faults and crashes.
// Owner: the test's thread.
#include <cerrno>

#include "env/sim/disk_core.h"
#include "kmirror/base/check.h"

namespace kmirror::env {

namespace {

const char* name_of(DiskOp op) {
  switch (op) {
    case DiskOp::kOpen:
      return "open";
    case DiskOp::kRead:
      return "read";
    case DiskOp::kWrite:
      return "write";
    case DiskOp::kSync:
      return "sync";
    case DiskOp::kTruncate:
      return "truncate";
    case DiskOp::kRename:
      return "rename";
    case DiskOp::kRemove:
      return "remove";
    case DiskOp::kSyncDirectory:
      return "sync directory";
    case DiskOp::kList:
      return "list";
  }
  return "?";
}

bool changes_disk(DiskOp op) { return op != DiskOp::kRead && op != DiskOp::kList; }

std::uint64_t bytes_under(const sim::Node& node) {
  std::uint64_t sum = node.content.size();
  for (const auto& [name, child] : node.entries) sum += bytes_under(*child);
  return sum;
}

void list_files(const sim::Node& node, const std::string& path, std::vector<std::string>& out) {
  for (const auto& [name, child] : node.entries) {
    const std::string at = path + "/" + name;
    if (child->is_directory) {
      list_files(*child, at, out);
    } else {
      out.push_back(at);
    }
  }
}

}  // namespace

std::optional<int> SimDisk::Core::enter(std::uint64_t mount, DiskOp op, const std::string& path) {
  if (mount != generation) return EIO;
  ++operation_count;
  if (changes_disk(op)) {
    world.note(fmt::format("disk {} {}", name_of(op), path));
    if (observer) observer(operation_count, op, path);
  }
  for (auto it = faults.begin(); it != faults.end(); ++it) {
    if (it->op != op || path.find(it->path_part) == std::string::npos) continue;
    if (it->skip > 0) {
      --it->skip;
      continue;
    }
    const int error = it->error;
    if (it->count > 0 && --it->count == 0) faults.erase(it);
    world.note(fmt::format("disk fault {} on {} {}", error, name_of(op), path));
    return error;
  }
  const auto rate = rates.find(op);
  if (rate != rates.end() && world.fault_rng.unit() < rate->second.rate) {
    world.note(fmt::format("disk fault {} on {} {}", rate->second.error, name_of(op), path));
    return rate->second.error;
  }
  return std::nullopt;
}

sim::NodePtr SimDisk::Core::find(const std::string& path) const {
  sim::NodePtr node = root;
  for (const std::string& part : sim::split_path(path)) {
    const auto child = node->entries.find(part);
    if (child == node->entries.end()) return nullptr;
    node = child->second;
  }
  return node;
}

std::pair<sim::NodePtr, std::string> SimDisk::Core::find_parent(const std::string& path) const {
  std::vector<std::string> parts = sim::split_path(path);
  if (parts.empty()) return {nullptr, ""};
  std::string name = std::move(parts.back());
  parts.pop_back();
  sim::NodePtr node = root;
  for (const std::string& part : parts) {
    const auto child = node->entries.find(part);
    if (child == node->entries.end() || !child->second->is_directory) return {nullptr, ""};
    node = child->second;
  }
  return {node, std::move(name)};
}

std::uint64_t SimDisk::Core::used_bytes() const { return bytes_under(*root); }

bool SimDisk::Core::is_cold(const std::string& path) const {
  for (const auto& [part, is_cold] : cold) {
    if (is_cold && path.find(part) != std::string::npos) return true;
  }
  return false;
}

SimDisk::SimDisk(SimWorld& world) : SimDisk(world, std::make_shared<Core>(world.impl())) {}

SimDisk::SimDisk(SimWorld& world, std::shared_ptr<Core> core)
    : world_(world), core_(std::move(core)) {}

SimDisk::~SimDisk() = default;

std::unique_ptr<FileSystem> SimDisk::mount() { return make_sim_file_system(core_); }

void SimDisk::crash(SimCrash crash) {
  ++core_->generation;
  core_->locks.clear();
  sim::crash_tree(core_->root, crash, core_->world.fault_rng);
}

std::unique_ptr<SimDisk> SimDisk::crashed_copy(SimCrash crash) const {
  auto copy = std::make_shared<Core>(core_->world);
  copy->root = sim::copy_tree(core_->root);
  sim::crash_tree(copy->root, crash, core_->world.fault_rng);
  return std::unique_ptr<SimDisk>(new SimDisk(world_, std::move(copy)));
}

void SimDisk::add_fault(DiskFault fault) { core_->faults.push_back(std::move(fault)); }

void SimDisk::clear_faults() {
  core_->faults.clear();
  core_->rates.clear();
}

void SimDisk::set_fault_rate(DiskOp op, double rate, int error) {
  core_->rates[op].rate = rate;
  core_->rates[op].error = error;
}

void SimDisk::set_capacity(std::uint64_t bytes) { core_->capacity = bytes; }

void SimDisk::set_cold(std::string path_part, bool cold) { core_->cold[path_part] = cold; }

Bytes SimDisk::contents(const std::string& path) const {
  const sim::NodePtr node = core_->find(path);
  KM_CHECK(node != nullptr && !node->is_directory, "{} is no file", path);
  return node->content;
}

bool SimDisk::exists(const std::string& path) const { return core_->find(path) != nullptr; }

void SimDisk::damage(const std::string& path, std::uint64_t position, ByteSpan bytes) {
  const sim::NodePtr node = core_->find(path);
  KM_CHECK(node != nullptr && !node->is_directory, "{} is no file", path);
  sim::overwrite(node->content, position, bytes);
  sim::overwrite(node->durable, position, bytes);
}

std::vector<std::string> SimDisk::all_files() const {
  std::vector<std::string> files;
  list_files(*core_->root, "", files);
  return files;
}

std::uint64_t SimDisk::operation_count() const { return core_->operation_count; }

void SimDisk::observe(std::function<void(std::uint64_t, DiskOp, const std::string&)> observer) {
  core_->observer = std::move(observer);
}

}  // namespace kmirror::env
