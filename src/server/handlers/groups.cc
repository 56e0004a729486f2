#include "server/handlers/groups.h"

#include <utility>

#include "server/handlers/find_coordinator.h"
#include "server/handlers/topic_facts.h"

namespace kmirror::server {
namespace {

using coordinator::GroupCoordinator;
using coordinator::GroupRequestContext;

struct GroupDeps {
  explicit GroupDeps(GroupCoordinator& coordinator) : groups(coordinator) {}
  GroupCoordinator& groups;
};

template <class Request, class Response>
using Method = void (GroupCoordinator::*)(Request, ApiVersion, GroupRequestContext,
                                          GroupCoordinator::Done<Response>);

GroupRequestContext group_context(const RequestContext& context) {
  return {context.client_id.value_or(""), "/" + context.connection->peer.host, *context.loop};
}

// One handler for each method of the coordinator.
template <class Request, class Response, Method<Request, Response> kMethod>
void forward(const GroupDeps& deps, const RequestContext& context, Request request,
             Reply<Response> reply) {
  (deps.groups.*kMethod)(
      std::move(request), context.version, group_context(context),
      [reply = std::move(reply)](Response response) mutable { reply(response); });
}

template <class Request, class Response, Method<Request, Response> kMethod>
Handler& add(HandlerTable& table, GroupCoordinator& groups) {
  return table.add<Request, Response>(GroupDeps(groups), &forward<Request, Response, kMethod>);
}

void handle_describe_groups(const GroupDeps& deps, const RequestContext& context,
                            wire::DescribeGroupsRequest request,
                            Reply<wire::DescribeGroupsResponse> reply) {
  const bool with_operations = request.include_authorized_operations;
  deps.groups.describe_groups(
      std::move(request), context.version, group_context(context),
      [reply = std::move(reply), with_operations](wire::DescribeGroupsResponse response) mutable {
        for (auto& group : response.groups) {
          if (with_operations && group.error_code == ErrorCode::NONE) {
            group.authorized_operations = kAllGroupOperations;
          }
        }
        reply(response);
      });
}

}  // namespace

void add_group_handlers(HandlerTable& table, const HandlerServices& services) {
  if (services.deps.groups == nullptr) return;
  GroupCoordinator& groups = *services.deps.groups;
  add<wire::JoinGroupRequest, wire::JoinGroupResponse, &GroupCoordinator::join_group>(table, groups)
      .abandon_at_end();
  add<wire::SyncGroupRequest, wire::SyncGroupResponse, &GroupCoordinator::sync_group>(table, groups)
      .abandon_at_end();
  add<wire::HeartbeatRequest, wire::HeartbeatResponse, &GroupCoordinator::heartbeat>(table, groups);
  add<wire::LeaveGroupRequest, wire::LeaveGroupResponse, &GroupCoordinator::leave_group>(table,
                                                                                         groups);
  add<wire::OffsetCommitRequest, wire::OffsetCommitResponse, &GroupCoordinator::commit_offsets>(
      table, groups);
  add<wire::OffsetFetchRequest, wire::OffsetFetchResponse, &GroupCoordinator::fetch_offsets>(
      table, groups);
  add<wire::ListGroupsRequest, wire::ListGroupsResponse, &GroupCoordinator::list_groups>(table,
                                                                                         groups);
  add<wire::DeleteGroupsRequest, wire::DeleteGroupsResponse, &GroupCoordinator::delete_groups>(
      table, groups);
  add<wire::OffsetDeleteRequest, wire::OffsetDeleteResponse, &GroupCoordinator::delete_offsets>(
      table, groups);
  table.add<wire::DescribeGroupsRequest, wire::DescribeGroupsResponse>(GroupDeps(groups),
                                                                       &handle_describe_groups);
  table.add<wire::FindCoordinatorRequest, wire::FindCoordinatorResponse>(
      FindCoordinatorDeps(services.deps.metadata, groups), &handle_find_coordinator);
}

}  // namespace kmirror::server
