// The process itself: its terminal, its service manager, its environment variables.
// Owner: any thread. Implemented in src/env/posix; a simulation has no process.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "kmirror/base/result.h"

namespace kmirror::env {

/// True if standard output is a terminal, so that lines may be drawn over.
[[nodiscard]] bool standard_output_is_terminal();
/// Processors this process may use; at least 1.
[[nodiscard]] std::size_t processor_count();
/// The variable's value, nothing if it is not set.
[[nodiscard]] std::optional<std::string> environment_variable(const char* name);
/// Tells the service manager `state` ("READY=1", "WATCHDOG=1", "STOPPING=1", …) by the datagram
/// socket in $NOTIFY_SOCKET; does nothing without it. Errors: the system's.
/// Sources: systemd sd_notify(3), "Notify protocol".
[[nodiscard]] Result<void> notify_service_manager(const std::string& state);

}  // namespace kmirror::env
