#include "server/handlers/topics_admin.h"

#include <utility>

namespace kmirror::server {
namespace {

struct EngineDeps {
  explicit EngineDeps(metadata::MetadataEngine& engine) : metadata(engine) {}
  metadata::MetadataEngine& metadata;
};

template <class Response>
metadata::Done<Response> to(Reply<Response> reply) {
  return [reply = std::move(reply)](Response response) mutable { reply(response); };
}

void create_topics(const EngineDeps& deps, const RequestContext& context,
                   wire::CreateTopicsRequest request, Reply<wire::CreateTopicsResponse> reply) {
  deps.metadata.create_topics(std::move(request), context.version, to(std::move(reply)));
}

void delete_topics(const EngineDeps& deps, const RequestContext&, wire::DeleteTopicsRequest request,
                   Reply<wire::DeleteTopicsResponse> reply) {
  deps.metadata.delete_topics(std::move(request), to(std::move(reply)));
}

void create_partitions(const EngineDeps& deps, const RequestContext&,
                       wire::CreatePartitionsRequest request,
                       Reply<wire::CreatePartitionsResponse> reply) {
  deps.metadata.create_partitions(std::move(request), false, to(std::move(reply)));
}

void incremental_alter_configs(const EngineDeps& deps, const RequestContext&,
                               wire::IncrementalAlterConfigsRequest request,
                               Reply<wire::IncrementalAlterConfigsResponse> reply) {
  deps.metadata.incremental_alter_configs(std::move(request), false, to(std::move(reply)));
}

void alter_configs(const EngineDeps& deps, const RequestContext&, wire::AlterConfigsRequest request,
                   Reply<wire::AlterConfigsResponse> reply) {
  deps.metadata.alter_configs(std::move(request), to(std::move(reply)));
}

}  // namespace

void add_topic_admin_handlers(HandlerTable& table, const HandlerServices& services) {
  const EngineDeps deps(services.deps.metadata);
  table.add<wire::CreateTopicsRequest, wire::CreateTopicsResponse>(deps, &create_topics);
  table.add<wire::DeleteTopicsRequest, wire::DeleteTopicsResponse>(deps, &delete_topics);
  table.add<wire::CreatePartitionsRequest, wire::CreatePartitionsResponse>(deps,
                                                                           &create_partitions);
  table.add<wire::IncrementalAlterConfigsRequest, wire::IncrementalAlterConfigsResponse>(
      deps, &incremental_alter_configs);
  table.add<wire::AlterConfigsRequest, wire::AlterConfigsResponse>(deps, &alter_configs);
}

}  // namespace kmirror::server
