// Assignments of replicas that a request gives by hand.
// Sources: Kafka 4.4 ReplicationControlManager.validateManualPartitionAssignment.
#pragma once

#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/metadata/image.h"
#include "kmirror/wire/create_topics_request.h"

namespace kmirror::metadata {

struct AssignmentShape {
  AssignmentShape() = default;
  std::int32_t partitions = 0;
  std::int16_t replication_factor = 0;
};

/// Every partition from 0 on once, each with known brokers, none twice, all equally many. Error:
/// INVALID_REPLICA_ASSIGNMENT.
[[nodiscard]] Result<AssignmentShape> check_assignments(
    const MetadataImage& image, const wire::CreateTopicsRequest::CreatableTopic& topic);

/// One partition's replicas: known brokers, none twice, `replication_factor` many (0: any number
/// but none). Error: INVALID_REPLICA_ASSIGNMENT.
[[nodiscard]] Result<void> check_replicas(const MetadataImage& image,
                                          const std::vector<NodeId>& replicas,
                                          std::size_t replication_factor);

}  // namespace kmirror::metadata
