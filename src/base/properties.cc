#include "kmirror/base/properties.h"

#include <fmt/format.h>
#include <boost/system/errc.hpp>

namespace kmirror {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

std::string_view without_leading_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

// Takes the next natural line off `rest`, without its end.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool ends_in_continuation(std::string_view line) {
  std::size_t slashes = 0;
  while (slashes < line.size() && line[line.size() - 1 - slashes] == '\\') ++slashes;
  return slashes % 2 == 1;
}

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    if (code < 0x10000) {
      out += static_cast<char>(0xe0 | (code >> 12));
    } else {
      out += static_cast<char>(0xf0 | (code >> 18));
      out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    }
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

Result<unsigned> hex_code(std::string_view digits, int line) {
  unsigned code = 0;
  for (const char c : digits) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) digits = {};
    code = code * 16 + static_cast<unsigned>(digit);
  }
  if (digits.size() != 4) {
    return Error(make_error_code(boost::system::errc::invalid_argument),
                 fmt::format("line {}: \\u must be followed by four hexadecimal digits", line));
  }
  return code;
}

Result<std::string> unescape(std::string_view text, int line) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    switch (c) {
      case 't':
        out += '\t';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 'f':
        out += '\f';
        break;
      case 'u': {
        KM_TRY(code, hex_code(text.substr(i + 1, 4), line));
        i += 4;
        // Java's characters are UTF-16: a pair of surrogates is one code point.
        if (code >= 0xd800 && code < 0xdc00 && text.substr(i + 1, 2) == "\\u") {
          KM_TRY(low, hex_code(text.substr(i + 3, 4), line));
          if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            i += 6;
          }
        }
        append_utf8(out, code);
        break;
      }
      default:
        out += c;
    }
  }
  return out;
}

// Where the key ends: the first blank, '=' or ':' that no backslash guards.
std::size_t key_length(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (is_blank(line[i]) || line[i] == '=' || line[i] == ':') {
      return i;
    }
  }
  return line.size();
}

}  // namespace

Result<std::vector<Property>> parse_properties(std::string_view text) {
  std::vector<Property> out;
  int line_number = 0;
  while (!text.empty()) {
    std::string_view first = without_leading_blanks(take_line(text));
    ++line_number;
    if (first.empty() || first.front() == '#' || first.front() == '!') continue;
    Property property;
    property.line = line_number;
    std::string logical(first);
    while (ends_in_continuation(logical)) {
      logical.pop_back();
      if (text.empty()) break;
      logical += without_leading_blanks(take_line(text));
      ++line_number;
    }
    const std::string_view whole = logical;
    const std::size_t end = key_length(whole);
    std::string_view value = without_leading_blanks(whole.substr(end));
    if (!value.empty() && (value.front() == '=' || value.front() == ':')) {
      value = without_leading_blanks(value.substr(1));
    }
    KM_TRY(key, unescape(whole.substr(0, end), property.line));
    KM_TRY(unescaped, unescape(value, property.line));
    property.key = std::move(key);
    property.value = std::move(unescaped);
    out.push_back(std::move(property));
  }
  return out;
}

}  // namespace kmirror
