"""The metadata log of kmirrord: the stock dump tool reads it, nobody else may, and it survives."""

import glob
import os
import stat
import subprocess

from harness import paths
from harness.client import Client, create_topic

FOLDER = "__cluster_metadata-0"


def _files(daemon):
    return sorted(glob.glob(os.path.join(daemon.data, FOLDER, "*")))


def _topics(daemon):
    with Client(daemon.port) as client:
        answer = client.call("Metadata", 12, Topics=None)
    return {topic["Name"]: topic["TopicId"] for topic in answer["Topics"]}


def test_stock_tools_read_log_and_snapshot(daemons, agent):
    daemon = daemons({"metadata.log.max.record.bytes.between.snapshots": 2000}).start()
    for number in range(30):
        create_topic(daemon.port, f"seen-{number}", 2)
    daemon.stop()
    logs = [path for path in _files(daemon) if path.endswith(".log")]
    snapshots = [path for path in _files(daemon) if path.endswith(".checkpoint")]
    assert len(snapshots) == 1 and logs
    out = agent.tool("dump-log", "--cluster-metadata-decoder", "--deep-iteration", "--files",
                     ",".join(logs + snapshots))
    assert "isvalid: false" not in out
    assert "skipping" not in out
    assert out.count('"type":"TOPIC_RECORD"') >= 30
    assert "SnapshotHeader" in out and "SnapshotFooter" in out


def test_only_the_owner_may_read_it(daemons):
    daemon = daemons().start()
    create_topic(daemon.port, "secret")
    daemon.stop()
    modes = {os.path.basename(path): stat.S_IMODE(os.stat(path).st_mode) for path in _files(daemon)}
    assert modes and set(modes.values()) == {0o600}, modes


def test_topics_survive_kill_and_snapshot(daemons):
    daemon = daemons({"metadata.log.max.record.bytes.between.snapshots": 2000}).start()
    for number in range(30):
        create_topic(daemon.port, f"kept-{number}")
    before = _topics(daemon)
    daemon.kill()
    daemon.start()
    assert _topics(daemon) == before
    daemon.stop()


def test_a_foreign_directory_is_refused(daemons):
    daemon = daemons().start()
    daemon.stop()
    daemon.configure({"node.id": 2})
    done = subprocess.run([os.path.join(paths.BIN, "kmirrord"), daemon.config], capture_output=True,
                          text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode != 0
    assert "belongs to node 1, this is node 2" in done.stderr
