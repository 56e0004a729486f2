// The daemon's command line: kmirrord FILE [--override key=value]… [--check] [--version] [--help].
#pragma once

namespace kmirror::app {

/// Runs the daemon until SIGTERM or SIGINT. Exit codes: 0 stopped cleanly (or --check is well),
/// 64 wrong usage, 78 the configuration is wrong (one line names key, value and remedy), 1 anything
/// else. Called by main() only.
int run_daemon(int argc, char** argv);

}  // namespace kmirror::app
