// The seed generation's requests, answered by the same engine (decisions section 2).
// Owner: loop 0.
// Sources: seeds/002 (CreateMirror, AddTopicsToMirror, RemoveTopicsFromMirror, LastMirroredOffsets,
// ListMirrors, DescribeMirrors).
#include <algorithm>
#include <map>

#include "kmirror/wire/add_topics_to_mirror_request.h"
#include "kmirror/wire/add_topics_to_mirror_response.h"
#include "kmirror/wire/create_cluster_mirror_response.h"
#include "kmirror/wire/create_mirror_request.h"
#include "kmirror/wire/create_mirror_response.h"
#include "kmirror/wire/describe_mirrors_request.h"
#include "kmirror/wire/describe_mirrors_response.h"
#include "kmirror/wire/last_mirrored_offsets_request.h"
#include "kmirror/wire/last_mirrored_offsets_response.h"
#include "kmirror/wire/list_cluster_mirrors_response.h"
#include "kmirror/wire/list_mirrors_request.h"
#include "kmirror/wire/list_mirrors_response.h"
#include "kmirror/wire/remove_topics_from_mirror_request.h"
#include "kmirror/wire/remove_topics_from_mirror_response.h"
#include "kmirror/wire/stop_mirror_topics_request.h"
#include "kmirror/wire/stop_mirror_topics_response.h"
#include "mirror/service_impl.h"

namespace kmirror::mirror {
namespace {

/// Collects the answers of several mirrors into one; the last one to come sends it.
template <class Response>
struct Gathering {
  explicit Gathering(Done<Response> then) : done(std::move(then)) {}
  void add(const std::string& name, ErrorCode code) {
    auto& result = response.topics.emplace_back();
    result.name = name;
    result.error_code = code;
  }
  template <class Part>
  void take(const Part& part, const std::vector<std::string>& asked, bool is_start) {
    ErrorCode code = part.error_code;
    // The seed says INVALID_REQUEST for partitions in the wrong state.
    if (is_start && code == ErrorCode::INVALID_CLUSTER_MIRROR_STATE) {
      code = ErrorCode::INVALID_REQUEST;
    }
    if (response.error_code == ErrorCode::NONE) response.error_code = code;
    std::map<std::string, ErrorCode> said;
    for (const auto& topic : part.topics) said[topic.topic_name] = topic.error_code;
    for (const std::string& name : asked) {
      const auto found = said.find(name);
      add(name, found == said.end() ? code : found->second);
    }
  }
  void finish_one() {
    if (--waiting == 0) done(std::move(response));
  }
  Response response;
  std::size_t waiting = 1;
  Done<Response> done;
};

}  // namespace

using Impl = MirrorService::Impl;

void Impl::add_topics(const wire::AddTopicsToMirrorRequest& request,
                      Done<wire::AddTopicsToMirrorResponse> done) {
  using Gather = Gathering<wire::AddTopicsToMirrorResponse>;
  auto gather = std::make_shared<Gather>(std::move(done));
  std::map<std::string, wire::StartMirrorTopicsRequest> by_mirror;
  for (const auto& topic : request.topics) {
    if (!topic.mirror_name) {
      gather->add(topic.topic_name, ErrorCode::UNKNOWN_CLUSTER_MIRROR);
      gather->response.error_code = ErrorCode::UNKNOWN_CLUSTER_MIRROR;
      continue;
    }
    wire::StartMirrorTopicsRequest& start = by_mirror[*topic.mirror_name];
    start.mirror_name = *topic.mirror_name;
    auto& wanted = start.topics.emplace_back();
    wanted.topic_name = topic.topic_name;
    wanted.topic_id = topic.topic_id;
  }
  gather->waiting += by_mirror.size();
  for (auto& [mirror, start] : by_mirror) {
    std::vector<std::string> asked;
    for (const auto& topic : start.topics) asked.push_back(topic.topic_name);
    auto answer = std::make_shared<Done<wire::StartMirrorTopicsResponse>>(
        [gather, asked = std::move(asked)](wire::StartMirrorTopicsResponse response) {
          gather->take(response, asked, true);
          gather->finish_one();
        });
    tasks_.spawn("add topics to mirror", start_topics(std::move(start), std::move(answer)));
  }
  gather->finish_one();
}

void Impl::remove_topics(const wire::RemoveTopicsFromMirrorRequest& request,
                         Done<wire::RemoveTopicsFromMirrorResponse> done) {
  using Gather = Gathering<wire::RemoveTopicsFromMirrorResponse>;
  auto gather = std::make_shared<Gather>(std::move(done));
  const auto image = deps_.metadata.image();
  std::map<std::string, wire::StopMirrorTopicsRequest> by_mirror;
  for (const auto& topic : request.topics) {
    const auto local =
        topic.topic_name.empty() ? image->topic(topic.topic_id) : image->topic(topic.topic_name);
    if (!local || !local->is_mirrored()) {
      const ErrorCode code =
          local ? ErrorCode::TOPIC_NOT_IN_CLUSTER_MIRROR : ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
      gather->add(topic.topic_name, code);
      continue;
    }
    wire::StopMirrorTopicsRequest& stop = by_mirror[*local->mirror_name];
    stop.mirror_name = *local->mirror_name;
    stop.topics.emplace_back().topic_name = local->name;
  }
  gather->waiting += by_mirror.size();
  for (auto& [mirror, stop] : by_mirror) {
    std::vector<std::string> asked;
    for (const auto& topic : stop.topics) asked.push_back(topic.topic_name);
    deps_.metadata.stop_mirror_topics(
        std::move(stop),
        [gather, asked = std::move(asked)](wire::StopMirrorTopicsResponse response) {
          gather->take(response, asked, false);
          gather->finish_one();
        });
  }
  gather->finish_one();
}

/// Unknown positions are 0: the asker then mirrors from scratch.
wire::LastMirroredOffsetsResponse Impl::last_offsets(
    const wire::LastMirroredOffsetsRequest& request) const {
  wire::LastMirroredOffsetsResponse response;
  const auto info = manager_.describe(request.mirror_name);
  if (!info) response.error_code = ErrorCode::UNKNOWN_CLUSTER_MIRROR;
  std::map<TopicPartition, Offset> known;
  if (info) {
    for (const MirrorPartitionInfo& row : info->partitions) {
      known[TopicPartition(row.topic, row.partition)] = row.stored.last_mirror_offset;
    }
  }
  for (const auto& wanted : request.topics) {
    auto& topic = response.topics.emplace_back();
    topic.name = wanted.name;
    for (const auto& asked : wanted.partitions) {
      auto& partition = topic.partitions.emplace_back();
      partition.partition_index = asked.partition_index;
      const auto found = known.find(TopicPartition(wanted.name, asked.partition_index));
      const bool is_known = found != known.end() && found->second >= Offset(0);
      partition.last_mirrored_offset = is_known ? found->second : Offset(0);
    }
  }
  return response;
}

wire::DescribeMirrorsResponse Impl::describe_seed(
    const wire::DescribeMirrorsRequest& request) const {
  wire::DescribeMirrorsResponse response;
  std::vector<std::string> unknown;
  for (const MirrorInfo& info : described(request.mirror_names, unknown)) {
    auto& mirror = response.mirrors.emplace_back();
    mirror.mirror_name = info.name;
    for (const MirrorPartitionInfo& row : info.partitions) {
      if (mirror.topics.empty() || mirror.topics.back().topic_name != row.topic) {
        mirror.topics.emplace_back().topic_name = row.topic;
      }
      auto& partition = mirror.topics.back().partitions.emplace_back();
      partition.partition_index = row.partition;
      partition.source_offset = row.source_offset;
      partition.destination_offset = row.destination_offset;
      const bool is_known = row.source_offset >= Offset(0) && row.destination_offset >= Offset(0);
      partition.lag =
          is_known ? std::max<std::int64_t>(0, row.source_offset - row.destination_offset) : -1;
      partition.state = seed_name(row.stored.status.state);
    }
  }
  for (const std::string& name : unknown) {
    auto& mirror = response.mirrors.emplace_back();
    mirror.mirror_name = name;
    mirror.error_code = ErrorCode::UNKNOWN_CLUSTER_MIRROR;
  }
  return response;
}

void MirrorService::create_mirror(wire::CreateMirrorRequest request,
                                  Done<wire::CreateMirrorResponse> done) {
  wire::CreateClusterMirrorRequest create;
  create.mirror_name = request.mirror_name.value_or("");
  for (auto& config : request.config) {
    auto& copy = create.configs.emplace_back();
    copy.name = std::move(config.name);
    copy.value = std::move(config.value);
  }
  create_cluster_mirror(std::move(create),
                        [done = std::move(done)](wire::CreateClusterMirrorResponse answer) mutable {
                          wire::CreateMirrorResponse response;
                          response.error_code = answer.error_code;
                          response.error_message = std::move(answer.error_message);
                          done(std::move(response));
                        });
}

void MirrorService::add_topics_to_mirror(wire::AddTopicsToMirrorRequest request,
                                         Done<wire::AddTopicsToMirrorResponse> done) {
  Impl* impl = impl_.get();
  impl->on_loop([impl, request = std::move(request), done = std::move(done)]() mutable {
    impl->add_topics(request, std::move(done));
  });
}

void MirrorService::remove_topics_from_mirror(wire::RemoveTopicsFromMirrorRequest request,
                                              Done<wire::RemoveTopicsFromMirrorResponse> done) {
  Impl* impl = impl_.get();
  impl->on_loop([impl, request = std::move(request), done = std::move(done)]() mutable {
    impl->remove_topics(request, std::move(done));
  });
}

void MirrorService::last_mirrored_offsets(wire::LastMirroredOffsetsRequest request,
                                          Done<wire::LastMirroredOffsetsResponse> done) {
  Impl* impl = impl_.get();
  impl->on_loop([impl, request = std::move(request), done = std::move(done)]() mutable {
    done(impl->last_offsets(request));
  });
}

void MirrorService::list_mirrors(wire::ListMirrorsRequest request,
                                 Done<wire::ListMirrorsResponse> done) {
  static_cast<void>(request);
  Impl* impl = impl_.get();
  impl->on_loop([impl, done = std::move(done)]() mutable {
    wire::ListMirrorsResponse response;
    for (const auto& listed : impl->list(false).mirrors) {
      auto& mirror = response.mirrors.emplace_back();
      mirror.mirror_name = listed.mirror_name;
      mirror.source_bootstrap = listed.source_bootstrap;
      mirror.topic_count = listed.topic_count;
    }
    done(std::move(response));
  });
}

void MirrorService::describe_mirrors(wire::DescribeMirrorsRequest request,
                                     Done<wire::DescribeMirrorsResponse> done) {
  Impl* impl = impl_.get();
  impl->on_loop([impl, request = std::move(request), done = std::move(done)]() mutable {
    done(impl->describe_seed(request));
  });
}

}  // namespace kmirror::mirror
