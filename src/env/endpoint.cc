#include <cerrno>
#include <charconv>

#include <fmt/format.h>

#include "kmirror/env/errors.h"
#include "kmirror/env/network.h"

namespace kmirror::env {
namespace {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

Error invalid(std::string_view text, std::string_view why) {
  return {ErrorCodeBase(EINVAL, boost::system::system_category()),
          fmt::format("'{}' is not host:port: {}", text, why)};
}

Result<std::uint16_t> parse_port(std::string_view whole, std::string_view text) {
  if (text.empty()) return invalid(whole, "the port is missing");
  std::uint32_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port > 65535) {
    return invalid(whole, fmt::format("the port '{}' is no number from 0 to 65535", text));
  }
  return static_cast<std::uint16_t>(port);
}

}  // namespace

std::string Endpoint::text() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return invalid(text, "the closing ']' is missing");
    if (close == 1) return invalid(text, "the host is missing");
    if (close + 1 == text.size() || text[close + 1] != ':') {
      return invalid(text, "':' and a port must follow the ']'");
    }
    KM_TRY(port, parse_port(text, text.substr(close + 2)));
    return Endpoint(std::string(text.substr(1, close - 1)), port);
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return invalid(text, "the port is missing");
  if (text.find(':', colon + 1) != std::string_view::npos) {
    return invalid(text, "an IPv6 address must stand in brackets, as in [::1]:9092");
  }
  if (colon == 0) return invalid(text, "the host is missing");
  const std::string_view host = text.substr(0, colon);
  if (host.find_first_of(" \t/") != std::string_view::npos) {
    return invalid(text, "the host contains a blank or '/'");
  }
  KM_TRY(port, parse_port(text, text.substr(colon + 1)));
  return Endpoint(std::string(host), port);
}

Result<std::vector<Endpoint>> parse_endpoints(std::string_view text) {
  std::vector<Endpoint> endpoints;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::string_view part = trim(text.substr(start, comma - start));
    start = comma + 1;
    // Kafka allows a comma too many.
    if (part.empty()) continue;
    KM_TRY(endpoint, parse_endpoint(part));
    if (endpoint.port == 0) return invalid(part, "port 0 cannot be connected to");
    endpoints.push_back(std::move(endpoint));
  }
  if (endpoints.empty()) return invalid(text, "at least one host:port is needed");
  return endpoints;
}

}  // namespace kmirror::env
