// Produce (key 0): appends batches from clients, one post per owner loop, and answers as acks asks.
// Owner: the connection's loop gathers; each log's own loop appends.
// Invariants: batches of one connection reach a log in the order of their requests; acks=-1 is
// answered after the append is durable (flush.acks.all) or the client's timeout.
// Sources: Kafka 4.4 KafkaApis.handleProduceRequest, ReplicaManager.appendRecords, ProduceRequest;
// KIP-896, KIP-951; decisions section 2 (read-only mirrors), 3.20.
#pragma once

#include <vector>

#include "kmirror/env/environment.h"
#include "kmirror/metadata/engine.h"
#include "kmirror/server/server.h"
#include "kmirror/wire/produce_request.h"
#include "kmirror/wire/produce_response.h"
#include "server/handler.h"
#include "server/handlers/table.h"

namespace kmirror::server {

struct ProduceDeps {
  explicit ProduceDeps(const HandlerServices& services)
      : environment(services.environment),
        metadata(services.deps.metadata),
        logs(services.deps.logs),
        config(services.config),
        timers(services.timers),
        guard(services.guard) {}
  env::Environment& environment;
  const metadata::MetadataEngine& metadata;
  storage::LogManager& logs;
  const ServerConfig& config;
  std::vector<TimerQueue*> timers;  ///< by loop index
  WriteGuard guard;
};

void handle_produce(const ProduceDeps& deps, const RequestContext& context,
                    wire::ProduceRequest request, Reply<wire::ProduceResponse> reply);

}  // namespace kmirror::server
