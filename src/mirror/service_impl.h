// The inside of MirrorService: service_control.cc changes things, service_read.cc answers
// questions, service_seed.cc speaks the seed generation. Owner: loop 0; requests from elsewhere are
// posted there. is_writable() and read_only_message(): any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kmirror/env/async.h"
#include "kmirror/mirror/metadata_manager.h"
#include "kmirror/mirror/mirror_service.h"
#include "kmirror/wire/create_cluster_mirror_request.h"
#include "kmirror/wire/metadata_response.h"
#include "kmirror/wire/start_mirror_topics_request.h"
#include "kmirror/wire/start_mirror_topics_response.h"

namespace kmirror::mirror {

class MirrorService::Impl {
 public:
  explicit Impl(MirrorDeps deps);

  /// Runs `work` on loop 0, if the service is still there.
  template <class Work>
  void on_loop(Work work) {
    std::weak_ptr<bool> alive = alive_;
    loop_.post([alive, work = std::move(work)]() mutable {
      if (!alive.expired()) work();
    });
  }

  // ---- control; all on loop 0 ----
  env::Awaitable<void> create(wire::CreateClusterMirrorRequest request,
                              std::shared_ptr<Done<wire::CreateClusterMirrorResponse>> done);
  env::Awaitable<void> start_topics(wire::StartMirrorTopicsRequest request,
                                    std::shared_ptr<Done<wire::StartMirrorTopicsResponse>> done);
  template <class Request, class Response>
  void change_state(Request request, MirrorOperation operation,
                    void (metadata::MetadataEngine::*command)(Request, Done<Response>),
                    Done<Response> done);
  void remove(wire::DeleteClusterMirrorRequest request,
              Done<wire::DeleteClusterMirrorResponse> done);
  void recover(const wire::RecoverMirrorTopicsRequest& request,
               Done<wire::RecoverMirrorTopicsResponse> done);

  // ---- questions; all on loop 0 ----
  [[nodiscard]] wire::ListClusterMirrorsResponse list(bool include_topic_names) const;
  [[nodiscard]] wire::DescribeClusterMirrorsResponse describe(
      const wire::DescribeClusterMirrorsRequest& request) const;
  [[nodiscard]] wire::ReadMirrorOffsetsResponse offsets(
      const wire::ReadMirrorOffsetsRequest& request) const;
  void write_states(wire::WriteMirrorStatesRequest request, ApiVersion version,
                    Done<wire::WriteMirrorStatesResponse> done);

  // ---- seed generation; all on loop 0 ----
  void add_topics(const wire::AddTopicsToMirrorRequest& request,
                  Done<wire::AddTopicsToMirrorResponse> done);
  void remove_topics(const wire::RemoveTopicsFromMirrorRequest& request,
                     Done<wire::RemoveTopicsFromMirrorResponse> done);
  [[nodiscard]] wire::LastMirroredOffsetsResponse last_offsets(
      const wire::LastMirroredOffsetsRequest& request) const;
  [[nodiscard]] wire::DescribeMirrorsResponse describe_seed(
      const wire::DescribeMirrorsRequest& request) const;

  // ---- any thread ----
  [[nodiscard]] bool is_writable(std::string_view topic, std::int32_t partition) const;
  [[nodiscard]] bool is_writable(std::string_view topic) const;

  MirrorDeps deps_;
  env::Loop& loop_;
  MirrorMetadataManager manager_;
  env::TaskGroup tasks_;

 private:
  env::Awaitable<std::optional<std::string>> source_cluster_id(
      std::vector<env::Endpoint> bootstrap);
  env::Awaitable<void> resolve(wire::StartMirrorTopicsRequest* request);
  void fill_in(wire::StartMirrorTopicsRequest& request, const wire::MetadataResponse& source) const;
  /// Why `operation` is not allowed for a topic; nothing if it is (spec B.5).
  [[nodiscard]] std::optional<std::string> state_fault(const std::string& mirror,
                                                       const std::string& topic,
                                                       MirrorOperation operation) const;
  [[nodiscard]] std::vector<MirrorInfo> described(
      const std::optional<std::vector<std::string>>& names,
      std::vector<std::string>& unknown) const;

  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace kmirror::mirror
