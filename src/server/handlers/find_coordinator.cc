#include "server/handlers/find_coordinator.h"

#include <utility>

#include "server/handlers/topic_facts.h"

namespace kmirror::server {
namespace {

constexpr ApiVersion kFirstWithSeveralKeys{4};
constexpr std::int8_t kGroupKey = 0;
constexpr std::int8_t kTransactionKey = 1;

using Coordinator = wire::FindCoordinatorResponse::Coordinator;

Coordinator nobody(const std::string& key, ErrorCode error, std::string message) {
  Coordinator entry;
  entry.key = key;
  entry.node_id = NodeId(-1);
  entry.port = -1;
  entry.error_code = error;
  entry.error_message = std::move(message);
  return entry;
}

Coordinator refused(const std::string& key, std::int8_t type) {
  if (type == kTransactionKey) {
    return nobody(key, ErrorCode::INVALID_REQUEST, "transactions are not served here");
  }
  return nobody(key, ErrorCode::INVALID_REQUEST,
                fmt::format("coordinator key type {} is not served here", type));
}

Coordinator coordinator_of(const FindCoordinatorDeps& deps, const metadata::MetadataImage& image,
                           const std::string& group, const std::string& listener) {
  const auto* partition =
      image.partition(coordinator::kConsumerOffsetsTopic, deps.groups.partition_for(group));
  if (partition == nullptr) {
    return nobody(group, ErrorCode::COORDINATOR_NOT_AVAILABLE,
                  "__consumer_offsets is not there yet");
  }
  const LeaderView view = leader_for(image, *partition, listener);
  if (view.error != ErrorCode::NONE) {
    return nobody(group, ErrorCode::COORDINATOR_NOT_AVAILABLE,
                  "the leader of the group's partition has no address on this listener");
  }
  Coordinator entry;
  entry.key = group;
  entry.node_id = view.leader;
  entry.host = view.endpoint->host;
  entry.port = view.endpoint->port;
  entry.error_message = std::nullopt;
  return entry;
}

wire::FindCoordinatorResponse response_of(std::vector<Coordinator> found, ApiVersion version) {
  wire::FindCoordinatorResponse response;
  response.error_message = std::nullopt;
  if (version >= kFirstWithSeveralKeys) {
    response.coordinators = std::move(found);
    return response;
  }
  Coordinator& only = found.front();
  response.error_code = only.error_code;
  response.error_message = std::move(only.error_message);
  response.node_id = only.node_id;
  response.host = std::move(only.host);
  response.port = only.port;
  return response;
}

}  // namespace

void handle_find_coordinator(const FindCoordinatorDeps& deps, const RequestContext& context,
                             wire::FindCoordinatorRequest request,
                             Reply<wire::FindCoordinatorResponse> reply) {
  std::vector<std::string> keys = context.version >= kFirstWithSeveralKeys
                                      ? std::move(request.coordinator_keys)
                                      : std::vector<std::string>(1, std::move(request.key));
  if (request.key_type != kGroupKey) {
    std::vector<Coordinator> found;
    for (const auto& key : keys) found.push_back(refused(key, request.key_type));
    return reply(response_of(std::move(found), context.version));
  }
  auto answer = [deps, keys = std::move(keys), version = context.version,
                 connection = context.connection,
                 reply = std::move(reply)](const Result<void>&) mutable {
    // A topic that could not be made shows as a missing partition below.
    const auto image = deps.metadata.image();
    std::vector<Coordinator> found;
    for (const auto& key : keys) {
      found.push_back(coordinator_of(deps, *image, key, connection->listener));
    }
    reply(response_of(std::move(found), version));
  };
  deps.groups.ensure_topic(*context.loop, std::move(answer));
}

}  // namespace kmirror::server
