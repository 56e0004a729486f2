// The keys of a cluster mirror: what to mirror, and how the source is spoken to. Client keys fall
// back to the broker key of the same name.
// Sources: the seeds' table of mirror keys; spec E.1; decisions section 2 (spellings), 3.8, 3.9.
#include "metadata/config_tables.h"

namespace kmirror::metadata {
namespace {

constexpr const char* kExcludedProperties =
    "follower.replication.throttled.replicas,leader.replication.throttled.replicas,"
    "message.timestamp.difference.max.ms,log.message.timestamp.before.max.ms,"
    "log.message.timestamp.after.max.ms,message.timestamp.type,unclean.leader.election.enable,"
    "min.insync.replicas,mirror.name,mirror.replication.throttled.replicas,"
    "mirror.support.unclean.leader.election";

std::vector<ConfigDef> choice_keys() {
  return {
      ConfigDef("bootstrap.servers", kList, "", "",
                "Brokers of the source, host:port, that are asked first.")
          .checked_by(ConfigCheck::kHostPorts),
      ConfigDef("source.cluster.id", kString, std::nullopt, "",
                "Cluster id of the source. Learnt by itself; another id there stops the mirror."),
      ConfigDef("mirror.topics.include", kList, "", "",
                "Topics to mirror: regular expressions that match the whole name. Empty: only "
                "topics that are started by name.")
          .checked_by(ConfigCheck::kRegexList)
          .also_spelled("topics.include"),
      ConfigDef("mirror.topics.exclude", kList, "__.*", "",
                "Topics not to mirror, whatever the include list says.")
          .checked_by(ConfigCheck::kRegexList)
          .also_spelled("topics.exclude"),
      ConfigDef("mirror.groups.include", kList, ".*", "", "Groups whose offsets are kept in step.")
          .checked_by(ConfigCheck::kRegexList)
          .also_spelled("groups.include"),
      ConfigDef("mirror.groups.exclude", kList, "", "",
                "Groups left alone, whatever the include list says.")
          .checked_by(ConfigCheck::kRegexList)
          .also_spelled("groups.exclude"),
      ConfigDef(
          "mirror.acl.include", kList, "*", "",
          "ACLs to mirror: rules resourceType;resourceName;operation;permissionType;principal,"
          " * for any; name and principal are regular expressions.")
          .checked_by(ConfigCheck::kAclRules)
          .also_spelled("mirror.acls.include")
          .also_spelled("acls.include"),
      ConfigDef("mirror.topic.properties.exclude", kList, kExcludedProperties, "",
                "Topic configurations that are not taken over from the source.")
          .checked_by(ConfigCheck::kRegexList)
          .also_spelled("topic.properties.exclude"),
      ConfigDef("mirror.gap.policy", kString, "continue", "",
                "What to do when the source dropped records before they were mirrored: go on at "
                "its log start, or fail the partition.")
          .one_of({"continue", "fail"}),
      ConfigDef("mirror.local.compaction", kBoolean, "true", "",
                "Whether compacted topics are cleaned here while they are mirrored.")
          .falls_back_to("mirror.local.compaction"),
  };
}

ConfigDef client_key(const char* name, ConfigType type, const char* standard, const char* unit,
                     const char* meaning) {
  return ConfigDef(name, type, standard, unit, meaning).at_least(0).falls_back_to(name);
}

std::vector<ConfigDef> connection_keys() {
  return {
      client_key("request.timeout.ms", kInt, "30000", "ms", "How long an answer may take."),
      client_key("socket.connection.setup.timeout.ms", kLong, "10000", "ms",
                 "How long the first attempt to connect may take."),
      client_key("socket.connection.setup.timeout.max.ms", kLong, "30000", "ms",
                 "How long a later attempt to connect may take."),
      client_key("reconnect.backoff.ms", kLong, "50", "ms",
                 "First wait before a broken connection is made again."),
      client_key("reconnect.backoff.max.ms", kLong, "1000", "ms",
                 "Longest wait before a broken connection is made again."),
      client_key("connections.max.idle.ms", kLong, "600000", "ms",
                 "Idle time after which a connection is closed."),
      client_key("send.buffer.bytes", kInt, "131072", "bytes",
                 "Send buffer of a socket; -1 for the system's.")
          .or_value(-1),
      client_key("receive.buffer.bytes", kInt, "65536", "bytes",
                 "Receive buffer of a socket other than a fetcher's; -1 for the system's.")
          .or_value(-1),
  };
}

std::vector<ConfigDef> fetch_keys() {
  return {
      client_key("replica.fetch.wait.max.ms", kInt, "1000", "ms",
                 "How long the source may wait for replica.fetch.min.bytes.")
          .also_spelled("fetch.wait.max.ms"),
      client_key("replica.fetch.backoff.ms", kInt, "1000", "ms",
                 "Pause of a partition's fetching after an error.")
          .also_spelled("fetch.backoff.ms"),
      client_key("replica.fetch.min.bytes", kInt, "1", "bytes",
                 "Bytes that the source waits for before it answers a fetch.")
          .also_spelled("fetch.min.bytes"),
      client_key("replica.fetch.response.max.bytes", kInt, "10485760", "bytes",
                 "Largest fetch answer, all partitions together.")
          .also_spelled("fetch.response.max.bytes"),
      client_key("replica.fetch.max.bytes", kInt, "1048576", "bytes",
                 "Largest share of one partition in a fetch answer.")
          .also_spelled("fetch.max.bytes"),
      client_key("replica.socket.timeout.ms", kInt, "30000", "ms",
                 "How long a fetch answer may take beyond replica.fetch.wait.max.ms.")
          .also_spelled("socket.timeout.ms"),
      client_key("replica.socket.receive.buffer.bytes", kInt, "-1", "bytes",
                 "Receive buffer of a fetcher's socket; -1 for the system's.")
          .or_value(-1)
          .also_spelled("socket.receive.buffer.bytes"),
  };
}

}  // namespace

std::vector<ConfigDef> mirror_keys() {
  std::vector<ConfigDef> keys = choice_keys();
  append(keys, connection_keys());
  append(keys, fetch_keys());
  append(keys, client_security_keys());
  for (ConfigDef& key : keys) key.update = ConfigUpdate::kClusterWide;
  return keys;
}

}  // namespace kmirror::metadata
