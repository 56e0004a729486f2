// Broker keys for logs: defaults behind the topic keys, durability, the cleaner.
// Sources: Kafka 4.4 ServerLogConfigs, CleanerConfig; decisions 3.8, 3.20.
#include "metadata/config_tables.h"

namespace kmirror::metadata {
namespace {

std::vector<ConfigDef> retention_keys() {
  return {
      ConfigDef("log.cleanup.policy", kList, "delete", "", "Default of cleanup.policy.")
          .one_of({"compact", "delete"}),
      ConfigDef("log.retention.ms", kLong, std::nullopt, "ms",
                "Default of retention.ms; -1 for no limit. Before minutes and hours.")
          .at_least(-1),
      ConfigDef("log.retention.minutes", kInt, std::nullopt, "minutes",
                "Default of retention.ms in minutes. Before hours.")
          .at_least(-1),
      ConfigDef("log.retention.hours", kInt, "168", "hours", "Default of retention.ms in hours.")
          .at_least(-1),
      ConfigDef("log.retention.bytes", kLong, "-1", "bytes", "Default of retention.bytes."),
      ConfigDef("log.local.retention.bytes", kLong, "-2", "bytes",
                "Default of local.retention.bytes.")
          .at_least(-2),
      ConfigDef("log.local.retention.ms", kLong, "-2", "ms", "Default of local.retention.ms.")
          .at_least(-2),
      ConfigDef("log.retention.check.interval.ms", kLong, "300000", "ms",
                "Time between two looks for segments to delete.")
          .at_least(1),
      ConfigDef("log.segment.delete.delay.ms", kLong, "60000", "ms",
                "Default of file.delete.delay.ms.")
          .at_least(0),
  };
}

std::vector<ConfigDef> segment_keys() {
  return {
      ConfigDef("log.segment.bytes", kInt, "1073741824", "bytes", "Default of segment.bytes.")
          .at_least(1'048'576),
      ConfigDef("log.roll.ms", kLong, std::nullopt, "ms", "Default of segment.ms. Before hours.")
          .at_least(1),
      ConfigDef("log.roll.hours", kInt, "168", "hours", "Default of segment.ms in hours.")
          .at_least(1),
      ConfigDef("log.roll.jitter.ms", kLong, std::nullopt, "ms",
                "Default of segment.jitter.ms. Before hours.")
          .at_least(0),
      ConfigDef("log.roll.jitter.hours", kInt, "0", "hours",
                "Default of segment.jitter.ms in hours.")
          .at_least(0),
      ConfigDef("log.index.interval.bytes", kInt, "4096", "bytes",
                "Default of index.interval.bytes.")
          .at_least(0),
      ConfigDef("log.index.size.max.bytes", kInt, "10485760", "bytes",
                "Default of segment.index.bytes.")
          .at_least(4),
      ConfigDef("log.preallocate", kBoolean, "false", "", "Default of preallocate."),
  };
}

std::vector<ConfigDef> message_keys() {
  return {
      ConfigDef("message.max.bytes", kInt, "1048588", "bytes", "Default of max.message.bytes.")
          .at_least(0),
      ConfigDef("max.decompressed.message.bytes", kInt, "2147483639", "bytes",
                "Default of the topic key of the same name.")
          .range(1, 2'147'483'639),
      ConfigDef("log.message.timestamp.type", kString, "CreateTime", "",
                "Default of message.timestamp.type.")
          .one_of({"CreateTime", "LogAppendTime"}),
      ConfigDef("log.message.timestamp.before.max.ms", kLong, "9223372036854775807", "ms",
                "Default of message.timestamp.before.max.ms.")
          .at_least(0),
      ConfigDef("log.message.timestamp.after.max.ms", kLong, "3600000", "ms",
                "Default of message.timestamp.after.max.ms.")
          .at_least(0),
      ConfigDef("compression.type", kString, "producer", "",
                "Default of the topic key of the same name.")
          .one_of({"uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"}),
      ConfigDef("compression.gzip.level", kInt, "-1", "",
                "Default of the topic key of the same name.")
          .range(1, 9)
          .or_value(-1),
      ConfigDef("compression.lz4.level", kInt, "9", "",
                "Default of the topic key of the same name.")
          .range(1, 17),
      ConfigDef("compression.zstd.level", kInt, "3", "",
                "Default of the topic key of the same name.")
          .range(-131'072, 22),
      ConfigDef("min.insync.replicas", kInt, "1", "replicas",
                "Default of the topic key of the same name.")
          .at_least(1),
      ConfigDef("unclean.leader.election.enable", kBoolean, "false", "",
                "Default of the topic key of the same name."),
  };
}

std::vector<ConfigDef> cleaner_keys() {
  return {
      ConfigDef("log.cleaner.min.cleanable.ratio", kDouble, "0.5", "",
                "Default of min.cleanable.dirty.ratio.")
          .between(0, 1),
      ConfigDef("log.cleaner.min.compaction.lag.ms", kLong, "0", "ms",
                "Default of min.compaction.lag.ms.")
          .at_least(0),
      ConfigDef("log.cleaner.max.compaction.lag.ms", kLong, "9223372036854775807", "ms",
                "Default of max.compaction.lag.ms.")
          .at_least(1),
      ConfigDef("log.cleaner.delete.retention.ms", kLong, "86400000", "ms",
                "Default of delete.retention.ms.")
          .at_least(0),
      ConfigDef("log.cleaner.backoff.ms", kLong, "15000", "ms",
                "Pause of the cleaner when there is nothing to clean.")
          .at_least(0),
      ConfigDef("log.cleaner.dedupe.buffer.size", kLong, "16777216", "bytes",
                "Memory for the keys of one cleaning.")
          .at_least(1'048'576),
  };
}

std::vector<ConfigDef> durability_keys() {
  return {
      ConfigDef("flush.acks.all", kBoolean, "true", "",
                "Whether a produce request with acks=all waits until its records are on disk. One "
                "sync serves all that wait. Without it they are in the page cache only."),
      ConfigDef("log.flush.interval.ms", kLong, "5000", "ms",
                "Default of flush.ms: logs are synced in the background at least so often.")
          .at_least(1),
      ConfigDef("log.flush.interval.messages", kLong, "9223372036854775807", "records",
                "Default of flush.messages.")
          .at_least(1),
      ConfigDef("replica.high.watermark.checkpoint.interval.ms", kLong, "5000", "ms",
                "Time between two writes of the checkpoint files of a log directory.")
          .at_least(1),
      ConfigDef("producer.id.expiration.ms", kInt, "86400000", "ms",
                "Idle time after which a log forgets a producer id.")
          .at_least(1)
          .updatable(ConfigUpdate::kClusterWide),
  };
}

}  // namespace

std::vector<ConfigDef> broker_log_keys() {
  std::vector<ConfigDef> keys = in_section("Log retention", retention_keys());
  append(keys, in_section("Log segments", segment_keys()));
  append(keys, in_section("Messages", message_keys()));
  append(keys, in_section("Log cleaner", cleaner_keys()));
  for (ConfigDef& key : keys) {
    // Timers are set up once; the coarse units of a time are the file's, as in Kafka.
    const bool fixed = key.name.ends_with(".minutes") || key.name.ends_with(".hours") ||
                       key.name == "log.retention.check.interval.ms" ||
                       key.name == "log.cleaner.backoff.ms" ||
                       key.name == "log.cleaner.dedupe.buffer.size";
    if (!fixed) key.update = ConfigUpdate::kClusterWide;
  }
  append(keys, in_section("Durability", durability_keys()));
  return keys;
}

}  // namespace kmirror::metadata
