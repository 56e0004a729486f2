// Handler: one API of the table. The typed form calls a plain function with the decoded request.
// Owner: any connection's loop calls start(); the function behind it says where it works.
// Sources: Kafka 4.4 KafkaApis; house rules section 3.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "kmirror/bytes/reader.h"
#include "kmirror/wire/api_table.h"
#include "server/reply.h"
#include "server/request_context.h"

namespace kmirror::server {

class Handler {
 public:
  explicit Handler(const wire::ApiInfo& api)
      : api_(api),
        min_(api.min_version),
        advertised_min_(api.min_version),
        max_(api.stable_max()) {}
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;
  virtual ~Handler() = default;

  [[nodiscard]] const wire::ApiInfo& api() const { return api_; }
  [[nodiscard]] ApiVersion min_version() const { return min_; }
  [[nodiscard]] ApiVersion max_version() const { return max_; }
  [[nodiscard]] ApiVersion advertised_min_version() const { return advertised_min_; }
  /// False: the connection ends before the body is read.
  [[nodiscard]] bool accepts(ApiVersion version) const {
    return accepts_all_ || (version >= min_ && version <= max_);
  }
  /// True for an API that is not started before everything earlier on its connection was answered,
  /// because it may wait long or carries a session.
  [[nodiscard]] bool starts_alone() const { return starts_alone_; }

  [[nodiscard]] bool is_abandoned_at_end() const { return abandoned_at_end_; }

  /// Starts the request whose header was taken off `body` already. Returns without waiting; `sink`
  /// is called once, now or later. Bytes after the last field are passed over, as Kafka does.
  virtual void start(const RequestContext& context, Reader body, ReplySink sink) = 0;

  Handler& advertise_from(ApiVersion version) {
    advertised_min_ = version;
    return *this;
  }
  Handler& alone() {
    starts_alone_ = true;
    return *this;
  }
  /// For an API that waits for other clients: its answer is worth nothing to a peer that has gone,
  /// or once the server stops. The connection then ends instead.
  Handler& abandon_at_end() {
    abandoned_at_end_ = true;
    return *this;
  }
  Handler& accept_all_versions() {
    accepts_all_ = true;
    return *this;
  }

 private:
  const wire::ApiInfo& api_;
  ApiVersion min_;
  ApiVersion advertised_min_;
  ApiVersion max_;
  bool starts_alone_ = false;
  bool accepts_all_ = false;
  bool abandoned_at_end_ = false;
};

/// Decodes the body and calls `function`. Deps is a small struct of references and shared pointers,
/// which is copied.
template <class Request, class Response, class Deps>
class TypedHandler final : public Handler {
 public:
  using Function = void (*)(const Deps&, const RequestContext&, Request, Reply<Response>);
  TypedHandler(const wire::ApiInfo& api, Deps deps, Function function)
      : Handler(api), deps_(std::move(deps)), function_(function) {}

  void start(const RequestContext& context, Reader body, ReplySink sink) override {
    auto request = Request::decode(body, context.version);
    if (!request) return sink.close("cannot decode: " + request.error().message);
    function_(deps_, context, std::move(*request),
              Reply<Response>(std::move(sink), context.version, context.correlation_id));
  }

 private:
  Deps deps_;
  Function function_;
};

}  // namespace kmirror::server
