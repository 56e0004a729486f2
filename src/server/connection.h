// Connection: one client: reads requests, starts them in order, sends the answers in order.
// Owner: the loop of its stream makes every call. Two tasks work on it: a reader and a writer.
// Invariants: pending_ holds the requests that were started and not yet answered on the wire, in
// the order of their arrival; a request's memory units live as long as its entry. Sources:
// Kafka 4.4 SocketServer.Processor, NetworkReceive; house rules section 3.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "kmirror/env/async.h"
#include "kmirror/env/network.h"
#include "kmirror/server/server.h"
#include "server/frame_decoder.h"
#include "server/handler.h"
#include "server/handler_table.h"
#include "server/memory_pool.h"
#include "server/refusal_log.h"
#include "server/request_metrics.h"

namespace kmirror::server {

/// What the connections of one loop share. Outlives them.
struct ConnectionScope {
  ConnectionScope(env::Loop& l, env::Clock& c, const ServerConfig& conf, HandlerTable& table,
                  MemoryPool& pool, RequestMetrics& request_metrics)
      : loop(l), clock(c), config(conf), handlers(table), memory(pool), metrics(request_metrics) {}
  env::Loop& loop;
  env::Clock& clock;
  const ServerConfig& config;
  HandlerTable& handlers;
  MemoryPool& memory;
  RequestMetrics& metrics;
  RefusalLog refusals{clock};
  std::unique_ptr<env::AsyncEvent> memory_returned;  ///< set when a refused take may succeed now
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(ConnectionScope& scope, std::unique_ptr<env::Stream> stream,
             std::shared_ptr<ConnectionInfo> info, ListenerSecurity* security);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// The two tasks; spawn each once. Both end after close(), or when the peer has gone and every
  /// answer was sent.
  [[nodiscard]] static env::Awaitable<void> read_task(std::shared_ptr<Connection> self);
  [[nodiscard]] static env::Awaitable<void> write_task(std::shared_ptr<Connection> self);
  /// Reads no further request, asks waiting ones to answer now, and closes when all is sent.
  void finish();
  /// Ends the stream at once.
  void close();
  /// Closes if nothing was received, sent or in work since `before`. True if it did.
  bool close_if_idle_since(env::Instant before);

  [[nodiscard]] const ConnectionInfo& info() const { return *info_; }
  [[nodiscard]] std::size_t requests_in_flight() const { return pending_.size(); }

 private:
  struct Pending {
    Pending() = default;
    const Handler* handler = nullptr;
    ApiVersion version;
    std::size_t request_bytes = 0;
    std::size_t response_bytes = 0;
    MemoryUnits units;
    RequestTimes times;
    UniqueFunction<void()> hurry;
    bool answered = false;
    Answer answer;
  };

  // Reader. Each of these is false when nothing more is to be read.
  env::Awaitable<bool> secure();
  env::Awaitable<bool> read_request();
  env::Awaitable<bool> read_head(FrameDecoder& decoder);
  env::Awaitable<bool> read_body(FrameDecoder& decoder);
  env::Awaitable<MemoryUnits> take_memory(std::size_t bytes);
  env::Awaitable<bool> wait_until_startable(bool alone);
  [[nodiscard]] Handler* acceptable(ApiKey key, ApiVersion version) const;
  bool start_request(Handler& handler, Slice frame, MemoryUnits units, env::Instant received);
  void refuse(const std::string& why) const;
  // Answers.
  [[nodiscard]] ReplySink sink_for(std::uint64_t sequence);
  void complete(std::uint64_t sequence, Answer answer);
  // Writer.
  env::Awaitable<bool> send_due_answers();
  env::Awaitable<bool> write_frames(ByteChain frames);
  [[nodiscard]] bool next_is_due() const { return !pending_.empty() && pending_.front().answered; }
  [[nodiscard]] Pending take_next();

  ConnectionScope& scope_;
  std::unique_ptr<env::Stream> stream_;
  std::shared_ptr<ConnectionInfo> info_;
  ListenerSecurity* security_;
  std::deque<Pending> pending_;
  std::uint64_t first_sequence_ = 0;  // of pending_.front()
  env::AsyncEvent answer_ready_;      // or the connection ends
  env::AsyncEvent answer_sent_;       // or the connection ends
  env::Instant last_progress_;
  bool finishing_ = false;
  bool closed_ = false;
  bool writing_ = false;
};

}  // namespace kmirror::server
