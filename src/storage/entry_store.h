// EntryStore: a growing sequence of entries of fixed size, the first of them in a file, the newest
// in memory until they are written. Owner: one writer (the log's loop) appends; any thread reads at
// the same time without a lock. Invariants: entry i never changes; entries below the file count are
// only in the file, the others only in memory (also after write_pending(), since readers may be
// looking at them).
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>

#include "kmirror/base/published.h"
#include "kmirror/base/result.h"
#include "storage/segment_files.h"

namespace kmirror::storage {

template <std::size_t kEntryBytes>
class EntryStore {
 public:
  using Entry = std::array<std::uint8_t, kEntryBytes>;

  /// `file_bytes`: size of the file now; bytes beyond the last whole entry do not count.
  EntryStore(std::shared_ptr<const LogPlace> place, Offset base, std::string_view suffix,
             std::uint64_t file_bytes)
      : place_(std::move(place)),
        base_(base),
        suffix_(suffix),
        file_count_(static_cast<std::size_t>(file_bytes / kEntryBytes)),
        written_(file_count_),
        count_(file_count_) {}
  EntryStore(const EntryStore&) = delete;
  EntryStore& operator=(const EntryStore&) = delete;
  ~EntryStore() = default;

  /// Entries that can be read now. Any thread.
  [[nodiscard]] std::size_t size() const { return count_.load(std::memory_order_acquire); }
  /// Entry `i` < size(). Any thread. Errors: the file cannot be read or became shorter.
  [[nodiscard]] Result<Entry> at(std::size_t i) const {
    if (i >= file_count_) return in_memory(i - file_count_);
    Entry entry{};
    KM_TRY(file, open_file());
    KM_TRY(count, file->read_at(i * kEntryBytes, entry));
    if (count != kEntryBytes) {
      return Error(boost::system::errc::make_error_code(boost::system::errc::io_error),
                   path() + " became shorter than its index entries");
    }
    return entry;
  }
  /// The number of entries for which `before(entry)` holds; it must hold for a prefix of them.
  /// Any thread. Errors as at().
  template <class Predicate>
  [[nodiscard]] Result<std::size_t> partition_point(std::size_t count, Predicate before) const {
    std::size_t low = 0;
    while (low < count) {
      const std::size_t middle = low + (count - low) / 2;
      KM_TRY(entry, at(middle));
      if (before(entry)) {
        low = middle + 1;
      } else {
        count = middle;
      }
    }
    return low;
  }

  /// Writer only.
  void append(const Entry& entry) {
    if (!memory_) memory_ = std::make_unique<Memory>();
    const std::size_t i = count_.load(std::memory_order_relaxed);
    const auto [chunk, at] = locate(i - file_count_);
    auto& slot = memory_->chunks[chunk];
    if (!slot) slot = std::make_unique<Entry[]>(kFirstChunk << chunk);
    slot[at] = entry;
    count_.store(i + 1, std::memory_order_release);
  }
  /// Writer only: entries that the file does not have yet.
  [[nodiscard]] std::size_t pending() const { return size() - written_; }
  /// Writer only: puts the pending entries into the file (page cache). Errors: the system's.
  [[nodiscard]] Result<void> write_pending() {
    const std::size_t count = size();
    if (written_ == count) return {};
    Bytes bytes;
    bytes.reserve((count - written_) * kEntryBytes);
    for (std::size_t i = written_; i < count; ++i) {
      const Entry entry = in_memory(i - file_count_);
      bytes.insert(bytes.end(), entry.begin(), entry.end());
    }
    KM_TRY(file, place_->files.open(path(), env::OpenMode::kCreate, place_->secret));
    KM_TRY_VOID(file->write_at(written_ * kEntryBytes, ByteChain(Slice::take(std::move(bytes)))));
    written_ = count;
    return {};
  }
  [[nodiscard]] std::uint64_t written_bytes() const { return written_ * kEntryBytes; }
  [[nodiscard]] std::string path() const { return place_->path(base_, suffix_); }
  /// Opens the file now, if entries are in it. Any thread. Errors: the system's.
  [[nodiscard]] Result<void> pin_file() const {
    if (file_count_ > 0) KM_TRY_VOID(open_file());
    return {};
  }
  /// Closes the file if one is open for reading. Any thread.
  void release_file() const { file_.store(nullptr); }

 private:
  static constexpr std::size_t kFirstChunk = 32;
  // 32 * (2^20 - 1) entries: more than any segment can need.
  static constexpr std::size_t kChunks = 20;
  struct Memory {
    std::array<std::unique_ptr<Entry[]>, kChunks> chunks;
  };

  static std::pair<std::size_t, std::size_t> locate(std::size_t i) {
    const std::size_t scaled = i / kFirstChunk + 1;
    const auto chunk = static_cast<std::size_t>(std::bit_width(scaled) - 1);
    return {chunk, i - kFirstChunk * ((std::size_t{1} << chunk) - 1)};
  }
  // A reader came here through the acquire load of count_, so memory_ and the chunk are in place.
  [[nodiscard]] Entry in_memory(std::size_t i) const {
    const auto [chunk, at] = locate(i);
    return memory_->chunks[chunk][at];
  }
  [[nodiscard]] Result<std::shared_ptr<const env::File>> open_file() const {
    auto file = file_.load();
    if (file) return file;
    KM_TRY(opened, place_->files.open(path(), env::OpenMode::kRead));
    file = std::move(opened);
    file_.store(file);
    return file;
  }

  std::shared_ptr<const LogPlace> place_;
  Offset base_;
  std::string_view suffix_;  // a constant
  std::size_t file_count_;
  std::size_t written_;  // writer only
  std::unique_ptr<Memory> memory_;
  std::atomic<std::size_t> count_;
  mutable Published<env::File> file_;
};

}  // namespace kmirror::storage
