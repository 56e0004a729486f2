// Keys of a Kafka broker or controller that kmirrord has no use for: a file that was written for
// Kafka is refused with words that say so, not with the nearest other key.
// Sources: Kafka 4.4 AbstractKafkaConfig; ZooKeeper keys of earlier releases.
#include <algorithm>
#include <array>

#include "metadata/config_tables.h"

namespace kmirror::metadata {
namespace {

constexpr std::array<std::string_view, 18> kPrefixes = {
    "controller.",
    "remote.",
    "group.share.",
    "group.streams.",
    "share.",
    "delegation.token.",
    "metrics.",
    "kafka.metrics.",
    "group.coordinator.",
    "internal.",
    "replication.quota.",
    "alter.log.dirs.",
    "add.partitions.to.txn.",
    "errors.deadletterqueue.",
    "log.remote.",
    "sasl.oauthbearer.",
    "unstable.",
    "zookeeper.",
};

constexpr std::array<std::string_view, 59> kNames = {
    "alter.config.policy.class.name",
    "auto.leader.rebalance.enable",
    "background.threads",
    "broker.heartbeat.interval.ms",
    "broker.session.timeout.ms",
    "client.quota.callback.class",
    "config.providers",
    "controlled.shutdown.enable",
    "cordoned.log.dirs",
    "create.topic.policy.class.name",
    "delete.records.purgatory.purge.interval.requests",
    "early.start.listeners",
    "fetch.purgatory.purge.interval.requests",
    "follower.fetch.last.tiered.offset.enable",
    "group.consumer.assignor.offload.enable",
    "group.consumer.max.assignment.interval.ms",
    "group.consumer.min.assignment.interval.ms",
    "initial.broker.registration.timeout.ms",
    "leader.imbalance.check.interval.seconds",
    "log.cleaner.enable",
    "log.cleaner.io.buffer.load.factor",
    "log.cleaner.io.buffer.size",
    "log.cleaner.io.max.bytes.per.second",
    "log.cleaner.threads",
    "log.dir.failure.timeout.ms",
    "log.flush.offset.checkpoint.interval.ms",
    "log.flush.scheduler.interval.ms",
    "log.flush.start.offset.checkpoint.interval.ms",
    "log.initial.task.delay.ms",
    "max.connection.creation.rate",
    "metadata.log.max.snapshot.interval.ms",
    "metadata.log.segment.ms",
    "metadata.max.idle.interval.ms",
    "metadata.max.retention.bytes",
    "metadata.max.retention.ms",
    "metric.reporters",
    "num.recovery.threads.per.data.dir",
    "num.replica.alter.log.dirs.threads",
    "num.replica.fetchers",
    "offsets.load.buffer.size",
    "offsets.topic.compression.codec",
    "principal.builder.class",
    "process.roles",
    "producer.id.expiration.check.interval.ms",
    "producer.purgatory.purge.interval.requests",
    "replica.lag.time.max.ms",
    "replica.selector.class",
    "sasl.mechanism.controller.protocol",
    "sasl.mechanism.inter.broker.protocol",
    "sasl.server.callback.handler.class",
    "security.inter.broker.protocol",
    "server.max.startup.time.ms",
    "ssl.allow.dn.changes",
    "ssl.allow.san.changes",
    "telemetry.max.bytes",
    "transaction.partition.verification.enable",
    "transaction.state.log.load.buffer.size",
    "transaction.two.phase.commit.enable",
    "unclean.leader.election.interval.ms",
};

}  // namespace

bool is_unused_kafka_key(std::string_view key) {
  const auto starts = [key](std::string_view prefix) { return key.starts_with(prefix); };
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), starts) ||
         std::find(kNames.begin(), kNames.end(), key) != kNames.end();
}

}  // namespace kmirror::metadata
