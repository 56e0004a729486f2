// Finishing or undoing a cleaning that a crash interrupted; see docs/formats/log.md for the
// protocol. Owner: whoever opens the log, before anybody else sees it. Sources: Kafka 4.4
// LogLoader, LocalLog.replaceSegments.
#pragma once

#include "kmirror/base/result.h"
#include "storage/segment_files.h"

namespace kmirror::storage {

/// Removes ".cleaned" files, puts ".swap" segments in the place of those they stand for. True if
/// there was anything to do. Errors: the system's.
[[nodiscard]] Result<bool> finish_interrupted_cleaning(const LogPlace& place);

}  // namespace kmirror::storage
