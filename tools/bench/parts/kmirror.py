"""kmirrord as a contestant: catch-up of one topic, and the time it takes to start."""

import os
import shutil
import time

from harness import wait, wire
from harness.daemon import Daemon

from parts import source
from parts.contestants import CatchUp


def _threads(count):
    return {"num.network.threads": count, "mirror.num.replica.fetchers": count}


def start_mirror(folder, cluster, topic, threads=1):
    """A fresh daemon that has just been told to mirror `topic`."""
    shutil.rmtree(folder, ignore_errors=True)
    daemon = Daemon(folder, overrides=_threads(threads)).start()
    daemon.create_mirror("bench", cluster.bootstrap)
    daemon.start_topics("bench", topic)
    return daemon


def catch_up(folder, cluster, topic, options, log_bytes, threads):
    """One row of the report; the copy is compared with the source and removed."""
    daemon = start_mirror(os.path.join(folder, "kmirror"), cluster, topic, threads)
    try:
        row = CatchUp(daemon.process, daemon.port, topic, options.partitions, options.records,
                      log_bytes).measure()
        copied = source.log_bytes(daemon.data, topic)
        if copied != log_bytes:
            raise RuntimeError(f"kmirrord has {copied} bytes of {log_bytes}")
        row["threads"] = threads
        return row
    finally:
        daemon.close()
        shutil.rmtree(daemon.folder, ignore_errors=True)
        os.sync()


def start_up(folder, options):
    """Seconds from start to the first answer with many partitions on disk, after a clean stop."""
    topics, partitions = 10, options.start_partitions // 10
    daemon = Daemon(os.path.join(folder, "start")).start()
    try:
        records = int(options.start_gb * 1e9 / topics / 1100)
        for number in range(topics):
            source.create_topic(daemon.bootstrap, f"start-{number}", partitions)
            source.tool("ProducerPerformance", "--topic", f"start-{number}", "--num-records", str(records),
                        "--record-size", "1024", "--throughput", "-1", "--producer-props",
                        f"bootstrap.servers={daemon.bootstrap}", "acks=1", "batch.size=131072",
                        "linger.ms=50", heap="512m")
        size = sum(source.log_bytes(daemon.data, f"start-{number}") for number in range(topics))
        daemon.stop()
        begin = time.monotonic()
        daemon.start()
        last = f"start-{topics - 1}"
        wait.until(lambda: wire.list_offset(daemon.port, last, partitions - 1) >= 0, "offsets are served")
        return {"seconds": round(time.monotonic() - begin, 2), "partitions": topics * partitions,
                "gb": round(size / 1e9, 2)}
    finally:
        daemon.close()
        shutil.rmtree(daemon.folder, ignore_errors=True)
        os.sync()
