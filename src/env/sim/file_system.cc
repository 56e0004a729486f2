// The FileSystem and File of a simulated disk.
// Owner: the test's thread. Invariant: a call either happens as a whole or says what did not.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "env/sim/disk_core.h"
#include "kmirror/base/check.h"
#include "kmirror/env/errors.h"

namespace kmirror::env {
namespace {

using sim::Node;
using sim::NodePtr;
using CorePtr = std::shared_ptr<SimDisk::Core>;

class SimFile final : public File {
 public:
  SimFile(CorePtr core, NodePtr node, std::string path, bool writable)
      : core_(std::move(core)),
        node_(std::move(node)),
        path_(std::move(path)),
        mount_(core_->generation),
        writable_(writable) {}

  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t position,
                                            std::span<std::uint8_t> out) const override {
    if (const auto error = core_->enter(mount_, DiskOp::kRead, path_)) {
      return system_error(*error, fmt::format("reading {} at {}", path_, position));
    }
    const Bytes& content = node_->content;
    if (position >= content.size()) return std::size_t{0};
    const std::size_t count = std::min(out.size(), content.size() - position);
    std::memcpy(out.data(), content.data() + position, count);
    return count;
  }

  [[nodiscard]] Result<void> write_at(std::uint64_t position, const ByteChain& bytes) override {
    const std::string what = fmt::format("writing {} at {}", path_, position);
    std::optional<int> error = core_->enter(mount_, DiskOp::kWrite, path_);
    if (core_->generation != mount_) return system_error(EIO, what);
    if (!writable_) return system_error(EBADF, what);
    KM_CHECK(!bytes.has_files(), "a file range cannot be written to a file");
    std::size_t allowed = bytes.size();
    if (error) {
      allowed = core_->world.fault_rng.below(bytes.size() + 1);
    } else if (core_->capacity) {
      const std::uint64_t end = position + bytes.size();
      const std::uint64_t grows = end > node_->content.size() ? end - node_->content.size() : 0;
      const std::uint64_t used = core_->used_bytes();
      const std::uint64_t room = *core_->capacity > used ? *core_->capacity - used : 0;
      if (grows > room) {
        error = ENOSPC;
        const std::uint64_t missing = grows - room;
        allowed = missing < bytes.size() ? bytes.size() - static_cast<std::size_t>(missing) : 0;
      }
    }
    put(position, bytes, allowed);
    if (error) return system_error(*error, what);
    return {};
  }

  [[nodiscard]] Result<void> sync() override {
    const std::optional<int> error = core_->enter(mount_, DiskOp::kSync, path_);
    if (error) {
      // The pages count as clean afterwards: no later sync writes them.
      if (core_->generation == mount_) node_->pending_writes.clear();
      return system_error(*error, "syncing " + path_);
    }
    sim::sync_file(*node_);
    return {};
  }

  [[nodiscard]] Result<void> truncate(std::uint64_t size_bytes) override {
    const std::optional<int> error = core_->enter(mount_, DiskOp::kTruncate, path_);
    const std::string what = fmt::format("truncating {} to {} bytes", path_, size_bytes);
    if (error) return system_error(*error, what);
    if (!writable_) return system_error(EINVAL, what);
    sim::PendingWrite write;
    write.is_truncate = true;
    write.position = size_bytes;
    sim::apply(node_->content, write);
    node_->pending_writes.push_back(std::move(write));
    return {};
  }

  [[nodiscard]] Result<std::uint64_t> size() const override {
    if (core_->generation != mount_) return system_error(EIO, "looking at " + path_);
    return node_->content.size();
  }

  [[nodiscard]] bool is_cached(std::uint64_t position, std::size_t size_bytes) const override {
    static_cast<void>(position);
    return size_bytes == 0 || !core_->is_cold(path_);
  }

 private:
  void put(std::uint64_t position, const ByteChain& bytes, std::size_t allowed) {
    sim::PendingWrite write;
    write.position = position;
    for (const auto& fragment : bytes.fragments()) {
      const std::size_t count = std::min(allowed, fragment.size());
      const ByteSpan part = fragment.memory.span().first(count);
      write.data.insert(write.data.end(), part.begin(), part.end());
      allowed -= count;
    }
    if (write.data.empty()) return;
    sim::apply(node_->content, write);
    node_->pending_writes.push_back(std::move(write));
  }

  CorePtr core_;
  NodePtr node_;
  std::string path_;
  std::uint64_t mount_;
  bool writable_;
};

class SimFileLock final : public FileLock {
 public:
  SimFileLock(CorePtr core, std::string path)
      : core_(std::move(core)), path_(std::move(path)), mount_(core_->generation) {}
  ~SimFileLock() override {
    // A crash released it, and it may have another holder by now.
    if (core_->generation == mount_) core_->locks.erase(path_);
  }

 private:
  CorePtr core_;
  std::string path_;
  std::uint64_t mount_;
};

class SimFileSystem final : public FileSystem {
 public:
  explicit SimFileSystem(CorePtr core) : core_(std::move(core)), mount_(core_->generation) {}

  [[nodiscard]] Result<std::shared_ptr<File>> open(const std::string& path, OpenMode mode,
                                                   bool secret) override {
    static_cast<void>(secret);  // a simulated disk has no other users
    const std::string what = "opening " + path;
    if (const auto error = core_->enter(mount_, DiskOp::kOpen, path)) {
      return system_error(*error, what);
    }
    const auto [parent, name] = core_->find_parent(path);
    if (!parent) return system_error(ENOENT, what);
    const auto found = parent->entries.find(name);
    NodePtr node = found != parent->entries.end() ? found->second : nullptr;
    if (node && node->is_directory) return system_error(EISDIR, what);
    if (!node) {
      if (mode == OpenMode::kRead || mode == OpenMode::kReadWrite) {
        return system_error(ENOENT, what);
      }
      node = std::make_shared<Node>();
      add_name(*parent, name, node);
    }
    auto file = std::make_shared<SimFile>(core_, node, path, mode != OpenMode::kRead);
    if (mode == OpenMode::kCreateEmpty && !node->content.empty()) KM_TRY_VOID(file->truncate(0));
    return std::shared_ptr<File>(std::move(file));
  }

  [[nodiscard]] bool exists(const std::string& path) const override {
    return core_->generation == mount_ && core_->find(path) != nullptr;
  }

  [[nodiscard]] Result<std::vector<DirectoryEntry>> list(const std::string& path) const override {
    const std::string what = "listing " + path;
    if (const auto error = core_->enter(mount_, DiskOp::kList, path)) {
      return system_error(*error, what);
    }
    const NodePtr node = core_->find(path);
    if (!node) return system_error(ENOENT, what);
    if (!node->is_directory) return system_error(ENOTDIR, what);
    std::vector<DirectoryEntry> entries;
    for (const auto& [name, child] : node->entries) {
      DirectoryEntry entry;
      entry.name = name;
      entry.is_directory = child->is_directory;
      entry.size_bytes = child->content.size();
      entries.push_back(std::move(entry));
    }
    return entries;
  }

  [[nodiscard]] Result<void> make_directories(const std::string& path) override {
    const std::string what = "making the directory " + path;
    if (const auto error = core_->enter(mount_, DiskOp::kOpen, path)) {
      return system_error(*error, what);
    }
    NodePtr node = core_->root;
    for (const std::string& part : sim::split_path(path)) {
      NodePtr child = node->entries[part];
      if (!child) {
        child = std::make_shared<Node>();
        child->is_directory = true;
        add_name(*node, part, child);
      }
      if (!child->is_directory) return system_error(ENOTDIR, what);
      node = child;
    }
    return {};
  }

  [[nodiscard]] Result<void> remove(const std::string& path) override {
    const auto [parent, name] = core_->find_parent(path);
    if (core_->generation == mount_ && (!parent || !parent->entries.contains(name))) return {};
    const std::string what = "removing " + path;
    if (const auto error = core_->enter(mount_, DiskOp::kRemove, path)) {
      return system_error(*error, what);
    }
    const NodePtr node = parent->entries.at(name);
    if (!node->entries.empty()) return system_error(ENOTEMPTY, what);
    drop_name(parent, name);
    return {};
  }

  [[nodiscard]] Result<void> remove_all(const std::string& path) override {
    const NodePtr node = core_->find(path);
    if (core_->generation == mount_ && !node) return {};
    if (node && node->is_directory) {
      std::vector<std::string> names;
      for (const auto& [name, child] : node->entries) names.push_back(name);
      for (const std::string& name : names) KM_TRY_VOID(remove_all(path + "/" + name));
    }
    return remove(path);
  }

  [[nodiscard]] Result<void> rename(const std::string& from, const std::string& to) override {
    const std::string what = fmt::format("renaming {} to {}", from, to);
    if (const auto error = core_->enter(mount_, DiskOp::kRename, from + " to " + to)) {
      return system_error(*error, what);
    }
    const auto [source, old_name] = core_->find_parent(from);
    const auto [target, new_name] = core_->find_parent(to);
    if (!source || !source->entries.contains(old_name) || !target) {
      return system_error(ENOENT, what);
    }
    const NodePtr node = source->entries.at(old_name);
    const auto replaced = target->entries.find(new_name);
    if (replaced != target->entries.end()) {
      if (replaced->second == node) return {};
      const bool was_directory = replaced->second->is_directory;
      if (was_directory != node->is_directory) {
        return system_error(was_directory ? EISDIR : ENOTDIR, what);
      }
      if (!replaced->second->entries.empty()) return system_error(ENOTEMPTY, what);
    }
    source->entries.erase(old_name);
    target->entries[new_name] = node;
    if (source != target) {
      // Its name in the old directory, if not durable yet, must not come back later.
      std::erase_if(source->pending_names,
                    [&](const sim::PendingName& p) { return p.node == node; });
    }
    sim::PendingName change;
    change.removed = old_name;
    change.removed_from = source;
    change.added = new_name;
    change.node = node;
    target->pending_names.push_back(std::move(change));
    return {};
  }

  [[nodiscard]] Result<void> sync_directory(const std::string& path) override {
    const std::string what = "syncing the directory " + path;
    if (const auto error = core_->enter(mount_, DiskOp::kSyncDirectory, path)) {
      return system_error(*error, what);
    }
    const NodePtr node = core_->find(path);
    if (!node) return system_error(ENOENT, what);
    if (!node->is_directory) return system_error(ENOTDIR, what);
    sim::sync_names(*node);
    return {};
  }

  [[nodiscard]] Result<std::uint64_t> free_bytes(const std::string& path) const override {
    if (core_->generation != mount_) return system_error(EIO, "looking for free space at " + path);
    if (!core_->find(path)) return system_error(ENOENT, "looking for free space at " + path);
    if (!core_->capacity) return std::uint64_t{1} << 50;
    const std::uint64_t used = core_->used_bytes();
    return *core_->capacity > used ? *core_->capacity - used : 0;
  }

  [[nodiscard]] Result<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    KM_TRY_VOID(open(path, OpenMode::kCreate, false));
    std::string key = "/" + fmt::format("{}", fmt::join(sim::split_path(path), "/"));
    if (core_->locks.contains(key)) {
      return system_error(EWOULDBLOCK, "locking " + path + " (does another process use it?)");
    }
    core_->locks[key] = mount_;
    return std::unique_ptr<FileLock>(std::make_unique<SimFileLock>(core_, std::move(key)));
  }

 private:
  static void add_name(Node& directory, const std::string& name, const NodePtr& node) {
    directory.entries[name] = node;
    sim::PendingName change;
    change.added = name;
    change.node = node;
    directory.pending_names.push_back(std::move(change));
  }

  static void drop_name(const NodePtr& directory, const std::string& name) {
    directory->entries.erase(name);
    sim::PendingName change;
    change.removed = name;
    change.removed_from = directory;
    directory->pending_names.push_back(std::move(change));
  }

  CorePtr core_;
  std::uint64_t mount_;
};

}  // namespace

std::unique_ptr<FileSystem> make_sim_file_system(std::shared_ptr<SimDisk::Core> core) {
  return std::make_unique<SimFileSystem>(std::move(core));
}

}  // namespace kmirror::env
