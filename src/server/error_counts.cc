#include "server/error_counts.h"

#include <optional>
#include <type_traits>

#include "kmirror/wire/add_topics_to_mirror_response.fields.h"
#include "kmirror/wire/alter_configs_response.fields.h"
#include "kmirror/wire/api_versions_response.fields.h"
#include "kmirror/wire/bump_leader_epochs_response.fields.h"
#include "kmirror/wire/create_acls_response.fields.h"
#include "kmirror/wire/create_cluster_mirror_response.fields.h"
#include "kmirror/wire/create_mirror_response.fields.h"
#include "kmirror/wire/create_partitions_response.fields.h"
#include "kmirror/wire/create_topics_response.fields.h"
#include "kmirror/wire/delete_acls_response.fields.h"
#include "kmirror/wire/delete_cluster_mirror_response.fields.h"
#include "kmirror/wire/delete_groups_response.fields.h"
#include "kmirror/wire/delete_records_response.fields.h"
#include "kmirror/wire/delete_topics_response.fields.h"
#include "kmirror/wire/describe_acls_response.fields.h"
#include "kmirror/wire/describe_cluster_mirrors_response.fields.h"
#include "kmirror/wire/describe_cluster_response.fields.h"
#include "kmirror/wire/describe_configs_response.fields.h"
#include "kmirror/wire/describe_groups_response.fields.h"
#include "kmirror/wire/describe_log_dirs_response.fields.h"
#include "kmirror/wire/describe_mirrors_response.fields.h"
#include "kmirror/wire/describe_producers_response.fields.h"
#include "kmirror/wire/describe_topic_partitions_response.fields.h"
#include "kmirror/wire/fetch_response.fields.h"
#include "kmirror/wire/find_coordinator_response.fields.h"
#include "kmirror/wire/heartbeat_response.fields.h"
#include "kmirror/wire/incremental_alter_configs_response.fields.h"
#include "kmirror/wire/init_producer_id_response.fields.h"
#include "kmirror/wire/join_group_response.fields.h"
#include "kmirror/wire/last_mirrored_offsets_response.fields.h"
#include "kmirror/wire/leave_group_response.fields.h"
#include "kmirror/wire/list_cluster_mirrors_response.fields.h"
#include "kmirror/wire/list_config_resources_response.fields.h"
#include "kmirror/wire/list_groups_response.fields.h"
#include "kmirror/wire/list_mirrors_response.fields.h"
#include "kmirror/wire/list_offsets_response.fields.h"
#include "kmirror/wire/metadata_response.fields.h"
#include "kmirror/wire/offset_commit_response.fields.h"
#include "kmirror/wire/offset_delete_response.fields.h"
#include "kmirror/wire/offset_fetch_response.fields.h"
#include "kmirror/wire/offset_for_leader_epoch_response.fields.h"
#include "kmirror/wire/pause_mirror_topics_response.fields.h"
#include "kmirror/wire/produce_response.fields.h"
#include "kmirror/wire/read_mirror_offsets_response.fields.h"
#include "kmirror/wire/read_mirror_states_response.fields.h"
#include "kmirror/wire/recover_mirror_topics_response.fields.h"
#include "kmirror/wire/remove_topics_from_mirror_response.fields.h"
#include "kmirror/wire/resume_mirror_topics_response.fields.h"
#include "kmirror/wire/start_mirror_topics_response.fields.h"
#include "kmirror/wire/stop_mirror_topics_response.fields.h"
#include "kmirror/wire/sync_group_response.fields.h"
#include "kmirror/wire/write_mirror_states_response.fields.h"

namespace kmirror::server {

void ErrorCounts::add(ErrorCode code) {
  for (auto& [known, count] : counts_) {
    if (known == code) {
      ++count;
      return;
    }
  }
  counts_.emplace_back(code, 1);
}

namespace {

// Walks the generated field lists and picks the error codes.
class Collector {
 public:
  explicit Collector(ErrorCounts& counts) : counts_(counts) {}

  template <class T>
  void field(const wire::FieldSpec& /*spec*/, const T& value, const T& /*standard*/) {
    collect(value);
  }
  template <class T>
  void collect(const T& value) {
    if constexpr (std::is_same_v<T, ErrorCode>) {
      counts_.add(value);
    } else if constexpr (wire::kIsOptional<T>) {
      if (value) collect(*value);
    } else if constexpr (wire::kIsArray<T>) {
      if constexpr (std::is_class_v<typename T::value_type>) {
        for (const auto& element : value) collect(element);
      }
    } else if constexpr (requires { wire::Fields<T>::kStructPath; }) {
      wire::Fields<T>::visit(*this, value);
    }
  }

 private:
  ErrorCounts& counts_;
};

}  // namespace

template <class Response>
ErrorCounts count_errors(const Response& response) {
  ErrorCounts counts;
  Collector(counts).collect(response);
  return counts;
}

template ErrorCounts count_errors(const wire::AddTopicsToMirrorResponse&);
template ErrorCounts count_errors(const wire::AlterConfigsResponse&);
template ErrorCounts count_errors(const wire::ApiVersionsResponse&);
template ErrorCounts count_errors(const wire::BumpLeaderEpochsResponse&);
template ErrorCounts count_errors(const wire::CreateAclsResponse&);
template ErrorCounts count_errors(const wire::CreateClusterMirrorResponse&);
template ErrorCounts count_errors(const wire::CreateMirrorResponse&);
template ErrorCounts count_errors(const wire::CreatePartitionsResponse&);
template ErrorCounts count_errors(const wire::CreateTopicsResponse&);
template ErrorCounts count_errors(const wire::DeleteAclsResponse&);
template ErrorCounts count_errors(const wire::DeleteClusterMirrorResponse&);
template ErrorCounts count_errors(const wire::DeleteGroupsResponse&);
template ErrorCounts count_errors(const wire::DeleteRecordsResponse&);
template ErrorCounts count_errors(const wire::DeleteTopicsResponse&);
template ErrorCounts count_errors(const wire::DescribeAclsResponse&);
template ErrorCounts count_errors(const wire::DescribeClusterResponse&);
template ErrorCounts count_errors(const wire::DescribeClusterMirrorsResponse&);
template ErrorCounts count_errors(const wire::DescribeConfigsResponse&);
template ErrorCounts count_errors(const wire::DescribeGroupsResponse&);
template ErrorCounts count_errors(const wire::DescribeLogDirsResponse&);
template ErrorCounts count_errors(const wire::DescribeMirrorsResponse&);
template ErrorCounts count_errors(const wire::DescribeProducersResponse&);
template ErrorCounts count_errors(const wire::DescribeTopicPartitionsResponse&);
template ErrorCounts count_errors(const wire::FetchResponse&);
template ErrorCounts count_errors(const wire::FindCoordinatorResponse&);
template ErrorCounts count_errors(const wire::HeartbeatResponse&);
template ErrorCounts count_errors(const wire::IncrementalAlterConfigsResponse&);
template ErrorCounts count_errors(const wire::InitProducerIdResponse&);
template ErrorCounts count_errors(const wire::JoinGroupResponse&);
template ErrorCounts count_errors(const wire::LastMirroredOffsetsResponse&);
template ErrorCounts count_errors(const wire::LeaveGroupResponse&);
template ErrorCounts count_errors(const wire::ListClusterMirrorsResponse&);
template ErrorCounts count_errors(const wire::ListConfigResourcesResponse&);
template ErrorCounts count_errors(const wire::ListGroupsResponse&);
template ErrorCounts count_errors(const wire::ListMirrorsResponse&);
template ErrorCounts count_errors(const wire::ListOffsetsResponse&);
template ErrorCounts count_errors(const wire::MetadataResponse&);
template ErrorCounts count_errors(const wire::OffsetCommitResponse&);
template ErrorCounts count_errors(const wire::OffsetDeleteResponse&);
template ErrorCounts count_errors(const wire::OffsetFetchResponse&);
template ErrorCounts count_errors(const wire::OffsetForLeaderEpochResponse&);
template ErrorCounts count_errors(const wire::PauseMirrorTopicsResponse&);
template ErrorCounts count_errors(const wire::ProduceResponse&);
template ErrorCounts count_errors(const wire::ReadMirrorOffsetsResponse&);
template ErrorCounts count_errors(const wire::ReadMirrorStatesResponse&);
template ErrorCounts count_errors(const wire::RecoverMirrorTopicsResponse&);
template ErrorCounts count_errors(const wire::RemoveTopicsFromMirrorResponse&);
template ErrorCounts count_errors(const wire::ResumeMirrorTopicsResponse&);
template ErrorCounts count_errors(const wire::StartMirrorTopicsResponse&);
template ErrorCounts count_errors(const wire::StopMirrorTopicsResponse&);
template ErrorCounts count_errors(const wire::SyncGroupResponse&);
template ErrorCounts count_errors(const wire::WriteMirrorStatesResponse&);

}  // namespace kmirror::server
