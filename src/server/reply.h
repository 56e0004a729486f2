// ReplySink and Reply<Response>: the one way out of a handler.
// Owner: moved along with the work; called once, from any thread. A sink that is dropped uncalled
// ends its connection, so that a forgotten answer shows instead of blocking the ones behind it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "kmirror/base/unique_function.h"
#include "kmirror/bytes/byte_chain.h"
#include "kmirror/model/types.h"
#include "kmirror/wire/framing.h"
#include "server/error_counts.h"

namespace kmirror::server {

/// What becomes of one request.
struct Answer {
  enum class Kind { kSend, kNothing, kClose };
  Answer() = default;
  Kind kind = Kind::kClose;
  ByteChain frame;     ///< kSend: length included
  ErrorCounts errors;  ///< codes in the answer, for ErrorsPerSec
  std::string reason;  ///< kClose: for the log; empty: nothing to log
};

class ReplySink {
 public:
  explicit ReplySink(UniqueFunction<void(Answer)> deliver) : deliver_(std::move(deliver)) {}
  ReplySink(ReplySink&&) = default;
  ReplySink& operator=(ReplySink&&) = delete;
  ~ReplySink() {
    if (deliver_) close("the request was dropped unanswered");
  }

  void send(ByteChain frame, ErrorCounts errors);
  /// The request has no answer (Produce with acks=0).
  void nothing(ErrorCounts errors);
  /// Closes the connection after the answers that are due before this one.
  void close(std::string reason);

 private:
  void deliver(Answer answer);
  UniqueFunction<void(Answer)> deliver_;
};

template <class Response>
class Reply {
 public:
  Reply(ReplySink sink, ApiVersion version, std::int32_t correlation_id)
      : sink_(std::move(sink)), version_(version), correlation_id_(correlation_id) {}

  /// Encodes and sends. A response that does not fit its version is a mistake of ours: the
  /// connection ends and the reason is logged.
  void operator()(const Response& response) {
    auto frame = wire::encode_response(response, version_, correlation_id_);
    if (!frame) return sink_.close("cannot encode the answer: " + frame.error().message);
    sink_.send(std::move(*frame), count_errors(response));
  }
  void nothing(const Response& response) { sink_.nothing(count_errors(response)); }
  void close(std::string reason) { sink_.close(std::move(reason)); }

 private:
  ReplySink sink_;
  ApiVersion version_;
  std::int32_t correlation_id_;
};

}  // namespace kmirror::server
