// The command line tool: `kmirror COMMAND …`, and kafka-cluster-mirrors.sh under its own name.
#pragma once

namespace kmirror::cli {

/// Runs the command that `argv` asks for and returns the exit code: 0 done, 1 failed or wrong
/// usage. Called by main() only.
int run(int argc, char** argv);

}  // namespace kmirror::cli
