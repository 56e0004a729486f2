#include <map>
#include <string>

#include <fmt/format.h>

#include "kmirror/base/log.h"
#include "kmirror/ops/http_server.h"

namespace kmirror::ops {
namespace {

constexpr const char* kPlain = "text/plain; charset=utf-8";

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

// key=value pairs after '?', undecoded: our parameters need no escapes.
std::map<std::string, std::string, std::less<>> parameters(std::string_view query) {
  std::map<std::string, std::string, std::less<>> out;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    out[std::string(pair.substr(0, equals))] =
        std::string(pair.substr(std::min(equals + 1, pair.size())));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return out;
}

HttpAnswer ready_answer(const std::vector<Check>& checks, bool verbose) {
  bool ok = true;
  std::string body;
  for (const Check& check : checks) {
    ok = ok && check.ok;
    if (verbose || !check.ok) {
      body += fmt::format("[{}] {}{}{}\n", check.ok ? '+' : '-', check.name,
                          check.detail.empty() ? "" : ": ", check.detail);
    }
  }
  body += ok ? "ready\n" : "not ready\n";
  return {ok ? 200U : 503U, kPlain, std::move(body)};
}

HttpAnswer set_log_level(std::string_view query) {
  const auto given = parameters(query);
  const auto level_text = given.find("level");
  log::Level level{};
  if (level_text == given.end() || !log::parse_level(level_text->second, level)) {
    return {400, kPlain, "level must be one of trace, debug, info, warn, error\n"};
  }
  const auto prefix = given.find("prefix");
  const std::string name = prefix == given.end() ? "" : prefix->second;
  log::set_level(name, level);
  return {200, kPlain, fmt::format("{} = {}\n", name.empty() ? "all" : name, level_text->second)};
}

}  // namespace

std::string render_prometheus(const std::vector<metrics::Sample>& samples) {
  std::string out;
  std::string_view previous;
  for (const metrics::Sample& sample : samples) {
    if (sample.name != previous) {
      out += fmt::format("# HELP {} ", sample.name);
      append_escaped(out, sample.help, false);
      out += fmt::format("\n# TYPE {} {}\n", sample.name,
                         sample.kind == metrics::Kind::kCounter ? "counter" : "gauge");
      previous = sample.name;
    }
    out += sample.name;
    if (!sample.labels.empty()) {
      char separator = '{';
      for (const auto& [key, value] : sample.labels) {
        out += separator;
        out += key;
        out += "=\"";
        append_escaped(out, value, true);
        out += '"';
        separator = ',';
      }
      out += '}';
    }
    out += fmt::format(" {}\n", sample.value);
  }
  return out;
}

HttpAnswer answer(std::string_view method, std::string_view target,
                  const metrics::Registry& metrics,
                  const std::function<std::vector<Check>()>& ready) {
  const std::size_t question = std::min(target.find('?'), target.size());
  const std::string_view path = target.substr(0, question);
  const std::string_view query = target.substr(std::min(question + 1, target.size()));
  if (path == "/log-level") {
    if (method == "PUT") return set_log_level(query);
    return {405, kPlain, "use PUT /log-level?level=LEVEL[&prefix=EVENT-PREFIX]\n"};
  }
  if (method != "GET" && method != "HEAD") return {405, kPlain, "only GET is served here\n"};
  if (path == "/metrics") {
    return {200, "text/plain; version=0.0.4; charset=utf-8", render_prometheus(metrics.snapshot())};
  }
  if (path == "/livez") return {200, kPlain, "alive\n"};
  if (path == "/readyz") return ready_answer(ready(), parameters(query).contains("verbose"));
  return {404, kPlain, "served here: /metrics /livez /readyz?verbose /log-level\n"};
}

}  // namespace kmirror::ops
