"""A real Kafka broker of a given version on 127.0.0.1, with its data in a folder of its own."""

import base64
import os
import uuid

from harness import kafka_dist, wire
from harness.process import Process, free_port


def _random_id():
    """22 letters, as Kafka names clusters. The caller sees to it that no dash comes first."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def _properties(pairs):
    return "".join(f"{key}={value}\n" for key, value in pairs.items())


class Broker:
    """One combined broker and controller; with ZooKeeper before Kafka 3.3.

    `folder` holds configuration, data and logs. `overrides` are lines of server.properties. A broker
    made with `joins=other` has node id 2 and belongs to the cluster of `other` (KRaft only).
    """

    def __init__(self, version, folder, overrides=None, heap="384m", options=kafka_dist.QUICK, joins=None):
        self.version = version
        self.folder = folder
        self.port = free_port()
        self._joins = joins
        self.cluster_id = joins.cluster_id if joins else "A" + _random_id()[1:]
        self._heap = heap
        self._options = options
        self._process = None
        self._zookeeper = None
        self._uses_zookeeper = kafka_dist.version_key(version) < (3, 3)
        self._side_port = free_port()
        os.makedirs(folder, exist_ok=True)
        self._config = os.path.join(folder, "server.properties")
        with open(self._config, "w", encoding="utf-8") as file:
            file.write(_properties({**self._settings(), **(overrides or {})}))
        if not self._uses_zookeeper:
            self._format()

    @property
    def bootstrap(self):
        """HOST:PORT for clients."""
        return f"127.0.0.1:{self.port}"

    @property
    def data(self):
        """The folder with the partitions' folders."""
        return os.path.join(self.folder, "data")

    def _settings(self):
        common = {
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": self.data, "auto.create.topics.enable": "false", "num.partitions": 1,
            "offsets.topic.replication.factor": 1, "offsets.topic.num.partitions": 4,
            "transaction.state.log.replication.factor": 1, "transaction.state.log.min.isr": 1,
            "transaction.state.log.num.partitions": 4, "group.initial.rebalance.delay.ms": 0,
            "log.retention.ms": -1, "log.cleaner.dedupe.buffer.size": 16 << 20,
            "num.network.threads": 2, "num.io.threads": 2,
        }
        if self._uses_zookeeper:
            return {**common, "broker.id": 1, "zookeeper.connect": f"127.0.0.1:{self._side_port}"}
        if self._joins:
            return {**common, "process.roles": "broker", "node.id": 2,
                    "controller.listener.names": "CONTROLLER",
                    "controller.quorum.voters": f"1@127.0.0.1:{self._joins.controller_port}",
                    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"}
        return {**common, "process.roles": "broker,controller", "node.id": 1,
                "controller.listener.names": "CONTROLLER",
                "controller.quorum.voters": f"1@127.0.0.1:{self._side_port}",
                "listeners": common["listeners"] + f",CONTROLLER://127.0.0.1:{self._side_port}",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"}

    def _format(self):
        command = kafka_dist.java(self.version, "kafka.tools.StorageTool", "format", "-t",
                                  self.cluster_id, "-c", self._config)
        done = Process("storage format", command, os.path.join(self.folder, "format.log"))
        if done.child.wait(60) != 0:
            raise RuntimeError("formatting failed:\n" + done.output()[-2000:])

    def start(self):
        """Starts it, or starts it again with its data, and waits until it takes requests."""
        if self._uses_zookeeper and (self._zookeeper is None or not self._zookeeper.alive()):
            self._start_zookeeper()
        command = kafka_dist.java(self.version, "kafka.Kafka", self._config, heap=self._heap,
                                  level="INFO", options=self._options)
        self._process = Process(f"kafka {self.version}", command,
                                os.path.join(self.folder, "broker.log"), cwd=self.folder)
        self._process.wait_ready(lambda: wire.broker_count(self.port) >= (2 if self._joins else 1),
                                 "answering Metadata", 120)
        return self

    def _start_zookeeper(self):
        config = os.path.join(self.folder, "zookeeper.properties")
        with open(config, "w", encoding="utf-8") as file:
            file.write(_properties({
                "dataDir": os.path.join(self.folder, "zookeeper"), "clientPort": self._side_port,
                "clientPortAddress": "127.0.0.1", "maxClientCnxns": 0,
                "admin.enableServer": "false"}))
        command = kafka_dist.java(
            self.version, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config, heap="96m")
        self._zookeeper = Process("zookeeper", command, os.path.join(self.folder, "zookeeper.log"))

        def listening():
            wire.connect(self._side_port, 1.0).close()
            return True
        self._zookeeper.wait_ready(listening, "listening", 60)

    @property
    def controller_port(self):
        """Where its controller listens."""
        return self._side_port

    @property
    def process(self):
        """The broker's process, for those who measure it."""
        return self._process

    def stop(self):
        """Clean stop; the data stays."""
        if self._process:
            self._process.stop(60)

    def kill(self):
        """kill -9; the data stays."""
        if self._process:
            self._process.kill()

    def pause(self):
        """The broker keeps its connections and answers nothing."""
        self._process.pause()

    def resume(self):
        """It answers again."""
        self._process.resume()

    def close(self):
        """Ends everything that belongs to it."""
        self.kill()
        if self._zookeeper:
            self._zookeeper.kill()

    def partition_folder(self, topic, partition):
        """Where the segments of a partition are."""
        return os.path.join(self.data, f"{topic}-{partition}")
