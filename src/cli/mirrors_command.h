// The actions of kafka-cluster-mirrors.sh against a running cluster.
#pragma once

#include "cli/command.h"
#include "kmirror/cli/mirrors_options.h"

namespace kmirror::cli {

/// Carries out the action and prints its result. The exit code is 1 if the cluster refused
/// anything.
[[nodiscard]] env::Awaitable<int> run_mirrors(env::Environment& environment,
                                              MirrorsOptions options);

}  // namespace kmirror::cli
