// add_handlers: the list of every API this server answers.
// Owner: loop 0, once, before the first connection.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kmirror/env/environment.h"
#include "kmirror/server/server.h"
#include "server/handler_table.h"
#include "server/timer_queue.h"

namespace kmirror::server {

/// Whether clients may write, and what they are told if not. Any thread.
struct WriteGuard {
  WriteGuard() = default;
  std::function<bool(std::string_view topic, std::int32_t partition)> partition_is_writable;
  std::function<std::string(std::string_view topic)> message;
};

/// Everything the handlers' own small Deps are cut from. Its references outlive the table.
struct HandlerServices {
  HandlerServices(env::Environment& env, const ServerDeps& server_deps, const ServerConfig& conf)
      : environment(env), deps(server_deps), config(conf) {}
  env::Environment& environment;
  ServerDeps deps;
  const ServerConfig& config;
  std::vector<TimerQueue*> timers;  ///< by loop index
  WriteGuard guard;
};

void add_handlers(HandlerTable& table, const HandlerServices& services);

}  // namespace kmirror::server
