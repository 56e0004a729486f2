// ListGroups, DescribeGroups, DeleteGroups. Owner: any thread.
// Sources: Kafka 4.4 GroupCoordinatorService; KIP-518, KIP-848, KIP-1043.
#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "coordinator/group/group_coordinator_impl.h"
#include "coordinator/runtime/gather.h"

namespace kmirror::coordinator {
namespace {

constexpr ApiVersion kFirstNamingGroupNotFound{6};

std::set<std::string> lower_case(const std::vector<std::string>& texts) {
  std::set<std::string> out;
  for (std::string text : texts) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    out.insert(std::move(text));
  }
  return out;
}

using Described = wire::DescribeGroupsResponse::DescribedGroup;

Described unknown_group(const std::string& group_id, ApiVersion version) {
  Described described;
  described.group_id = group_id;
  described.group_state = "Dead";
  if (version >= kFirstNamingGroupNotFound) {
    described.error_code = ErrorCode::GROUP_ID_NOT_FOUND;
    described.error_message = fmt::format("Group {} not found.", group_id);
  }
  return described;
}

}  // namespace

void GroupCoordinator::list_groups(wire::ListGroupsRequest request, ApiVersion,
                                   GroupRequestContext context,
                                   Done<wire::ListGroupsResponse> done) {
  using Response = wire::ListGroupsResponse;
  const std::int32_t count = impl_->runtime->has_topic() ? impl_->runtime->partition_count() : 0;
  auto sorted = [done = std::move(done)](Response total) mutable {
    if (total.error_code != ErrorCode::NONE) total.groups.clear();
    std::sort(total.groups.begin(), total.groups.end(),
              [](const auto& a, const auto& b) { return a.group_id < b.group_id; });
    done(std::move(total));
  };
  const auto gather = Gather<Response>::make(*context.reply_on, static_cast<std::size_t>(count),
                                             Response(), std::move(sorted));
  const auto states = lower_case(request.states_filter);
  const auto types = lower_case(request.types_filter);
  for (std::int32_t partition = 0; partition < count; ++partition) {
    impl_->with_partition(
        partition,
        [gather, states, types](GroupShard& shard) {
          gather->add([part = shard.list(states, types)](Response& total) {
            total.groups.insert(total.groups.end(), part.begin(), part.end());
          });
        },
        [gather](ErrorCode code) {
          gather->add([code](Response& total) {
            if (code != ErrorCode::NOT_COORDINATOR) total.error_code = code;
          });
        });
  }
}

void GroupCoordinator::describe_groups(wire::DescribeGroupsRequest request, ApiVersion version,
                                       GroupRequestContext context,
                                       Done<wire::DescribeGroupsResponse> done) {
  using Response = wire::DescribeGroupsResponse;
  Response initial;
  initial.groups.resize(request.groups.size());
  const auto gather = Gather<Response>::make(*context.reply_on, request.groups.size(),
                                             std::move(initial), std::move(done));
  for (std::size_t i = 0; i < request.groups.size(); ++i) {
    const std::string& group_id = request.groups[i];
    const auto add = [gather, i](Described described) {
      gather->add([i, described = std::move(described)](Response& total) mutable {
        total.groups[i] = std::move(described);
      });
    };
    const auto refuse = [add, group_id](ErrorCode code) {
      Described described;
      described.group_id = group_id;
      described.error_code = code;
      add(std::move(described));
    };
    impl_->with_group(
        group_id,
        [add, group_id, version](GroupShard& shard) {
          auto described = shard.describe(group_id);
          add(described ? std::move(*described) : unknown_group(group_id, version));
        },
        refuse);
  }
}

void GroupCoordinator::delete_groups(wire::DeleteGroupsRequest request, ApiVersion,
                                     GroupRequestContext context,
                                     Done<wire::DeleteGroupsResponse> done) {
  using Response = wire::DeleteGroupsResponse;
  Response initial;
  initial.results.resize(request.groups_names.size());
  const auto gather = Gather<Response>::make(*context.reply_on, request.groups_names.size(),
                                             std::move(initial), std::move(done));
  for (std::size_t i = 0; i < request.groups_names.size(); ++i) {
    const std::string& group_id = request.groups_names[i];
    const auto answer = [gather, i, group_id](ErrorCode code) {
      gather->add([i, group_id, code](Response& total) {
        total.results[i].group_id = group_id;
        total.results[i].error_code = code;
      });
    };
    impl_->with_group(
        group_id,
        [answer, group_id](GroupShard& shard) {
          const ErrorCode result = shard.remove(group_id);
          shard.when_durable([answer, result](ErrorCode code) {
            answer(code == ErrorCode::NONE ? result : code);
          });
        },
        answer);
  }
}

}  // namespace kmirror::coordinator
