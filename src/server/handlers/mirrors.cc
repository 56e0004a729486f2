#include "server/handlers/mirrors.h"

#include <utility>

#include "kmirror/mirror/mirror_service.h"
#include "kmirror/wire/add_topics_to_mirror_request.h"
#include "kmirror/wire/add_topics_to_mirror_response.h"
#include "kmirror/wire/bump_leader_epochs_request.h"
#include "kmirror/wire/bump_leader_epochs_response.h"
#include "kmirror/wire/create_cluster_mirror_request.h"
#include "kmirror/wire/create_cluster_mirror_response.h"
#include "kmirror/wire/create_mirror_request.h"
#include "kmirror/wire/create_mirror_response.h"
#include "kmirror/wire/delete_cluster_mirror_request.h"
#include "kmirror/wire/delete_cluster_mirror_response.h"
#include "kmirror/wire/describe_cluster_mirrors_request.h"
#include "kmirror/wire/describe_cluster_mirrors_response.h"
#include "kmirror/wire/describe_mirrors_request.h"
#include "kmirror/wire/describe_mirrors_response.h"
#include "kmirror/wire/last_mirrored_offsets_request.h"
#include "kmirror/wire/last_mirrored_offsets_response.h"
#include "kmirror/wire/list_cluster_mirrors_request.h"
#include "kmirror/wire/list_cluster_mirrors_response.h"
#include "kmirror/wire/list_mirrors_request.h"
#include "kmirror/wire/list_mirrors_response.h"
#include "kmirror/wire/pause_mirror_topics_request.h"
#include "kmirror/wire/pause_mirror_topics_response.h"
#include "kmirror/wire/read_mirror_offsets_request.h"
#include "kmirror/wire/read_mirror_offsets_response.h"
#include "kmirror/wire/read_mirror_states_request.h"
#include "kmirror/wire/read_mirror_states_response.h"
#include "kmirror/wire/recover_mirror_topics_request.h"
#include "kmirror/wire/recover_mirror_topics_response.h"
#include "kmirror/wire/remove_topics_from_mirror_request.h"
#include "kmirror/wire/remove_topics_from_mirror_response.h"
#include "kmirror/wire/resume_mirror_topics_request.h"
#include "kmirror/wire/resume_mirror_topics_response.h"
#include "kmirror/wire/start_mirror_topics_request.h"
#include "kmirror/wire/start_mirror_topics_response.h"
#include "kmirror/wire/stop_mirror_topics_request.h"
#include "kmirror/wire/stop_mirror_topics_response.h"
#include "kmirror/wire/write_mirror_states_request.h"
#include "kmirror/wire/write_mirror_states_response.h"

namespace kmirror::server {
namespace {

using mirror::MirrorService;

struct MirrorDeps {
  explicit MirrorDeps(MirrorService& service) : mirror(service) {}
  MirrorService& mirror;
};

template <class Request, class Response>
using Method = void (MirrorService::*)(Request, metadata::Done<Response>);
template <class Request, class Response>
using VersionedMethod = void (MirrorService::*)(Request, ApiVersion, metadata::Done<Response>);

template <class Response>
metadata::Done<Response> to(Reply<Response> reply) {
  return [reply = std::move(reply)](Response response) mutable { reply(response); };
}

template <class Request, class Response, Method<Request, Response> kMethod>
void forward(const MirrorDeps& deps, const RequestContext&, Request request,
             Reply<Response> reply) {
  (deps.mirror.*kMethod)(std::move(request), to(std::move(reply)));
}

template <class Request, class Response, VersionedMethod<Request, Response> kMethod>
void forward_version(const MirrorDeps& deps, const RequestContext& context, Request request,
                     Reply<Response> reply) {
  (deps.mirror.*kMethod)(std::move(request), context.version, to(std::move(reply)));
}

// One handler for the method of this name.
#define KM_FORWARD(api, method)                       \
  table.add<wire::api##Request, wire::api##Response>( \
      deps, &forward<wire::api##Request, wire::api##Response, &MirrorService::method>)
#define KM_FORWARD_VERSION(api, method)               \
  table.add<wire::api##Request, wire::api##Response>( \
      deps, &forward_version<wire::api##Request, wire::api##Response, &MirrorService::method>)

}  // namespace

void add_mirror_handlers(HandlerTable& table, const HandlerServices& services) {
  if (services.deps.mirror == nullptr) return;
  const MirrorDeps deps(*services.deps.mirror);
  KM_FORWARD(CreateClusterMirror, create_cluster_mirror);
  KM_FORWARD(StartMirrorTopics, start_mirror_topics);
  KM_FORWARD(StopMirrorTopics, stop_mirror_topics);
  KM_FORWARD(PauseMirrorTopics, pause_mirror_topics);
  KM_FORWARD(ResumeMirrorTopics, resume_mirror_topics);
  KM_FORWARD(DeleteClusterMirror, delete_cluster_mirror);
  KM_FORWARD(RecoverMirrorTopics, recover_mirror_topics);
  KM_FORWARD(ListClusterMirrors, list_cluster_mirrors);
  KM_FORWARD(DescribeClusterMirrors, describe_cluster_mirrors);
  KM_FORWARD(ReadMirrorOffsets, read_mirror_offsets);
  KM_FORWARD(BumpLeaderEpochs, bump_leader_epochs);
  KM_FORWARD(CreateMirror, create_mirror);
  KM_FORWARD(AddTopicsToMirror, add_topics_to_mirror);
  KM_FORWARD(RemoveTopicsFromMirror, remove_topics_from_mirror);
  KM_FORWARD(LastMirroredOffsets, last_mirrored_offsets);
  KM_FORWARD(ListMirrors, list_mirrors);
  KM_FORWARD(DescribeMirrors, describe_mirrors);
  KM_FORWARD_VERSION(ReadMirrorStates, read_mirror_states);
  KM_FORWARD_VERSION(WriteMirrorStates, write_mirror_states);
}

#undef KM_FORWARD
#undef KM_FORWARD_VERSION

WriteGuard write_guard(MirrorService* mirror) {
  WriteGuard guard;
  if (mirror == nullptr) {
    guard.partition_is_writable = [](std::string_view, std::int32_t) { return true; };
    guard.message = [](std::string_view) { return std::string(); };
    return guard;
  }
  guard.partition_is_writable = [mirror](std::string_view topic, std::int32_t partition) {
    return mirror->is_writable(topic, partition);
  };
  guard.message = [mirror](std::string_view topic) { return mirror->read_only_message(topic); };
  return guard;
}

}  // namespace kmirror::server
