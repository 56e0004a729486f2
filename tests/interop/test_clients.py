"""kmirrord serves stock clients: kcat, Java and Python write and read, and Kafka's own tool reads the files."""

import pytest

from harness import kcat, records, segments, wire
from harness.agent import AgentError
from harness.client import create_topic

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def test_kcat_lists_the_broker_and_its_topics(kmirrord):
    create_topic(kmirrord.port, "listed", partitions=3)
    shown = kcat.metadata(kmirrord.bootstrap)
    assert [b["name"] for b in shown["brokers"]] == [kmirrord.bootstrap]
    topic = next(t for t in shown["topics"] if t["topic"] == "listed")
    assert [p["leader"] for p in topic["partitions"]] == [1, 1, 1]


def test_the_stock_admin_tool_describes_topics(agent, kmirrord):
    create_topic(kmirrord.port, "described", partitions=2)
    out = agent.tool("topics", "--bootstrap-server", kmirrord.bootstrap, "--describe", "--topic", "described")
    assert "PartitionCount: 2" in out and "Leader: 1" in out
    found = agent.call("topics", bootstrap=kmirrord.bootstrap)["described"]
    assert [p["leader"] for p in found["partitions"]] == [1, 1]


def test_the_cluster_describes_itself(agent, kmirrord):
    found = agent.call("cluster", bootstrap=kmirrord.bootstrap)
    assert found["nodes"] == [kmirrord.bootstrap]
    assert len(found["id"]) == 22


def test_what_is_advertised_is_served_to_the_stock_tool(agent, kmirrord):
    out = agent.tool("broker-api-versions", "--bootstrap-server", kmirrord.bootstrap)
    assert "Fetch(1)" in out and "UNSUPPORTED" not in out.split("Fetch(1)")[1].split("\n")[0]
    # librdkafka decides on compression by the lowest Produce version.
    assert wire.api_versions(kmirrord.port)[0][0] == 0


@pytest.mark.parametrize("codec", CODECS)
def test_three_clients_read_what_java_wrote(agent, kmirrord, codec):
    topic = "java-" + codec
    create_topic(kmirrord.port, topic, partitions=2)
    agent.call("produce", bootstrap=kmirrord.bootstrap, topic=topic, partitions=2, count=500, seed=3,
               props={"compression.type": codec, "batch.size": "4000", "linger.ms": "5"})
    java = records.by_java(agent, kmirrord.bootstrap, topic)
    assert len(java) == 500
    records.same(java, records.by_kcat(kmirrord.bootstrap, topic, 2))
    records.same(java, records.by_python(kmirrord.bootstrap, topic, 2))
    for partition in range(2):
        agent.dump_log(*segments.files(kmirrord.partition_folder(topic, partition)))


@pytest.mark.parametrize("codec", CODECS)
def test_java_reads_what_kcat_and_python_wrote(agent, kmirrord, codec):
    topic = "others-" + codec
    create_topic(kmirrord.port, topic)
    kcat.produce(kmirrord.bootstrap, topic, [f"k{n}:v{n}" for n in range(100)], codec=codec)
    records.produce_by_python(kmirrord.bootstrap, topic, [b"p%d" % n for n in range(100)], codec=codec,
                              **{"enable.idempotence": True})
    java = records.by_java(agent, kmirrord.bootstrap, topic)
    assert [r[4] for r in java] == [b"v%d" % n for n in range(100)] + [b"p%d" % n for n in range(100)]
    agent.dump_log(*segments.files(kmirrord.partition_folder(topic, 0)))


def test_offsets_and_configurations_through_the_stock_tools(agent, kmirrord):
    create_topic(kmirrord.port, "tools")
    agent.call("produce", bootstrap=kmirrord.bootstrap, topic="tools", count=40)
    out = agent.tool("get-offsets", "--bootstrap-server", kmirrord.bootstrap, "--topic", "tools")
    assert out.strip().endswith("tools:0:40")
    agent.call("alter", bootstrap=kmirrord.bootstrap, name="tools", set={"retention.ms": "86400000"})
    out = agent.tool("configs", "--bootstrap-server", kmirrord.bootstrap, "--describe", "--topic", "tools")
    assert "retention.ms=86400000" in out


def test_an_absent_topic_is_an_error_with_a_name(agent, kmirrord):
    with pytest.raises(AgentError, match="UnknownTopicOrPartition|not exist"):
        agent.call("delete", bootstrap=kmirrord.bootstrap, topic="absent")


def test_committed_offsets_survive_restart_and_kill(agent, daemons):
    daemon = daemons().start()
    create_topic(daemon.port, "grouped", partitions=2)
    agent.call("produce", bootstrap=daemon.bootstrap, topic="grouped", partitions=2, count=20)
    agent.call("commit", bootstrap=daemon.bootstrap, group="g", topic="grouped", offsets={"0": 4, "1": 7},
               metadata="note")
    wanted = {"grouped-0": [4, "note"], "grouped-1": [7, "note"]}
    assert agent.call("groups", bootstrap=daemon.bootstrap, group="g") == wanted
    daemon.stop()
    daemon.start()
    assert agent.call("groups", bootstrap=daemon.bootstrap, group="g") == wanted
    agent.call("commit", bootstrap=daemon.bootstrap, group="g", topic="grouped", offsets={"0": 9})
    daemon.kill()
    daemon.start()
    assert agent.call("groups", bootstrap=daemon.bootstrap, group="g") == {**wanted, "grouped-0": [9, ""]}


def test_a_consumer_group_of_kcat_shares_and_remembers(kmirrord):
    create_topic(kmirrord.port, "shared", partitions=2)
    for partition in range(2):
        kcat.produce(kmirrord.bootstrap, "shared", [f"k:{n}" for n in range(10)], partition)
    options = ("-X", "auto.offset.reset=earliest", "-c", "20", "-G", "readers", "shared")
    first = kcat.run(kmirrord.bootstrap, *options)
    assert len(first.splitlines()) == 20
    kcat.produce(kmirrord.bootstrap, "shared", ["k:new"], 1)
    again = kcat.run(kmirrord.bootstrap, "-X", "auto.offset.reset=earliest", "-c", "1", "-G", "readers", "shared")
    assert again.decode().strip() == "new"


def test_acknowledged_records_survive_kill(agent, daemons):
    daemon = daemons().start()
    create_topic(daemon.port, "kept")
    total = 0
    for _ in range(5):
        total += 50
        agent.call("produce", bootstrap=daemon.bootstrap, topic="kept", count=50, props={"acks": "all"})
        daemon.kill()
        daemon.start()
        assert wire.list_offset(daemon.port, "kept", 0) == total
    assert len(records.by_java(agent, daemon.bootstrap, "kept")) == total
    agent.dump_log(*segments.files(daemon.partition_folder("kept", 0)))
