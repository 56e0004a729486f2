#include "kmirror/env/file.h"

#include <cerrno>

#include <fmt/format.h>

#include "kmirror/env/errors.h"

namespace kmirror::env {
namespace {

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<void> write_and_sync(FileSystem& files, const std::string& path, std::string_view text,
                            bool secret) {
  // A left-over of an earlier attempt could have another mode.
  KM_TRY_VOID(files.remove(path));
  KM_TRY(file, files.open(path, OpenMode::kCreateEmpty, secret));
  KM_TRY_VOID(file->write_at(0, ByteChain(Slice::copy_of(text))));
  return file->sync();
}

}  // namespace

Result<std::string> FileSystem::read_text(const std::string& path, std::size_t limit_bytes) {
  KM_TRY(file, open(path, OpenMode::kRead));
  KM_TRY(size, file->size());
  if (size > limit_bytes) {
    return system_error(
        EFBIG, fmt::format("{} has {} bytes, more than the {} allowed", path, size, limit_bytes));
  }
  std::string text(static_cast<std::size_t>(size), '\0');
  KM_TRY(count, file->read_at(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
  text.resize(count);
  return text;
}

Result<void> FileSystem::write_text_atomically(const std::string& path, std::string_view text,
                                               bool secret) {
  const std::string temporary = path + ".tmp";
  Result<void> written = write_and_sync(*this, temporary, text, secret);
  if (written) written = rename(temporary, path);
  if (!written) {
    // The first error is the one to report; a left-over is removed by the next attempt.
    static_cast<void>(remove(temporary));
    return written;
  }
  return sync_directory(parent_of(path));
}

}  // namespace kmirror::env
