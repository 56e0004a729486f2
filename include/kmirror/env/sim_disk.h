// SimDisk: a disk in memory that forgets, tears and fails as disks do.
// Owner: the test's thread. Invariants: what was synced survives every crash; what was not may be
// lost, kept, or torn at 512-byte sectors, in any order. A name is durable only after
// sync_directory() of the directory that holds it.
// Sources: POSIX fsync(2); the report of a lost write is given once, as Linux does (errseq_t).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kmirror/env/file.h"

namespace kmirror::env {

class SimWorld;
class Rng;

enum class SimCrash {
  kProcessDies,       ///< the machine stays up: everything written is kept
  kPowerCut,          ///< unsynced writes and names survive by chance
  kPowerCutLosesAll,  ///< only what was synced survives
};

enum class DiskOp {
  kOpen,
  kRead,
  kWrite,
  kSync,
  kTruncate,
  kRename,
  kRemove,
  kSyncDirectory,
  kList
};

/// Lets calls fail. A failing write leaves a random prefix behind; a failing sync loses for good,
/// at the next power cut, what was not durable before it, although it can still be read.
struct DiskFault {
  DiskFault() = default;
  DiskFault(DiskOp operation, std::string part, int code)
      : op(operation), path_part(std::move(part)), error(code) {}
  DiskOp op = DiskOp::kWrite;
  std::string path_part;  ///< only paths that contain it; empty: all
  int error = 0;          ///< errno value
  int skip = 0;           ///< so many matching calls succeed first
  int count = 1;          ///< so many then fail; -1: all
};

class SimDisk {
 public:
  explicit SimDisk(SimWorld& world);
  ~SimDisk();
  SimDisk(const SimDisk&) = delete;
  SimDisk& operator=(const SimDisk&) = delete;

  /// The files as the process that runs now sees them. Dead after the next crash().
  [[nodiscard]] std::unique_ptr<FileSystem> mount();

  void crash(SimCrash crash);
  /// What a crash at this moment would leave, as a disk of its own; this one goes on.
  [[nodiscard]] std::unique_ptr<SimDisk> crashed_copy(SimCrash crash) const;

  void add_fault(DiskFault fault);
  void clear_faults();
  /// Each call of `op` fails with `error` with probability `rate` (0 … 1).
  void set_fault_rate(DiskOp op, double rate, int error);
  /// All files together hold at most so many bytes; more is ENOSPC.
  void set_capacity(std::uint64_t bytes);
  /// Whether File::is_cached() says no for paths that contain `path_part`.
  void set_cold(std::string path_part, bool cold);

  /// For checks and for damage by hand; the path must name a file (checked).
  [[nodiscard]] Bytes contents(const std::string& path) const;
  [[nodiscard]] bool exists(const std::string& path) const;
  /// Overwrites bytes as rot does: at once, durably, unnoticed.
  void damage(const std::string& path, std::uint64_t position, ByteSpan bytes);
  /// All files, sorted by path.
  [[nodiscard]] std::vector<std::string> all_files() const;
  /// Calls so far; to place a crash at each of them.
  [[nodiscard]] std::uint64_t operation_count() const;
  /// Calls `observer` before each call that changes the disk, with its number and path.
  void observe(std::function<void(std::uint64_t, DiskOp, const std::string&)> observer);

  struct Core;

 private:
  SimDisk(SimWorld& world, std::shared_ptr<Core> core);
  SimWorld& world_;
  std::shared_ptr<Core> core_;
};

}  // namespace kmirror::env
