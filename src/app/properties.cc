// Java properties text. Sources: java.util.Properties.load(Reader).
#include <cstdint>

#include "kmirror/app/config.h"
#include "kmirror/metadata/config_def.h"
#include "kmirror/model/error_code.h"

namespace kmirror::app {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

/// Takes logical lines off the text: comments and empty lines skipped, continuations joined.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  /// False at the end. `line` has no leading blanks; escapes are still in it.
  bool next(std::string& line) {
    line.clear();
    while (!rest_.empty()) {
      std::string_view part = take_line();
      while (!part.empty() && is_blank(part.front())) part.remove_prefix(1);
      const bool is_first = line.empty();
      if (is_first && (part.empty() || part.front() == '#' || part.front() == '!')) continue;
      if (is_first) first_line_ = line_;
      const bool goes_on = ends_in_odd_backslashes(part);
      if (goes_on) part.remove_suffix(1);
      line += part;
      if (!goes_on) return true;
      if (line.empty()) line += ' ';  // a lone backslash: the next line goes on with this one
    }
    return !line.empty();
  }
  /// Number of the line on which the last logical line began, from 1.
  [[nodiscard]] std::size_t line_number() const { return first_line_; }

 private:
  std::string_view take_line() {
    ++line_;
    const std::size_t end = rest_.find_first_of("\r\n");
    std::string_view line = rest_.substr(0, end);
    if (end == std::string_view::npos) {
      rest_ = {};
      return line;
    }
    const bool crlf = rest_[end] == '\r' && end + 1 < rest_.size() && rest_[end + 1] == '\n';
    rest_.remove_prefix(end + (crlf ? 2 : 1));
    return line;
  }
  static bool ends_in_odd_backslashes(std::string_view line) {
    std::size_t count = 0;
    while (count < line.size() && line[line.size() - 1 - count] == '\\') ++count;
    return count % 2 == 1;
  }

  std::string_view rest_;
  std::size_t line_ = 0;
  std::size_t first_line_ = 0;
};

void append_utf8(std::string& to, std::uint32_t code) {
  const auto byte = [&to](std::uint32_t value) { to += static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | (code >> 6));
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3F));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

/// Four hexadecimal digits at `text[from]`; -1 if they are not there.
std::int32_t hex4(std::string_view text, std::size_t from) {
  if (from + 4 > text.size()) return -1;
  std::int32_t value = 0;
  for (std::size_t i = from; i < from + 4; ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

/// `text` without its escapes. False for a broken \u.
bool unescape(std::string_view text, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char kind = text[++i];
    if (kind != 'u') {
      out += kind == 't'   ? '\t'
             : kind == 'n' ? '\n'
             : kind == 'r' ? '\r'
             : kind == 'f' ? '\f'
                           : kind;
      continue;
    }
    std::int32_t code = hex4(text, i + 1);
    if (code < 0) return false;
    i += 4;
    // Java's characters are UTF-16: a pair of surrogates is one code point.
    const bool pair = code >= 0xD800 && code < 0xDC00 && text.substr(i + 1, 2) == "\\u";
    const std::int32_t low = pair ? hex4(text, i + 3) : -1;
    if (low >= 0xDC00 && low < 0xE000) {
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      i += 6;
    }
    append_utf8(out, static_cast<std::uint32_t>(code));
  }
  return true;
}

/// Position of the first '=', ':' or blank that no backslash stands before.
std::size_t key_end(std::string_view line) {
  bool escaped = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (escaped) {
      escaped = false;
    } else if (line[i] == '\\') {
      escaped = true;
    } else if (line[i] == '=' || line[i] == ':' || is_blank(line[i])) {
      return i;
    }
  }
  return line.size();
}

}  // namespace

Result<metadata::ConfigMap> parse_properties(std::string_view text) {
  metadata::ConfigMap values;
  LineReader reader(text);
  std::string line;
  while (reader.next(line)) {
    const std::size_t end = key_end(line);
    std::size_t from = end;
    while (from < line.size() && is_blank(line[from])) ++from;
    if (from < line.size() && (line[from] == '=' || line[from] == ':')) ++from;
    while (from < line.size() && is_blank(line[from])) ++from;
    std::string key;
    std::string value;
    if (!unescape(std::string_view(line).substr(0, end), key) ||
        !unescape(std::string_view(line).substr(from), value)) {
      return kafka_error(ErrorCode::INVALID_CONFIG,
                         fmt::format("line {}: \\u needs four hexadecimal digits; write \\\\ for a "
                                     "backslash",
                                     reader.line_number()));
    }
    values.insert_or_assign(std::move(key), std::move(value));
  }
  return values;
}

Result<void> apply_override(metadata::ConfigMap& values, std::string_view override_) {
  const std::size_t equals = override_.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return kafka_error(ErrorCode::INVALID_CONFIG,
                       fmt::format("--override '{}' is not of the form key=value", override_));
  }
  const metadata::ConfigTable& table = metadata::broker_configs();
  const std::string key(override_.substr(0, equals));
  const std::string name = table.canonical(key);
  std::erase_if(values, [&](const auto& entry) { return table.canonical(entry.first) == name; });
  values.insert_or_assign(key, std::string(override_.substr(equals + 1)));
  return {};
}

}  // namespace kmirror::app
