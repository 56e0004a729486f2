#include "kmirror/cli/cli.h"

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/compare_command.h"
#include "cli/mirrors_command.h"
#include "cli/progress_command.h"
#include "cli/sample_data_command.h"
#include "kmirror/version.h"

namespace kmirror::cli {
namespace {

constexpr const char* kHelp =
    "Usage: kmirror COMMAND [options]\n"
    "  mirrors       manage mirrors; the same as kafka-cluster-mirrors.sh\n"
    "  progress      show how a mirror catches up\n"
    "  compare       compare the logs of two clusters byte for byte\n"
    "  sample-data   fill a cluster with sample topics\n"
    "  version       print the version\n"
    "Each command explains itself with --help.\n";

int mirrors(const std::vector<std::string>& arguments) {
  const auto options = parse_mirrors_options(arguments);
  if (!options) {
    print_error("Error: " + options.error().message);
    return kExitFailed;
  }
  return run_task(
      [&options](env::Environment& environment) { return run_mirrors(environment, *options); });
}

}  // namespace

int run(int argc, char** argv) {
  const std::vector<std::string> all(argv, argv + argc);
  const std::string program = all.empty() ? "kmirror" : all.front();
  const std::vector<std::string> rest(all.begin() + (all.empty() ? 0 : 1), all.end());
  // The KIP's own tool is the same binary under another name.
  if (program.ends_with("kafka-cluster-mirrors.sh")) return mirrors(rest);
  if (rest.empty() || rest.front() == "--help" || rest.front() == "help") {
    print(kHelp);
    return rest.empty() ? kExitFailed : kExitOk;
  }
  const std::string& command = rest.front();
  const std::vector<std::string> arguments(rest.begin() + 1, rest.end());
  if (command == "mirrors") return mirrors(arguments);
  if (command == "progress") return progress_command(arguments);
  if (command == "compare") return compare_command(arguments);
  if (command == "sample-data") return sample_data_command(arguments);
  if (command == "version" || command == "--version") {
    print("kmirror " KMIRROR_VERSION "\n");
    return kExitOk;
  }
  print_error("Error: unknown command '" + command + "'\n" + kHelp);
  return kExitFailed;
}

}  // namespace kmirror::cli
