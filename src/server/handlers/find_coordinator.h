// FindCoordinator (key 10): the broker that leads the partition of __consumer_offsets a group
// hashes to, at the address that Metadata gives on the same listener. Owner: any loop. Sources:
// Kafka 4.4 KafkaApis.getCoordinator; KIP-699.
#pragma once

#include "kmirror/coordinator/group_coordinator.h"
#include "kmirror/metadata/engine.h"
#include "kmirror/wire/find_coordinator_request.h"
#include "kmirror/wire/find_coordinator_response.h"
#include "server/handler.h"

namespace kmirror::server {

struct FindCoordinatorDeps {
  FindCoordinatorDeps(const metadata::MetadataEngine& engine,
                      coordinator::GroupCoordinator& coordinator)
      : metadata(engine), groups(coordinator) {}
  const metadata::MetadataEngine& metadata;
  coordinator::GroupCoordinator& groups;
};

/// Groups only: transactions and share groups have no coordinator here and are refused with
/// INVALID_REQUEST, which clients do not repeat.
void handle_find_coordinator(const FindCoordinatorDeps& deps, const RequestContext& context,
                             wire::FindCoordinatorRequest request,
                             Reply<wire::FindCoordinatorResponse> reply);

}  // namespace kmirror::server
