// CreateTopics, DeleteTopics, CreatePartitions, IncrementalAlterConfigs and AlterConfigs: requests
// that the metadata engine decides. They go there as they came. Owner: any loop; the engine answers
// on loop 0. Sources: Kafka 4.4 KafkaApis.forwardToController.
#pragma once

#include "server/handlers/table.h"

namespace kmirror::server {

void add_topic_admin_handlers(HandlerTable& table, const HandlerServices& services);

}  // namespace kmirror::server
