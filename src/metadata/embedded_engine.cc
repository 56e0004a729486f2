// EmbeddedEngine: each command as it enters the queue.
#include "kmirror/metadata/embedded_engine.h"

#include <type_traits>

#include "metadata/commands.h"
#include "metadata/embedded_engine_impl.h"
#include "metadata/refusals.h"

namespace kmirror::metadata {
namespace {

/// Everything of one command: alive from the call to `done`.
template <class Request, class Response>
struct Call {
  Call(Request r, Done<Response> d) : request(std::move(r)), done(std::move(d)) {}
  Request request;
  std::optional<Response> response;
  Done<Response> done;
};

/// A Kafka request: `evaluate_with` gives the answer, refusal() the answer to a failure.
template <class Response, class Request, class Evaluate>
PendingCommand request_call(Request request, Done<Response> done, Evaluate evaluate_with) {
  auto call = std::make_shared<Call<Request, Response>>(std::move(request), std::move(done));
  PendingCommand pending;
  pending.evaluate = [call, evaluate_with](Command& command) {
    call->response = evaluate_with(command, call->request);
  };
  pending.finish = [call](const ErrorAnswer& answer) {
    call->done(answer.failed() ? refusal(call->request, answer) : std::move(*call->response));
  };
  return pending;
}

template <class Response, class Request>
PendingCommand request_call(Request request, Done<Response> done) {
  return request_call<Response>(
      std::move(request), std::move(done),
      [](Command& command, const Request& r) { return evaluate(command, r); });
}

/// A call of our own that yields a Result.
template <class T, class Evaluate>
PendingCommand result_call(Done<Result<T>> done, Evaluate evaluate_with) {
  auto call =
      std::make_shared<Call<Evaluate, Result<T>>>(std::move(evaluate_with), std::move(done));
  PendingCommand pending;
  pending.evaluate = [call](Command& command) { call->response = call->request(command); };
  pending.finish = [call](const ErrorAnswer& answer) {
    if (answer.failed()) {
      call->done(kafka_error(answer.code, answer.message));
    } else {
      call->done(std::move(*call->response));
    }
  };
  return pending;
}

}  // namespace

EmbeddedEngine::EmbeddedEngine(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->services.is_writable = [this](const TopicImage& topic) {
    return is_writable && is_writable(topic);
  };
}
EmbeddedEngine::~EmbeddedEngine() { impl_->services.is_writable = nullptr; }

Result<std::unique_ptr<EmbeddedEngine>> EmbeddedEngine::open(env::Environment& environment,
                                                             EmbeddedEngineOptions options,
                                                             metrics::Registry& metrics) {
  auto impl = std::make_shared<Impl>(environment, std::move(options), metrics);
  KM_TRY_VOID(impl->open());
  return std::unique_ptr<EmbeddedEngine>(new EmbeddedEngine(std::move(impl)));
}

const ConfigResolver& EmbeddedEngine::resolver() const { return impl_->resolver; }
std::shared_ptr<const MetadataImage> EmbeddedEngine::image() const {
  return impl_->published.load();
}
void EmbeddedEngine::add_listener(MetadataListener& listener) { impl_->add_listener(listener); }
void EmbeddedEngine::shut_down(Done<Result<void>> done) { impl_->shut_down(std::move(done)); }

void EmbeddedEngine::register_broker(std::vector<ListenerEndpoint> listeners,
                                     std::optional<std::string> rack, Done<Result<void>> done) {
  impl_->submit(result_call<void>(std::move(done),
                                  [listeners = std::move(listeners), rack = std::move(rack),
                                   ids = impl_->options.log_directory_ids](Command& command) {
                                    return metadata::register_broker(command, listeners, rack, ids);
                                  }));
}

void EmbeddedEngine::add_acls(std::vector<AclImage> acls, Done<Result<void>> done) {
  impl_->submit(result_call<void>(std::move(done), [acls = std::move(acls)](Command& command) {
    return metadata::add_acls(command, acls);
  }));
}

void EmbeddedEngine::remove_acls(std::vector<Uuid> ids, std::optional<std::string> owner,
                                 Done<Result<void>> done) {
  impl_->submit(result_call<void>(
      std::move(done), [ids = std::move(ids), owner = std::move(owner)](Command& command) {
        return metadata::remove_acls(command, ids, owner);
      }));
}

void EmbeddedEngine::set_mirror_configs(std::string mirror,
                                        std::map<std::string, std::optional<std::string>> configs,
                                        Done<Result<void>> done) {
  impl_->submit(result_call<void>(
      std::move(done),
      [mirror = std::move(mirror), configs = std::move(configs)](Command& command) {
        return metadata::set_mirror_configs(command, mirror, configs);
      }));
}

void EmbeddedEngine::create_topics(wire::CreateTopicsRequest request, ApiVersion /*version*/,
                                   Done<wire::CreateTopicsResponse> done) {
  impl_->submit(request_call(std::move(request), std::move(done)));
}

void EmbeddedEngine::delete_topics(wire::DeleteTopicsRequest request,
                                   Done<wire::DeleteTopicsResponse> done) {
  impl_->submit(request_call(std::move(request), std::move(done)));
}

void EmbeddedEngine::create_partitions(wire::CreatePartitionsRequest request, bool is_mirror_sync,
                                       Done<wire::CreatePartitionsResponse> done) {
  impl_->submit(
      request_call(std::move(request), std::move(done),
                   [is_mirror_sync](Command& command, const wire::CreatePartitionsRequest& r) {
                     return evaluate(command, r, is_mirror_sync);
                   }));
}

// Configurations of a mirror topic may be changed by anybody: the next refresh overwrites them.
void EmbeddedEngine::incremental_alter_configs(wire::IncrementalAlterConfigsRequest request,
                                               bool /*is_mirror_sync*/,
                                               Done<wire::IncrementalAlterConfigsResponse> done) {
  impl_->submit(request_call(std::move(request), std::move(done)));
}

void EmbeddedEngine::alter_configs(wire::AlterConfigsRequest request,
                                   Done<wire::AlterConfigsResponse> done) {
  impl_->submit(request_call(std::move(request), std::move(done)));
}

void EmbeddedEngine::create_cluster_mirror(wire::CreateClusterMirrorRequest request,
                                           Done<wire::CreateClusterMirrorResponse> done) {
  impl_->submit(request_call(std::move(request), std::move(done)));
}

void EmbeddedEngine::delete_cluster_mirror(wire::DeleteClusterMirrorRequest request,
                                           Done<wire::DeleteClusterMirrorResponse> done) {
  impl_->submit(request_call(std::move(request), std::move(done)));
}

void EmbeddedEngine::start_mirror_topics(wire::StartMirrorTopicsRequest request,
                                         Done<wire::StartMirrorTopicsResponse> done) {
  impl_->submit(request_call(std::move(request), std::move(done)));
}

void EmbeddedEngine::stop_mirror_topics(wire::StopMirrorTopicsRequest request,
                                        Done<wire::StopMirrorTopicsResponse> done) {
  impl_->submit(request_call(std::move(request), std::move(done)));
}

void EmbeddedEngine::pause_mirror_topics(wire::PauseMirrorTopicsRequest request,
                                         Done<wire::PauseMirrorTopicsResponse> done) {
  impl_->submit(request_call(std::move(request), std::move(done)));
}

void EmbeddedEngine::resume_mirror_topics(wire::ResumeMirrorTopicsRequest request,
                                          Done<wire::ResumeMirrorTopicsResponse> done) {
  impl_->submit(request_call(std::move(request), std::move(done)));
}

void EmbeddedEngine::bump_leader_epochs(wire::BumpLeaderEpochsRequest request,
                                        Done<wire::BumpLeaderEpochsResponse> done) {
  impl_->submit(request_call(std::move(request), std::move(done)));
}

void EmbeddedEngine::allocate_producer_ids(Done<Result<ProducerIdBlock>> done) {
  impl_->submit(result_call<ProducerIdBlock>(
      std::move(done), [](Command& command) { return metadata::allocate_producer_ids(command); }));
}

void EmbeddedEngine::raise_producer_ids(ProducerId seen, Done<Result<void>> done) {
  impl_->submit(result_call<void>(std::move(done), [seen](Command& command) {
    return metadata::raise_producer_ids(command, seen);
  }));
}

void EmbeddedEngine::create_internal_topic(std::string name, std::int32_t partitions,
                                           ConfigMap configs, Done<Result<void>> done) {
  impl_->submit(result_call<void>(
      std::move(done),
      [name = std::move(name), partitions, configs = std::move(configs)](Command& command) {
        return metadata::create_internal_topic(command, name, partitions, configs);
      }));
}

}  // namespace kmirror::metadata
