"""The main job: a real Kafka's topics appear in kmirrord byte for byte, and stay so."""

import pytest

from harness import kafka_dist, kcat, paths, records, segments, wait, wire
from harness.agent import AgentError
from harness.daemon import Daemon

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
# name: partitions
TOPICS = {**{"m-" + codec: 2 for codec in CODECS}, "m-kcat": 1, "m-tx": 2, "m-compacted": 1}
_COMPACTED = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01",
              "delete.retention.ms": "100", "min.compaction.lag.ms": "0"}


def _fill(agent, broker):
    for topic, partitions in TOPICS.items():
        agent.call("create", bootstrap=broker.bootstrap, topic=topic, partitions=partitions,
                   configs=_COMPACTED if topic == "m-compacted" else None)
    for codec in CODECS:
        for idempotent in ("true", "false"):
            agent.call("produce", bootstrap=broker.bootstrap, topic="m-" + codec, partitions=2, count=300,
                       seed=8, props={"compression.type": codec, "enable.idempotence": idempotent,
                                      "batch.size": "4000", "linger.ms": "5"})
        kcat.produce(broker.bootstrap, "m-kcat", [f"k{n}:v{n}" for n in range(60)], codec=codec)
    for number, end in enumerate(("commit", "abort", "commit", "abort")):
        agent.call("produce", bootstrap=broker.bootstrap, topic="m-tx", partitions=2, count=20, seed=number,
                   end=end, props={"transactional.id": f"t{number}", "compression.type": "lz4"})
    records.produce_by_python(broker.bootstrap, "m-compacted", [b"old%d" % n for n in range(50)])
    records.produce_by_python(broker.bootstrap, "m-compacted", [b"new"])


VERSIONS = (kafka_dist.MAIN, kafka_dist.OLD) + (kafka_dist.LONG if paths.LONG else ())


@pytest.fixture(scope="module", params=VERSIONS)
def pair(request, agent, brokers, tmp_path_factory):
    """(source, mirror): a filled real Kafka and a kmirrord that has caught up with it."""
    source = brokers(request.param)
    _fill(agent, source)
    mirror = Daemon(str(tmp_path_factory.mktemp("mirror-of-" + request.param))).start()
    mirror.create_mirror("demo", source.bootstrap)
    mirror.start_topics("demo", "m-.*")
    mirror.wait_caught_up("demo", source.port, TOPICS, deadline_s=90)
    yield source, mirror
    mirror.close()


@pytest.mark.parametrize("topic", list(TOPICS))
@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_three_clients_see_equal_records(agent, pair, topic, isolation):
    source, mirror = pair
    wanted = records.by_java(agent, source.bootstrap, topic, isolation)
    assert wanted
    records.same(wanted, records.by_java(agent, mirror.bootstrap, topic, isolation))
    records.same(wanted, records.by_kcat(mirror.bootstrap, topic, TOPICS[topic], isolation))
    records.same(wanted, records.by_python(mirror.bootstrap, topic, TOPICS[topic], isolation))


@pytest.mark.parametrize("topic", [t for t in TOPICS if t != "m-compacted"])
def test_the_files_hold_equal_bytes_and_stock_kafka_reads_them(agent, pair, topic):
    source, mirror = pair
    for partition in range(TOPICS[topic]):
        folder = mirror.partition_folder(topic, partition)
        segments.assert_equal(source.partition_folder(topic, partition), folder)
        agent.dump_log(*segments.files(folder))


def test_topic_ids_are_equal(agent, pair):
    source, mirror = pair
    if kafka_dist.version_key(source.version) < (2, 8):
        return  # such a source has no ids; the mirror gives its own
    there = agent.call("topics", bootstrap=source.bootstrap)
    here = agent.call("topics", bootstrap=mirror.bootstrap)
    assert {t: here[t]["id"] for t in TOPICS} == {t: there[t]["id"] for t in TOPICS}


def test_every_partition_shows_as_mirroring_without_lag(pair):
    _, mirror = pair
    rows = mirror.describe("demo")
    assert {(r["topic"], r["partition"]) for r in rows} == {(t, p) for t, n in TOPICS.items() for p in range(n)}
    wait.until(lambda: set(mirror.states("demo")) == {"MIRRORING"}, "all partitions are mirroring")
    wait.until(lambda: all(r["sourceOffset"] == r["destinationOffset"] for r in mirror.describe("demo")),
               "no lag is shown")


def test_a_mirror_topic_cannot_be_written(agent, pair):
    _, mirror = pair
    with pytest.raises(AgentError, match="PolicyViolation.*m-none.*read-only mirror of demo"):
        agent.call("produce", bootstrap=mirror.bootstrap, topic="m-none", count=1)
    with pytest.raises(AgentError, match="PolicyViolation"):
        agent.call("delete", bootstrap=mirror.bootstrap, topic="m-none")


def test_new_records_and_new_topics_follow(agent, pair):
    source, mirror = pair
    agent.call("produce", bootstrap=source.bootstrap, topic="m-none", partitions=2, count=100, seed=99)
    agent.call("create", bootstrap=source.bootstrap, topic="m-later", partitions=1)
    agent.call("produce", bootstrap=source.bootstrap, topic="m-later", count=10)
    mirror.wait_caught_up("demo", source.port, {"m-none": 2, "m-later": 1})
    segments.assert_equal(source.partition_folder("m-later", 0), mirror.partition_folder("m-later", 0))


def test_g36_partitions_grow_with_the_source(agent, pair):
    source, mirror = pair
    agent.tool("topics", "--bootstrap-server", source.bootstrap, "--alter", "--topic", "m-kcat",
               "--partitions", "3")
    kcat.produce(source.bootstrap, "m-kcat", ["grown:yes"], partition=2)
    mirror.wait_caught_up("demo", source.port, {"m-kcat": 3})
    assert [r["payload"] for r in kcat.consume(mirror.bootstrap, "m-kcat", 2)] == ["yes"]


def test_g30_a_batch_above_the_local_limit_is_mirrored(agent, pair):
    source, mirror = pair
    agent.call("create", bootstrap=source.bootstrap, topic="m-large", partitions=1,
               configs={"max.message.bytes": "3000000"})
    agent.call("produce", bootstrap=source.bootstrap, topic="m-large", count=4, size=2_000_000,
               props={"max.request.size": "3000000", "buffer.memory": "64000000"})
    mirror.wait_caught_up("demo", source.port, {"m-large": 1})
    segments.assert_equal(source.partition_folder("m-large", 0), mirror.partition_folder("m-large", 0))


def test_g27_the_log_start_follows_the_source(agent, pair, tmp_path):
    source, mirror = pair
    agent.call("create", bootstrap=source.bootstrap, topic="m-start", partitions=1)
    agent.call("produce", bootstrap=source.bootstrap, topic="m-start", count=100)
    mirror.wait_caught_up("demo", source.port, {"m-start": 1})
    request = tmp_path / "delete.json"
    request.write_text('{"version":1,"partitions":[{"topic":"m-start","partition":0,"offset":40}]}')
    agent.tool("delete-records", "--bootstrap-server", source.bootstrap, "--offset-json-file", str(request))
    wait.until(lambda: wire.list_offset(mirror.port, "m-start", 0, -2) == 40, "the start is at 40")


def test_a_restart_goes_on_where_it_was(agent, pair):
    source, mirror = pair
    for end in (mirror.stop, mirror.kill):
        end()
        agent.call("produce", bootstrap=source.bootstrap, topic="m-zstd", partitions=2, count=50, seed=4,
                   props={"compression.type": "zstd"})
        mirror.start()
        mirror.wait_caught_up("demo", source.port, {"m-zstd": 2})
    for partition in range(2):
        segments.assert_equal(source.partition_folder("m-zstd", partition),
                              mirror.partition_folder("m-zstd", partition))
