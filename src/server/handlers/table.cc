#include "server/handlers/table.h"

#include "server/handlers/acls.h"
#include "server/handlers/api_versions.h"
#include "server/handlers/cluster.h"
#include "server/handlers/configs.h"
#include "server/handlers/fetch.h"
#include "server/handlers/groups.h"
#include "server/handlers/list_offsets.h"
#include "server/handlers/log_admin.h"
#include "server/handlers/metadata.h"
#include "server/handlers/mirrors.h"
#include "server/handlers/produce.h"
#include "server/handlers/producer_ids.h"
#include "server/handlers/topics_admin.h"

namespace kmirror::server {
namespace {

void add_data_handlers(HandlerTable& table, const HandlerServices& services) {
  const ServerDeps& deps = services.deps;
  table.add<wire::ProduceRequest, wire::ProduceResponse>(ProduceDeps(services), &handle_produce)
      .advertise_from(ApiVersion(0));  // librdkafka chooses its codecs by it (decisions section 2)
  table
      .add<wire::FetchRequest, wire::FetchResponse>(
          FetchDeps(services.environment, deps.metadata, deps.logs, services.config,
                    services.timers, deps.metrics),
          &handle_fetch)
      .alone();
  const ListOffsetsDeps positions(services.environment.disk, deps.metadata, deps.logs,
                                  services.config.node_id);
  table.add<wire::ListOffsetsRequest, wire::ListOffsetsResponse>(positions, &handle_list_offsets);
  table.add<wire::OffsetForLeaderEpochRequest, wire::OffsetForLeaderEpochResponse>(
      positions, &handle_offset_for_leader_epoch);
  table.add<wire::InitProducerIdRequest, wire::InitProducerIdResponse>(
      InitProducerIdDeps(
          std::make_shared<ProducerIdManager>(*services.environment.loops[0], deps.metadata)),
      &handle_init_producer_id);
}

void add_cluster_handlers(HandlerTable& table, const HandlerServices& services) {
  const ServerDeps& deps = services.deps;
  table.add(std::make_unique<ApiVersionsHandler>(table, deps.metadata, services.config.node_id));
  table.add<wire::MetadataRequest, wire::MetadataResponse>(
      MetadataDeps(deps.metadata, services.config), &handle_metadata);
  const ClusterDeps cluster(deps.metadata, services.config);
  table.add<wire::DescribeClusterRequest, wire::DescribeClusterResponse>(cluster,
                                                                         &handle_describe_cluster);
  table.add<wire::DescribeTopicPartitionsRequest, wire::DescribeTopicPartitionsResponse>(
      cluster, &handle_describe_topic_partitions);
  const ConfigsDeps configs(deps.metadata, deps.configs);
  table.add<wire::DescribeConfigsRequest, wire::DescribeConfigsResponse>(configs,
                                                                         &handle_describe_configs);
  table.add<wire::ListConfigResourcesRequest, wire::ListConfigResourcesResponse>(
      configs, &handle_list_config_resources);
}

void add_log_handlers(HandlerTable& table, const HandlerServices& services) {
  const LogAdminDeps logs(services);
  table.add<wire::DeleteRecordsRequest, wire::DeleteRecordsResponse>(logs, &handle_delete_records);
  table.add<wire::DescribeLogDirsRequest, wire::DescribeLogDirsResponse>(logs,
                                                                         &handle_describe_log_dirs);
  table.add<wire::DescribeProducersRequest, wire::DescribeProducersResponse>(
      logs, &handle_describe_producers);
}

}  // namespace

void add_handlers(HandlerTable& table, const HandlerServices& services) {
  add_data_handlers(table, services);
  add_cluster_handlers(table, services);
  add_log_handlers(table, services);
  add_topic_admin_handlers(table, services);
  add_group_handlers(table, services);
  add_acl_handlers(table);
  add_mirror_handlers(table, services);
}

}  // namespace kmirror::server
