"""Delay: how much later a record is visible at the mirror than at the source."""

import json
import os
import subprocess

from harness import kafka_dist

from parts import kmirror, source
from parts.contestants import MirrorMaker

_PROBE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "DelayProbe.java")


def _probe(cluster, mirror, topic, options):
    command = kafka_dist.java(source.VERSION, _PROBE, cluster, mirror, topic, str(options.partitions),
                              str(options.rate), str(options.delay_seconds), str(options.size), "none",
                              options=kafka_dist.FAST)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0 or not done.stdout.startswith("{"):
        raise RuntimeError("DelayProbe: " + (done.stdout + done.stderr)[-2000:])
    return json.loads(done.stdout)


def _fresh_topic(cluster, name, options):
    source.create_topic(cluster.bootstrap, name, options.partitions)
    source.tool("ProducerPerformance", "--topic", name, "--num-records", "1000", "--record-size", "100",
                "--throughput", "-1", "--producer-props", f"bootstrap.servers={cluster.bootstrap}")


def of_kmirror(folder, cluster, options, number):
    """One row of the report: percentiles in ms at the source, at the mirror, and added."""
    topic = f"delay-kmirror-{number}"
    _fresh_topic(cluster, topic, options)
    daemon = kmirror.start_mirror(os.path.join(folder, "kmirror"), cluster, topic)
    try:
        daemon.wait_caught_up("bench", cluster.port, {topic: options.partitions})
        return _probe(cluster.bootstrap, daemon.bootstrap, topic, options)
    finally:
        daemon.close()


def of_mirror_maker(folder, cluster, options, number):
    """The same for MirrorMaker 2."""
    topic = f"delay-mm2-{number}"
    _fresh_topic(cluster, topic, options)
    contestant = MirrorMaker(folder, cluster, topic, "none", tasks=2)
    try:
        source.wait_count(contestant.target.port, topic, options.partitions, 1000)
        return _probe(cluster.bootstrap, contestant.target.bootstrap, topic, options)
    finally:
        contestant.close()
