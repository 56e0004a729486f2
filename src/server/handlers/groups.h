// The classic group APIs: they go to the GroupCoordinator as they came, and its answers go back.
// FindCoordinator tells clients where that is.
// Owner: any loop; the coordinator posts its answers back to the connection's loop.
// Sources: Kafka 4.4 KafkaApis; KIP-699 (several keys in FindCoordinator).
#pragma once

#include "kmirror/coordinator/group_coordinator.h"
#include "server/handlers/table.h"

namespace kmirror::server {

void add_group_handlers(HandlerTable& table, const HandlerServices& services);

}  // namespace kmirror::server
