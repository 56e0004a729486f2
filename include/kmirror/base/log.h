// One line an event, text or JSON, with a level that can be changed while the process runs.
// Owner: any thread. Never pass a secret.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace kmirror::log {

enum class Level { kTrace, kDebug, kInfo, kWarn, kError };
enum class Format { kText, kJson };

/// Sets up the process's log on standard error. Call once at start-up; calls before it, and in
/// tests, print text at level warn.
void configure(Format format, Level level);

/// Changes the level for events whose name starts with `prefix` (empty: all). Takes effect at once.
void set_level(std::string_view prefix, Level level);

/// Parses "trace", "debug", "info", "warn" or "error"; false if it is none of them.
[[nodiscard]] bool parse_level(std::string_view text, Level& level);

[[nodiscard]] bool enabled(Level level, std::string_view event);
void write(Level level, std::string_view event, const std::string& message);

}  // namespace kmirror::log

// KM_LOG(kInfo, "mirror.started", "mirror {} topic {}", mirror, topic)
// The event name is stable: operators and tests look for it. Dotted: room, then what happened.
#define KM_LOG(level, event, ...)                                                             \
  do {                                                                                        \
    if (::kmirror::log::enabled(::kmirror::log::Level::level, event))                         \
      ::kmirror::log::write(::kmirror::log::Level::level, event, ::fmt::format(__VA_ARGS__)); \
  } while (false)
