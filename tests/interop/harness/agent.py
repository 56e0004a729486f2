"""The stock Java clients and tools, in one long-lived JVM (tests/interop/java)."""

import glob
import json
import os
import select
import subprocess

from harness import kafka_dist, paths
from harness.process import Process

_SOURCES = os.path.join(paths.ROOT, "tests", "interop", "java")
_TOOLS = {
    "topics": "TopicCommand", "configs": "ConfigCommand", "get-offsets": "GetOffsetShell",
    "dump-log": "DumpLogSegments", "consumer-groups": "consumer.group.ConsumerGroupCommand",
    "console-producer": "ConsoleProducer", "console-consumer": "consumer.ConsoleConsumer",
    "verifiable-producer": "VerifiableProducer", "broker-api-versions": "BrokerApiVersionsCommand",
    "producer-perf": "ProducerPerformance", "delete-records": "DeleteRecordsCommand",
}
_OLD_PACKAGES = ("kafka.tools.", "kafka.admin.")


class AgentError(RuntimeError):
    """What the Java client answered instead of a result: `Exception: message`."""


def _classes(tool):
    name = _TOOLS[tool]
    short = name.rsplit(".", 1)[-1]
    return ["org.apache.kafka.tools." + name] + [package + short for package in _OLD_PACKAGES]


class Agent:
    """One JVM with the clients of `version`; calls are served one after the other."""

    def __init__(self, folder, version=kafka_dist.MAIN):
        jars = os.path.join(kafka_dist.fetch(version), "lib", "*")
        classes = os.path.join(folder, "classes")
        os.makedirs(classes, exist_ok=True)
        built = subprocess.run(["javac", "-nowarn", "-d", classes, "-cp", jars,
                                *sorted(glob.glob(_SOURCES + "/*.java"))],
                               capture_output=True, text=True, check=False)
        if built.returncode != 0:
            raise RuntimeError("javac: " + built.stderr)
        command = kafka_dist.java(version, "ClientAgent", heap="384m")
        command[command.index("-cp") + 1] += os.pathsep + classes
        self._process = Process("java agent", command, os.path.join(folder, "agent.log"),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._buffer = b""

    def call(self, do, seconds=90, **arguments):
        """One command; its result as plain Python. AgentError if the client threw."""
        line = json.dumps({"do": do, **{k: v for k, v in arguments.items() if v is not None}})
        self._process.child.stdin.write(line.encode() + b"\n")
        self._process.child.stdin.flush()
        answer = json.loads(self._read_line(seconds))
        if "error" in answer:
            raise AgentError(answer["error"])
        return answer["ok"]

    def _read_line(self, seconds):
        pipe = self._process.child.stdout
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([pipe], [], [], seconds)
            if not ready:
                raise TimeoutError(f"the Java client did not answer within {seconds} s")
            piece = os.read(pipe.fileno(), 1 << 20)
            if not piece:
                raise RuntimeError("the Java client ended:\n" + self._process.output()[-3000:])
            self._buffer += piece
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line

    def tool(self, name, *arguments, check=True):
        """Output of a stock command-line tool, both streams; AgentError on another exit code than 0."""
        done = self.call("tool", classes=_classes(name), args=[str(a) for a in arguments])
        if check and done["exit"] != 0:
            raise AgentError(f"{name} ended with {done['exit']}: {done['out'][-2000:]}")
        return done["out"]

    def dump_log(self, *files):
        """Reads segments with `--deep-iteration`; AssertionError if a batch is called invalid."""
        out = self.tool("dump-log", "--deep-iteration", "--files", ",".join(files))
        bad = [line for line in out.splitlines()
               if "isvalid: false" in line or "Found" in line or "mismatch" in line.lower()]
        assert not bad, "\n".join(bad[:5])
        return out

    def close(self):
        """Ends the JVM."""
        self._process.kill()
