// ByteChain: a sequence of memory slices and file ranges, joined without copying.
// Owner: one task at a time. Invariant: no fragment is empty; size() is the sum of the fragments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/bytes/slice.h"

namespace kmirror {

/// Something with bytes at positions: an open file. Reads may come from any thread.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// Fills `out` from `position`; returns the bytes read, fewer than asked only at the end.
  /// Errors: whatever the disk reports.
  [[nodiscard]] virtual Result<std::size_t> read_at(std::uint64_t position,
                                                    std::span<std::uint8_t> out) const = 0;
};

/// A range of a file, not read yet. The bytes under it never change (decisions: truncation never
/// overwrites), but the file may have become shorter.
struct FileRange {
  std::shared_ptr<const ByteSource> source;
  std::uint64_t position = 0;
  std::size_t size = 0;
};

class ByteChain {
 public:
  struct Fragment {
    Slice memory;  ///< used if file.source is null
    FileRange file;
    [[nodiscard]] bool is_file() const { return file.source != nullptr; }
    [[nodiscard]] std::size_t size() const { return is_file() ? file.size : memory.size(); }
  };

  ByteChain() = default;
  explicit ByteChain(Slice slice) { append(std::move(slice)); }

  void append(Slice slice);
  void append(FileRange range);
  void append(ByteChain other);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] bool has_files() const;
  [[nodiscard]] const std::vector<Fragment>& fragments() const { return fragments_; }

  /// All bytes in one slice: without a copy if there is one memory fragment, else copied (and file
  /// ranges read, blocking). Errors: a disk error, or a file shorter than its range.
  [[nodiscard]] Result<Slice> flatten() const;

  /// Byte equality, for tests and generated code; file ranges are read. False on a read error.
  friend bool operator==(const ByteChain& a, const ByteChain& b);

 private:
  std::vector<Fragment> fragments_;
  std::size_t size_ = 0;
};

}  // namespace kmirror
