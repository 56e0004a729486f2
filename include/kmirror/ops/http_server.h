// HttpServer: the HTTP port for people and monitoring: /metrics, /livez, /readyz, /log-level.
// Owner: loop 0. Loopback by default. GET and, for /log-level only, PUT; bodies are refused,
// headers are limited to 8 KiB, a connection that says nothing for 30 s is closed, 64 connections
// at most. Sources: Prometheus text format 0.0.4; RFC 9110; docs/operating.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kmirror/base/metrics.h"
#include "kmirror/base/result.h"
#include "kmirror/env/environment.h"

namespace kmirror::ops {

/// One line of /readyz?verbose: what was looked at, whether it is well, and in words why not.
struct Check {
  Check() = default;
  Check(std::string check_name, bool is_ok, std::string text)
      : name(std::move(check_name)), ok(is_ok), detail(std::move(text)) {}
  std::string name;
  bool ok = false;
  std::string detail;
};

class HttpServer {
 public:
  /// `ready` is called on loop 0 for each /readyz.
  HttpServer(env::Environment& environment, metrics::Registry& metrics,
             std::function<std::vector<Check>()> ready);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Listens and serves from now on. Loop 0. Error: the address cannot be bound; the message names
  /// it.
  [[nodiscard]] Result<env::Endpoint> start(env::Endpoint at);
  /// Ends all connections; returns when they are gone. Loop 0.
  [[nodiscard]] env::Awaitable<void> stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The answer to one request line, without any socket: status, content type and body.
struct HttpAnswer {
  HttpAnswer() = default;
  HttpAnswer(unsigned status_code, std::string type, std::string text)
      : status(status_code), content_type(std::move(type)), body(std::move(text)) {}
  unsigned status = 200;
  std::string content_type;
  std::string body;
};
[[nodiscard]] HttpAnswer answer(std::string_view method, std::string_view target,
                                const metrics::Registry& metrics,
                                const std::function<std::vector<Check>()>& ready);

/// Samples in Prometheus text format: one HELP and TYPE per name, values in shortest form.
[[nodiscard]] std::string render_prometheus(const std::vector<metrics::Sample>& samples);

}  // namespace kmirror::ops
