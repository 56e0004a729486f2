// The real file system.
// Owner: any thread. Sources: POSIX.1-2017; Linux man pages preadv2(2), flock(2), fsync(2).
#pragma once

#include "kmirror/env/file.h"

namespace kmirror::env {

class PosixFile final : public File {
 public:
  /// Takes ownership of `descriptor`; `path` is for messages.
  PosixFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  ~PosixFile() override;

  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t position,
                                            std::span<std::uint8_t> out) const override;
  [[nodiscard]] Result<void> write_at(std::uint64_t position, const ByteChain& bytes) override;
  [[nodiscard]] Result<void> sync() override;
  [[nodiscard]] Result<void> truncate(std::uint64_t size_bytes) override;
  [[nodiscard]] Result<std::uint64_t> size() const override;
  [[nodiscard]] bool is_cached(std::uint64_t position, std::size_t size_bytes) const override;

  /// For sendfile.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

class PosixFileSystem final : public FileSystem {
 public:
  [[nodiscard]] Result<std::shared_ptr<File>> open(const std::string& path, OpenMode mode,
                                                   bool secret) override;
  [[nodiscard]] bool exists(const std::string& path) const override;
  [[nodiscard]] Result<std::vector<DirectoryEntry>> list(const std::string& path) const override;
  [[nodiscard]] Result<void> make_directories(const std::string& path) override;
  [[nodiscard]] Result<void> remove(const std::string& path) override;
  [[nodiscard]] Result<void> remove_all(const std::string& path) override;
  [[nodiscard]] Result<void> rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] Result<void> sync_directory(const std::string& path) override;
  [[nodiscard]] Result<std::uint64_t> free_bytes(const std::string& path) const override;
  [[nodiscard]] Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;
};

}  // namespace kmirror::env
