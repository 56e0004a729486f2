// PosixFileSystem: names and directories.
// Owner: any thread. Sources: POSIX.1-2017; Linux man pages flock(2), statvfs(3).
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "env/posix/files.h"
#include "kmirror/env/errors.h"

namespace kmirror::env {
namespace {

Error with_path(const std::error_code& code, const std::string& what) {
  return system_error(code.value(), what);
}

int flags_of(OpenMode mode) {
  switch (mode) {
    case OpenMode::kRead:
      return O_RDONLY;
    case OpenMode::kReadWrite:
      return O_RDWR;
    case OpenMode::kCreate:
      return O_RDWR | O_CREAT;
    case OpenMode::kCreateEmpty:
      return O_RDWR | O_CREAT | O_TRUNC;
  }
  return O_RDONLY;
}

int open_retrying(const std::string& path, int flags, mode_t mode) {
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(int descriptor) : descriptor_(descriptor) {}
  ~PosixFileLock() override { ::close(descriptor_); }  // releases the lock

 private:
  int descriptor_;
};

}  // namespace

Result<std::shared_ptr<File>> PosixFileSystem::open(const std::string& path, OpenMode mode,
                                                    bool secret) {
  const mode_t permissions = secret ? 0600 : 0644;
  const int descriptor = open_retrying(path, flags_of(mode), permissions);
  if (descriptor < 0) return system_error(errno, "opening " + path);
  return std::make_shared<PosixFile>(descriptor, path);
}

bool PosixFileSystem::exists(const std::string& path) const {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0;
}

Result<std::vector<DirectoryEntry>> PosixFileSystem::list(const std::string& path) const {
  std::error_code code;
  std::vector<DirectoryEntry> entries;
  std::filesystem::directory_iterator it(path, code);
  for (; !code && it != std::filesystem::directory_iterator(); it.increment(code)) {
    DirectoryEntry entry;
    entry.name = it->path().filename().string();
    struct stat status;
    // A file that goes away between the two calls is not listed.
    if (::stat(it->path().c_str(), &status) != 0) continue;
    entry.is_directory = S_ISDIR(status.st_mode);
    entry.size_bytes = entry.is_directory ? 0 : static_cast<std::uint64_t>(status.st_size);
    entries.push_back(std::move(entry));
  }
  if (code) return with_path(code, "listing " + path);
  std::sort(entries.begin(), entries.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.name < b.name; });
  return entries;
}

Result<void> PosixFileSystem::make_directories(const std::string& path) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code) return with_path(code, "making the directory " + path);
  return {};
}

Result<void> PosixFileSystem::remove(const std::string& path) {
  std::error_code code;
  std::filesystem::remove(path, code);
  if (code) return with_path(code, "removing " + path);
  return {};
}

Result<void> PosixFileSystem::remove_all(const std::string& path) {
  std::error_code code;
  std::filesystem::remove_all(path, code);
  if (code) return with_path(code, "removing " + path + " and what it holds");
  return {};
}

Result<void> PosixFileSystem::rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    return system_error(errno, fmt::format("renaming {} to {}", from, to));
  }
  return {};
}

Result<void> PosixFileSystem::sync_directory(const std::string& path) {
  const int descriptor = open_retrying(path, O_RDONLY | O_DIRECTORY, 0);
  if (descriptor < 0) return system_error(errno, "opening the directory " + path);
  const int failed = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (failed != 0) return system_error(failed, "syncing the directory " + path);
  return {};
}

Result<std::uint64_t> PosixFileSystem::free_bytes(const std::string& path) const {
  struct statvfs status;
  if (::statvfs(path.c_str(), &status) != 0) {
    return system_error(errno, "looking for free space at " + path);
  }
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

Result<std::unique_ptr<FileLock>> PosixFileSystem::lock(const std::string& path) {
  const int descriptor = open_retrying(path, O_RDWR | O_CREAT, 0644);
  if (descriptor < 0) return system_error(errno, "opening the lock file " + path);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    const int code = errno;
    ::close(descriptor);
    return system_error(code, "locking " + path + " (does another process use it?)");
  }
  return std::make_unique<PosixFileLock>(descriptor);
}

}  // namespace kmirror::env
