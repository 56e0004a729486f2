// Requests that change mirrors: checked against actual states here, then handed to the engine,
// which checks the desired ones. Owner: loop 0. Sources: spec B.5, F.1-F.7; decisions 3.1, 3.15;
// seed 003 (two-step validation).
#include <algorithm>
#include <set>

#include "kmirror/base/log.h"
#include "kmirror/wire/delete_cluster_mirror_response.h"
#include "kmirror/wire/pause_mirror_topics_response.h"
#include "kmirror/wire/recover_mirror_topics_request.h"
#include "kmirror/wire/recover_mirror_topics_response.h"
#include "kmirror/wire/resume_mirror_topics_response.h"
#include "mirror/mirror_settings.h"
#include "mirror/service_impl.h"

namespace kmirror::mirror {
namespace {

/// A create or start does not wait longer for the source: it is looked up again by the refresh.
constexpr std::chrono::seconds kSourceWait{5};

template <class Response>
Response refused(ErrorCode code, std::string message) {
  Response response;
  response.error_code = code;
  response.error_message = std::move(message);
  return response;
}

bool needs_source(const wire::StartMirrorTopicsRequest& request) {
  if (!request.include_patterns.empty()) return true;
  return std::any_of(request.topics.begin(), request.topics.end(), [](const auto& topic) {
    return topic.topic_id.is_zero() || topic.num_partitions <= 0;
  });
}

env::Awaitable<Result<wire::MetadataResponse>> ask(client::AdminClient* admin,
                                                   std::optional<std::vector<std::string>> topics) {
  auto answer = co_await admin->metadata(std::move(topics));
  co_return answer;
}

}  // namespace

using Impl = MirrorService::Impl;

env::Awaitable<std::optional<std::string>> Impl::source_cluster_id(
    std::vector<env::Endpoint> bootstrap) {
  client::AdminOptions options;
  options.bootstrap = std::move(bootstrap);
  options.connection.client_id = fmt::format("kmirror-{}-create", deps_.configs.node_id());
  client::AdminClient admin(deps_.environment, loop_, std::move(options));
  auto asking = ask(&admin, std::vector<std::string>());
  const env::Instant deadline = deps_.environment.clock.now() + kSourceWait;
  auto answer = co_await env::with_deadline(deps_.environment.clock, deadline, std::move(asking),
                                            "asking the source for its cluster id");
  if (!answer) {
    KM_LOG(kWarn, "mirror.source_not_asked", "{}", answer.error().message);
    co_return std::nullopt;
  }
  co_return answer->cluster_id;
}

env::Awaitable<void> Impl::create(wire::CreateClusterMirrorRequest request,
                                  std::shared_ptr<Done<wire::CreateClusterMirrorResponse>> done) {
  using Response = wire::CreateClusterMirrorResponse;
  metadata::ConfigMap configs;
  for (const auto& config : request.configs) configs[config.name] = config.value.value_or("");
  Result<std::vector<env::Endpoint>> bootstrap = bootstrap_of(configs);
  const bool exists = deps_.metadata.image()->has_mirror(request.mirror_name);
  // What is wrong in itself is the engine's to refuse, without asking the source.
  if (bootstrap && !exists) {
    const auto cluster_id = co_await source_cluster_id(std::move(*bootstrap));
    const std::string& own = deps_.metadata.image()->cluster_id;
    if (cluster_id && *cluster_id == own) {
      Response response = refused<Response>(
          ErrorCode::INVALID_REQUEST,
          fmt::format("bootstrap.servers leads to this cluster itself ({}): a mirror needs another "
                      "cluster as its source",
                      own));
      (*done)(std::move(response));
      co_return;
    }
    const auto given = configs.find("source.cluster.id");
    if (cluster_id && given != configs.end() && given->second != *cluster_id) {
      Response response = refused<Response>(
          ErrorCode::INVALID_REQUEST,
          fmt::format("source.cluster.id is {}, but bootstrap.servers leads to cluster {}",
                      given->second, *cluster_id));
      (*done)(std::move(response));
      co_return;
    }
    if (cluster_id && given == configs.end()) {
      auto& config = request.configs.emplace_back();
      config.name = "source.cluster.id";
      config.value = *cluster_id;
    }
  }
  deps_.metadata.create_cluster_mirror(std::move(request), std::move(*done));
}

/// Fills in ids and partition counts of named topics, and adds the topics that patterns match.
/// Without an answer of the source the request stays as it is: names and patterns are remembered.
env::Awaitable<void> Impl::resolve(wire::StartMirrorTopicsRequest* request) {
  const Result<client::AdminOptions> options = manager_.source_of(request->mirror_name);
  if (!options) co_return;
  client::AdminClient admin(deps_.environment, loop_, *options);
  std::optional<std::vector<std::string>> names;
  if (request->include_patterns.empty()) {
    names.emplace();
    for (const auto& topic : request->topics) names->push_back(topic.topic_name);
  }
  auto asking = ask(&admin, std::move(names));
  const env::Instant deadline = deps_.environment.clock.now() + kSourceWait;
  auto answer = co_await env::with_deadline(deps_.environment.clock, deadline, std::move(asking),
                                            "asking the source for its topics");
  if (!answer) {
    KM_LOG(kWarn, "mirror.source_not_asked", "mirror {}: {}", request->mirror_name,
           answer.error().message);
    co_return;
  }
  fill_in(*request, *answer);
}

void Impl::fill_in(wire::StartMirrorTopicsRequest& request,
                   const wire::MetadataResponse& source) const {
  const auto image = deps_.metadata.image();
  const auto excluded_now =
      deps_.configs.mirror_value(*image, request.mirror_name, "mirror.topics.exclude");
  std::vector<std::string> exclude = request.exclude_patterns;
  for (const std::string& entry : metadata::split_list(excluded_now.value_or(""))) {
    const auto& includes = request.include_patterns;
    if (std::find(includes.begin(), includes.end(), entry) == includes.end()) {
      exclude.push_back(entry);
    }
  }
  const Result<metadata::RegexList> wanted = metadata::RegexList::of(request.include_patterns);
  const Result<metadata::RegexList> unwanted = metadata::RegexList::of(exclude);
  std::map<std::string, std::size_t> named;
  for (std::size_t i = 0; i < request.topics.size(); ++i) named[request.topics[i].topic_name] = i;
  for (const auto& topic : source.topics) {
    if (!topic.name || topic.error_code != ErrorCode::NONE) continue;
    const auto count = static_cast<std::int32_t>(topic.partitions.size());
    if (const auto found = named.find(*topic.name); found != named.end()) {
      auto& start = request.topics[found->second];
      if (start.topic_id.is_zero()) start.topic_id = topic.topic_id;
      if (start.num_partitions <= 0) start.num_partitions = count;
      continue;
    }
    const bool is_meant = wanted && unwanted && wanted->matches(*topic.name) &&
                          !unwanted->matches(*topic.name) && !topic.is_internal;
    if (!is_meant) continue;
    // What a mirror has already is none of a pattern's business.
    const auto local = image->topic(*topic.name);
    if (local && local->is_mirrored()) continue;
    auto& start = request.topics.emplace_back();
    start.topic_name = *topic.name;
    start.topic_id = topic.topic_id;
    start.num_partitions = count;
  }
}

std::optional<std::string> Impl::state_fault(const std::string& mirror, const std::string& name,
                                             MirrorOperation operation) const {
  const auto image = deps_.metadata.image();
  const auto topic = image->topic(name);
  // Absent topics and topics of others are the engine's to judge.
  if (!topic || !topic->is_mirrored() || *topic->mirror_name != mirror) return std::nullopt;
  const auto target = operation == MirrorOperation::kPause    ? MirrorState::kPaused
                      : operation == MirrorOperation::kResume ? MirrorState::kMirroring
                                                              : MirrorState::kUnknown;
  for (std::size_t i = 0; i < topic->partitions.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    const MirrorState state = manager_.state_of(mirror, TopicPartition(name, index));
    // Asking for what is so already is no mistake.
    const bool is_so = target != MirrorState::kUnknown && state == target;
    if (is_so || is_allowed(operation, state)) continue;
    return fmt::format("{}-{} is {}", name, index, kmirror::name(state));
  }
  return std::nullopt;
}

env::Awaitable<void> Impl::start_topics(
    wire::StartMirrorTopicsRequest request,
    std::shared_ptr<Done<wire::StartMirrorTopicsResponse>> done) {
  const bool exists = deps_.metadata.image()->has_mirror(request.mirror_name);
  if (exists && needs_source(request)) co_await resolve(&request);
  for (const auto& topic : request.topics) {
    auto fault = state_fault(request.mirror_name, topic.topic_name, MirrorOperation::kStart);
    if (!fault) continue;
    auto response = refused<wire::StartMirrorTopicsResponse>(
        ErrorCode::INVALID_CLUSTER_MIRROR_STATE, *fault + "; start needs STOPPED");
    (*done)(std::move(response));
    co_return;
  }
  request.state_offset = Offset(deps_.metadata.image()->offset);
  const std::string mirror = request.mirror_name;
  deps_.metadata.start_mirror_topics(
      std::move(request), [this, mirror, done](wire::StartMirrorTopicsResponse response) {
        manager_.refresh_soon(mirror);
        (*done)(std::move(response));
      });
}

template <class Request, class Response>
void Impl::change_state(Request request, MirrorOperation operation,
                        void (metadata::MetadataEngine::*command)(Request, Done<Response>),
                        Done<Response> done) {
  for (const auto& topic : request.topics) {
    const auto fault = state_fault(request.mirror_name, topic.topic_name, operation);
    if (!fault) continue;
    const char* needs =
        operation == MirrorOperation::kPause ? "; pause needs MIRRORING" : "; resume needs PAUSED";
    return done(refused<Response>(ErrorCode::INVALID_CLUSTER_MIRROR_STATE, *fault + needs));
  }
  request.state_offset = Offset(deps_.metadata.image()->offset);
  (deps_.metadata.*command)(std::move(request), std::move(done));
}

void Impl::remove(wire::DeleteClusterMirrorRequest request,
                  Done<wire::DeleteClusterMirrorResponse> done) {
  const auto image = deps_.metadata.image();
  for (const auto& topic : image->mirror_topics(request.mirror_name)) {
    // Topics that are not even wanted STOPPED are the engine's to name.
    if (topic->desired_mirror_state != metadata::DesiredMirrorState::kStopped) continue;
    const auto fault = state_fault(request.mirror_name, topic->name, MirrorOperation::kDelete);
    if (!fault) continue;
    return done(refused<wire::DeleteClusterMirrorResponse>(ErrorCode::INVALID_CLUSTER_MIRROR_STATE,
                                                           *fault + "; wait until it is STOPPED"));
  }
  request.state_offset = Offset(image->offset);
  deps_.metadata.delete_cluster_mirror(std::move(request), std::move(done));
}

void Impl::recover(const wire::RecoverMirrorTopicsRequest& request,
                   Done<wire::RecoverMirrorTopicsResponse> done) {
  wire::RecoverMirrorTopicsResponse response;
  const auto image = deps_.metadata.image();
  if (!image->has_mirror(request.mirror_name)) {
    return done(refused<wire::RecoverMirrorTopicsResponse>(
        ErrorCode::UNKNOWN_CLUSTER_MIRROR,
        fmt::format("there is no mirror '{}'", request.mirror_name)));
  }
  std::vector<std::string> names;
  for (const auto& wanted : request.topics) {
    auto& result = response.topics.emplace_back();
    result.topic_name = wanted.topic_name;
    const auto topic = image->topic(wanted.topic_name);
    if (!topic || !topic->is_mirrored() || *topic->mirror_name != request.mirror_name) {
      result.error_code = ErrorCode::TOPIC_NOT_IN_CLUSTER_MIRROR;
      result.error_message = fmt::format("topic {} does not belong to mirror {}", wanted.topic_name,
                                         request.mirror_name);
      continue;
    }
    names.push_back(wanted.topic_name);
  }
  manager_.recover(request.mirror_name, names);
  done(std::move(response));
}

template <class Request, class Response>
void run_change(Impl* impl, Request request, MirrorOperation operation,
                void (metadata::MetadataEngine::*command)(Request, Done<Response>),
                Done<Response> done) {
  impl->on_loop([impl, request = std::move(request), operation, command,
                 done = std::move(done)]() mutable {
    impl->change_state<Request, Response>(std::move(request), operation, command, std::move(done));
  });
}

void MirrorService::create_cluster_mirror(wire::CreateClusterMirrorRequest request,
                                          Done<wire::CreateClusterMirrorResponse> done) {
  Impl* impl = impl_.get();
  impl->on_loop([impl, request = std::move(request),
                 shared = std::make_shared<Done<wire::CreateClusterMirrorResponse>>(
                     std::move(done))]() mutable {
    impl->tasks_.spawn("create mirror", impl->create(std::move(request), shared));
  });
}

void MirrorService::start_mirror_topics(wire::StartMirrorTopicsRequest request,
                                        Done<wire::StartMirrorTopicsResponse> done) {
  Impl* impl = impl_.get();
  impl->on_loop([impl, request = std::move(request),
                 shared = std::make_shared<Done<wire::StartMirrorTopicsResponse>>(
                     std::move(done))]() mutable {
    impl->tasks_.spawn("start mirror topics", impl->start_topics(std::move(request), shared));
  });
}

void MirrorService::stop_mirror_topics(wire::StopMirrorTopicsRequest request,
                                       Done<wire::StopMirrorTopicsResponse> done) {
  // Legal from every state, decided topic by topic (decisions 3.1).
  impl_->deps_.metadata.stop_mirror_topics(std::move(request), std::move(done));
}

void MirrorService::pause_mirror_topics(wire::PauseMirrorTopicsRequest request,
                                        Done<wire::PauseMirrorTopicsResponse> done) {
  run_change(impl_.get(), std::move(request), MirrorOperation::kPause,
             &metadata::MetadataEngine::pause_mirror_topics, std::move(done));
}

void MirrorService::resume_mirror_topics(wire::ResumeMirrorTopicsRequest request,
                                         Done<wire::ResumeMirrorTopicsResponse> done) {
  run_change(impl_.get(), std::move(request), MirrorOperation::kResume,
             &metadata::MetadataEngine::resume_mirror_topics, std::move(done));
}

void MirrorService::delete_cluster_mirror(wire::DeleteClusterMirrorRequest request,
                                          Done<wire::DeleteClusterMirrorResponse> done) {
  Impl* impl = impl_.get();
  impl->on_loop([impl, request = std::move(request), done = std::move(done)]() mutable {
    impl->remove(std::move(request), std::move(done));
  });
}

void MirrorService::recover_mirror_topics(wire::RecoverMirrorTopicsRequest request,
                                          Done<wire::RecoverMirrorTopicsResponse> done) {
  Impl* impl = impl_.get();
  impl->on_loop([impl, request = std::move(request), done = std::move(done)]() mutable {
    impl->recover(request, std::move(done));
  });
}

void MirrorService::bump_leader_epochs(wire::BumpLeaderEpochsRequest request,
                                       Done<wire::BumpLeaderEpochsResponse> done) {
  impl_->deps_.metadata.bump_leader_epochs(std::move(request), std::move(done));
}

}  // namespace kmirror::mirror
