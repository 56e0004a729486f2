// SourceNode: one broker of the fake source: a listener and its connections.
// Owner: its loop.
#pragma once

#include <map>
#include <memory>

#include "kmirror/env/async.h"
#include "kmirror/env/environment.h"
#include "kmirror/model/types.h"
#include "sim/sim_api.h"

namespace kmirror::testing {

class SimSource;

class SourceNode {
 public:
  SourceNode(SimSource& source, NodeId id, env::Environment& environment, env::Loop& loop);
  ~SourceNode();
  SourceNode(const SourceNode&) = delete;
  SourceNode& operator=(const SourceNode&) = delete;

  /// Listens at `at`. Error: the network's.
  [[nodiscard]] Result<void> listen(env::Endpoint at);
  /// Closes listener and connections; what runs ends soon.
  void close();
  void drop_connections();
  /// Close, and wait until nothing runs. From any loop.
  [[nodiscard]] env::Awaitable<void> stop();
  /// Ends the waits for data, so that they look again.
  void wake();
  /// Until wake() or `deadline`.
  [[nodiscard]] env::Awaitable<void> wait_for_change(env::Instant deadline);

  [[nodiscard]] const env::Endpoint& endpoint() const { return endpoint_; }
  [[nodiscard]] bool is_listening() const { return acceptor_ != nullptr; }
  [[nodiscard]] std::size_t connection_count() const { return streams_.size(); }
  [[nodiscard]] env::Clock& clock() { return environment_.clock; }

 private:
  [[nodiscard]] env::Awaitable<void> end_here(env::Completion<bool> ended);
  [[nodiscard]] env::Awaitable<void> accept_all(env::Acceptor* acceptor);
  [[nodiscard]] env::Awaitable<void> serve(std::uint64_t connection);
  [[nodiscard]] env::Awaitable<Result<Answer>> answer(std::uint64_t connection, Slice frame);

  SimSource& source_;
  NodeId id_;
  env::Environment& environment_;
  env::Loop& loop_;
  env::Endpoint endpoint_;
  std::unique_ptr<env::Acceptor> acceptor_;
  std::vector<std::unique_ptr<env::Acceptor>> closed_acceptors_;
  std::map<std::uint64_t, std::unique_ptr<env::Stream>> streams_;
  env::AsyncEvent changed_;
  env::TaskGroup tasks_;
  env::TaskGroup ending_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace kmirror::testing
