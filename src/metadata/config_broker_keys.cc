// Broker keys: identity, files of the daemon, network. Kafka's names where Kafka has the thing.
// Sources: Kafka 4.4 AbstractKafkaConfig; house section 4 for the defaults of threads.
#include "metadata/config_tables.h"

namespace kmirror::metadata {
namespace {

std::vector<ConfigDef> identity_keys() {
  return {
      ConfigDef("node.id", kInt, std::nullopt, "",
                "Number of this node, 0 or more. Required. Written into the log directories on the "
                "first start; another number later is refused.")
          .at_least(0)
          .also_spelled("broker.id"),
      ConfigDef("cluster.id", kString, std::nullopt, "",
                "Cluster id for new log directories, 22 characters; empty for a random one. With "
                "existing directories it must be theirs."),
      ConfigDef("broker.rack", kString, std::nullopt, "",
                "Rack of this node, told to clients; never sent to a source."),
      ConfigDef("log.dirs", kList, std::nullopt, "",
                "Directories for the logs, made if absent. The first also holds the metadata log. "
                "Required unless log.dir is given."),
      ConfigDef("log.dir", kString, std::nullopt, "", "A single log directory."),
      ConfigDef("metadata.log.dir", kString, std::nullopt, "",
                "Directory of the metadata log, if not the first of log.dirs."),
      ConfigDef("metadata.log.segment.bytes", kInt, "1073741824", "bytes",
                "Size at which the metadata log goes on in a new segment.")
          .at_least(8'388'608),
      ConfigDef("metadata.log.max.record.bytes.between.snapshots", kLong, "20971520", "bytes",
                "Metadata records after which a snapshot is written, so that a start does not "
                "read the whole history.")
          .at_least(1),
  };
}

std::vector<ConfigDef> operation_keys() {
  return {
      ConfigDef("http.listener", kString, "127.0.0.1:9644", "",
                "Where metrics and health are served by HTTP, host:port; empty for nowhere."),
      ConfigDef("logging.level", kString, "info", "", "Least level of a log line.")
          .one_of({"trace", "debug", "info", "warn", "error"})
          .updatable(ConfigUpdate::kClusterWide),
      ConfigDef("logging.format", kString, "text", "", "Form of a log line.")
          .one_of({"text", "json"}),
  };
}

std::vector<ConfigDef> topic_default_keys() {
  return {
      ConfigDef(
          "auto.create.topics.enable", kBoolean, "false", "",
          "Whether asking for an unknown topic creates it. Off, unlike in Kafka: a topic made "
          "that way has another id than the source's and could not be mirrored."),
      ConfigDef("num.partitions", kInt, "1", "", "Partitions of a topic created without a number.")
          .at_least(1)
          .updatable(ConfigUpdate::kClusterWide),
      ConfigDef("default.replication.factor", kInt, "1", "",
                "Replicas of a topic created without a number.")
          .at_least(1),
      ConfigDef("delete.topic.enable", kBoolean, "true", "", "Whether topics may be deleted."),
  };
}

}  // namespace

std::vector<ConfigDef> broker_basic_keys() {
  std::vector<ConfigDef> keys = in_section("Node", identity_keys());
  append(keys, in_section("Operation", operation_keys()));
  append(keys, in_section("Topics", topic_default_keys()));
  return keys;
}

namespace {

std::vector<ConfigDef> listener_keys() {
  return {
      ConfigDef(
          "listeners", kList, "PLAINTEXT://:9092", "",
          "Where clients are served: NAME://HOST:PORT. An empty host is every address; port 0 "
          "is any free port."),
      ConfigDef("advertised.listeners", kList, std::nullopt, "",
                "What clients are told to connect to, by listener name. Empty: as in listeners, "
                "with this machine's name for an empty host."),
      ConfigDef("listener.security.protocol.map", kList,
                "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", "",
                "Security protocol of each listener name, NAME:PROTOCOL."),
      ConfigDef("inter.broker.listener.name", kString, std::nullopt, "",
                "Listener that other nodes of this cluster use; empty for the first one."),
  };
}

std::vector<ConfigDef> thread_keys() {
  return {
      ConfigDef("num.network.threads", kInt, "0", "threads",
                "Loops that serve connections and own logs; 0 for one a core.")
          .range(0, 1024),
      ConfigDef("num.io.threads", kInt, "8", "threads", "Threads for work that waits for a disk.")
          .range(1, 1024),
  };
}

std::vector<ConfigDef> socket_keys() {
  return {
      ConfigDef("socket.send.buffer.bytes", kInt, "102400", "bytes",
                "Send buffer of a client's socket; -1 for the system's.")
          .at_least(-1),
      ConfigDef("socket.receive.buffer.bytes", kInt, "102400", "bytes",
                "Receive buffer of a client's socket; -1 for the system's.")
          .at_least(-1),
      ConfigDef("socket.request.max.bytes", kInt, "104857600", "bytes",
                "Largest request; a longer one ends the connection.")
          .at_least(1),
      ConfigDef("socket.listen.backlog.size", kInt, "50", "connections",
                "Connections that may wait to be accepted.")
          .at_least(1),
      ConfigDef("queued.max.requests", kInt, "500", "requests",
                "Requests being worked on at a time; reading stops above it.")
          .at_least(1),
      ConfigDef("queued.max.request.bytes", kLong, "67108864", "bytes",
                "Memory for requests being worked on; reading stops above it; -1 for no limit.")
          .at_least(-1),
      ConfigDef("connections.max.idle.ms", kLong, "600000", "ms",
                "Idle time after which a connection is closed.")
          .at_least(0),
      ConfigDef("max.connections", kInt, "2147483647", "connections",
                "Connections at a time; more are closed at once.")
          .at_least(0)
          .updatable(ConfigUpdate::kClusterWide)
          .per_listener(),
      ConfigDef("max.connections.per.ip", kInt, "2147483647", "connections",
                "Connections at a time from one address.")
          .at_least(0)
          .updatable(ConfigUpdate::kClusterWide),
      ConfigDef("max.connections.per.ip.overrides", kList, "", "",
                "Other limits for single addresses: ADDRESS:NUMBER entries.")
          .checked_by(ConfigCheck::kHostCounts),
      ConfigDef("max.request.partition.size.limit", kInt, "2000", "partitions",
                "Partitions that one DescribeTopicPartitions answer holds at most.")
          .at_least(1),
      ConfigDef("connections.max.reauth.ms", kLong, "0", "ms",
                "Longest life of a SASL session before it must log in again; 0 for no limit.")
          .at_least(0)
          .per_listener(),
      ConfigDef("connection.failed.authentication.delay.ms", kInt, "100", "ms",
                "Wait before a connection that failed to log in is closed.")
          .at_least(0),
      ConfigDef("max.incremental.fetch.session.cache.slots", kInt, "1000", "sessions",
                "Incremental fetch sessions that are kept.")
          .at_least(0),
      ConfigDef("fetch.max.bytes", kInt, "57671680", "bytes",
                "Largest answer to a fetch, whatever the client allows.")
          .at_least(1024),
  };
}

}  // namespace

std::vector<ConfigDef> broker_network_keys() {
  std::vector<ConfigDef> keys = in_section("Listeners", listener_keys());
  append(keys, in_section("Threads", thread_keys()));
  append(keys, in_section("Connections and requests", socket_keys()));
  return keys;
}

std::vector<ConfigDef> broker_security_keys() {
  std::vector<ConfigDef> keys = {
      ConfigDef("ssl.client.auth", kString, "none", "",
                "Whether a TLS client must, may or need not show a certificate.")
          .one_of({"required", "requested", "none"}),
      ConfigDef("ssl.principal.mapping.rules", kString, "DEFAULT", "",
                "Rules that make a user name of a certificate's subject."),
      ConfigDef("sasl.enabled.mechanisms", kList, "GSSAPI", "", "SASL mechanisms on offer.")
          .one_of({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER"}),
      ConfigDef("sasl.kerberos.principal.to.local.rules", kList, "DEFAULT", "",
                "Rules that make a user name of a Kerberos principal."),
      ConfigDef("sasl.server.max.receive.size", kInt, "524288", "bytes",
                "Largest SASL message before log-in.")
          .at_least(1),
      ConfigDef("sasl.oauthbearer.jwks.endpoint.url", kString, std::nullopt, "",
                "Where the keys that sign bearer tokens are found."),
      ConfigDef("sasl.oauthbearer.expected.audience", kList, "", "",
                "Audiences of which a bearer token must name one; empty for any."),
      ConfigDef("sasl.oauthbearer.expected.issuer", kString, std::nullopt, "",
                "Issuer that a bearer token must have; empty for any."),
      ConfigDef("sasl.oauthbearer.clock.skew.seconds", kInt, "30", "seconds",
                "Difference of clocks that is forgiven in a bearer token's dates.")
          .at_least(0),
  };
  for (ConfigDef& key : client_security_keys()) {
    // The mechanism and protocol towards a source are a mirror's; a listener has its own keys.
    if (key.name == "sasl.mechanism" || key.name == "security.protocol") continue;
    if (key.name == "sasl.client.callback.handler.class") continue;
    keys.push_back(std::move(key));
  }
  for (ConfigDef& key : keys) {
    key.per_listener();
    if (key.name.starts_with("ssl.")) key.update = ConfigUpdate::kPerBroker;
  }
  keys.push_back(
      ConfigDef("authorizer.class.name", kString, "", "",
                "Empty: everybody may do everything. Kafka's StandardAuthorizer: ACLs of "
                "the metadata log decide.")
          .one_of({"", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}));
  keys.push_back(
      ConfigDef("super.users", kString, "", "",
                "Principals that may do everything, User:NAME, separated by semicolons."));
  keys.push_back(ConfigDef("allow.everyone.if.no.acl.found", kBoolean, "false", "",
                           "Whether a thing without any ACL is open to everybody."));
  return in_section("Security", std::move(keys));
}

}  // namespace kmirror::metadata
