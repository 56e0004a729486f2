"""Those who copy the same topic: the floor, kmirrord, MirrorMaker 2; and those who only read it."""

import json
import os
import shutil
import subprocess
import time

from harness import kafka_dist
from harness.process import Process

from parts import source

_POLL_S = 0.01


def run_floor(binary, folder, cluster, topic, threads):
    """The least work: one row of the report."""
    target = os.path.join(folder, "floor")
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    done = subprocess.run([binary, cluster.bootstrap, topic, target, str(threads)],
                          capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    shutil.rmtree(target)
    os.sync()
    return json.loads(done.stdout)


class CatchUp:
    """Measures a process that copies `topic` to a destination until it has all records.

    The clock runs from the first records seen at the destination to the last; start-up is told
    apart, for it belongs to the JVM more than to the copying.
    """

    def __init__(self, process, port, topic, partitions, records, log_bytes):
        self._process = process
        self._port = port
        self._topic = topic
        self._partitions = partitions
        self._records = records
        self._log_bytes = log_bytes

    def _count(self):
        try:
            return source.end_offsets(self._port, self._topic, self._partitions)
        except OSError:
            return 0

    def measure(self, deadline_s=900):
        """One row of the report. The copying must have been ordered just before."""
        begin = time.monotonic()
        cpu_begin = self._process.cpu_seconds()
        first = None
        while True:
            count, now = self._count(), time.monotonic()
            if not self._process.alive():
                raise RuntimeError(self._process.name + " ended:\n" + self._process.output()[-2000:])
            if count and first is None:
                first = (now, count, self._process.cpu_seconds())
            if count >= self._records:
                return self._row(begin, cpu_begin, first, now)
            if now - begin > deadline_s:
                raise RuntimeError(f"{self._process.name}: {count} of {self._records} after {deadline_s} s")
            time.sleep(_POLL_S)

    def _row(self, begin, cpu_begin, first, end):
        cpu_end = self._process.cpu_seconds()
        row = {"bytes": self._log_bytes, "startup_s": round(first[0] - begin, 3),
               "peak_mb": round(self._process.memory_bytes("VmHWM") / (1 << 20), 1)}
        share = 1 - first[1] / self._records
        seconds, cpu = end - first[0], cpu_end - first[2]
        if share < 0.5:  # too quick for the poll: count everything
            share, seconds, cpu = 1, end - begin, cpu_end - cpu_begin
        copied = self._log_bytes * share
        row.update(seconds=round(seconds, 3), mb_per_s=round(copied / 1e6 / seconds, 1),
                   cpu_s=round(cpu, 2), cpu_s_per_gb=round(cpu / (copied / 1e9), 3))
        return row


_MIRROR_MAKER = """clusters = a, b
a.bootstrap.servers = {source}
b.bootstrap.servers = {target}
a->b.enabled = true
a->b.topics = {topic}
b->a.enabled = false
replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy
tasks.max = {tasks}
replication.factor = 1
checkpoints.topic.replication.factor = 1
heartbeats.topic.replication.factor = 1
offset-syncs.topic.replication.factor = 1
offset.storage.replication.factor = 1
offset.storage.partitions = 1
status.storage.replication.factor = 1
status.storage.partitions = 1
config.storage.replication.factor = 1
emit.heartbeats.enabled = false
emit.checkpoints.enabled = false
sync.topic.acls.enabled = false
a.consumer.fetch.max.bytes = 16777216
a.consumer.max.partition.fetch.bytes = 4194304
a.consumer.max.poll.records = 5000
a.consumer.receive.buffer.bytes = -1
b.producer.batch.size = 262144
b.producer.linger.ms = 5
b.producer.buffer.memory = 67108864
b.producer.compression.type = {codec}
b.producer.max.request.size = 8388608
b.producer.send.buffer.bytes = -1
b.producer.acks = all
b.producer.enable.idempotence = true
"""


class MirrorMaker:
    """MirrorMaker 2 of the bench's Kafka version, towards a second broker, tuned for speed."""

    def __init__(self, folder, cluster, topic, codec, tasks):
        self.target = source.broker(os.path.join(folder, "mm2-target"))
        config = os.path.join(folder, "mm2.properties")
        with open(config, "w", encoding="utf-8") as file:
            file.write(_MIRROR_MAKER.format(source=cluster.bootstrap, target=self.target.bootstrap,
                                            topic=topic, codec=codec, tasks=tasks))
        command = kafka_dist.java(source.VERSION, "org.apache.kafka.connect.mirror.MirrorMaker",
                                  config, heap="512m", options=kafka_dist.FAST, with_mirror_maker=True)
        self.process = Process("MirrorMaker 2", command, os.path.join(folder, "mm2.log"))

    def close(self):
        """Ends both and removes the copy."""
        self.process.stop()
        self.target.close()
        shutil.rmtree(self.target.folder, ignore_errors=True)
        os.sync()


def run_readers(cluster, topic, records):
    """What stock consumers reach when they only read: {name: MB/s of record values}."""
    options = os.path.join(cluster.folder, "consumer.properties")
    with open(options, "w", encoding="utf-8") as file:
        file.write("fetch.max.bytes=16777216\nmax.partition.fetch.bytes=4194304\n")
    out = source.tool("ConsumerPerformance", "--bootstrap-server", cluster.bootstrap, "--topic", topic,
                      "--num-records", str(records), "--timeout", "60000", "--command-config", options)
    cells = out.strip().splitlines()[-1].split(",")
    found = {"consumer_perf_mb_per_s": round(float(cells[3]) * 1.048576, 1)}
    start = time.monotonic()
    kcat = subprocess.run(
        ["kcat", "-b", cluster.bootstrap, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", "%S\n",
         "-X", "fetch.message.max.bytes=4194304"],
        capture_output=True, check=True, stdin=subprocess.DEVNULL, timeout=900)
    size = sum(int(line) for line in kcat.stdout.split())
    found["kcat_mb_per_s"] = round(size / 1e6 / (time.monotonic() - start), 1)
    return found
