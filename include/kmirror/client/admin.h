// AdminClient: calls any API on a cluster that is known by a few addresses: on any broker, on a
// given one, or on the controller. For the command line and for a mirror's look at its source.
// Owner: one task on one loop at a time; calls do not overlap.
// Invariant: a connection that failed is not used again; a call that found its idle connection dead
// is tried once more on a new one.
// Sources: Kafka 4.4 AdminClient, ClientUtils (bootstrap lists).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kmirror/client/connection.h"
#include "kmirror/wire/metadata_request.h"
#include "kmirror/wire/metadata_response.h"

namespace kmirror::client {

/// "host:port,host:port", blanks allowed, IPv6 hosts in brackets. Error (INVALID_CONFIG) naming the
/// bad entry: empty list, no port, port not in 1 … 65535.
[[nodiscard]] Result<std::vector<env::Endpoint>> parse_bootstrap(std::string_view text);

struct AdminOptions {
  AdminOptions() = default;
  std::vector<env::Endpoint> bootstrap;
  ConnectionOptions connection;
};

class AdminClient {
 public:
  AdminClient(env::Environment& environment, env::Loop& loop, AdminOptions options);
  ~AdminClient();  ///< closes every connection; no call may be running
  AdminClient(const AdminClient&) = delete;
  AdminClient& operator=(const AdminClient&) = delete;

  /// An open connection to some broker: the one in use, else the first of the bootstrap list, then
  /// of the brokers known, that answers. Error kNoBroker, naming every address tried and why.
  [[nodiscard]] env::Awaitable<Result<Connection*>> any();
  /// An open connection to broker `node`. Errors: UNKNOWN broker (BROKER_NOT_AVAILABLE), the
  /// network's.
  [[nodiscard]] env::Awaitable<Result<Connection*>> broker(NodeId node);
  /// An open connection to the controller that the cluster names (in KRaft: any broker forwards).
  [[nodiscard]] env::Awaitable<Result<Connection*>> controller();

  /// Brokers, controller and cluster id (Metadata without topics); remembered for broker().
  [[nodiscard]] env::Awaitable<Result<wire::MetadataResponse>> cluster();
  /// Metadata of the named topics, or of all if `topics` is nothing. Never creates a topic (G63).
  [[nodiscard]] env::Awaitable<Result<wire::MetadataResponse>> metadata(
      std::optional<std::vector<std::string>> topics);

  /// `request` in the highest common version, not above `at_most`, on any broker.
  template <class Request>
  [[nodiscard]] env::Awaitable<Result<ResponseTo<Request>>> call(
      Request request, ApiVersion at_most = Request::kMaxVersion) {
    auto answer = co_await call_at<Request>(Target(), std::move(request), at_most);
    co_return answer;
  }
  template <class Request>
  [[nodiscard]] env::Awaitable<Result<ResponseTo<Request>>> call_on(
      NodeId node, Request request, ApiVersion at_most = Request::kMaxVersion) {
    auto answer = co_await call_at<Request>(Target(node), std::move(request), at_most);
    co_return answer;
  }
  template <class Request>
  [[nodiscard]] env::Awaitable<Result<ResponseTo<Request>>> call_controller(
      Request request, ApiVersion at_most = Request::kMaxVersion) {
    KM_CO_TRY_VOID(co_await learn_cluster());
    auto answer = co_await call_at<Request>(Target(controller_), std::move(request), at_most);
    co_return answer;
  }

  /// The highest version of `Request` that the connection in use (see any()) and we have.
  template <class Request>
  [[nodiscard]] env::Awaitable<Result<ApiVersion>> version_for() {
    KM_CO_TRY(connection, co_await any());
    co_return connection->template version_for<Request>();
  }

  [[nodiscard]] const std::map<NodeId, env::Endpoint>& brokers() const { return brokers_; }
  /// Closes all connections; the next call opens new ones.
  void close();

 private:
  /// Where a call goes; -1: anywhere.
  struct Target {
    Target() = default;
    explicit Target(NodeId n) : node(n) {}
    NodeId node{-1};
  };
  template <class Request>
  [[nodiscard]] env::Awaitable<Result<ResponseTo<Request>>> call_at(Target target, Request request,
                                                                    ApiVersion at_most) {
    for (int attempt = 0;; ++attempt) {
      KM_CO_TRY(connection, co_await reach(target));
      const bool was_idle = connection->answered() > 1;
      const Result<ApiVersion> version = connection->template version_for<Request>(at_most);
      if (!version) co_return version.error();
      Request copy = request;
      const ApiVersion chosen = *version;
      auto answer = co_await connection->call(std::move(copy), chosen);
      // The peer may have closed an idle connection long ago: that says nothing about the call.
      const bool again = !answer && attempt == 0 && was_idle && is_closed_by_peer(answer.error());
      if (!again) co_return answer;
    }
  }
  [[nodiscard]] static bool is_closed_by_peer(const Error& error);
  [[nodiscard]] env::Awaitable<Result<Connection*>> reach(Target target);
  [[nodiscard]] env::Awaitable<Result<void>> learn_cluster();
  [[nodiscard]] env::Awaitable<Result<Connection*>> open_kept(env::Endpoint at, NodeId node);
  void learn(const wire::MetadataResponse& answer);

  env::Environment& environment_;
  env::Loop& loop_;
  AdminOptions options_;
  std::map<NodeId, env::Endpoint> brokers_;
  NodeId controller_{-1};
  std::map<NodeId, std::unique_ptr<Connection>> connections_;  ///< -1: the bootstrap connection
};

}  // namespace kmirror::client
