"""The source cluster of the bench: one real Kafka, filled with topics that stay in the page cache."""

import glob
import os
import random
import subprocess

from harness import kafka_dist, wait, wire
from harness.broker import Broker

VERSION = "4.3.1"
_BROKER = {"log.segment.bytes": 1 << 30, "num.io.threads": 4, "socket.send.buffer.bytes": -1,
           "socket.receive.buffer.bytes": -1}


def broker(folder):
    """A broker with a JVM for measurements."""
    return Broker(VERSION, folder, overrides=_BROKER, heap="512m", options=kafka_dist.FAST).start()


def tool(name, *arguments, timeout_s=900, heap="256m"):
    """Output of a stock tool of the bench's Kafka version."""
    command = kafka_dist.java(VERSION, "org.apache.kafka.tools." + name, *arguments, heap=heap,
                              options=kafka_dist.FAST)
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RuntimeError(f"{name}: {(done.stdout + done.stderr)[-1500:]}")
    return done.stdout


def _payload_file(folder, size):
    """Lines of JSON, half noise and half repetition, as applications send it."""
    path = os.path.join(folder, f"payload-{size}.txt")
    if os.path.exists(path):
        return path
    dice = random.Random(20)
    words = ["".join(dice.choices("aeiklmnoprstu", k=dice.randint(4, 9))) for _ in range(300)]
    with open(path + ".new", "w", encoding="ascii") as file:
        for number in range(4000):
            line = f'{{"order":{number},"account":"{dice.getrandbits(64):016x}","lines":['
            while len(line) < size:
                line += (f'{{"article":"{dice.getrandbits(32):08x}","text":"{dice.choice(words)} '
                         f'{dice.choice(words)}","count":{dice.randint(1, 99)}}},')
            file.write(line[:size] + "\n")
    os.rename(path + ".new", path)
    return path


def create_topic(cluster, topic, partitions):
    """Creates a topic on a cluster that answers at HOST:PORT."""
    tool("TopicCommand", "--bootstrap-server", cluster, "--create", "--topic", topic,
         "--partitions", str(partitions), "--replication-factor", "1")


def fill(cluster, folder, topic, options, codec):
    """Creates and fills a topic; its size in log bytes on the broker's disk."""
    create_topic(cluster.bootstrap, topic, options.partitions)
    tool("ProducerPerformance", "--topic", topic, "--num-records", str(options.records),
         "--payload-file", _payload_file(folder, options.size), "--throughput", "-1",
         "--producer-props", f"bootstrap.servers={cluster.bootstrap}", "acks=1", "batch.size=131072",
         "linger.ms=20", f"compression.type={codec}", "buffer.memory=67108864", heap="512m")
    return log_bytes(cluster.data, topic)


def log_bytes(data, topic):
    """Bytes of all segments of a topic below a log directory."""
    return sum(os.path.getsize(path)
               for path in glob.glob(os.path.join(data, f"{topic}-[0-9]*", "*.log")))


def end_offsets(port, topic, partitions):
    """Sum of the end offsets; OSError while the topic is not there."""
    return sum(wire.list_offset(port, topic, partition) for partition in range(partitions))


def warm(data, topic):
    """Reads all segments once, so that each contestant finds them in the page cache."""
    for path in glob.glob(os.path.join(data, f"{topic}-[0-9]*", "*.log")):
        with open(path, "rb") as file:
            while file.read(1 << 22):
                pass


def wait_count(port, topic, partitions, records, deadline_s=180):
    """Waits until a cluster has that many records of a topic."""
    wait.until(lambda: end_offsets(port, topic, partitions) >= records, f"{records} in {topic}", deadline_s)


def delete_topic(cluster, topic):
    """Deletes a topic, so that the next one finds the page cache free."""
    tool("TopicCommand", "--bootstrap-server", cluster, "--delete", "--topic", topic)
