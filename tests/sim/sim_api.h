// SimApi: one API of the fake source: what it saw, and how a test changes its answers.
// Owner: the loop of the fake source; in simulation the test's own code as well.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kmirror/client/response_to.h"
#include "kmirror/env/async.h"
#include "kmirror/model/types.h"
#include "kmirror/wire/framing.h"

namespace kmirror::testing {

/// Who asked, how and when.
struct Call {
  Call() = default;
  NodeId node;                   ///< of the fake source: who was asked
  std::uint64_t connection = 0;  ///< counted over all nodes
  ApiKey key;
  ApiVersion version;
  std::int32_t correlation_id = 0;
  std::optional<std::string> client_id;
  env::Instant at;
};

/// One request and its answer, from when the answer is made until it is sent. A test that keeps the
/// pointer may hold the answer, change it meanwhile and release it.
template <class RequestType>
struct Exchange {
  using Request = RequestType;
  using Response = client::ResponseTo<RequestType>;

  Exchange() = default;
  Call call;
  Request request;
  Response response;
  env::Duration delay{};                      ///< before the answer leaves
  bool drop_connection = false;               ///< close instead of answering
  std::function<Bytes(Bytes)> rewrite_frame;  ///< the last word on the bytes, length included

  /// Keeps the answer, and with it all later ones of the connection, until release().
  void hold() {
    if (!held_) held_.emplace();
  }
  void release() {
    if (held_) held_->complete(true);
  }
  [[nodiscard]] bool is_held() const { return held_ && !held_->is_complete(); }
  [[nodiscard]] const std::optional<env::Completion<bool>>& held() const { return held_; }

 private:
  std::optional<env::Completion<bool>> held_;
};

/// What goes back over the connection; nothing: close it.
using Answer = std::optional<ByteChain>;

class SimApiBase {
 public:
  SimApiBase() = default;
  SimApiBase(const SimApiBase&) = delete;
  SimApiBase& operator=(const SimApiBase&) = delete;
  virtual ~SimApiBase() = default;
  [[nodiscard]] virtual ApiKey key() const = 0;
  /// Answers one request whose header was read. An error closes the connection.
  [[nodiscard]] virtual env::Awaitable<Result<Answer>> answer(Call call, Reader body,
                                                              env::Clock* clock) = 0;

  /// What ApiVersions says. An API that is switched off answers as one that is unknown.
  ApiVersion min_version;
  ApiVersion max_version;
  bool is_on = true;
};

template <class RequestType>
class SimApi final : public SimApiBase {
 public:
  using Request = RequestType;
  using Response = client::ResponseTo<RequestType>;
  using ExchangePtr = std::shared_ptr<Exchange<Request>>;
  struct Seen {
    Call call;
    Request request;
  };
  /// The answer as an honest broker would give it. The pointers are good until it has ended.
  using Model = std::function<env::Awaitable<Response>(const Call*, const Request*)>;

  explicit SimApi(Model model) : model_(std::move(model)) {
    min_version = Request::kMinVersion;
    max_version = Request::kMaxVersion;
  }

  /// Called with each answer before it is sent; may change, hold, delay or drop it.
  std::function<void(const ExchangePtr&)> hook;
  /// Every request so far, as decoded.
  std::vector<Seen> seen;
  /// Answers that hold_next() caught, oldest first.
  std::deque<ExchangePtr> held;

  /// Holds the next `count` answers (of `node` only, if given) and puts them into `held`.
  void hold_next(std::size_t count = 1, std::optional<NodeId> node = std::nullopt) {
    to_hold_ = count;
    hold_node_ = node;
  }

  [[nodiscard]] ApiKey key() const override { return Request::kApiKey; }

  [[nodiscard]] env::Awaitable<Result<Answer>> answer(Call call, Reader body,
                                                      env::Clock* clock) override {
    auto decoded = Request::decode(body, call.version);
    if (!decoded) co_return decoded.error();
    auto exchange = std::make_shared<Exchange<Request>>();
    exchange->call = std::move(call);
    exchange->request = std::move(*decoded);
    Seen entry{exchange->call, exchange->request};
    seen.push_back(std::move(entry));
    exchange->response = co_await model_(&exchange->call, &exchange->request);
    if (to_hold_ > 0 && (!hold_node_ || *hold_node_ == exchange->call.node)) {
      --to_hold_;
      exchange->hold();
      held.push_back(exchange);
    }
    if (hook) hook(exchange);
    if (exchange->held()) {
      const auto released = co_await exchange->held()->wait();
      if (!released) co_return released.error();
    }
    if (exchange->delay.count() > 0) co_await env::pause_for(*clock, exchange->delay);
    if (exchange->drop_connection) co_return Answer();
    co_return encode(*exchange);
  }

 private:
  static Result<Answer> encode(const Exchange<Request>& exchange) {
    KM_TRY(frame, wire::encode_response(exchange.response, exchange.call.version,
                                        exchange.call.correlation_id));
    if (!exchange.rewrite_frame) return Answer(std::move(frame));
    KM_TRY(flat, frame.flatten());
    const ByteSpan bytes = flat.span();
    Bytes rewritten = exchange.rewrite_frame(Bytes(bytes.begin(), bytes.end()));
    return Answer(ByteChain(Slice::take(std::move(rewritten))));
  }

  Model model_;
  std::size_t to_hold_ = 0;
  std::optional<NodeId> hold_node_;
};

}  // namespace kmirror::testing
