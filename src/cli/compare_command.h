// kmirror compare: see its --help.
#pragma once

#include <string>
#include <vector>

namespace kmirror::cli {

/// Runs the command with the arguments behind its name and returns the exit code.
int compare_command(const std::vector<std::string>& arguments);

}  // namespace kmirror::cli
