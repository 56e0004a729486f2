// KM_CHECK: for states that only a bug of ours can bring about. Always on. Never on bytes that
// came from a peer, a disk or a configuration file.
#pragma once

#include <string>

#include <fmt/core.h>

namespace kmirror {

[[noreturn]] void check_failed(const char* expression, const char* file, int line,
                               const std::string& values);

}  // namespace kmirror

// KM_CHECK(condition, "format {}", values...): aborts with the values when the condition is false.
#define KM_CHECK(condition, ...)                                                           \
  do {                                                                                     \
    if (!(condition)) [[unlikely]]                                                         \
      ::kmirror::check_failed(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
  } while (false)
