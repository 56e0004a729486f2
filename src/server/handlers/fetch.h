// Fetch (key 1): plan, read, wait if there is too little, read again, answer.
// Owner: each fetch runs on the loop of its session (the connection's loop if it has none), reads
// logs of any loop, and answers from there. Invariants: an answer is due at the latest max_wait_ms
// after the request; records are file ranges until the socket takes them. Sources: Kafka 4.4
// KafkaApis.handleFetchRequest, DelayedFetch; KIP-74, KIP-227, KIP-516, KIP-951.
#pragma once

#include <memory>
#include <vector>

#include "kmirror/env/environment.h"
#include "kmirror/metadata/engine.h"
#include "kmirror/server/server.h"
#include "kmirror/wire/fetch_request.h"
#include "kmirror/wire/fetch_response.h"
#include "server/handler.h"
#include "server/handlers/fetch_session.h"
#include "server/timer_queue.h"

namespace kmirror::server {

struct FetchDeps {
  FetchDeps(env::Environment& env, const metadata::MetadataEngine& engine,
            const storage::LogManager& log_manager, const ServerConfig& server_config,
            std::vector<TimerQueue*> timer_queues, metrics::Registry& registry);
  env::Environment& environment;
  const metadata::MetadataEngine& metadata;
  const storage::LogManager& logs;
  const ServerConfig& config;
  std::vector<TimerQueue*> timers;                           ///< by loop index
  std::vector<std::shared_ptr<FetchSessionCache>> sessions;  ///< by loop index
  metrics::Gauge& waiting_count;
};

void handle_fetch(const FetchDeps& deps, const RequestContext& context, wire::FetchRequest request,
                  Reply<wire::FetchResponse> reply);

}  // namespace kmirror::server
