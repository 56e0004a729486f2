// Files and directories. Calls block; whoever runs on a loop does only page-cache work there and
// sends the rest to the DiskPool. No call here touches a socket.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/bytes/byte_chain.h"

namespace kmirror::env {

class File : public ByteSource {
 public:
  /// Writes all of `bytes` (memory fragments only) at `position`, growing the file. On an error the
  /// file may hold any prefix of them. Errors: ENOSPC, EIO, … as the system reports.
  [[nodiscard]] virtual Result<void> write_at(std::uint64_t position, const ByteChain& bytes) = 0;
  /// Makes all earlier writes durable (fdatasync). After an error nothing is known about them and
  /// the call must not be repeated on this file (decisions: EIO takes the log directory offline).
  [[nodiscard]] virtual Result<void> sync() = 0;
  [[nodiscard]] virtual Result<void> truncate(std::uint64_t size_bytes) = 0;
  [[nodiscard]] virtual Result<std::uint64_t> size() const = 0;
  /// True if the whole range is in the page cache, so that reading it does not wait for a disk.
  [[nodiscard]] virtual bool is_cached(std::uint64_t position, std::size_t size_bytes) const = 0;
};

enum class OpenMode {
  kRead,         ///< must exist
  kReadWrite,    ///< must exist
  kCreate,       ///< read and write; made if absent, kept if there
  kCreateEmpty,  ///< read and write; made or emptied
};

struct DirectoryEntry {
  DirectoryEntry() = default;
  std::string name;
  bool is_directory = false;
  std::uint64_t size_bytes = 0;
};

/// Held while it exists; released by its destructor.
class FileLock {
 public:
  FileLock() = default;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  virtual ~FileLock() = default;
};

/// All paths are absolute or relative to the process's directory, with '/' between parts.
/// Errors everywhere: the system's code, with the path in the message. Any thread.
class FileSystem {
 public:
  FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;
  virtual ~FileSystem() = default;

  /// New files have mode 0600 if `secret`, else 0644 less the umask.
  [[nodiscard]] virtual Result<std::shared_ptr<File>> open(const std::string& path, OpenMode mode,
                                                           bool secret = false) = 0;
  [[nodiscard]] virtual bool exists(const std::string& path) const = 0;
  /// Entries sorted by name, without "." and "..".
  [[nodiscard]] virtual Result<std::vector<DirectoryEntry>> list(const std::string& path) const = 0;
  [[nodiscard]] virtual Result<void> make_directories(const std::string& path) = 0;
  /// Removing what is not there is no error.
  [[nodiscard]] virtual Result<void> remove(const std::string& path) = 0;
  [[nodiscard]] virtual Result<void> remove_all(const std::string& path) = 0;
  /// Replaces `to` in one step if it exists. Durable only after sync_directory of the parent.
  [[nodiscard]] virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  [[nodiscard]] virtual Result<void> sync_directory(const std::string& path) = 0;
  /// Bytes a non-root process may still write on the file system that holds `path`.
  [[nodiscard]] virtual Result<std::uint64_t> free_bytes(const std::string& path) const = 0;
  /// Takes an exclusive lock on `path`, made if absent. Error: EWOULDBLOCK if another process (or
  /// another lock of this process) has it.
  [[nodiscard]] virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;

  /// Reads a whole file of at most `limit_bytes`. Error also if it is longer.
  [[nodiscard]] Result<std::string> read_text(const std::string& path, std::size_t limit_bytes);
  /// Replaces `path` by `text` so that after a power cut either the old or the new content is
  /// there: writes `path`.tmp, syncs it, renames it, syncs the directory.
  [[nodiscard]] Result<void> write_text_atomically(const std::string& path, std::string_view text,
                                                   bool secret = false);
};

}  // namespace kmirror::env
