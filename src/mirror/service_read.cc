// Questions about mirrors, and the life of the service.
// Owner: loop 0; is_writable() and read_only_message() any thread.
// Sources: spec C.2; decisions section 2.
#include <algorithm>
#include <map>

#include "kmirror/wire/describe_cluster_mirrors_request.h"
#include "kmirror/wire/describe_cluster_mirrors_response.h"
#include "kmirror/wire/list_cluster_mirrors_request.h"
#include "kmirror/wire/list_cluster_mirrors_response.h"
#include "kmirror/wire/read_mirror_offsets_request.h"
#include "kmirror/wire/read_mirror_offsets_response.h"
#include "mirror/service_impl.h"

namespace kmirror::mirror {

using Impl = MirrorService::Impl;

Impl::Impl(MirrorDeps deps)
    : deps_(deps), loop_(*deps.environment.loops[0]), manager_(deps), tasks_(loop_) {}

bool Impl::is_writable(std::string_view name, std::int32_t partition) const {
  const auto image = deps_.metadata.image();
  const auto topic = image->topic(name);
  if (!topic || !topic->is_mirrored()) return true;
  if (topic->desired_mirror_state != metadata::DesiredMirrorState::kStopped) return false;
  return manager_.is_stopped(topic->id, partition);
}

bool Impl::is_writable(std::string_view name) const {
  const auto image = deps_.metadata.image();
  const auto topic = image->topic(name);
  if (!topic || !topic->is_mirrored()) return true;
  for (std::size_t i = 0; i < topic->partitions.size(); ++i) {
    if (!is_writable(name, static_cast<std::int32_t>(i))) return false;
  }
  return true;
}

wire::ListClusterMirrorsResponse Impl::list(bool include_topic_names) const {
  wire::ListClusterMirrorsResponse response;
  const auto image = deps_.metadata.image();
  for (const std::string& name : image->mirror_names()) {
    auto& listed = response.mirrors.emplace_back();
    listed.mirror_name = name;
    listed.source_bootstrap =
        deps_.configs.mirror_value(*image, name, "bootstrap.servers").value_or("");
    listed.source_cluster_id =
        deps_.configs.mirror_value(*image, name, "source.cluster.id").value_or("");
    if (include_topic_names) listed.topic_names.emplace();
    for (const auto& topic : image->mirror_topics(name)) {
      const bool is_active = topic->is_mirrored() &&
                             topic->desired_mirror_state != metadata::DesiredMirrorState::kStopped;
      if (!is_active) continue;
      ++listed.topic_count;
      if (include_topic_names) listed.topic_names->push_back(topic->name);
    }
  }
  return response;
}

/// The mirrors asked for; no names or an empty list means all.
std::vector<MirrorInfo> Impl::described(const std::optional<std::vector<std::string>>& names,
                                        std::vector<std::string>& unknown) const {
  if (!names || names->empty()) return manager_.describe();
  std::vector<MirrorInfo> found;
  for (const std::string& name : *names) {
    if (auto info = manager_.describe(name)) {
      found.push_back(std::move(*info));
    } else {
      unknown.push_back(name);
    }
  }
  return found;
}

wire::DescribeClusterMirrorsResponse Impl::describe(
    const wire::DescribeClusterMirrorsRequest& request) const {
  wire::DescribeClusterMirrorsResponse response;
  std::vector<std::string> unknown;
  for (const MirrorInfo& info : described(request.mirror_names, unknown)) {
    auto& mirror = response.mirrors.emplace_back();
    mirror.mirror_name = info.name;
    mirror.source_bootstrap = info.bootstrap;
    mirror.source_cluster_id = info.source_cluster_id;
    for (const MirrorPartitionInfo& row : info.partitions) {
      if (mirror.topics.empty() || mirror.topics.back().topic_name != row.topic) {
        mirror.topics.emplace_back().topic_name = row.topic;
      }
      auto& partition = mirror.topics.back().partitions.emplace_back();
      partition.partition_index = row.partition;
      partition.state_value = name(row.stored.status.state);
      partition.error_message = row.stored.status.error_message;
      if (!partition.error_message && !row.note.empty()) partition.error_message = row.note;
      partition.retry_attempt = row.stored.status.retry_attempt;
      partition.source_offset = row.source_offset;
      partition.destination_offset = row.destination_offset;
      partition.last_mirror_epoch = row.stored.last_mirror_epoch;
      partition.last_mirror_offset = row.stored.last_mirror_offset;
    }
  }
  for (const std::string& name : unknown) {
    auto& mirror = response.mirrors.emplace_back();
    mirror.mirror_name = name;
    mirror.error_code = ErrorCode::UNKNOWN_CLUSTER_MIRROR;
    mirror.error_message = fmt::format("there is no mirror '{}'", name);
  }
  if (!request.cluster_id) return response;
  // Several mirrors of one source: the greatest last mirror epoch counts.
  std::map<TopicIdPartition, std::pair<LeaderEpoch, Offset>> positions;
  for (const MirrorInfo& info : manager_.describe()) {
    if (info.source_cluster_id != *request.cluster_id) continue;
    for (const MirrorPartitionInfo& row : info.partitions) {
      const auto found =
          std::make_pair(row.stored.last_mirror_epoch, row.stored.last_mirror_offset);
      auto& best =
          positions.try_emplace(TopicIdPartition(row.topic_id, row.partition), found).first->second;
      best = std::max(best, found);
    }
  }
  for (const auto& lookup : request.last_mirror_epoch_lookups) {
    auto& result = response.lookup_results.emplace_back();
    result.topic_id = lookup.topic_id;
    for (const std::int32_t index : lookup.partitions) {
      auto& partition = result.partitions.emplace_back();
      partition.partition_index = index;
      const auto found = positions.find(TopicIdPartition(lookup.topic_id, index));
      if (found == positions.end()) continue;
      partition.last_mirror_epoch = found->second.first;
      partition.last_mirror_offset = found->second.second;
    }
  }
  return response;
}

wire::ReadMirrorOffsetsResponse Impl::offsets(const wire::ReadMirrorOffsetsRequest& request) const {
  wire::ReadMirrorOffsetsResponse response;
  const auto info = manager_.describe(request.mirror_name);
  if (!info) {
    response.error_code = ErrorCode::UNKNOWN_CLUSTER_MIRROR;
    response.error_message = fmt::format("there is no mirror '{}'", request.mirror_name);
    return response;
  }
  std::map<TopicPartition, const MirrorPartitionInfo*> rows;
  for (const MirrorPartitionInfo& row : info->partitions) {
    rows[TopicPartition(row.topic, row.partition)] = &row;
  }
  for (const auto& wanted : request.topics) {
    auto& topic = response.topics.emplace_back();
    topic.topic_name = wanted.topic_name;
    for (const std::int32_t index : wanted.partitions) {
      auto& partition = topic.partitions.emplace_back();
      partition.partition_index = index;
      const auto row = rows.find(TopicPartition(wanted.topic_name, index));
      if (row == rows.end()) continue;
      partition.source_offset = row->second->source_offset;
      partition.destination_offset = row->second->destination_offset;
    }
  }
  return response;
}

void Impl::write_states(wire::WriteMirrorStatesRequest request, ApiVersion version,
                        Done<wire::WriteMirrorStatesResponse> done) {
  const std::string mirror = request.mirror_name;
  std::vector<TopicPartition> touched;
  for (const auto& topic : request.topics) {
    for (const auto& partition : topic.partitions) {
      touched.emplace_back(topic.topic_name, partition.partition_index);
    }
  }
  deps_.coordinator.write_mirror_states(
      std::move(request), version, loop_,
      [this, mirror, touched = std::move(touched),
       done = std::move(done)](wire::WriteMirrorStatesResponse response) mutable {
        on_loop([this, mirror, touched = std::move(touched)]() mutable {
          manager_.states_written(mirror, std::move(touched));
        });
        done(std::move(response));
      });
}

MirrorService::MirrorService(MirrorDeps deps) : impl_(std::make_unique<Impl>(deps)) {}
MirrorService::~MirrorService() = default;

void MirrorService::start() {
  impl_->manager_.on_writable_changed = on_writable_changed;
  impl_->manager_.start();
}

env::Awaitable<void> MirrorService::stop() {
  impl_->tasks_.cancel();
  co_await impl_->tasks_.join();
  co_await impl_->manager_.stop();
}

void MirrorService::log_created(std::shared_ptr<storage::PartitionLog> log) {
  static_cast<void>(log);
  Impl* impl = impl_.get();
  impl->on_loop([impl] { impl->manager_.log_created(); });
}

void MirrorService::list_cluster_mirrors(wire::ListClusterMirrorsRequest request,
                                         Done<wire::ListClusterMirrorsResponse> done) {
  Impl* impl = impl_.get();
  impl->on_loop([impl, include = request.include_topic_names, done = std::move(done)]() mutable {
    done(impl->list(include));
  });
}

void MirrorService::describe_cluster_mirrors(wire::DescribeClusterMirrorsRequest request,
                                             Done<wire::DescribeClusterMirrorsResponse> done) {
  Impl* impl = impl_.get();
  impl->on_loop([impl, request = std::move(request), done = std::move(done)]() mutable {
    done(impl->describe(request));
  });
}

void MirrorService::read_mirror_states(wire::ReadMirrorStatesRequest request, ApiVersion version,
                                       Done<wire::ReadMirrorStatesResponse> done) {
  impl_->deps_.coordinator.read_mirror_states(std::move(request), version, impl_->loop_,
                                              std::move(done));
}

void MirrorService::write_mirror_states(wire::WriteMirrorStatesRequest request, ApiVersion version,
                                        Done<wire::WriteMirrorStatesResponse> done) {
  impl_->write_states(std::move(request), version, std::move(done));
}

void MirrorService::read_mirror_offsets(wire::ReadMirrorOffsetsRequest request,
                                        Done<wire::ReadMirrorOffsetsResponse> done) {
  Impl* impl = impl_.get();
  impl->on_loop([impl, request = std::move(request), done = std::move(done)]() mutable {
    done(impl->offsets(request));
  });
}

bool MirrorService::is_writable(std::string_view topic, std::int32_t partition) const {
  return impl_->is_writable(topic, partition);
}

bool MirrorService::is_writable(std::string_view topic) const { return impl_->is_writable(topic); }

std::string MirrorService::read_only_message(std::string_view name) const {
  const auto topic = impl_->deps_.metadata.image()->topic(name);
  if (!topic || !topic->is_mirrored()) return {};
  return fmt::format("topic {} is a read-only mirror of {}", name, *topic->mirror_name);
}

}  // namespace kmirror::mirror
