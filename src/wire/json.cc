#include "kmirror/wire/json.h"

#include <fmt/format.h>

namespace kmirror::wire {

void JsonRenderer::name(const FieldSpec& spec, bool as_size) {
  if (!first_) out_ += ',';
  first_ = false;
  const std::string_view path = spec.path;
  const std::size_t start = path.rfind('.') + 1;
  const char initial = path[start];
  out_ += '"';
  out_ += initial >= 'A' && initial <= 'Z' ? static_cast<char>(initial - 'A' + 'a') : initial;
  out_ += path.substr(start + 1);
  if (as_size) out_ += "SizeInBytes";
  out_ += "\":";
}

void JsonRenderer::integer(std::int64_t value) { out_ += fmt::to_string(value); }

void JsonRenderer::floating(double value) { out_ += fmt::format("{:#}", value); }

void JsonRenderer::string(std::string_view text) {
  out_ += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out_ += c;
    }
  }
  out_ += '"';
}

void JsonRenderer::base64(const Bytes& bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  out_ += '"';
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? bytes[i + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k) {
      out_ += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  out_ += '"';
}

}  // namespace kmirror::wire
