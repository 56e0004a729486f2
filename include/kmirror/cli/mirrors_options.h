// MirrorsOptions: the command line of kafka-cluster-mirrors.sh (kmirror mirrors), parsed and
// checked. Sources: spec H.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kmirror/base/result.h"

namespace kmirror::cli {

enum class MirrorsAction {
  kHelp,
  kCreate,
  kStart,
  kStop,
  kPause,
  kResume,
  kRecover,
  kDelete,
  kList,
  kDescribe,
};

struct MirrorsOptions {
  MirrorsOptions() = default;
  MirrorsAction action = MirrorsAction::kHelp;
  std::string bootstrap_server;
  std::optional<std::string> command_config;
  std::string mirror;
  std::string mirror_config;
  std::vector<std::string> topics;
  std::vector<std::string> exclude;
  bool all_topics = false;
  bool json = false;
  bool failed = false;
};

/// Parses the arguments behind the program's name. Exactly one action. Error: the message is for
/// the user and names the option and what is missing; exit code 1.
[[nodiscard]] Result<MirrorsOptions> parse_mirrors_options(
    const std::vector<std::string>& arguments);
[[nodiscard]] std::string mirrors_help();

/// "a, b,,c" as {a, b, c}: trimmed, empty entries dropped.
[[nodiscard]] std::vector<std::string> split_list(std::string_view text);
/// A usage error with this text.
[[nodiscard]] Error usage_error(std::string text);

}  // namespace kmirror::cli
