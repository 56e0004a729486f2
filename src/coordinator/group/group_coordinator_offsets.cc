// OffsetCommit, OffsetFetch, OffsetDelete and the mirror's sync: from wire to shard and back.
// Owner: any thread. Sources: Kafka 4.4 KafkaApis, GroupCoordinatorService; KIP-709, KIP-848.
#include <algorithm>
#include <utility>

#include "coordinator/group/group_coordinator_impl.h"
#include "coordinator/runtime/gather.h"

namespace kmirror::coordinator {
namespace {

constexpr ApiVersion kFirstCommitByTopicId{10};
constexpr ApiVersion kFirstFetchByTopicId{10};
constexpr ApiVersion kFirstFetchOfGroups{8};
constexpr ApiVersion kFirstFetchWithGroupError{2};

using metadata::MetadataImage;

/// Where in the response the code of an item goes.
struct Place {
  Place(std::size_t t, std::size_t p) : topic(t), partition(p) {}
  std::size_t topic;
  std::size_t partition;
};

bool has_partition(const metadata::TopicImage& topic, std::int32_t partition) {
  return partition >= 0 && static_cast<std::size_t>(partition) < topic.partitions.size();
}

/// A commit taken apart: what the shard does, and the response with the errors known already.
struct Commit {
  Commit() = default;
  std::vector<CommitItem> items;
  std::vector<Place> places;
  wire::OffsetCommitResponse response;
};

Commit take_apart(const wire::OffsetCommitRequest& request, ApiVersion version,
                  const MetadataImage& image) {
  Commit commit;
  const bool by_id = version >= kFirstCommitByTopicId;
  for (const auto& topic : request.topics) {
    auto& out = commit.response.topics.emplace_back();
    out.name = topic.name;
    out.topic_id = topic.topic_id;
    const auto known = by_id ? image.topic(topic.topic_id) : image.topic(topic.name);
    for (const auto& partition : topic.partitions) {
      auto& result = out.partitions.emplace_back();
      result.partition_index = partition.partition_index;
      if (!known) {
        result.error_code =
            by_id ? ErrorCode::UNKNOWN_TOPIC_ID : ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
      } else if (!has_partition(*known, partition.partition_index)) {
        result.error_code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
      } else {
        CommitItem& item = commit.items.emplace_back();
        item.topic_partition = TopicPartition(known->name, partition.partition_index);
        item.topic_id = known->id;
        item.offset = partition.committed_offset;
        item.leader_epoch = partition.committed_leader_epoch;
        item.metadata = partition.committed_metadata.value_or(std::string());
        commit.places.emplace_back(commit.response.topics.size() - 1, out.partitions.size() - 1);
      }
    }
  }
  return commit;
}

// --- OffsetFetch: both shapes become groups; the old one is made of the first group at the end ---

using FetchGroup = wire::OffsetFetchRequest::OffsetFetchRequestGroup;
using FetchedGroup = wire::OffsetFetchResponse::OffsetFetchResponseGroup;
using FetchedPartition = wire::OffsetFetchResponse::OffsetFetchResponsePartitions;

std::vector<FetchGroup> groups_of(wire::OffsetFetchRequest& request, ApiVersion version) {
  if (version >= kFirstFetchOfGroups) return std::move(request.groups);
  FetchGroup group;
  group.group_id = std::move(request.group_id);
  if (request.topics) {
    group.topics.emplace();
    for (auto& topic : *request.topics) {
      auto& out = group.topics->emplace_back();
      out.name = std::move(topic.name);
      out.partition_indexes = std::move(topic.partition_indexes);
    }
  } else {
    group.topics.reset();
  }
  return {std::move(group)};
}

wire::OffsetFetchResponse response_of(std::vector<FetchedGroup> groups, ApiVersion version) {
  wire::OffsetFetchResponse response;
  if (version >= kFirstFetchOfGroups) {
    response.groups = std::move(groups);
    return response;
  }
  FetchedGroup& group = groups.front();
  for (auto& topic : group.topics) {
    auto& out = response.topics.emplace_back();
    out.name = std::move(topic.name);
    for (auto& partition : topic.partitions) {
      auto& one = out.partitions.emplace_back();
      one.partition_index = partition.partition_index;
      one.committed_offset = partition.committed_offset;
      one.committed_leader_epoch = partition.committed_leader_epoch;
      one.metadata = std::move(partition.metadata);
      one.error_code = partition.error_code;
    }
  }
  if (version >= kFirstFetchWithGroupError) response.error_code = group.error_code;
  return response;
}

FetchedPartition partition_of(std::int32_t index, const FetchedOffset& fetched) {
  FetchedPartition out;
  out.partition_index = index;
  out.error_code = fetched.error;
  out.committed_offset = kNoOffset;
  if (fetched.position) {
    out.committed_offset = fetched.position->offset;
    out.committed_leader_epoch = fetched.position->leader_epoch;
    out.metadata = fetched.position->metadata;
  }
  return out;
}

/// A group that cannot be asked. Version 1 has no error of its own: every partition carries it.
FetchedGroup failed_group(const FetchGroup& request, ErrorCode code, ApiVersion version) {
  FetchedGroup out;
  out.group_id = request.group_id;
  out.error_code = code;
  if (version >= kFirstFetchWithGroupError || !request.topics) return out;
  for (const auto& topic : *request.topics) {
    auto& result = out.topics.emplace_back();
    result.name = topic.name;
    for (const std::int32_t index : topic.partition_indexes) {
      FetchedOffset failed;
      failed.error = code;
      result.partitions.push_back(partition_of(index, failed));
    }
  }
  return out;
}

FetchedGroup fetch_all(GroupOffsets& offsets, const FetchGroup& request, bool require_stable,
                       ApiVersion version, const MetadataImage& image) {
  FetchedGroup out;
  out.group_id = request.group_id;
  for (auto& [topic_partition, fetched] : offsets.fetch_all(request.group_id, require_stable)) {
    const auto known = image.topic(topic_partition.topic);
    const bool is_other = known && fetched.position && !fetched.position->topic_id.is_zero() &&
                          fetched.position->topic_id != known->id;
    if (is_other || (!known && version >= kFirstFetchByTopicId)) continue;
    if (out.topics.empty() || out.topics.back().name != topic_partition.topic) {
      auto& topic = out.topics.emplace_back();
      topic.name = topic_partition.topic;
      if (known) topic.topic_id = known->id;
    }
    out.topics.back().partitions.push_back(partition_of(topic_partition.partition, fetched));
  }
  return out;
}

FetchedGroup fetch_some(GroupOffsets& offsets, const FetchGroup& request, bool require_stable,
                        ApiVersion version, const MetadataImage& image) {
  const bool by_id = version >= kFirstFetchByTopicId;
  FetchedGroup out;
  out.group_id = request.group_id;
  for (const auto& topic : *request.topics) {
    auto& result = out.topics.emplace_back();
    result.name = topic.name;
    result.topic_id = topic.topic_id;
    const auto known = by_id ? image.topic(topic.topic_id) : image.topic(topic.name);
    std::vector<FetchItem> items(topic.partition_indexes.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      items[i].topic_partition =
          TopicPartition(known ? known->name : topic.name, topic.partition_indexes[i]);
      if (known) items[i].topic_id = known->id;
    }
    std::vector<FetchedOffset> fetched(items.size());
    if (by_id && !known) {
      for (FetchedOffset& one : fetched) one.error = ErrorCode::UNKNOWN_TOPIC_ID;
    } else {
      fetched = offsets.fetch(request.group_id, items, require_stable);
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      result.partitions.push_back(partition_of(topic.partition_indexes[i], fetched[i]));
    }
  }
  return out;
}

}  // namespace

void GroupCoordinator::commit_offsets(wire::OffsetCommitRequest request, ApiVersion version,
                                      GroupRequestContext context,
                                      Done<wire::OffsetCommitResponse> done) {
  auto commit = std::make_shared<Commit>(take_apart(request, version, *impl_->image()));
  const auto reply = share(reply_to(*context.reply_on, std::move(done)));
  const auto answer = [reply, commit](const std::vector<ErrorCode>& codes) {
    for (std::size_t i = 0; i < commit->places.size(); ++i) {
      const Place& place = commit->places[i];
      commit->response.topics[place.topic].partitions[place.partition].error_code = codes[i];
    }
    (*reply)(std::move(commit->response));
  };
  const auto refuse = [answer, commit](ErrorCode code) {
    answer(std::vector<ErrorCode>(commit->places.size(), code));
  };
  if (commit->items.empty() || !fits_in_record(request.group_id)) {
    refuse(ErrorCode::INVALID_GROUP_ID);
    return;
  }
  CommitHeader header;
  header.group_id = std::move(request.group_id);
  header.generation = request.generation_id_or_member_epoch;
  header.member_id = std::move(request.member_id);
  header.instance_id = std::move(request.group_instance_id);
  header.retention_time_ms = request.retention_time_ms;
  const std::string group_id = header.group_id;
  impl_->with_group(
      group_id,
      [commit, version, header = std::move(header), answer, refuse](GroupShard& shard) {
        auto codes = shard.offsets().commit(header, commit->items, version);
        shard.when_durable([answer, refuse, codes = std::move(codes)](ErrorCode code) {
          if (code != ErrorCode::NONE) return refuse(code);
          answer(codes);
        });
      },
      refuse);
}

void GroupCoordinator::fetch_offsets(wire::OffsetFetchRequest request, ApiVersion version,
                                     GroupRequestContext context,
                                     Done<wire::OffsetFetchResponse> done) {
  using Groups = std::vector<FetchedGroup>;
  const bool require_stable = request.require_stable;
  std::vector<FetchGroup> groups = groups_of(request, version);
  const auto gather = Gather<Groups>::make(*context.reply_on, groups.size(), Groups(groups.size()),
                                           [done = std::move(done), version](Groups all) mutable {
                                             done(response_of(std::move(all), version));
                                           });
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto group = std::make_shared<const FetchGroup>(std::move(groups[i]));
    const auto add = [gather, i](FetchedGroup fetched) {
      gather->add(
          [i, fetched = std::move(fetched)](Groups& all) mutable { all[i] = std::move(fetched); });
    };
    const auto refuse = [add, group, version](ErrorCode code) {
      add(failed_group(*group, code, version));
    };
    if (!fits_in_record(group->group_id)) {
      refuse(ErrorCode::INVALID_GROUP_ID);
      continue;
    }
    impl_->with_group(
        group->group_id,
        [impl = impl_, group, require_stable, version, add, refuse](GroupShard& shard) {
          const auto fetch = group->topics ? fetch_some : fetch_all;
          auto fetched = fetch(shard.offsets(), *group, require_stable, version, *impl->image());
          shard.when_durable([add, refuse, fetched = std::move(fetched)](ErrorCode code) mutable {
            if (code != ErrorCode::NONE) return refuse(code);
            add(std::move(fetched));
          });
        },
        refuse);
  }
}

void GroupCoordinator::delete_offsets(wire::OffsetDeleteRequest request, ApiVersion,
                                      GroupRequestContext context,
                                      Done<wire::OffsetDeleteResponse> done) {
  const auto reply = share(reply_to(*context.reply_on, std::move(done)));
  auto response = std::make_shared<wire::OffsetDeleteResponse>();
  std::vector<TopicPartition> items;
  std::vector<Place> places;
  const auto image = impl_->image();
  for (const auto& topic : request.topics) {
    auto& out = response->topics.emplace_back();
    out.name = topic.name;
    const auto known = image->topic(topic.name);
    for (const auto& partition : topic.partitions) {
      auto& result = out.partitions.emplace_back();
      result.partition_index = partition.partition_index;
      if (!known || !has_partition(*known, partition.partition_index)) {
        result.error_code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        continue;
      }
      items.emplace_back(topic.name, partition.partition_index);
      places.emplace_back(response->topics.size() - 1, out.partitions.size() - 1);
    }
  }
  const auto refuse = [reply, response](ErrorCode code) {
    response->error_code = code;
    response->topics.clear();
    (*reply)(std::move(*response));
  };
  if (!fits_in_record(request.group_id)) {
    refuse(ErrorCode::INVALID_GROUP_ID);
    return;
  }
  impl_->with_group(
      request.group_id,
      [group_id = request.group_id, items = std::move(items), places = std::move(places), response,
       reply, refuse](GroupShard& shard) {
        std::vector<ErrorCode> codes;
        const ErrorCode error = shard.offsets().remove(group_id, items, codes);
        if (error != ErrorCode::NONE) return refuse(error);
        for (std::size_t i = 0; i < places.size(); ++i) {
          auto& topic = response->topics[places[i].topic];
          topic.partitions[places[i].partition].error_code = codes[i];
        }
        shard.when_durable([response, reply, refuse](ErrorCode code) {
          if (code != ErrorCode::NONE) return refuse(code);
          (*reply)(std::move(*response));
        });
      },
      refuse);
}

void GroupCoordinator::sync_offsets(std::string group_id, std::string mirror_name,
                                    std::vector<SyncedOffset> offsets, env::Loop& reply_on,
                                    Done<SyncOffsetsResult> done) {
  const auto reply = share(reply_to(reply_on, std::move(done)));
  const auto refuse = [reply](ErrorCode code) {
    SyncOffsetsResult result;
    result.error = code;
    (*reply)(std::move(result));
  };
  if (!fits_in_record(group_id)) {
    refuse(ErrorCode::INVALID_GROUP_ID);
    return;
  }
  impl_->with_group(
      group_id,
      [group_id, mirror_name = std::move(mirror_name), offsets = std::move(offsets), reply,
       refuse](GroupShard& shard) {
        auto result = shard.offsets().sync(group_id, mirror_name, offsets);
        shard.when_durable([reply, refuse, result = std::move(result)](ErrorCode code) mutable {
          if (code != ErrorCode::NONE) return refuse(code);
          (*reply)(std::move(result));
        });
      },
      refuse);
}

}  // namespace kmirror::coordinator
