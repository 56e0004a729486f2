// Broker keys for groups, transactions, quotas and mirroring.
// Sources: Kafka 4.4 GroupCoordinatorConfig, TransactionLogConfig, QuotaConfig; spec E.3; decisions
// section 2 (spellings), 3.8, 3.11, 3.18.
#include "metadata/config_tables.h"

namespace kmirror::metadata {
namespace {

std::vector<ConfigDef> offset_keys() {
  return {
      ConfigDef("offsets.topic.num.partitions", kInt, "50", "",
                "Partitions of __consumer_offsets when it is created.")
          .at_least(1),
      ConfigDef("offsets.topic.replication.factor", kShort, "3", "",
                "Replicas of __consumer_offsets; never more than there are brokers.")
          .range(1, 32'767),
      ConfigDef("offsets.topic.segment.bytes", kInt, "104857600", "bytes",
                "segment.bytes of __consumer_offsets.")
          .at_least(1),
      ConfigDef("offsets.retention.minutes", kInt, "10080", "minutes",
                "How long the offsets of an empty group are kept. Offsets of mirrored topics that "
                "came from the source do not expire.")
          .at_least(1),
      ConfigDef("offsets.retention.check.interval.ms", kLong, "600000", "ms",
                "Time between two looks for expired offsets.")
          .at_least(1),
      ConfigDef("offset.metadata.max.bytes", kInt, "4096", "bytes",
                "Longest text that a client may commit with an offset.")
          .at_least(0),
      ConfigDef("offsets.commit.timeout.ms", kInt, "5000", "ms",
                "How long a commit may wait to be written.")
          .at_least(1),
  };
}

std::vector<ConfigDef> classic_group_keys() {
  return {
      ConfigDef("group.min.session.timeout.ms", kInt, "6000", "ms",
                "Shortest session timeout that a member may ask for.")
          .at_least(0),
      ConfigDef("group.max.session.timeout.ms", kInt, "1800000", "ms",
                "Longest session timeout that a member may ask for.")
          .at_least(0),
      ConfigDef("group.initial.rebalance.delay.ms", kInt, "3000", "ms",
                "Wait for more members before an empty group is first balanced.")
          .at_least(0),
      ConfigDef("group.max.size", kInt, "2147483647", "members", "Members of a classic group.")
          .at_least(1),
      ConfigDef("group.coordinator.rebalance.protocols", kList, "classic,consumer", "",
                "Group protocols on offer.")
          .one_of({"classic", "consumer"}),
  };
}

std::vector<ConfigDef> consumer_group_keys() {
  return {
      ConfigDef("group.consumer.assignors", kList, "uniform,range", "",
                "Assignors of the new protocol; the first is the default.")
          .one_of({"uniform", "range"}),
      ConfigDef("group.consumer.session.timeout.ms", kInt, "45000", "ms",
                "Silence after which a member of the new protocol is taken for dead.")
          .at_least(1),
      ConfigDef("group.consumer.min.session.timeout.ms", kInt, "45000", "ms",
                "Least value of consumer.session.timeout.ms.")
          .at_least(1),
      ConfigDef("group.consumer.max.session.timeout.ms", kInt, "60000", "ms",
                "Greatest value of consumer.session.timeout.ms.")
          .at_least(1),
      ConfigDef("group.consumer.heartbeat.interval.ms", kInt, "5000", "ms",
                "Time between heartbeats of the new protocol.")
          .at_least(1),
      ConfigDef("group.consumer.min.heartbeat.interval.ms", kInt, "5000", "ms",
                "Least value of consumer.heartbeat.interval.ms.")
          .at_least(1),
      ConfigDef("group.consumer.max.heartbeat.interval.ms", kInt, "15000", "ms",
                "Greatest value of consumer.heartbeat.interval.ms.")
          .at_least(1),
      ConfigDef("group.consumer.assignment.interval.ms", kInt, "1000", "ms",
                "Least time between two assignments of one group.")
          .at_least(0),
      ConfigDef("group.consumer.max.size", kInt, "2147483647", "members",
                "Members of a group of the new protocol.")
          .at_least(1),
      ConfigDef("group.consumer.migration.policy", kString, "bidirectional", "",
                "Whether a group may change between the classic and the new protocol.")
          .one_of({"disabled", "downgrade", "upgrade", "bidirectional"})
          .checked_by(ConfigCheck::kChoicesAnyCase),
      ConfigDef("group.consumer.regex.refresh.interval.ms", kInt, "600000", "ms",
                "Time after which a subscribed expression is matched against topics again.")
          .at_least(10'000),
  };
}

}  // namespace

std::vector<ConfigDef> broker_group_keys() {
  std::vector<ConfigDef> keys = in_section("Committed offsets", offset_keys());
  append(keys, in_section("Classic groups", classic_group_keys()));
  append(keys, in_section("Consumer groups", consumer_group_keys()));
  return keys;
}

std::vector<ConfigDef> broker_transaction_keys() {
  std::vector<ConfigDef> keys = {
      ConfigDef("transaction.state.log.num.partitions", kInt, "50", "",
                "Partitions of __transaction_state when it is created.")
          .at_least(1),
      ConfigDef("transaction.state.log.replication.factor", kShort, "3", "",
                "Replicas of __transaction_state; never more than there are brokers.")
          .range(1, 32'767),
      ConfigDef("transaction.state.log.min.isr", kInt, "2", "replicas",
                "min.insync.replicas of __transaction_state; never more than its replicas.")
          .at_least(1),
      ConfigDef("transaction.state.log.segment.bytes", kInt, "104857600", "bytes",
                "segment.bytes of __transaction_state.")
          .at_least(1),
      ConfigDef("transaction.max.timeout.ms", kInt, "900000", "ms",
                "Longest transaction timeout that a producer may ask for.")
          .at_least(1),
      ConfigDef("transaction.abort.timed.out.transaction.cleanup.interval.ms", kInt, "10000", "ms",
                "Time between two looks for transactions that timed out.")
          .at_least(1),
      ConfigDef("transaction.remove.expired.transaction.cleanup.interval.ms", kInt, "3600000", "ms",
                "Time between two looks for idle transactional ids.")
          .at_least(1),
      ConfigDef("transactional.id.expiration.ms", kInt, "604800000", "ms",
                "Idle time after which a transactional id is forgotten.")
          .at_least(1),
  };
  keys = in_section("Transactions", std::move(keys));
  std::vector<ConfigDef> quotas = {
      ConfigDef("quota.window.num", kInt, "11", "", "Windows over which a quota is averaged.")
          .at_least(1),
      ConfigDef("quota.window.size.seconds", kInt, "1", "seconds", "Length of such a window.")
          .at_least(1),
  };
  append(keys, in_section("Quotas", std::move(quotas)));
  return keys;
}

namespace {

std::vector<ConfigDef> mirroring_keys() {
  return {
      ConfigDef("mirror.topic.num.partitions", kInt, "50", "",
                "Partitions of __mirror_state when it is created. Never change it later.")
          .at_least(1)
          .also_spelled("mirror.state.topic.num.partitions"),
      ConfigDef("mirror.topic.replication.factor", kShort, "3", "",
                "Replicas of __mirror_state; never more than there are brokers.")
          .range(1, 32'767)
          .also_spelled("mirror.state.topic.replication.factor"),
      ConfigDef("mirror.num.replica.fetchers", kInt, "1", "",
                "Fetchers for each source broker and mirror.")
          .range(1, 1024)
          .updatable(ConfigUpdate::kClusterWide),
      ConfigDef("mirror.metadata.refresh.interval.ms", kLong, "30000", "ms",
                "Time between two looks at the source's topics, leaders, groups, configs and ACLs.")
          .at_least(0)
          .updatable(ConfigUpdate::kClusterWide),
      ConfigDef("mirror.replication.throttled.rate", kLong, "9223372036854775807", "bytes/s",
                "Limit for fetching the topics that mirror.replication.throttled.replicas names. "
                "Cannot stand in the file: set it with kafka-configs.")
          .at_least(0)
          .updatable(ConfigUpdate::kDynamicOnly),
      ConfigDef("mirror.local.compaction", kBoolean, "true", "",
                "Whether compacted topics are cleaned here while they are mirrored.")
          .updatable(ConfigUpdate::kClusterWide),
      ConfigDef("mirror.stop.retention.grace.ms", kLong, "86400000", "ms",
                "How long retention waits after a mirrored topic was stopped.")
          .at_least(0)
          .updatable(ConfigUpdate::kClusterWide),
      ConfigDef("mirror.lost.writes.keep", kBoolean, "true", "",
                "Whether records cut off at failback are first moved to lost-writes.")
          .updatable(ConfigUpdate::kClusterWide),
  };
}

std::vector<ConfigDef> mirror_retry_keys() {
  return {
      ConfigDef("mirror.failed.retry.initial.backoff.ms", kLong, "100", "ms",
                "First wait before a failed partition is tried again; doubles each time.")
          .at_least(1)
          .updatable(ConfigUpdate::kClusterWide),
      ConfigDef("mirror.failed.retry.max.backoff.ms", kLong, "300000", "ms", "Longest such wait.")
          .at_least(1)
          .updatable(ConfigUpdate::kClusterWide),
      ConfigDef("mirror.failed.retry.max.attempts", kInt, "20", "",
                "Tries after which a failed partition waits for an operator; 0 for none. Errors of "
                "connection and log-in do not count.")
          .range(0, 32'767)
          .updatable(ConfigUpdate::kClusterWide),
      ConfigDef("mirror.coordinator.threads", kInt, "1", "threads",
                "Kept for configurations of the prototype: the loops do this work.")
          .at_least(1),
      ConfigDef("sasl.mechanism.mirror.admin.protocol", kString, std::nullopt, "",
                "Kept for configurations of the prototype: groups and ACLs are brought over inside "
                "the daemon, without a connection to itself."),
      ConfigDef("mirror.coordinator.write.timeout.ms", kLong, "5000", "ms",
                "How long a state change may wait to be written.")
          .at_least(1),
      ConfigDef("mirror.coordinator.append.linger.ms", kInt, "10", "ms",
                "How long a state change may wait for others to share its write.")
          .at_least(0),
      ConfigDef("mirror.coordinator.load.buffer.size", kInt, "5242880", "bytes",
                "Bytes of __mirror_state that are read at once when it is loaded.")
          .at_least(1),
  };
}

ConfigDef source_key(const char* name, ConfigType type, const char* standard, const char* unit,
                     const char* meaning) {
  ConfigDef key(name, type, standard, unit, meaning);
  key.at_least(0).updatable(ConfigUpdate::kClusterWide);
  return key;
}

std::vector<ConfigDef> source_client_keys() {
  return {
      source_key("request.timeout.ms", kInt, "30000", "ms",
                 "How long an answer of a source may take."),
      source_key("socket.connection.setup.timeout.ms", kLong, "10000", "ms",
                 "How long the first attempt to connect to a source may take."),
      source_key("socket.connection.setup.timeout.max.ms", kLong, "30000", "ms",
                 "How long a later attempt to connect may take."),
      source_key("reconnect.backoff.ms", kLong, "50", "ms",
                 "First wait before a broken connection is made again."),
      source_key("reconnect.backoff.max.ms", kLong, "1000", "ms",
                 "Longest wait before a broken connection is made again."),
      source_key("send.buffer.bytes", kInt, "131072", "bytes",
                 "Send buffer of a socket to a source; -1 for the system's.")
          .or_value(-1),
      source_key("receive.buffer.bytes", kInt, "65536", "bytes",
                 "Receive buffer of such a socket, fetchers excepted; -1 for the system's.")
          .or_value(-1),
      source_key("replica.fetch.wait.max.ms", kInt, "1000", "ms",
                 "How long a source may wait for replica.fetch.min.bytes."),
      source_key("replica.fetch.backoff.ms", kInt, "1000", "ms",
                 "Pause of a partition's fetching after an error."),
      source_key("replica.fetch.min.bytes", kInt, "1", "bytes",
                 "Bytes that a source waits for before it answers a fetch."),
      source_key("replica.fetch.response.max.bytes", kInt, "10485760", "bytes",
                 "Largest fetch answer, all partitions together."),
      source_key("replica.fetch.max.bytes", kInt, "1048576", "bytes",
                 "Largest share of one partition in a fetch answer."),
      source_key("replica.socket.timeout.ms", kInt, "30000", "ms",
                 "How long a fetch answer may take beyond replica.fetch.wait.max.ms."),
      source_key("replica.socket.receive.buffer.bytes", kInt, "-1", "bytes",
                 "Receive buffer of a fetcher's socket; -1 for the system's.")
          .or_value(-1),
  };
}

}  // namespace

std::vector<ConfigDef> broker_mirror_keys() {
  std::vector<ConfigDef> keys = in_section("Mirroring", mirroring_keys());
  append(keys, in_section("Mirroring: failures and state", mirror_retry_keys()));
  append(keys, in_section("Mirroring: connections to sources", source_client_keys()));
  return keys;
}

}  // namespace kmirror::metadata
