// kmirror progress: see its --help.
#pragma once

#include <string>
#include <vector>

namespace kmirror::cli {

/// Runs the command with the arguments behind its name and returns the exit code.
int progress_command(const std::vector<std::string>& arguments);

}  // namespace kmirror::cli
