// The keys of a topic: Kafka's, and those that mirroring adds.
// Sources: Kafka 4.4 TopicConfig, LogConfig, ServerTopicConfigSynonyms; spec E.2.
#include "metadata/config_tables.h"

namespace kmirror::metadata {
namespace {

std::vector<ConfigDef> cleanup_keys() {
  return {
      ConfigDef("cleanup.policy", kList, "delete", "",
                "What happens to old data: delete drops segments by age or size, compact keeps the "
                "last value of each key. Both may be given; empty keeps everything.")
          .one_of({"compact", "delete"})
          .falls_back_to("log.cleanup.policy"),
      ConfigDef("delete.retention.ms", kLong, "86400000", "ms",
                "How long a tombstone stays readable in a compacted topic.")
          .at_least(0)
          .falls_back_to("log.cleaner.delete.retention.ms"),
      ConfigDef("file.delete.delay.ms", kLong, "60000", "ms",
                "Wait between taking a segment out of use and removing its files.")
          .at_least(0)
          .falls_back_to("log.segment.delete.delay.ms"),
      ConfigDef("max.compaction.lag.ms", kLong, "9223372036854775807", "ms",
                "A record is open to compaction no later than this after it was written.")
          .at_least(1)
          .falls_back_to("log.cleaner.max.compaction.lag.ms"),
      ConfigDef("min.cleanable.dirty.ratio", kDouble, "0.5", "",
                "Share of the log that must be uncompacted before the cleaner takes it up.")
          .between(0, 1)
          .falls_back_to("log.cleaner.min.cleanable.ratio"),
      ConfigDef("min.compaction.lag.ms", kLong, "0", "ms",
                "A record is safe from compaction for this long.")
          .at_least(0)
          .falls_back_to("log.cleaner.min.compaction.lag.ms"),
      ConfigDef("retention.bytes", kLong, "-1", "bytes",
                "Size of a partition above which old segments go; -1 for no limit.")
          .falls_back_to("log.retention.bytes"),
      ConfigDef("retention.ms", kLong, "604800000", "ms",
                "Age at which segments go; -1 for no limit. Waits while the topic is mirrored.")
          .at_least(-1)
          .falls_back_to("log.retention.ms")
          .falls_back_to("log.retention.minutes", 60'000)
          .falls_back_to("log.retention.hours", 3'600'000),
  };
}

std::vector<ConfigDef> segment_keys() {
  return {
      ConfigDef("flush.messages", kLong, "9223372036854775807", "records",
                "Number of records after which a log is synced to disk.")
          .at_least(1)
          .falls_back_to("log.flush.interval.messages"),
      ConfigDef("flush.ms", kLong, "5000", "ms", "Time after which a log is synced to disk.")
          .at_least(0)
          .falls_back_to("log.flush.interval.ms"),
      ConfigDef("index.interval.bytes", kInt, "4096", "bytes",
                "Log bytes between two entries of the offset index.")
          .at_least(0)
          .falls_back_to("log.index.interval.bytes"),
      ConfigDef("internal.segment.bytes", kInt, std::nullopt, "bytes",
                "Overrides segment.bytes with a size below its limit; for tests.")
          .at_least(1)
          .hide(),
      ConfigDef("preallocate", kBoolean, "false", "",
                "Whether a segment file gets its full size at once.")
          .falls_back_to("log.preallocate"),
      ConfigDef("segment.bytes", kInt, "1073741824", "bytes",
                "Size at which a log goes on in a new segment.")
          .at_least(1'048'576)
          .falls_back_to("log.segment.bytes"),
      ConfigDef("segment.index.bytes", kInt, "10485760", "bytes",
                "Largest size of a segment's offset index.")
          .at_least(4)
          .falls_back_to("log.index.size.max.bytes"),
      ConfigDef("segment.jitter.ms", kLong, "0", "ms",
                "Largest random cut from segment.ms, so that segments do not roll all at once.")
          .at_least(0)
          .falls_back_to("log.roll.jitter.ms")
          .falls_back_to("log.roll.jitter.hours", 3'600'000),
      ConfigDef("segment.ms", kLong, "604800000", "ms",
                "Age at which a log goes on in a new segment although it is not full.")
          .at_least(1)
          .falls_back_to("log.roll.ms")
          .falls_back_to("log.roll.hours", 3'600'000),
  };
}

std::vector<ConfigDef> message_keys() {
  return {
      ConfigDef("compression.gzip.level", kInt, "-1", "",
                "Level for gzip; -1 for the library's own choice.")
          .range(1, 9)
          .or_value(-1)
          .falls_back_to("compression.gzip.level"),
      ConfigDef("compression.lz4.level", kInt, "9", "", "Level for lz4.")
          .range(1, 17)
          .falls_back_to("compression.lz4.level"),
      ConfigDef("compression.type", kString, "producer", "",
                "Codec that batches are stored with; producer keeps what the client sent. Mirrored "
                "batches are always kept as they came.")
          .one_of({"uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"})
          .falls_back_to("compression.type"),
      ConfigDef("compression.zstd.level", kInt, "3", "", "Level for zstd.")
          .range(-131'072, 22)
          .falls_back_to("compression.zstd.level"),
      ConfigDef("max.decompressed.message.bytes", kInt, "2147483639", "bytes",
                "Largest batch that a client may produce, after decompression.")
          .range(1, 2'147'483'639)
          .falls_back_to("max.decompressed.message.bytes"),
      ConfigDef("max.message.bytes", kInt, "1048588", "bytes",
                "Largest batch that a client may produce. Not applied to mirrored batches.")
          .at_least(0)
          .falls_back_to("message.max.bytes"),
      ConfigDef("message.timestamp.after.max.ms", kLong, "3600000", "ms",
                "How far a record's time may lie in the future.")
          .at_least(0)
          .falls_back_to("log.message.timestamp.after.max.ms"),
      ConfigDef("message.timestamp.before.max.ms", kLong, "9223372036854775807", "ms",
                "How far a record's time may lie in the past.")
          .at_least(0)
          .falls_back_to("log.message.timestamp.before.max.ms"),
      ConfigDef("message.timestamp.type", kString, "CreateTime", "",
                "Whether a record keeps the producer's time or gets the time of the append.")
          .one_of({"CreateTime", "LogAppendTime"})
          .falls_back_to("log.message.timestamp.type"),
  };
}

std::vector<ConfigDef> replica_keys() {
  return {
      ConfigDef("errors.deadletterqueue.group.enable", kBoolean, "false", "",
                "Whether share groups may use the topic for records they gave up on."),
      ConfigDef("follower.replication.throttled.replicas", kList, "", "",
                "Replicas whose fetching as followers is throttled: partition:broker pairs, or *.")
          .checked_by(ConfigCheck::kThrottledReplicas),
      ConfigDef("leader.replication.throttled.replicas", kList, "", "",
                "Replicas that are served at a throttled rate: partition:broker pairs, or *.")
          .checked_by(ConfigCheck::kThrottledReplicas),
      ConfigDef("local.retention.bytes", kLong, "-2", "bytes",
                "Kept for configurations of tiered topics; -2 follows retention.bytes.")
          .at_least(-2)
          .falls_back_to("log.local.retention.bytes"),
      ConfigDef("local.retention.ms", kLong, "-2", "ms",
                "Kept for configurations of tiered topics; -2 follows retention.ms.")
          .at_least(-2)
          .falls_back_to("log.local.retention.ms"),
      ConfigDef("min.insync.replicas", kInt, "1", "replicas",
                "In-sync replicas that acks=all needs.")
          .at_least(1)
          .falls_back_to("min.insync.replicas"),
      ConfigDef("remote.copy.lag.bytes", kLong, "-1", "bytes",
                "Kept for configurations of tiered topics.")
          .at_least(-1),
      ConfigDef("remote.copy.lag.ms", kLong, "0", "ms", "Kept for configurations of tiered topics.")
          .at_least(-1),
      ConfigDef("remote.log.copy.disable", kBoolean, "false", "",
                "Kept for configurations of tiered topics."),
      ConfigDef("remote.log.delete.on.disable", kBoolean, "false", "",
                "Kept for configurations of tiered topics."),
      ConfigDef("remote.storage.enable", kBoolean, "false", "",
                "Tiered storage. kmirror has none, so only false is legal.")
          .one_of({"false"}),
      ConfigDef("unclean.leader.election.enable", kBoolean, "false", "",
                "Whether a replica that is not in sync may become leader.")
          .falls_back_to("unclean.leader.election.enable"),
  };
}

std::vector<ConfigDef> mirroring_keys() {
  return {
      ConfigDef("mirror.name", kString, "", "",
                "The mirror that owns the topic: NAME while mirrored, NAME.paused, NAME.stopped. "
                "Setting it is the same as to start, pause or stop the topic.")
          .checked_by(ConfigCheck::kMirrorName),
      ConfigDef("mirror.replication.throttled.replicas", kList, "", "",
                "Partitions whose fetching from the source keeps to "
                "mirror.replication.throttled.rate: partition:broker pairs, or *.")
          .checked_by(ConfigCheck::kThrottledReplicas),
      ConfigDef("mirror.support.unclean.leader.election", kBoolean, "false", "",
                "Whether a mirrored partition follows the source when that lost records in an "
                "unclean election; otherwise the partition fails and says so."),
  };
}

}  // namespace

std::vector<ConfigDef> topic_keys() {
  std::vector<ConfigDef> keys = cleanup_keys();
  append(keys, segment_keys());
  append(keys, message_keys());
  append(keys, replica_keys());
  append(keys, mirroring_keys());
  for (ConfigDef& key : keys) key.update = ConfigUpdate::kClusterWide;
  return keys;
}

}  // namespace kmirror::metadata
