#include "storage/segment_files.h"

#include <charconv>

#include <fmt/format.h>

namespace kmirror::storage {
namespace {
constexpr std::size_t kDigits = 20;
}

std::string LogPlace::path(Offset base, std::string_view suffix) const {
  return fmt::format("{}/{:020}{}", directory, base.get(), suffix);
}

std::optional<SegmentFileName> parse_segment_file_name(std::string_view name) {
  if (name.size() <= kDigits || name[kDigits] != '.') return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + kDigits, value);
  if (error != std::errc{} || end != name.data() + kDigits || value < 0) return std::nullopt;
  SegmentFileName parsed;
  parsed.base = Offset(value);
  parsed.suffix = name.substr(kDigits);
  return parsed;
}

}  // namespace kmirror::storage
