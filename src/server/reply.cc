#include "server/reply.h"

#include "kmirror/base/check.h"

namespace kmirror::server {

void ReplySink::deliver(Answer answer) {
  KM_CHECK(static_cast<bool>(deliver_), "a request was answered twice");
  UniqueFunction<void(Answer)> deliver = std::exchange(deliver_, nullptr);
  deliver(std::move(answer));
}

void ReplySink::send(ByteChain frame, ErrorCounts errors) {
  Answer answer;
  answer.kind = Answer::Kind::kSend;
  answer.frame = std::move(frame);
  answer.errors = std::move(errors);
  deliver(std::move(answer));
}

void ReplySink::nothing(ErrorCounts errors) {
  Answer answer;
  answer.kind = Answer::Kind::kNothing;
  answer.errors = std::move(errors);
  deliver(std::move(answer));
}

void ReplySink::close(std::string reason) {
  Answer answer;
  answer.reason = std::move(reason);
  deliver(std::move(answer));
}

}  // namespace kmirror::server
