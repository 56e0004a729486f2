// Errors of the outside world: system codes with a text that names the thing.
// Owner: any thread.
#pragma once

#include <string>

#include "kmirror/base/result.h"

namespace kmirror::env {

/// `code` is an errno value; the message is "`what`: <the system's words>".
[[nodiscard]] Error system_error(int code, const std::string& what);

/// A wait that ended because its task was cancelled or its stream closed (ECANCELED).
[[nodiscard]] Error aborted_error(const std::string& what);

/// A wait whose deadline passed (ETIMEDOUT).
[[nodiscard]] Error timed_out_error(const std::string& what);

[[nodiscard]] bool is_aborted(const Error& error);
[[nodiscard]] bool is_timed_out(const Error& error);
/// True if `error` is the system's error `code` (an errno value), for instance ENOSPC or ENOENT.
[[nodiscard]] bool is_system(const Error& error, int code);

}  // namespace kmirror::env
