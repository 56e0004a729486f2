// HeaderScanner: walks the batches of a log file by their headers, without reading the records.
// Owner: one task; the file may be read by others at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "kmirror/env/file.h"
#include "storage/batch_summary.h"

namespace kmirror::storage {

/// Reads a file in pieces and hands out spans of the piece at hand.
class WindowReader {
 public:
  /// `end`: bytes from there on do not exist. `window_bytes`: how much one read takes.
  WindowReader(std::shared_ptr<const env::File> file, std::uint64_t end, std::size_t window_bytes)
      : file_(std::move(file)), end_(end), window_bytes_(window_bytes) {}

  /// Bytes from `position` (< end) on: at least `wanted`, or all up to the end; valid until the
  /// next call. Fewer only if the file became shorter. Errors: the system's.
  [[nodiscard]] Result<ByteSpan> at(std::uint64_t position, std::size_t wanted);
  [[nodiscard]] std::uint64_t end() const { return end_; }

 private:
  std::shared_ptr<const env::File> file_;
  std::uint64_t end_;
  std::size_t window_bytes_;
  Bytes window_;
  std::uint64_t window_position_ = 0;
  std::size_t window_filled_ = 0;
};

class HeaderScanner {
 public:
  static constexpr std::size_t kSmallWindowBytes = 4096;
  static constexpr std::size_t kLargeWindowBytes = 65536;

  /// From `position`, where a batch starts, to `end` (exclusive). `window_bytes`: small to find a
  /// batch near an index entry, large to go through a whole segment.
  HeaderScanner(std::shared_ptr<const env::File> file, std::uint64_t position, std::uint64_t end,
                std::size_t window_bytes = kSmallWindowBytes)
      : window_(std::move(file), end, window_bytes), position_(position) {}

  /// The next batch, control fields included, or nothing at the end. Errors: CORRUPT_MESSAGE for a
  /// batch that is cut off or whose header cannot be; the system's. After an error position() is
  /// where that batch starts.
  [[nodiscard]] Result<std::optional<BatchSummary>> next();
  /// Where the next batch starts.
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  WindowReader window_;
  std::uint64_t position_;
};

}  // namespace kmirror::storage
