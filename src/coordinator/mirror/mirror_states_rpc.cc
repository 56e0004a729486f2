// ReadMirrorStates and WriteMirrorStates as they come over the wire, both generations.
// Owner: any thread. Sources: spec B.1, B.6, C.2; decisions section 2.
#include <algorithm>
#include <memory>

#include "coordinator/mirror/coordinator_impl.h"
#include "coordinator/mirror/mirror_state_shard.h"

namespace kmirror::coordinator {
namespace {

constexpr ApiVersion kSeedVersion{0};

std::int8_t state_code(MirrorState state, ApiVersion version) {
  return version == kSeedVersion ? seed_code(state) : static_cast<std::int8_t>(state);
}
std::optional<MirrorState> state_of(std::int8_t code, ApiVersion version) {
  return version == kSeedVersion ? mirror_state_from_seed_code(code) : mirror_state_from_code(code);
}

using ReadResult = wire::ReadMirrorStatesResponse::PartitionResult;
void fill(ReadResult& out, const MirrorStateRead& read, ApiVersion version) {
  const MirrorPartitionState& state = read.state;
  out.error_code = read.error;
  out.state = state_code(state.status.state, version);
  // The seed generation knows no "none": 0 means that nothing is shared.
  out.last_mirrored_offset = std::max(state.last_mirror_offset, Offset(0));
  out.leader_epoch = state.leader_epoch;
  out.state_epoch = state.state_epoch;
  out.last_mirror_epoch = state.last_mirror_epoch;
  out.last_mirror_offset = state.last_mirror_offset;
  out.error_message = state.status.error_message;
  out.retry_attempt = state.status.retry_attempt;
  out.previous_state = static_cast<std::int8_t>(state.status.previous);
}

using WritePartition = wire::WriteMirrorStatesRequest::PartitionData;
MirrorStateWrite write_of(const WritePartition& in, MirrorPartitionKey key, MirrorState target,
                          ApiVersion version) {
  MirrorStateWrite write;
  write.key = std::move(key);
  write.target = target;
  if (version == kSeedVersion) {
    if (in.last_mirrored_offset > Offset(0)) write.last_mirror_offset = in.last_mirrored_offset;
    return write;
  }
  write.leader_epoch = in.leader_epoch;
  write.state_epoch = in.state_epoch;
  write.last_mirror_epoch = in.last_mirror_epoch;
  write.last_mirror_offset = in.last_mirror_offset;
  write.error_message = in.error_message;
  write.retry_attempt = in.retry_attempt;
  write.non_retriable = in.non_retryable;
  return write;
}

/// Where in the answer each result belongs.
struct Place {
  Place(std::size_t t, std::size_t p) : topic(t), partition(p) {}
  std::size_t topic;
  std::size_t partition;
};

}  // namespace

void ClusterMirrorCoordinator::read_mirror_states(wire::ReadMirrorStatesRequest request,
                                                  ApiVersion version, env::Loop& reply_on,
                                                  Done<wire::ReadMirrorStatesResponse> done) {
  wire::ReadMirrorStatesResponse response;
  std::vector<MirrorPartitionKey> keys;
  std::vector<Place> places;
  const auto image = impl_->image();
  for (const auto& topic : request.topics) {
    auto& out = response.topics.emplace_back();
    out.topic_name = topic.topic_name;
    const auto known = image->topic(topic.topic_name);
    for (const auto& partition : topic.partitions) {
      auto& result = out.partitions.emplace_back();
      result.partition_index = partition.partition_index;
      result.state = state_code(MirrorState::kUnknown, version);
      if (!known) {
        result.error_code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        continue;
      }
      keys.emplace_back(request.mirror_name, known->id, partition.partition_index);
      places.emplace_back(response.topics.size() - 1, out.partitions.size() - 1);
    }
  }
  read(std::move(keys), reply_on,
       [response = std::move(response), places = std::move(places), version,
        done = std::move(done)](std::vector<MirrorStateRead> reads) mutable {
         for (std::size_t i = 0; i < reads.size(); ++i) {
           fill(response.topics[places[i].topic].partitions[places[i].partition], reads[i],
                version);
         }
         done(std::move(response));
       });
}

void ClusterMirrorCoordinator::write_mirror_states(wire::WriteMirrorStatesRequest request,
                                                   ApiVersion version, env::Loop& reply_on,
                                                   Done<wire::WriteMirrorStatesResponse> done) {
  wire::WriteMirrorStatesResponse response;
  std::vector<MirrorStateWrite> writes;
  std::vector<Place> places;
  const auto image = impl_->image();
  for (const auto& topic : request.topics) {
    auto& out = response.topics.emplace_back();
    out.topic_name = topic.topic_name;
    const auto known = image->topic(topic.topic_name);
    for (const auto& partition : topic.partitions) {
      auto& result = out.partitions.emplace_back();
      result.partition_index = partition.partition_index;
      const auto target = state_of(partition.state, version);
      if (!known) {
        result.error_code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
      } else if (!target) {
        result.error_code = ErrorCode::INVALID_REQUEST;
        result.error_message = fmt::format("there is no mirror state {}", partition.state);
      } else {
        MirrorPartitionKey key(request.mirror_name, known->id, partition.partition_index);
        writes.push_back(write_of(partition, std::move(key), *target, version));
        places.emplace_back(response.topics.size() - 1, out.partitions.size() - 1);
      }
    }
  }
  auto removed = std::make_shared<std::vector<Uuid>>();
  for (const std::string& topic : request.removed_topics) {
    if (const auto known = image->topic(topic)) removed->push_back(known->id);
  }
  auto remove_then_answer = [impl = impl_, mirror = request.mirror_name, removed, loop = &reply_on,
                             done =
                                 std::move(done)](wire::WriteMirrorStatesResponse answer) mutable {
    if (removed->empty()) return done(std::move(answer));
    impl->remove(
        [mirror, removed](const MirrorStateShard& shard) {
          std::vector<MirrorPartitionKey> keys = shard.keys_of(mirror);
          std::erase_if(keys, [&removed](const MirrorPartitionKey& key) {
            return std::find(removed->begin(), removed->end(), key.topic_id) == removed->end();
          });
          return keys;
        },
        *loop,
        [answer = std::move(answer), done = std::move(done)](Result<void> result) mutable {
          if (!result) answer.error_code = to_kafka_error(result.error());
          done(std::move(answer));
        });
  };
  write(std::move(writes), reply_on,
        [response = std::move(response), places = std::move(places),
         next = std::move(remove_then_answer)](std::vector<MirrorStateWritten> written) mutable {
          for (std::size_t i = 0; i < written.size(); ++i) {
            auto& out = response.topics[places[i].topic].partitions[places[i].partition];
            out.error_code = written[i].error;
            out.state_epoch = written[i].state.state_epoch;
            if (written[i].error != ErrorCode::NONE) out.error_message = written[i].error_message;
          }
          next(std::move(response));
        });
}

}  // namespace kmirror::coordinator
