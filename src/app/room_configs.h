// What each room needs of the configuration file, in that room's own words.
#pragma once

#include "kmirror/app/config.h"
#include "kmirror/coordinator/cluster_mirror_coordinator.h"
#include "kmirror/coordinator/group_coordinator.h"
#include "kmirror/server/server.h"

namespace kmirror::app {

[[nodiscard]] server::ServerConfig server_config(const BrokerConfig& config);
[[nodiscard]] coordinator::GroupCoordinatorConfig group_config(const BrokerConfig& config);
[[nodiscard]] coordinator::ClusterMirrorCoordinatorConfig mirror_state_config(
    const BrokerConfig& config);

}  // namespace kmirror::app
