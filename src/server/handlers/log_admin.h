// DeleteRecords (key 21), DescribeLogDirs (key 35) and DescribeProducers (key 61): what
// administrators ask of the logs themselves. Owner: any loop; what changes or belongs to a log runs
// on its owner loop, one post per loop. Sources: Kafka 4.4 ReplicaManager.deleteRecords,
// describeLogDirs, activeProducerState; KIP-107, KIP-113, KIP-664, KIP-827.
#pragma once

#include "kmirror/env/environment.h"
#include "kmirror/metadata/engine.h"
#include "kmirror/wire/delete_records_request.h"
#include "kmirror/wire/delete_records_response.h"
#include "kmirror/wire/describe_log_dirs_request.h"
#include "kmirror/wire/describe_log_dirs_response.h"
#include "kmirror/wire/describe_producers_request.h"
#include "kmirror/wire/describe_producers_response.h"
#include "server/handlers/partition_finder.h"
#include "server/handlers/table.h"

namespace kmirror::server {

struct LogAdminDeps {
  explicit LogAdminDeps(const HandlerServices& services)
      : environment(services.environment),
        metadata(services.deps.metadata),
        logs(services.deps.logs),
        finder(services.deps.logs, services.config.node_id),
        guard(services.guard) {}
  env::Environment& environment;
  const metadata::MetadataEngine& metadata;
  storage::LogManager& logs;
  PartitionFinder finder;
  WriteGuard guard;
};

void handle_delete_records(const LogAdminDeps& deps, const RequestContext& context,
                           wire::DeleteRecordsRequest request,
                           Reply<wire::DeleteRecordsResponse> reply);
void handle_describe_log_dirs(const LogAdminDeps& deps, const RequestContext& context,
                              wire::DescribeLogDirsRequest request,
                              Reply<wire::DescribeLogDirsResponse> reply);
void handle_describe_producers(const LogAdminDeps& deps, const RequestContext& context,
                               wire::DescribeProducersRequest request,
                               Reply<wire::DescribeProducersResponse> reply);

}  // namespace kmirror::server
