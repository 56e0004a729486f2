#include "cli/command.h"

#include <cstdio>

#include "kmirror/base/properties.h"
#include "kmirror/env/posix.h"

namespace kmirror::cli {
namespace {

constexpr std::size_t kMaxPropertiesBytes = 1 << 20;

using Task = std::function<env::Awaitable<int>(env::Environment&)>;

env::Awaitable<void> run_and_store(env::Environment& environment, const Task& task, int& code) {
  code = co_await task(environment);
}

}  // namespace

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void print_error(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

int fail(const Error& error) {
  print_error("Error: " + error.message);
  return kExitFailed;
}

int run_task(const Task& task) {
  env::PosixEnvironment posix(env::PosixOptions(1, 1));
  posix.start();
  int code = kExitFailed;
  posix.run(*posix.environment().loops.front(), run_and_store(posix.environment(), task, code));
  posix.stop();
  return code;
}

Result<std::map<std::string, std::string>> read_properties(env::Environment& environment,
                                                           const std::string& path) {
  KM_TRY(text, environment.files.read_text(path, kMaxPropertiesBytes));
  auto parsed = parse_properties(text);
  if (!parsed) return Error(parsed.error().code, path + ": " + parsed.error().message);
  std::map<std::string, std::string> out;
  for (Property& property : *parsed) out[std::move(property.key)] = std::move(property.value);
  return out;
}

Result<std::unique_ptr<client::AdminClient>> make_admin(
    env::Environment& environment, const std::string& bootstrap,
    const std::optional<std::string>& command_config) {
  client::AdminOptions options;
  KM_TRY(endpoints, client::parse_bootstrap(bootstrap));
  options.bootstrap = std::move(endpoints);
  if (command_config) {
    KM_TRY(properties, read_properties(environment, *command_config));
    const auto protocol = properties.find("security.protocol");
    if (protocol != properties.end() && protocol->second != "PLAINTEXT") {
      return Error(make_error_code(boost::system::errc::not_supported),
                   *command_config + ": security.protocol " + protocol->second +
                       " is not supported by this tool yet; use PLAINTEXT");
    }
  }
  options.connection.client_id = "kmirror-cli";
  return std::make_unique<client::AdminClient>(environment, *environment.loops.front(),
                                               std::move(options));
}

}  // namespace kmirror::cli
