#include "metadata/placement.h"

#include <set>

#include "kmirror/model/error_code.h"

namespace kmirror::metadata {
namespace {

Error bad_assignment(std::string text) {
  return kafka_error(ErrorCode::INVALID_REPLICA_ASSIGNMENT, std::move(text));
}

}  // namespace

Result<void> check_replicas(const MetadataImage& image, const std::vector<NodeId>& replicas,
                            std::size_t replication_factor) {
  if (replicas.empty()) return bad_assignment("an assignment names no broker");
  std::set<NodeId> seen;
  for (const NodeId broker : replicas) {
    if (!seen.insert(broker).second) {
      return bad_assignment(fmt::format("an assignment names broker {} twice", broker));
    }
    if (!image.brokers.contains(broker)) {
      return bad_assignment(
          fmt::format("an assignment names broker {}, which is not registered", broker));
    }
  }
  if (replication_factor != 0 && replicas.size() != replication_factor) {
    return bad_assignment(
        fmt::format("an assignment names {} brokers; the topic's partitions have "
                    "{}",
                    replicas.size(), replication_factor));
  }
  return {};
}

Result<AssignmentShape> check_assignments(const MetadataImage& image,
                                          const wire::CreateTopicsRequest::CreatableTopic& topic) {
  std::set<std::int32_t> partitions;
  std::size_t replication_factor = 0;
  for (const auto& assignment : topic.assignments) {
    if (!partitions.insert(assignment.partition_index).second) {
      return bad_assignment(
          fmt::format("partition {} is assigned twice", assignment.partition_index));
    }
    KM_TRY_VOID(check_replicas(image, assignment.broker_ids, replication_factor));
    replication_factor = assignment.broker_ids.size();
  }
  // A set of n different numbers with least 0 and greatest n-1 has no hole.
  if (*partitions.begin() != 0 ||
      *partitions.rbegin() != static_cast<std::int32_t>(partitions.size()) - 1) {
    return bad_assignment("the assigned partitions are not numbered from 0 without a hole");
  }
  AssignmentShape shape;
  shape.partitions = static_cast<std::int32_t>(partitions.size());
  shape.replication_factor = static_cast<std::int16_t>(replication_factor);
  return shape;
}

}  // namespace kmirror::metadata
