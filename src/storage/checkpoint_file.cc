#include "storage/checkpoint_file.h"

#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "kmirror/base/log.h"
#include "kmirror/bytes/reader.h"

namespace kmirror::storage {
namespace {

Error bad(std::string text) {
  return bytes_error(BytesErrc::kBadValue, "checkpoint: " + std::move(text));
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return line;
}

}  // namespace

std::string checkpoint_text(const std::vector<std::string>& lines) {
  std::string text = fmt::format("0\n{}\n", lines.size());
  for (const auto& line : lines) {
    text += line;
    text += '\n';
  }
  return text;
}

Result<std::vector<std::string>> parse_checkpoint(std::string_view text) {
  if (take_line(text) != "0") return bad("the first line is not version 0");
  const auto count = parse_number(take_line(text), std::numeric_limits<std::int32_t>::max());
  if (!count) return bad("the second line is not a number of entries");
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto line = take_line(text);
    if (!line.empty()) lines.emplace_back(line);
  }
  if (static_cast<std::int64_t>(lines.size()) != *count) {
    return bad(fmt::format("{} entries announced, {} there", *count, lines.size()));
  }
  return lines;
}

std::vector<std::string_view> split_fields(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start == std::string_view::npos) return fields;
    line = line.substr(start);
    const std::size_t end = line.find(' ');
    fields.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return fields;
    line = line.substr(end);
  }
}

std::optional<std::int64_t> parse_number(std::string_view text, std::int64_t max) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value < 0 || value > max) return std::nullopt;
  return value;
}

std::string to_text(const OffsetCheckpoint& offsets) {
  std::vector<std::string> lines;
  lines.reserve(offsets.size());
  for (const auto& [partition, offset] : offsets) {
    lines.push_back(fmt::format("{} {} {}", partition.topic, partition.partition, offset));
  }
  return checkpoint_text(lines);
}

Result<OffsetCheckpoint> parse_offset_checkpoint(std::string_view text) {
  KM_TRY(lines, parse_checkpoint(text));
  OffsetCheckpoint offsets;
  for (const auto& line : lines) {
    const auto fields = split_fields(line);
    if (fields.size() != 3) return bad("bad line '" + line + "'");
    const auto partition = parse_number(fields[1], std::numeric_limits<std::int32_t>::max());
    const auto offset = parse_number(fields[2], std::numeric_limits<std::int64_t>::max());
    if (!partition || !offset) return bad("bad line '" + line + "'");
    offsets[{std::string(fields[0]), static_cast<std::int32_t>(*partition)}] = Offset(*offset);
  }
  return offsets;
}

Result<OffsetCheckpoint> read_offset_checkpoint(env::FileSystem& files, const std::string& path) {
  if (!files.exists(path)) return OffsetCheckpoint{};
  KM_TRY(text, files.read_text(path, kMaxCheckpointBytes));
  auto offsets = parse_offset_checkpoint(text);
  if (offsets) return std::move(*offsets);
  KM_LOG(kWarn, "storage.checkpoint_ignored", "{}: {}; the logs are read instead", path,
         offsets.error().message);
  return OffsetCheckpoint{};
}

}  // namespace kmirror::storage
