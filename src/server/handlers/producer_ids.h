// InitProducerId (key 22): ids for idempotent producers, handed out of blocks from the engine.
// Owner: ProducerIdManager lives on loop 0; the handler may run on any loop.
// Invariant: no id is handed out twice, not even after a restart: blocks come from metadata.
// Sources: Kafka 4.4 RPCProducerIdManager, KafkaApis.handleInitProducerIdRequest; KIP-98.
#pragma once

#include <deque>
#include <memory>

#include "kmirror/env/environment.h"
#include "kmirror/metadata/engine.h"
#include "kmirror/wire/init_producer_id_request.h"
#include "kmirror/wire/init_producer_id_response.h"
#include "server/handler.h"

namespace kmirror::server {

class ProducerIdManager : public std::enable_shared_from_this<ProducerIdManager> {
 public:
  using Done = UniqueFunction<void(Result<ProducerId>)>;

  ProducerIdManager(env::Loop& loop_0, metadata::MetadataEngine& engine)
      : loop_0_(loop_0), metadata_(engine) {}
  /// The next id; `done` runs on loop 0. Any thread. At most 10,000 may wait for a block; more are
  /// answered COORDINATOR_LOAD_IN_PROGRESS, which clients repeat.
  void next(Done done);

 private:
  void next_on_loop_0(Done done);
  void block_arrived(Result<metadata::MetadataEngine::ProducerIdBlock> block);

  env::Loop& loop_0_;
  metadata::MetadataEngine& metadata_;
  std::int64_t next_ = 0;
  std::int64_t end_ = 0;
  bool asked_ = false;
  std::deque<Done> waiting_;
};

struct InitProducerIdDeps {
  explicit InitProducerIdDeps(std::shared_ptr<ProducerIdManager> manager)
      : ids(std::move(manager)) {}
  std::shared_ptr<ProducerIdManager> ids;
};

void handle_init_producer_id(const InitProducerIdDeps& deps, const RequestContext& context,
                             wire::InitProducerIdRequest request,
                             Reply<wire::InitProducerIdResponse> reply);

}  // namespace kmirror::server
