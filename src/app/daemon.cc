#include "kmirror/app/daemon.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kmirror/app/broker.h"
#include "kmirror/app/config.h"
#include "kmirror/base/log.h"
#include "kmirror/env/async.h"
#include "kmirror/env/posix.h"
#include "kmirror/env/process.h"
#include "kmirror/version.h"

namespace kmirror::app {
namespace {

constexpr int kExitUsage = 64;   // EX_USAGE of sysexits.h
constexpr int kExitConfig = 78;  // EX_CONFIG

constexpr const char* kHelp =
    "Usage: kmirrord FILE [--override key=value]... [--check]\n"
    "  FILE                  server.properties\n"
    "  --override key=value  replaces or adds one key; may be repeated\n"
    "  --check               checks the configuration and exits\n"
    "  --version             prints the version and exits\n";

struct Arguments {
  Arguments() = default;
  std::string file;
  std::vector<std::string> overrides;
  bool check = false;
  bool help = false;
  bool version = false;
};

// A usage mistake as text, or nothing.
std::optional<std::string> parse(const std::vector<std::string>& given, Arguments& out) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string& item = given[i];
    if (item == "--check") {
      out.check = true;
    } else if (item == "--help") {
      out.help = true;
    } else if (item == "--version") {
      out.version = true;
    } else if (item == "--override") {
      if (i + 1 == given.size()) return "--override needs key=value";
      out.overrides.push_back(given[++i]);
    } else if (item.starts_with("--override=")) {
      out.overrides.push_back(item.substr(11));
    } else if (item.starts_with("-")) {
      return fmt::format("unknown option '{}'", item);
    } else if (out.file.empty()) {
      out.file = item;
    } else {
      return fmt::format("more than one configuration file: '{}' and '{}'", out.file, item);
    }
  }
  if (out.file.empty() && !out.help && !out.version) return "the configuration file is missing";
  return std::nullopt;
}

void notify(const std::string& state) {
  if (auto sent = env::notify_service_manager(state); !sent) {
    KM_LOG(kWarn, "app.notify_failed", "{}", sent.error().message);
  }
}

// The service manager's watchdog: half its time passes between two signs of life.
env::Awaitable<void> feed_watchdog(env::Environment& environment, env::TaskGroup& tasks,
                                   std::chrono::microseconds limit) {
  while (!tasks.is_cancelled()) {
    notify("WATCHDOG=1");
    const env::Instant next = environment.clock.now() + limit / 2;
    co_await environment.clock.sleep_until(next);
  }
}

std::optional<std::chrono::microseconds> watchdog_limit() {
  const auto text = env::environment_variable("WATCHDOG_USEC");
  if (!text) return std::nullopt;
  const std::int64_t value = std::strtoll(text->c_str(), nullptr, 10);
  if (value <= 0) return std::nullopt;
  return std::chrono::microseconds(value);
}

env::Awaitable<void> serve(env::Environment& environment, Broker& broker, env::AsyncEvent& stop,
                           Result<void>& result) {
  result = co_await broker.start();
  if (result) {
    notify("READY=1");
    env::TaskGroup tasks(*environment.loops.front());
    if (const auto limit = watchdog_limit()) {
      tasks.spawn("watchdog", feed_watchdog(environment, tasks, *limit));
    }
    // Bounded by the operator: the daemon runs until it is told to stop.
    co_await stop.wait();
    notify("STOPPING=1");
    tasks.cancel();
    co_await tasks.join();
  }
  auto stopped = co_await broker.stop();
  if (result) result = std::move(stopped);
}

int run_broker(BrokerConfig config) {
  const std::size_t loops = config.network_threads > 0
                                ? static_cast<std::size_t>(config.network_threads)
                                : env::processor_count();
  env::PosixEnvironment posix(
      env::PosixOptions(loops, static_cast<std::size_t>(config.io_threads)));
  env::Environment& environment = posix.environment();
  posix.start();
  Result<void> result;
  {
    env::AsyncEvent stop(*environment.loops.front());
    Broker broker(environment, std::move(config));
    auto handled = posix.handle_signals([&stop](int signal) {
      KM_LOG(kInfo, "app.signal", "signal {}", signal);
      if (signal != SIGHUP) stop.set();
    });
    if (handled) {
      posix.run(*environment.loops.front(), serve(environment, broker, stop, result));
    } else {
      result = handled.error();
    }
    posix.stop();
  }
  if (!result) {
    std::fprintf(stderr, "kmirrord: %s\n", result.error().message.c_str());
    return 1;
  }
  KM_LOG(kInfo, "app.stopped", "stopped cleanly");
  return 0;
}

}  // namespace

int run_daemon(int argc, char** argv) {
  Arguments arguments;
  if (const auto mistake = parse(std::vector<std::string>(argv + 1, argv + argc), arguments)) {
    std::fprintf(stderr, "kmirrord: %s\n%s", mistake->c_str(), kHelp);
    return kExitUsage;
  }
  if (arguments.help || arguments.version) {
    std::fputs(arguments.help ? kHelp : "kmirrord " KMIRROR_VERSION "\n", stdout);
    return 0;
  }
  Result<BrokerConfig> config = [&arguments] {
    env::PosixEnvironment posix(env::PosixOptions(1, 1));
    return load_broker_config(posix.environment().files, arguments.file, arguments.overrides);
  }();
  if (!config) {
    std::fprintf(stderr, "kmirrord: %s\n", config.error().message.c_str());
    return kExitConfig;
  }
  if (arguments.check) {
    std::printf("%s is valid\n", arguments.file.c_str());
    return 0;
  }
  log::configure(config->log_format, config->log_level);
  return run_broker(std::move(*config));
}

}  // namespace kmirror::app
