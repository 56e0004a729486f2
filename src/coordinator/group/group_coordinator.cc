#include "kmirror/coordinator/group_coordinator.h"

#include "coordinator/group/group_coordinator_impl.h"
#include "kmirror/base/log.h"

namespace kmirror::coordinator {
namespace {

constexpr ApiVersion kFirstNullableProtocolName{7};
constexpr ApiVersion kFirstWithLeavingMembers{3};
constexpr ApiVersion kFirstNamingSyncProtocol{5};

CoordinatorRuntimeConfig runtime_config(const GroupCoordinatorConfig& config) {
  CoordinatorRuntimeConfig runtime;
  runtime.topic = kConsumerOffsetsTopic;
  runtime.partition_count = config.offsets_topic_num_partitions;
  runtime.topic_configs = {{"cleanup.policy", "compact"},
                           {"compression.type", "producer"},
                           {"segment.bytes", std::to_string(config.offsets_topic_segment_bytes)}};
  runtime.log_config.cleanup_compact = true;
  runtime.log_config.cleanup_delete = false;
  runtime.log_config.segment_bytes = config.offsets_topic_segment_bytes;
  runtime.flush = config.flush;
  return runtime;
}

bool is_usable(const std::string& group_id) {
  return !group_id.empty() && fits_in_record(group_id);
}

}  // namespace

GroupCoordinator::Impl::Impl(env::Environment& environment, storage::LogManager& logs,
                             metadata::MetadataEngine& engine, GroupCoordinatorConfig settings)
    : config(std::move(settings)),
      runtime(std::make_shared<CoordinatorRuntime>(
          environment, logs, engine, runtime_config(config),
          [this](ShardContext& context) {
            return std::make_unique<GroupShard>(context, config, [this](const std::string& topic) {
              const auto now = engine_.image()->topic(topic);
              return now && now->is_mirrored() &&
                     now->desired_mirror_state != metadata::DesiredMirrorState::kStopped;
            });
          })),
      engine_(engine) {}

void GroupCoordinator::Impl::start() {
  runtime->start();
  engine_.add_listener(*this);
}

void GroupCoordinator::Impl::on_metadata(const metadata::MetadataDelta& delta) {
  if (delta.deleted_topics.empty()) return;
  std::vector<std::string> topics;
  for (const auto& topic : delta.deleted_topics) topics.push_back(topic->name);
  runtime->for_each_active([topics](CoordinatorShard& shard) {
    static_cast<GroupShard&>(shard).offsets().forget_topics(topics);
  });
}

std::int32_t GroupCoordinator::Impl::partition_for(std::string_view group_id) const {
  return partition_for_hash(java_hash_code(group_id), runtime->partition_count());
}

void GroupCoordinator::Impl::with_partition(std::int32_t partition, Operation operation,
                                            Refuse refuse) {
  runtime->dispatch(
      partition,
      [operation = std::move(operation)](CoordinatorShard& shard) mutable {
        operation(static_cast<GroupShard&>(shard));
      },
      std::move(refuse));
}

void GroupCoordinator::Impl::with_group(const std::string& group_id, Operation operation,
                                        Refuse refuse) {
  runtime->ensure_topic([self = shared_from_this(), group_id, operation = std::move(operation),
                         refuse = std::move(refuse)](Result<void> ready) mutable {
    if (!ready) {
      refuse(append_error_code(ready.error()));
      return;
    }
    self->with_partition(self->partition_for(group_id), std::move(operation), std::move(refuse));
  });
}

GroupCoordinator::GroupCoordinator(env::Environment& environment, storage::LogManager& logs,
                                   metadata::MetadataEngine& metadata,
                                   GroupCoordinatorConfig config)
    : impl_(std::make_shared<Impl>(environment, logs, metadata, std::move(config))) {}
GroupCoordinator::~GroupCoordinator() = default;

void GroupCoordinator::start() { impl_->start(); }
void GroupCoordinator::log_created(std::shared_ptr<storage::PartitionLog> log) {
  impl_->runtime->log_created(std::move(log));
}
void GroupCoordinator::shut_down(UniqueFunction<void()> done) {
  impl_->runtime->shut_down(std::move(done));
}
void GroupCoordinator::ensure_topic(env::Loop& reply_on, Done<Result<void>> done) {
  impl_->runtime->ensure_topic(reply_to(reply_on, std::move(done)));
}
std::int32_t GroupCoordinator::partition_for(std::string_view group_id) const {
  return impl_->partition_for(group_id);
}

void GroupCoordinator::join_group(wire::JoinGroupRequest request, ApiVersion version,
                                  GroupRequestContext context, Done<wire::JoinGroupResponse> done) {
  // Before version 7 "no protocol" is an empty name.
  auto reply = share(reply_to(*context.reply_on, std::move(done)));
  JoinReply answer = [reply, version](wire::JoinGroupResponse response) {
    if (version < kFirstNullableProtocolName && !response.protocol_name) {
      response.protocol_name.emplace();
    }
    (*reply)(std::move(response));
  };
  const std::string member_id = request.member_id;
  const auto refuse = [reply, version, member_id](ErrorCode code) {
    wire::JoinGroupResponse response;
    response.error_code = code;
    response.member_id = member_id;
    if (version >= kFirstNullableProtocolName) response.protocol_name.reset();
    (*reply)(std::move(response));
  };
  const std::int32_t timeout_ms = request.session_timeout_ms;
  if (!is_usable(request.group_id)) {
    refuse(ErrorCode::INVALID_GROUP_ID);
    return;
  }
  if (timeout_ms < impl_->config.group_min_session_timeout_ms ||
      timeout_ms > impl_->config.group_max_session_timeout_ms) {
    refuse(ErrorCode::INVALID_SESSION_TIMEOUT);
    return;
  }
  const std::string group_id = request.group_id;
  GroupClient client(std::move(context.client_id), std::move(context.client_host));
  impl_->with_group(
      group_id,
      [request = std::move(request), version, client = std::move(client),
       answer = std::move(answer)](GroupShard& shard) mutable {
        shard.membership().join(std::move(request), version, client, std::move(answer));
      },
      refuse);
}

void GroupCoordinator::sync_group(wire::SyncGroupRequest request, ApiVersion version,
                                  GroupRequestContext context, Done<wire::SyncGroupResponse> done) {
  auto reply = share(reply_to(*context.reply_on, std::move(done)));
  const auto refuse = [reply](ErrorCode code) {
    wire::SyncGroupResponse response;
    response.error_code = code;
    (*reply)(std::move(response));
  };
  if (!is_usable(request.group_id)) {
    refuse(ErrorCode::INVALID_GROUP_ID);
    return;
  }
  if (version >= kFirstNamingSyncProtocol && (!request.protocol_type || !request.protocol_name)) {
    refuse(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    return;
  }
  const std::string group_id = request.group_id;
  impl_->with_group(
      group_id,
      [request = std::move(request), reply](GroupShard& shard) mutable {
        shard.membership().sync(std::move(request), [reply](wire::SyncGroupResponse response) {
          (*reply)(std::move(response));
        });
      },
      refuse);
}

void GroupCoordinator::heartbeat(wire::HeartbeatRequest request, ApiVersion,
                                 GroupRequestContext context, Done<wire::HeartbeatResponse> done) {
  auto reply = share(reply_to(*context.reply_on, std::move(done)));
  const auto answer = [reply](ErrorCode code) {
    wire::HeartbeatResponse response;
    // While the shard loads nobody can know better than the member that it is one.
    response.error_code = code == ErrorCode::COORDINATOR_LOAD_IN_PROGRESS ? ErrorCode::NONE : code;
    (*reply)(std::move(response));
  };
  if (!is_usable(request.group_id)) {
    answer(ErrorCode::INVALID_GROUP_ID);
    return;
  }
  const std::string group_id = request.group_id;
  impl_->with_group(
      group_id,
      [request = std::move(request), answer](GroupShard& shard) {
        answer(shard.membership().heartbeat(request));
      },
      answer);
}

void GroupCoordinator::leave_group(wire::LeaveGroupRequest request, ApiVersion version,
                                   GroupRequestContext context,
                                   Done<wire::LeaveGroupResponse> done) {
  auto reply = share(reply_to(*context.reply_on, std::move(done)));
  const auto answer = [reply, version](wire::LeaveGroupResponse response) {
    if (version < kFirstWithLeavingMembers) {
      if (response.error_code == ErrorCode::NONE && !response.members.empty()) {
        response.error_code = response.members.front().error_code;
      }
      response.members.clear();
    }
    (*reply)(std::move(response));
  };
  const auto refuse = [answer](ErrorCode code) {
    wire::LeaveGroupResponse response;
    response.error_code = code;
    answer(std::move(response));
  };
  if (!is_usable(request.group_id)) {
    refuse(ErrorCode::INVALID_GROUP_ID);
    return;
  }
  if (version < kFirstWithLeavingMembers) {
    request.members.emplace_back();
    request.members.back().member_id = request.member_id;
  }
  const std::string group_id = request.group_id;
  impl_->with_group(
      group_id,
      [request = std::move(request), answer, refuse](GroupShard& shard) {
        wire::LeaveGroupResponse response = shard.membership().leave(request);
        shard.when_durable(
            [answer, refuse, response = std::move(response)](ErrorCode code) mutable {
              if (code != ErrorCode::NONE) return refuse(code);
              answer(std::move(response));
            });
      },
      refuse);
}

}  // namespace kmirror::coordinator
