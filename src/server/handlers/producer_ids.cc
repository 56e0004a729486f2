#include "server/handlers/producer_ids.h"

#include <utility>

namespace kmirror::server {
namespace {

constexpr std::size_t kMaxWaiting = 10'000;

}  // namespace

void ProducerIdManager::next(Done done) {
  loop_0_.post([self = shared_from_this(), done = std::move(done)]() mutable {
    self->next_on_loop_0(std::move(done));
  });
}

void ProducerIdManager::next_on_loop_0(Done done) {
  if (next_ < end_) return done(ProducerId(next_++));
  if (waiting_.size() >= kMaxWaiting) {
    return done(kafka_error(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
                            "too many producers wait for an id; try again"));
  }
  waiting_.push_back(std::move(done));
  if (asked_) return;
  asked_ = true;
  metadata_.allocate_producer_ids(
      [self = shared_from_this()](Result<metadata::MetadataEngine::ProducerIdBlock> block) {
        self->block_arrived(std::move(block));
      });
}

void ProducerIdManager::block_arrived(Result<metadata::MetadataEngine::ProducerIdBlock> block) {
  asked_ = false;
  std::deque<Done> waiting = std::exchange(waiting_, {});
  if (!block) {
    for (auto& done : waiting) done(block.error());
    return;
  }
  next_ = block->first;
  end_ = block->first + block->length;
  for (auto& done : waiting) next_on_loop_0(std::move(done));
}

void handle_init_producer_id(const InitProducerIdDeps& deps, const RequestContext&,
                             wire::InitProducerIdRequest request,
                             Reply<wire::InitProducerIdResponse> reply) {
  wire::InitProducerIdResponse response;
  if (request.transactional_id) {
    // There is no transaction coordinator; the code is one that clients do not repeat.
    response.error_code = request.transactional_id->empty() ? ErrorCode::INVALID_REQUEST
                                                            : ErrorCode::UNSUPPORTED_VERSION;
    return reply(response);
  }
  deps.ids->next([reply = std::move(reply)](Result<ProducerId> id) mutable {
    wire::InitProducerIdResponse answer;
    if (id) {
      answer.producer_id = *id;
      answer.producer_epoch = ProducerEpoch(0);
    } else {
      answer.error_code = to_kafka_error(id.error());
    }
    reply(answer);
  });
}

}  // namespace kmirror::server
