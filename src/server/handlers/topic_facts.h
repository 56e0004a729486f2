// Facts about topics that several handlers tell.
// Owner: any thread. Sources: Kafka 4.4 Topic, AclEntry.supportedOperations, MetadataCache.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kmirror/metadata/image.h"
#include "kmirror/model/error_code.h"

namespace kmirror::server {

// What everyone may do while there is no authorizer: bits of AclOperation codes.
inline constexpr std::int32_t kAllTopicOperations = 3'576;    // 3-8, 10, 11
inline constexpr std::int32_t kAllClusterOperations = 8'096;  // 5, 7-12
inline constexpr std::int32_t kAllGroupOperations = 3'400;    // 3, 6, 8, 10, 11
inline constexpr std::int32_t kOperationsNotAsked = INT32_MIN;

/// Where clients of `listener` find the leader of a partition, and what is wrong if they cannot.
struct LeaderView {
  LeaderView() = default;
  ErrorCode error = ErrorCode::NONE;
  NodeId leader{-1};
  const metadata::ListenerEndpoint* endpoint = nullptr;
};
[[nodiscard]] LeaderView leader_for(const metadata::MetadataImage& image,
                                    const metadata::PartitionImage& partition,
                                    std::string_view listener);
/// Replicas whose broker is not there or is fenced.
[[nodiscard]] std::vector<NodeId> offline_replicas(const metadata::MetadataImage& image,
                                                   const metadata::PartitionImage& partition);
/// The broker that answers controller requests; any live one if the controller is none of them.
[[nodiscard]] NodeId controller_for_clients(const metadata::MetadataImage& image);

}  // namespace kmirror::server
