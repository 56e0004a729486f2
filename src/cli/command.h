// What every command of the tool shares: its environment, its connection, its output.
// Owner: the command's one task on loop 0.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kmirror/client/admin.h"
#include "kmirror/env/async.h"
#include "kmirror/env/environment.h"

namespace kmirror::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;

/// Prints "Error: TEXT" on standard error and returns kExitFailed.
int fail(const Error& error);
void print(const std::string& text);
void print_error(const std::string& text);

/// Runs `task(environment)` on a loop of its own and returns its exit code. `task` makes the
/// awaitable of a named coroutine.
int run_task(const std::function<env::Awaitable<int>(env::Environment&)>& task);

/// A client for "host:port,…" with the settings of `command_config`, if any. Errors: a bad address,
/// an unreadable file.
[[nodiscard]] Result<std::unique_ptr<client::AdminClient>> make_admin(
    env::Environment& environment, const std::string& bootstrap,
    const std::optional<std::string>& command_config);

/// The keys and values of a properties file. Error: unreadable; the message names the file.
[[nodiscard]] Result<std::map<std::string, std::string>> read_properties(
    env::Environment& environment, const std::string& path);

}  // namespace kmirror::cli
