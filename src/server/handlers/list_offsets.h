// ListOffsets (key 2) and OffsetForLeaderEpoch (key 23): positions by time, and by leader epoch.
// Owner: any loop; searches by time read segments and run in the disk pool.
// Sources: Kafka 4.4 KafkaApis.handleListOffsetRequest, ListOffsetsRequest,
// handleOffsetForLeaderEpochRequest; KIP-320, KIP-734, KIP-405 (the tiered answers).
#pragma once

#include "kmirror/env/environment.h"
#include "kmirror/metadata/engine.h"
#include "kmirror/wire/list_offsets_request.h"
#include "kmirror/wire/list_offsets_response.h"
#include "kmirror/wire/offset_for_leader_epoch_request.h"
#include "kmirror/wire/offset_for_leader_epoch_response.h"
#include "server/handler.h"
#include "server/handlers/partition_finder.h"

namespace kmirror::server {

struct ListOffsetsDeps {
  ListOffsetsDeps(env::DiskPool& pool, const metadata::MetadataEngine& engine,
                  const storage::LogManager& logs, NodeId node_id)
      : disk(pool), metadata(engine), finder(logs, node_id) {}
  env::DiskPool& disk;
  const metadata::MetadataEngine& metadata;
  PartitionFinder finder;
};

void handle_list_offsets(const ListOffsetsDeps& deps, const RequestContext& context,
                         wire::ListOffsetsRequest request, Reply<wire::ListOffsetsResponse> reply);
void handle_offset_for_leader_epoch(const ListOffsetsDeps& deps, const RequestContext& context,
                                    wire::OffsetForLeaderEpochRequest request,
                                    Reply<wire::OffsetForLeaderEpochResponse> reply);

}  // namespace kmirror::server
