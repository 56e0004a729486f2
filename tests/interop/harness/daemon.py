"""kmirrord under test, and the kmirror tool beside it."""

import json
import os
import subprocess
import urllib.error
import urllib.request

from harness import paths, wait, wire
from harness.process import Process, free_port

STOP_LIMIT_S = 10  # SIGTERM ends within this; the product promises it
_QUICK = {"mirror.metadata.refresh.interval.ms": 1000, "group.initial.rebalance.delay.ms": 0,
          "mirror.failed.retry.max.backoff.ms": 2000}


class CommandError(RuntimeError):
    """A kmirror command that ended with another code than 0."""


class Daemon:
    """One kmirrord with its data in `folder`; `overrides` are lines of its configuration."""

    def __init__(self, folder, overrides=None, port=None):
        self.folder = folder
        self.port = port or free_port()
        self.http_port = free_port()
        self.config = os.path.join(folder, "kmirrord.properties")
        self.process = None
        os.makedirs(folder, exist_ok=True)
        self.configure(overrides or {})

    @property
    def bootstrap(self):
        """HOST:PORT for clients."""
        return f"127.0.0.1:{self.port}"

    @property
    def data(self):
        """The folder with the partitions' folders."""
        return os.path.join(self.folder, "data")

    def configure(self, overrides):
        """Writes the configuration; takes effect at the next start."""
        pairs = {"node.id": 1, "listeners": f"PLAINTEXT://127.0.0.1:{self.port}", "log.dirs": self.data,
                 "http.listener": f"127.0.0.1:{self.http_port}", **_QUICK, **overrides}
        os.makedirs(self.data, exist_ok=True)
        with open(self.config, "w", encoding="utf-8") as file:
            file.writelines(f"{key}={value}\n" for key, value in pairs.items() if value is not None)

    def start(self, *arguments, deadline_s=60):
        """Starts it and waits until it answers requests."""
        self.process = Process("kmirrord", [os.path.join(paths.BIN, "kmirrord"), self.config, *arguments],
                               os.path.join(self.folder, "kmirrord.log"))
        self.process.wait_ready(lambda: wire.broker_count(self.port) >= 1, "answering Metadata", deadline_s)
        return self

    def stop(self):
        """SIGTERM; fails if it does not end cleanly in time."""
        code = self.process.stop(STOP_LIMIT_S)
        assert code == 0, f"kmirrord ended with {code}:\n" + self.process.output()[-3000:]

    def kill(self):
        """kill -9."""
        self.process.kill()

    def close(self):
        """Ends it, however."""
        if self.process and self.process.alive():
            self.process.kill()

    def partition_folder(self, topic, partition):
        """Where the segments of a partition are."""
        return os.path.join(self.data, f"{topic}-{partition}")

    def tool(self, *arguments, timeout_s=60, check=True):
        """Output of a kmirror command; CommandError with its words when it fails."""
        done = subprocess.run([os.path.join(paths.BIN, "kmirror"), *arguments], capture_output=True,
                              text=True, timeout=timeout_s, check=False, stdin=subprocess.DEVNULL)
        if check and done.returncode != 0:
            raise CommandError(f"kmirror {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def mirrors(self, *arguments):
        """Output of kafka-cluster-mirrors.sh against this daemon."""
        return self.tool("mirrors", "--bootstrap-server", self.bootstrap, *arguments)

    def create_mirror(self, name, source, **config):
        """Creates a mirror of a cluster that answers at `source`; config keys with _ for dots."""
        path = os.path.join(self.folder, f"mirror-{name}.properties")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"bootstrap.servers={source}\n")
            file.writelines(f"{key.replace('_', '.')}={value}\n" for key, value in config.items())
        return self.mirrors("--create", "--mirror", name, "--mirror-config", path)

    def start_topics(self, name, topics):
        """Starts mirroring of topics (names or patterns, comma separated)."""
        return self.mirrors("--start", "--mirror", name, "--topics", topics)

    def describe(self, name):
        """Partitions of a mirror: a list of objects as in `--describe --json`."""
        return json.loads(self.mirrors("--describe", "--mirror", name, "--json"))

    def states(self, name, topic=None):
        """States of a mirror's partitions, of one topic or all."""
        return [row["state"] for row in self.describe(name) if topic in (None, row["topic"])]

    def wait_caught_up(self, name, source_port, topics, deadline_s=60):
        """Waits until each topic {name: partition count} has the source's end offsets here."""
        def ends(port):
            return {(t, p): wire.list_offset(port, t, p) for t, n in topics.items() for p in range(n)}

        def caught_up():
            wanted, here = ends(source_port), ends(self.port)
            behind = {key: (here[key], wanted[key]) for key in wanted if here[key] != wanted[key]}
            assert not behind, f"behind: {behind}"
            return True
        return wait.until(caught_up, f"mirror {name} has caught up", deadline_s)

    def http(self, path):
        """(status, body) of the HTTP port."""
        url = f"http://127.0.0.1:{self.http_port}{path}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
