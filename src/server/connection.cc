#include "server/connection.h"

#include <utility>
#include <vector>

#include "kmirror/base/log.h"
#include "kmirror/wire/header.h"
#include "server/byte_chain_parts.h"

namespace kmirror::server {
namespace {

constexpr std::size_t kWritePieceBytes = 4'194'304;  // progress shows at least this often
constexpr std::size_t kGatherBytes = 65'536;         // small answers share one write up to this

}  // namespace

Connection::Connection(ConnectionScope& scope, std::unique_ptr<env::Stream> stream,
                       std::shared_ptr<ConnectionInfo> info, ListenerSecurity* security)
    : scope_(scope),
      stream_(std::move(stream)),
      info_(std::move(info)),
      security_(security),
      answer_ready_(scope.loop),
      answer_sent_(scope.loop),
      last_progress_(scope.clock.now()) {}

// ---- reader ----

env::Awaitable<void> Connection::read_task(std::shared_ptr<Connection> self) {
  bool more = co_await self->secure();
  while (more && !self->finishing_) {
    more = co_await self->read_request();
  }
  self->finish();
}

env::Awaitable<bool> Connection::secure() {
  if (security_ == nullptr) co_return !closed_;
  std::unique_ptr<env::Stream> raw = std::move(stream_);
  auto secured = co_await security_->secure(std::move(raw), scope_.loop, info_->who);
  if (!secured) {
    KM_LOG(kWarn, "server.handshake_failed", "{} at listener {}: {}", info_->peer.text(),
           info_->listener, secured.error().message);
    close();
    co_return false;
  }
  stream_ = std::move(*secured);
  if (closed_) stream_->close();
  co_return !closed_;
}

env::Awaitable<bool> Connection::read_request() {
  FrameDecoder decoder(scope_.config.socket_request_max_bytes);
  const bool has_head = co_await read_head(decoder);
  if (!has_head) co_return false;
  Handler* handler = acceptable(decoder.api_key(), decoder.api_version());
  if (handler == nullptr) co_return false;
  MemoryUnits units = co_await take_memory(decoder.frame_bytes());
  if (finishing_) co_return false;
  decoder.reserve();
  const bool has_body = co_await read_body(decoder);
  if (!has_body) co_return false;
  const env::Instant received = scope_.clock.now();
  const bool startable = co_await wait_until_startable(handler->starts_alone());
  if (!startable) co_return false;
  Slice frame = decoder.take();
  co_return start_request(*handler, std::move(frame), std::move(units), received);
}

env::Awaitable<bool> Connection::read_head(FrameDecoder& decoder) {
  while (!decoder.head_is_complete()) {
    const std::span<std::uint8_t> into = decoder.want();
    auto got = co_await stream_->read_some(into);
    if (!got || finishing_) co_return false;
    if (*got == 0) {
      if (!decoder.at_start()) refuse("the connection ended inside a request");
      co_return false;
    }
    last_progress_ = scope_.clock.now();
    auto accepted = decoder.arrived(*got);
    if (!accepted) {
      refuse(accepted.error().message);
      co_return false;
    }
  }
  co_return true;
}

env::Awaitable<bool> Connection::read_body(FrameDecoder& decoder) {
  while (!decoder.is_complete()) {
    const std::span<std::uint8_t> into = decoder.want();
    auto got = co_await stream_->read_some(into);
    if (!got || finishing_) co_return false;
    if (*got == 0) {
      refuse("the connection ended inside a request");
      co_return false;
    }
    last_progress_ = scope_.clock.now();
    (void)decoder.arrived(*got);  // fails in the head only
  }
  co_return true;
}

env::Awaitable<MemoryUnits> Connection::take_memory(std::size_t bytes) {
  MemoryUnits units = scope_.memory.try_take(static_cast<std::int64_t>(bytes));
  while (!units && !finishing_) {
    scope_.memory_returned->reset();
    units = scope_.memory.try_take(static_cast<std::int64_t>(bytes));
    if (units) break;
    // Bounded by the requests that hold the memory; each of them has a deadline or an end of its
    // own.
    co_await scope_.memory_returned->wait();
    const bool cancelled = co_await env::task_cancelled();
    if (cancelled) break;
    units = scope_.memory.try_take(static_cast<std::int64_t>(bytes));
  }
  co_return units;
}

env::Awaitable<bool> Connection::wait_until_startable(bool alone) {
  const auto limit = static_cast<std::size_t>(scope_.config.max_requests_in_flight);
  while (!finishing_ && (alone ? !pending_.empty() : pending_.size() >= limit)) {
    answer_sent_.reset();
    co_await answer_sent_.wait();  // bounded by the deadlines of the requests in work
    const bool cancelled = co_await env::task_cancelled();
    if (cancelled) co_return false;
  }
  co_return !finishing_;
}

Handler* Connection::acceptable(ApiKey key, ApiVersion version) const {
  Handler* handler = scope_.handlers.find(key);
  if (handler == nullptr) {
    refuse(fmt::format("api {} ({}) version {} is not served", key, wire::api_name(key), version));
    return nullptr;
  }
  if (!handler->accepts(version)) {
    refuse(fmt::format("api {} ({}) version {} is not served, {} to {} are", key,
                       handler->api().name, version, handler->min_version(),
                       handler->max_version()));
    return nullptr;
  }
  return handler;
}

void Connection::refuse(const std::string& why) const {
  scope_.refusals.say(fmt::format("{} at listener {}: {}; the connection is closed",
                                  info_->peer.text(), info_->listener, why));
}

bool Connection::start_request(Handler& handler, Slice frame, MemoryUnits units,
                               env::Instant received) {
  const std::size_t request_bytes = frame.size();
  Reader reader(std::move(frame));
  auto header = wire::decode_request_header(reader);
  if (!header) {
    refuse(fmt::format("{}: {}", handler.api().name, header.error().message));
    return false;
  }
  const std::uint64_t sequence = first_sequence_ + pending_.size();
  Pending& entry = pending_.emplace_back();
  entry.handler = &handler;
  entry.version = ApiVersion(header->request_api_version);
  entry.request_bytes = request_bytes;
  entry.units = std::move(units);
  entry.times.received = received;
  entry.times.started = scope_.clock.now();

  RequestContext context;
  context.connection = info_;
  context.loop = &scope_.loop;
  context.key = handler.api().key;
  context.version = entry.version;
  context.correlation_id = header->correlation_id;
  context.client_id = std::move(header->client_id);
  context.hurry = &entry.hurry;
  handler.start(context, std::move(reader), sink_for(sequence));
  entry.times.returned = scope_.clock.now();
  return true;
}

// ---- answers ----

ReplySink Connection::sink_for(std::uint64_t sequence) {
  env::Loop* loop = &scope_.loop;
  return ReplySink([weak = weak_from_this(), loop, sequence](Answer answer) {
    if (loop->is_current()) {
      if (auto self = weak.lock()) self->complete(sequence, std::move(answer));
      return;
    }
    loop->post([weak, sequence, answer = std::move(answer)]() mutable {
      if (auto self = weak.lock()) self->complete(sequence, std::move(answer));
    });
  });
}

void Connection::complete(std::uint64_t sequence, Answer answer) {
  if (closed_ || sequence < first_sequence_) return;
  Pending& entry = pending_[sequence - first_sequence_];
  if (entry.answered) return;  // it was abandoned
  entry.answered = true;
  entry.answer = std::move(answer);
  entry.hurry = nullptr;
  entry.times.answered = scope_.clock.now();
  const bool ends = entry.answer.kind == Answer::Kind::kClose;
  answer_ready_.set();
  if (ends) finish();
}

void Connection::finish() {
  if (finishing_) return;
  finishing_ = true;
  for (auto& entry : pending_) {
    UniqueFunction<void()> hurry = std::exchange(entry.hurry, nullptr);
    if (hurry) {
      hurry();
    } else if (!entry.answered && entry.handler->is_abandoned_at_end()) {
      entry.answered = true;  // with the answer every entry starts with: close
    }
  }
  answer_ready_.set();
  answer_sent_.set();
}

void Connection::close() {
  if (closed_) return;
  finish();
  closed_ = true;
  pending_.clear();
  if (stream_ != nullptr) stream_->close();
  answer_ready_.set();
  answer_sent_.set();
}

bool Connection::close_if_idle_since(env::Instant before) {
  if (last_progress_ >= before || (!pending_.empty() && !writing_)) return false;
  KM_LOG(kDebug, "server.idle_closed", "{} at listener {}", info_->peer.text(), info_->listener);
  close();
  return true;
}

// ---- writer ----

env::Awaitable<void> Connection::write_task(std::shared_ptr<Connection> self) {
  while (!self->closed_) {
    self->answer_ready_.reset();
    const bool alive = co_await self->send_due_answers();
    if (!alive || (self->finishing_ && self->pending_.empty())) break;
    // Bounded by the requests in work, or by connections.max.idle.ms when there are none.
    co_await self->answer_ready_.wait();
    const bool cancelled = co_await env::task_cancelled();
    if (cancelled) break;
  }
  self->close();
}

Connection::Pending Connection::take_next() {
  Pending entry = std::move(pending_.front());
  pending_.pop_front();
  ++first_sequence_;
  entry.times.dequeued = scope_.clock.now();
  entry.response_bytes = entry.answer.frame.size();
  return entry;
}

env::Awaitable<bool> Connection::send_due_answers() {
  while (next_is_due()) {
    std::vector<Pending> batch;
    ByteChain frames;
    while (next_is_due() && frames.size() < kGatherBytes) {
      batch.push_back(take_next());
      if (batch.back().answer.kind == Answer::Kind::kClose) break;
      frames.append(std::move(batch.back().answer.frame));
    }
    answer_sent_.set();
    const bool sent = co_await write_frames(std::move(frames));
    if (!sent) co_return false;
    for (auto& entry : batch) {
      if (entry.answer.kind == Answer::Kind::kClose) {
        if (!entry.answer.reason.empty()) {
          refuse(fmt::format("{} version {}: {}", entry.handler->api().name, entry.version,
                             entry.answer.reason));
        }
        co_return false;
      }
      entry.times.sent = scope_.clock.now();
      scope_.metrics.record(entry.handler->api(), entry.version, entry.times, entry.request_bytes,
                            entry.response_bytes, entry.answer.errors);
    }
  }
  co_return true;
}

env::Awaitable<bool> Connection::write_frames(ByteChain frames) {
  writing_ = true;
  while (!frames.empty() && !closed_) {
    ByteChain piece = take_front(frames, kWritePieceBytes);
    auto written = co_await stream_->write(std::move(piece));
    if (!written) {
      if (!closed_) {
        KM_LOG(kDebug, "server.write_failed", "{} at listener {}: {}", info_->peer.text(),
               info_->listener, written.error().message);
      }
      break;
    }
    last_progress_ = scope_.clock.now();
  }
  writing_ = false;
  co_return frames.empty() && !closed_;
}

}  // namespace kmirror::server
