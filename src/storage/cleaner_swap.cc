#include "storage/cleaner_swap.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "kmirror/base/log.h"
#include "storage/checkpoint_file.h"
#include "storage/header_scanner.h"

namespace kmirror::storage {
namespace {

constexpr std::string_view kSegmentSuffixes[] = {kOffsetIndexSuffix, kTimeIndexSuffix,
                                                 kTransactionIndexSuffix, kLogSuffix};

std::string with(std::string_view suffix, std::string_view second) {
  return std::string(suffix) + std::string(second);
}

struct Found {
  Found() = default;
  std::set<Offset> swapped;   // a finished cleaned segment waits under ".log.swap"
  std::set<Offset> segments;  // ".log"
  bool any = false;
};

Result<Found> look(const LogPlace& place) {
  KM_TRY(entries, place.files.list(place.directory));
  Found found;
  for (const auto& entry : entries) {
    const auto parsed = parse_segment_file_name(entry.name);
    if (!parsed) continue;
    if (parsed->suffix == kLogSuffix) found.segments.insert(parsed->base);
    if (parsed->suffix == with(kLogSuffix, kSwapSuffix)) found.swapped.insert(parsed->base);
    if (parsed->suffix.ends_with(kCleanedSuffix)) {
      // Half-written: what it was made from is still there.
      KM_TRY_VOID(place.files.remove(place.path(entry.name)));
      found.any = true;
    }
  }
  return found;
}

// The segments that a swap file stands for: as its ".merged" file says, or, if a stock broker left
// it, those that begin within the offsets it holds.
Result<std::vector<Offset>> replaced_by(const LogPlace& place, Offset swap, const Found& found) {
  std::vector<Offset> out{swap};
  const std::string merged = place.path(swap, kMergedSuffix);
  if (place.files.exists(merged)) {
    KM_TRY(text, place.files.read_text(merged, kMaxCheckpointBytes));
    const auto lines = parse_checkpoint(text);
    if (lines) {
      for (const auto& line : *lines) {
        const auto base = parse_number(line, std::numeric_limits<std::int64_t>::max());
        if (base) out.emplace_back(*base);
      }
      return out;
    }
  }
  KM_TRY(file,
         place.files.open(place.path(swap, with(kLogSuffix, kSwapSuffix)), env::OpenMode::kRead));
  KM_TRY(size, file->size());
  HeaderScanner scanner(file, 0, size, HeaderScanner::kLargeWindowBytes);
  Offset end = swap;
  for (auto batch = scanner.next(); batch && *batch; batch = scanner.next()) {
    end = (*batch)->last_offset.next();
  }
  for (const Offset base : found.segments) {
    if (base > swap && base < end) out.push_back(base);
  }
  return out;
}

Result<void> remove_segment(const LogPlace& place, Offset base) {
  for (const auto suffix : kSegmentSuffixes) {
    KM_TRY_VOID(place.files.remove(place.path(base, suffix)));
  }
  return {};
}

// Each rename replaces a file of the old segment. The log file comes last: as long as it waits, all
// of this can be done again. A cleaner of ours leaves a swap file for every suffix, empty if need
// be.
Result<void> put_in_place(const LogPlace& place, Offset base) {
  for (const auto suffix : kSegmentSuffixes) {
    const std::string swap = place.path(base, with(suffix, kSwapSuffix));
    if (!place.files.exists(swap)) continue;
    KM_TRY_VOID(place.files.rename(swap, place.path(base, suffix)));
  }
  return place.files.remove(place.path(base, kMergedSuffix));
}

}  // namespace

Result<bool> finish_interrupted_cleaning(const LogPlace& place) {
  KM_TRY(found, look(place));
  for (const Offset swap : found.swapped) {
    KM_TRY(replaced, replaced_by(place, swap, found));
    for (const Offset base : replaced) {
      if (base != swap) KM_TRY_VOID(remove_segment(place, base));
    }
    KM_TRY_VOID(put_in_place(place, swap));
    KM_LOG(kInfo, "storage.cleaning_finished", "{}: segment {} put in the place of {}",
           place.directory, swap, replaced.size());
    found.any = true;
  }
  return found.any;
}

}  // namespace kmirror::storage
