// PosixFile: positioned reads and writes that are whole or fail.
// Owner: any thread. Sources: Linux man pages pwritev(2), preadv2(2), mincore(2).
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "env/posix/files.h"
#include "kmirror/base/check.h"
#include "kmirror/env/errors.h"

namespace kmirror::env {
namespace {

// Between probes of the page cache. The kernel reads ahead and evicts in runs longer than this.
constexpr std::size_t kProbeStepBytes = 64 * 1024;

// As many pieces as one call takes, from fragment `next` with `skip` bytes of it already written.
std::size_t gather(const std::vector<ByteChain::Fragment>& fragments, std::size_t next,
                   std::size_t skip, std::span<iovec> out) {
  std::size_t count = 0;
  for (; next < fragments.size() && count < out.size(); ++next, ++count) {
    const Slice& memory = fragments[next].memory;
    KM_CHECK(!fragments[next].is_file(), "a file range cannot be written to a file");
    out[count].iov_base = const_cast<std::uint8_t*>(memory.data() + skip);
    out[count].iov_len = memory.size() - skip;
    skip = 0;
  }
  return count;
}

}  // namespace

PosixFile::~PosixFile() { ::close(descriptor_); }

Result<std::size_t> PosixFile::read_at(std::uint64_t position, std::span<std::uint8_t> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t count = ::pread(descriptor_, out.data() + done, out.size() - done,
                                  static_cast<off_t>(position + done));
    if (count == 0) break;
    if (count < 0) {
      if (errno == EINTR) continue;
      return system_error(errno, fmt::format("reading {} at {}", path_, position + done));
    }
    done += static_cast<std::size_t>(count);
  }
  return done;
}

Result<void> PosixFile::write_at(std::uint64_t position, const ByteChain& bytes) {
  const auto& fragments = bytes.fragments();
  std::array<iovec, 64> pieces;
  static_assert(pieces.size() <= IOV_MAX);
  std::size_t next = 0;
  std::size_t skip = 0;
  while (next < fragments.size()) {
    const std::size_t count = gather(fragments, next, skip, pieces);
    const ssize_t written = ::pwritev(descriptor_, pieces.data(), static_cast<int>(count),
                                      static_cast<off_t>(position));
    if (written < 0) {
      if (errno == EINTR) continue;
      return system_error(errno, fmt::format("writing {} at {}", path_, position));
    }
    position += static_cast<std::uint64_t>(written);
    skip += static_cast<std::size_t>(written);
    while (next < fragments.size() && skip >= fragments[next].size()) {
      skip -= fragments[next].size();
      ++next;
    }
  }
  return {};
}

Result<void> PosixFile::sync() {
  // Not repeated on EINTR either: fdatasync reports a lost write only once.
  if (::fdatasync(descriptor_) != 0) return system_error(errno, "syncing " + path_);
  return {};
}

Result<void> PosixFile::truncate(std::uint64_t size_bytes) {
  while (::ftruncate(descriptor_, static_cast<off_t>(size_bytes)) != 0) {
    if (errno == EINTR) continue;
    return system_error(errno, fmt::format("truncating {} to {} bytes", path_, size_bytes));
  }
  return {};
}

Result<std::uint64_t> PosixFile::size() const {
  struct stat status;
  if (::fstat(descriptor_, &status) != 0) return system_error(errno, "looking at " + path_);
  return static_cast<std::uint64_t>(status.st_size);
}

bool PosixFile::is_cached(std::uint64_t position, std::size_t size_bytes) const {
  if (size_bytes == 0) return true;
  const std::uint64_t last = position + size_bytes - 1;
  for (std::uint64_t at = position;; at = std::min(at + kProbeStepBytes, last)) {
    std::uint8_t byte = 0;
    iovec piece{&byte, 1};
    const ssize_t count = ::preadv2(descriptor_, &piece, 1, static_cast<off_t>(at), RWF_NOWAIT);
    if (count < 0 && errno == EINTR) continue;
    // A file system that cannot tell is treated like a slow disk. The end of the file needs none.
    if (count < 0) return false;
    if (count == 0 || at == last) return true;
  }
}

}  // namespace kmirror::env
