// The keys of a consumer, share or streams group.
// Sources: Kafka 4.4 GroupConfig; KIP-848, KIP-932, KIP-1071.
#include "metadata/config_tables.h"

namespace kmirror::metadata {

std::vector<ConfigDef> group_keys() {
  std::vector<ConfigDef> keys = {
      ConfigDef("consumer.session.timeout.ms", kInt, "45000", "ms",
                "Silence after which a member of a consumer group is taken for dead.")
          .at_least(1)
          .falls_back_to("group.consumer.session.timeout.ms"),
      ConfigDef("consumer.heartbeat.interval.ms", kInt, "5000", "ms",
                "Time between two heartbeats that members of a consumer group are told.")
          .at_least(1)
          .falls_back_to("group.consumer.heartbeat.interval.ms"),
      ConfigDef("consumer.assignment.interval.ms", kInt, "1000", "ms",
                "Least time between two assignments of a consumer group.")
          .at_least(0)
          .falls_back_to("group.consumer.assignment.interval.ms"),
      ConfigDef("share.session.timeout.ms", kInt, "45000", "ms",
                "Silence after which a member of a share group is taken for dead.")
          .at_least(1),
      ConfigDef("share.heartbeat.interval.ms", kInt, "5000", "ms",
                "Time between two heartbeats that members of a share group are told.")
          .at_least(1),
      ConfigDef("share.record.lock.duration.ms", kInt, "30000", "ms",
                "How long a share group holds a delivered record for its member.")
          .at_least(1000),
      ConfigDef("share.delivery.count.limit", kInt, "5", "",
                "How often a share group delivers a record at most.")
          .at_least(2),
      ConfigDef("share.partition.max.record.locks", kInt, "2000", "records",
                "Records of one partition that a share group holds at a time.")
          .at_least(100),
      ConfigDef("share.auto.offset.reset", kString, "latest", "",
                "Where a share group without a position starts: latest, earliest, or "
                "by_duration: and an ISO 8601 duration."),
      ConfigDef("share.isolation.level", kString, "read_uncommitted", "",
                "Whether a share group sees records of open and aborted transactions.")
          .one_of({"read_committed", "read_uncommitted"}),
      ConfigDef("share.renew.acknowledge.enable", kBoolean, "true", "",
                "Whether members of a share group may prolong a record's lock."),
      ConfigDef("share.assignment.interval.ms", kInt, "1000", "ms",
                "Least time between two assignments of a share group.")
          .at_least(0),
      ConfigDef("streams.session.timeout.ms", kInt, "45000", "ms",
                "Silence after which a member of a streams group is taken for dead.")
          .at_least(1),
      ConfigDef("streams.heartbeat.interval.ms", kInt, "5000", "ms",
                "Time between two heartbeats that members of a streams group are told.")
          .at_least(1),
      ConfigDef("streams.num.standby.replicas", kInt, "0", "",
                "Standby tasks that a streams group keeps for each stateful task.")
          .at_least(0),
      ConfigDef("streams.initial.rebalance.delay.ms", kInt, "3000", "ms",
                "Wait for more members before a new streams group is assigned.")
          .at_least(0),
      ConfigDef("streams.assignment.interval.ms", kInt, "1000", "ms",
                "Least time between two assignments of a streams group.")
          .at_least(0),
      ConfigDef("streams.rack.aware.assignment.tags", kList, "", "",
                "Client tags that a streams group spreads its standby tasks over."),
      ConfigDef("streams.assignor.name", kString, std::nullopt, "",
                "The assignor of a streams group."),
      ConfigDef("errors.deadletterqueue.topic.name", kString, "", "",
                "Topic for records that a share group gave up on; empty for none."),
      ConfigDef("errors.deadletterqueue.copy.record.enable", kBoolean, "false", "",
                "Whether such a record is copied whole, or only its position."),
  };
  for (ConfigDef& key : keys) key.update = ConfigUpdate::kClusterWide;
  return keys;
}

}  // namespace kmirror::metadata
