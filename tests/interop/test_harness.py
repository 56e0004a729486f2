"""The harness proves itself on real Kafka before anything of ours is judged with it."""

import shutil

import pytest

from harness import kcat, segments, wait, wire
from harness.agent import AgentError


def test_java_and_kcat_see_the_same_records(agent, kafka):
    agent.call("create", bootstrap=kafka.bootstrap, topic="both", partitions=2)
    agent.call("produce", bootstrap=kafka.bootstrap, topic="both", partitions=2, count=50, seed=5,
               props={"compression.type": "lz4"})
    java = agent.call("consume", bootstrap=kafka.bootstrap, topic="both")
    seen = kcat.consume(kafka.bootstrap, "both", 0) + kcat.consume(kafka.bootstrap, "both", 1)
    assert len(java) == len(seen) == 50
    assert sorted((r["p"], r["o"], r["t"]) for r in java) == \
        sorted((r["partition"], r["offset"], r["ts"]) for r in seen)


def test_an_aborted_transaction_shows_in_read_uncommitted_only(agent, kafka):
    agent.call("create", bootstrap=kafka.bootstrap, topic="aborted")
    for end in ("abort", "commit"):
        agent.call("produce", bootstrap=kafka.bootstrap, topic="aborted", count=10, end=end,
                   props={"transactional.id": "t-" + end})
    everything = agent.call("consume", bootstrap=kafka.bootstrap, topic="aborted")
    committed = agent.call("consume", bootstrap=kafka.bootstrap, topic="aborted",
                           isolation="read_committed")
    assert len(everything) == 20
    assert len(committed) == 10


def test_segments_are_compared_byte_for_byte(agent, kafka, tmp_path):
    agent.call("create", bootstrap=kafka.bootstrap, topic="bytes")
    agent.call("produce", bootstrap=kafka.bootstrap, topic="bytes", count=200)
    folder = kafka.partition_folder("bytes", 0)
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert segments.batches(folder)[-1].last_offset == 199
    segments.assert_equal(folder, copy)
    path = segments.files(copy)[0]
    data = bytearray(open(path, "rb").read())
    data[-1] ^= 1
    open(path, "wb").write(data)
    with pytest.raises(AssertionError, match="differs"):
        segments.assert_equal(folder, copy)


def test_the_old_broker_serves_the_new_client(agent, old_kafka):
    agent.call("create", bootstrap=old_kafka.bootstrap, topic="old")
    agent.call("produce", bootstrap=old_kafka.bootstrap, topic="old", count=10)
    assert wire.list_offset(old_kafka.port, "old", 0) == 10
    out = agent.dump_log(*segments.files(old_kafka.partition_folder("old", 0)))
    assert "baseOffset: 0" in out


def test_a_tool_that_fails_says_why(agent, kafka):
    with pytest.raises(AgentError, match="[Dd]oes not exist"):
        agent.tool("topics", "--bootstrap-server", kafka.bootstrap, "--describe", "--topic", "absent")


def test_waiting_ends_at_its_deadline():
    with pytest.raises(wait.Timeout, match="pigs fly"):
        wait.until(lambda: False, "pigs fly", deadline_s=0.2)
