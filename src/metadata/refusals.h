// Answers that carry one error for everything a request asks: the engine is busy, closing or
// offline. Owner: any thread.
#pragma once

#include "kmirror/metadata/engine.h"
#include "metadata/command.h"

namespace kmirror::metadata {

[[nodiscard]] inline wire::CreateTopicsResponse refusal(const wire::CreateTopicsRequest& request,
                                                        const ErrorAnswer& error) {
  wire::CreateTopicsResponse response;
  for (const auto& topic : request.topics) {
    wire::CreateTopicsResponse::CreatableTopicResult result;
    result.name = topic.name;
    result.error_code = error.code;
    result.error_message = error.text();
    result.configs.reset();
    response.topics.push_back(std::move(result));
  }
  return response;
}

[[nodiscard]] inline wire::DeleteTopicsResponse refusal(const wire::DeleteTopicsRequest& request,
                                                        const ErrorAnswer& error) {
  wire::DeleteTopicsResponse response;
  const auto add = [&](const std::optional<std::string>& name, const Uuid& id) {
    wire::DeleteTopicsResponse::DeletableTopicResult result;
    result.name = name;
    result.topic_id = id;
    result.error_code = error.code;
    result.error_message = error.text();
    response.responses.push_back(std::move(result));
  };
  for (const auto& topic : request.topics) add(topic.name, topic.topic_id);
  for (const std::string& name : request.topic_names) add(name, Uuid());
  return response;
}

[[nodiscard]] inline wire::CreatePartitionsResponse refusal(
    const wire::CreatePartitionsRequest& request, const ErrorAnswer& error) {
  wire::CreatePartitionsResponse response;
  for (const auto& topic : request.topics) {
    wire::CreatePartitionsResponse::CreatePartitionsTopicResult result;
    result.name = topic.name;
    result.error_code = error.code;
    result.error_message = error.text();
    response.results.push_back(std::move(result));
  }
  return response;
}

template <class Response, class Request>
[[nodiscard]] Response config_refusal(const Request& request, const ErrorAnswer& error) {
  Response response;
  for (const auto& resource : request.resources) {
    typename Response::AlterConfigsResourceResponse result;
    result.resource_type = resource.resource_type;
    result.resource_name = resource.resource_name;
    result.error_code = error.code;
    result.error_message = error.text();
    response.responses.push_back(std::move(result));
  }
  return response;
}

[[nodiscard]] inline wire::IncrementalAlterConfigsResponse refusal(
    const wire::IncrementalAlterConfigsRequest& request, const ErrorAnswer& error) {
  return config_refusal<wire::IncrementalAlterConfigsResponse>(request, error);
}
[[nodiscard]] inline wire::AlterConfigsResponse refusal(const wire::AlterConfigsRequest& request,
                                                        const ErrorAnswer& error) {
  return config_refusal<wire::AlterConfigsResponse>(request, error);
}

/// For answers with a code at the top.
template <class Response>
[[nodiscard]] Response top_refusal(const ErrorAnswer& error) {
  Response response;
  response.error_code = error.code;
  response.error_message = error.text();
  return response;
}
[[nodiscard]] inline wire::CreateClusterMirrorResponse refusal(
    const wire::CreateClusterMirrorRequest&, const ErrorAnswer& error) {
  return top_refusal<wire::CreateClusterMirrorResponse>(error);
}
[[nodiscard]] inline wire::DeleteClusterMirrorResponse refusal(
    const wire::DeleteClusterMirrorRequest&, const ErrorAnswer& error) {
  return top_refusal<wire::DeleteClusterMirrorResponse>(error);
}
[[nodiscard]] inline wire::StartMirrorTopicsResponse refusal(const wire::StartMirrorTopicsRequest&,
                                                             const ErrorAnswer& error) {
  return top_refusal<wire::StartMirrorTopicsResponse>(error);
}
[[nodiscard]] inline wire::StopMirrorTopicsResponse refusal(const wire::StopMirrorTopicsRequest&,
                                                            const ErrorAnswer& error) {
  return top_refusal<wire::StopMirrorTopicsResponse>(error);
}
[[nodiscard]] inline wire::PauseMirrorTopicsResponse refusal(const wire::PauseMirrorTopicsRequest&,
                                                             const ErrorAnswer& error) {
  return top_refusal<wire::PauseMirrorTopicsResponse>(error);
}
[[nodiscard]] inline wire::ResumeMirrorTopicsResponse refusal(
    const wire::ResumeMirrorTopicsRequest&, const ErrorAnswer& error) {
  return top_refusal<wire::ResumeMirrorTopicsResponse>(error);
}
[[nodiscard]] inline wire::BumpLeaderEpochsResponse refusal(const wire::BumpLeaderEpochsRequest&,
                                                            const ErrorAnswer& error) {
  return top_refusal<wire::BumpLeaderEpochsResponse>(error);
}

}  // namespace kmirror::metadata
