#include "storage/leader_epoch_cache.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "kmirror/bytes/reader.h"
#include "storage/checkpoint_file.h"

namespace kmirror::storage {
namespace {

// The first entry with an epoch above `epoch`.
LeaderEpochCache::Entries::const_iterator higher(const LeaderEpochCache::Entries& entries,
                                                 LeaderEpoch epoch) {
  return std::upper_bound(entries.begin(), entries.end(), epoch,
                          [](LeaderEpoch e, const EpochEntry& entry) { return e < entry.epoch; });
}

}  // namespace

EpochAndEndOffset LeaderEpochCache::end_offset_for(LeaderEpoch epoch, Offset log_end) const {
  const auto view = entries();
  if (epoch < LeaderEpoch(0) || view->empty()) return {};
  if (epoch == view->back().epoch) return {epoch, log_end};
  const auto above = higher(*view, epoch);
  if (above == view->end()) return {};
  // Older than everything known: its data is gone, and the log goes on where the first epoch
  // starts.
  if (above == view->begin()) return {epoch, above->start_offset};
  return {std::prev(above)->epoch, above->start_offset};
}

std::optional<LeaderEpoch> LeaderEpochCache::epoch_for(Offset offset) const {
  const auto view = entries();
  const auto above =
      std::upper_bound(view->begin(), view->end(), offset,
                       [](Offset o, const EpochEntry& entry) { return o < entry.start_offset; });
  if (above == view->begin()) return std::nullopt;
  return std::prev(above)->epoch;
}

LeaderEpoch LeaderEpochCache::latest() const {
  const auto view = entries();
  return view->empty() ? kNoLeaderEpoch : view->back().epoch;
}

bool LeaderEpochCache::assign(LeaderEpoch epoch, Offset start) {
  if (epoch < LeaderEpoch(0)) return false;
  if (!entries_.empty() && entries_.back().epoch == epoch &&
      entries_.back().start_offset <= start) {
    return false;
  }
  while (!entries_.empty() &&
         (entries_.back().epoch >= epoch || entries_.back().start_offset >= start)) {
    entries_.pop_back();
  }
  entries_.emplace_back(epoch, start);
  publish();
  return true;
}

bool LeaderEpochCache::truncate_from_end(Offset offset) {
  bool changed = false;
  while (!entries_.empty() && entries_.back().start_offset >= offset) {
    entries_.pop_back();
    changed = true;
  }
  if (changed) publish();
  return changed;
}

bool LeaderEpochCache::truncate_from_start(Offset offset) {
  std::size_t keep = entries_.size();
  while (keep > 0 && entries_[keep - 1].start_offset > offset) --keep;
  if (keep == 0) return false;
  const std::size_t first = keep - 1;  // the epoch that `offset` belongs to
  if (first == 0 && entries_[0].start_offset == offset) return false;
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(first));
  entries_[0].start_offset = offset;
  publish();
  return true;
}

void LeaderEpochCache::replace(Entries entries) {
  entries_ = std::move(entries);
  publish();
}

void LeaderEpochCache::publish() {
  dirty_ = true;
  published_.store(std::make_shared<const Entries>(entries_));
}

std::string LeaderEpochCache::to_text(const Entries& entries) {
  std::vector<std::string> lines;
  lines.reserve(entries.size());
  for (const auto& entry : entries) {
    lines.push_back(fmt::format("{} {}", entry.epoch, entry.start_offset));
  }
  return checkpoint_text(lines);
}

Result<LeaderEpochCache::Entries> LeaderEpochCache::parse(std::string_view text) {
  KM_TRY(lines, parse_checkpoint(text));
  Entries entries;
  for (const auto& line : lines) {
    const auto fields = split_fields(line);
    std::optional<std::int64_t> epoch;
    std::optional<std::int64_t> start;
    if (fields.size() == 2) {
      epoch = parse_number(fields[0], std::numeric_limits<std::int32_t>::max());
      start = parse_number(fields[1], std::numeric_limits<std::int64_t>::max());
    }
    const bool rises = entries.empty() || (epoch && start && *epoch > entries.back().epoch.get() &&
                                           *start > entries.back().start_offset.get());
    if (!epoch || !start || !rises) {
      return bytes_error(BytesErrc::kBadValue, "leader epoch checkpoint: bad line '" + line + "'");
    }
    entries.emplace_back(LeaderEpoch(static_cast<std::int32_t>(*epoch)), Offset(*start));
  }
  return entries;
}

}  // namespace kmirror::storage
