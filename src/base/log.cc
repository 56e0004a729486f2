#include "kmirror/base/log.h"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "kmirror/base/published.h"

namespace kmirror::log {
namespace {

struct Levels {
  Level general = Level::kWarn;
  std::map<std::string, Level, std::less<>> by_prefix;
};

struct State {
  Published<Levels> levels{std::make_shared<Levels>()};
  std::mutex mutex;  // guards the change of levels, not their use
  Format format = Format::kText;
  std::shared_ptr<spdlog::logger> logger = make_logger();

  static std::shared_ptr<spdlog::logger> make_logger() {
    auto logger = std::make_shared<spdlog::logger>(
        "kmirror", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_level(spdlog::level::trace);
    logger->flush_on(spdlog::level::trace);
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %^%l%$ %v");
    return logger;
  }
};

State& state() {
  static State instance;
  return instance;
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kTrace:
      return spdlog::level::trace;
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::string json_escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 8);
  for (char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (u < 0x20) {
      out += fmt::format("\\u{:04x}", u);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

void configure(Format format, Level level) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  s.format = format;
  s.logger->set_pattern(format == Format::kText
                            ? "%Y-%m-%dT%H:%M:%S.%e%z %l %v"
                            : R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})");
  auto next = std::make_shared<Levels>(*s.levels.load());
  next->general = level;
  s.levels.store(std::move(next));
}

void set_level(std::string_view prefix, Level level) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  auto next = std::make_shared<Levels>(*s.levels.load());
  if (prefix.empty()) {
    next->general = level;
    next->by_prefix.clear();
  } else {
    next->by_prefix[std::string(prefix)] = level;
  }
  s.levels.store(std::move(next));
}

bool parse_level(std::string_view text, Level& level) {
  static const std::map<std::string_view, Level> names{{"trace", Level::kTrace},
                                                       {"debug", Level::kDebug},
                                                       {"info", Level::kInfo},
                                                       {"warn", Level::kWarn},
                                                       {"error", Level::kError}};
  const auto found = names.find(text);
  if (found == names.end()) return false;
  level = found->second;
  return true;
}

bool enabled(Level level, std::string_view event) {
  const auto levels = state().levels.load();
  Level limit = levels->general;
  std::size_t best = 0;
  for (const auto& [prefix, prefix_level] : levels->by_prefix) {
    if (prefix.size() > best && event.starts_with(prefix)) {
      best = prefix.size();
      limit = prefix_level;
    }
  }
  return level >= limit;
}

void write(Level level, std::string_view event, const std::string& message) {
  State& s = state();
  if (s.format == Format::kText) {
    s.logger->log(to_spdlog(level), "{}: {}", event, message);
  } else {
    s.logger->log(to_spdlog(level), R"("event":"{}","message":"{}")", json_escape(event),
                  json_escape(message));
  }
}

}  // namespace kmirror::log
