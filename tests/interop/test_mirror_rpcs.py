"""Both generations of the mirror RPCs, spoken by hand against one daemon and a real source."""

import pytest

from harness import wait, wire
from harness.client import Client
from harness.daemon import CommandError, Daemon

MIRRORING = "MIRRORING"


@pytest.fixture(scope="module")
def pair(agent, kafka, tmp_path_factory):
    """(source, mirror): a real Kafka with topics r-new and r-old, and a daemon without mirrors."""
    for topic in ("r-new", "r-old"):
        agent.call("create", bootstrap=kafka.bootstrap, topic=topic, partitions=2)
        agent.call("produce", bootstrap=kafka.bootstrap, topic=topic, partitions=2, count=40)
    mirror = Daemon(str(tmp_path_factory.mktemp("rpcs"))).start()
    yield kafka, mirror
    mirror.close()


def _config(source):
    return [{"Name": "bootstrap.servers", "Value": source.bootstrap}]


def _states(client, mirror, topic, version):
    answer = client.call("ReadMirrorStates", version, MirrorName=mirror, Topics=[
        {"TopicName": topic, "Partitions": [{"PartitionIndex": 0}, {"PartitionIndex": 1}]}])
    assert answer["ErrorCode"] == 0
    return answer["Topics"][0]["Partitions"]


def test_the_newest_family(pair):
    source, daemon = pair
    with Client(daemon.port) as client:
        made = client.call("CreateClusterMirror", 0, MirrorName="new", Configs=_config(source))
        assert made["ErrorCode"] == 0, made
        again = client.call("CreateClusterMirror", 0, MirrorName="new", Configs=_config(source))
        assert again["ErrorCode"] == 12736
        started = client.call("StartMirrorTopics", 0, MirrorName="new", IncludePatterns=["r-new"])
        assert started["ErrorCode"] == 0, started
        daemon.wait_caught_up("new", source.port, {"r-new": 2})
        wait.until(lambda: {p["State"] for p in _states(client, "new", "r-new", 1)} == {3}, "code 3")
        listed = client.call("ListClusterMirrors", 0, IncludeTopicNames=True)["Mirrors"]
        row = next(m for m in listed if m["MirrorName"] == "new")
        assert (row["SourceBootstrap"], row["TopicNames"]) == (source.bootstrap, ["r-new"])
        assert row["SourceClusterId"] == source.cluster_id
        shown = client.call("DescribeClusterMirrors", 0, MirrorNames=["new"])["Mirrors"][0]
        partitions = shown["Topics"][0]["Partitions"]
        assert [(p["PartitionIndex"], p["StateValue"]) for p in partitions] == [(0, MIRRORING), (1, MIRRORING)]
        assert all(p["SourceOffset"] == p["DestinationOffset"] == 20 for p in partitions)


def test_the_seed_family(pair):
    source, daemon = pair
    with Client(daemon.port) as client:
        made = client.call("CreateMirror", 0, MirrorName="old", Config=_config(source))
        assert made["ErrorCode"] == 0, made
        with Client(source.port) as there:
            topic = there.call("Metadata", 12, Topics=[{"Name": "r-old"}])["Topics"][0]
        added = client.call("AddTopicsToMirror", 0, Topics=[
            {"TopicId": topic["TopicId"], "TopicName": "r-old", "MirrorName": "old"}])
        assert (added["ErrorCode"], [t["ErrorCode"] for t in added["Topics"]]) == (0, [0])
        daemon.wait_caught_up("old", source.port, {"r-old": 2})
        wait.until(lambda: {p["State"] for p in _states(client, "old", "r-old", 0)} == {1}, "code 1")
        listed = {m["MirrorName"]: m["TopicCount"] for m in client.call("ListMirrors", 0)["Mirrors"]}
        assert listed["old"] == 1
        shown = client.call("DescribeMirrors", 0, MirrorNames=["old"])["Mirrors"][0]
        assert [(p["State"], p["Lag"]) for p in shown["Topics"][0]["Partitions"]] == [(MIRRORING, 0)] * 2


def test_unknown_mirrors_and_bad_names_are_refused(pair):
    source, daemon = pair
    with Client(daemon.port) as client:
        assert client.call("StartMirrorTopics", 0, MirrorName="none", IncludePatterns=["x"])["ErrorCode"] == 12737
        for bad in ("", ".", "a/b", "x" * 250):
            answer = client.call("CreateClusterMirror", 0, MirrorName=bad, Configs=_config(source))
            assert answer["ErrorCode"] == 12735, bad
        wrong = client.call("CreateClusterMirror", 0, MirrorName="wrong", Configs=[
            *_config(source), {"Name": "mirror.topics.include", "Value": "["}])
        assert wrong["ErrorCode"] != 0 and "[" in wrong["ErrorMessage"]
        unknown = client.call("CreateClusterMirror", 0, MirrorName="wrong", Configs=[
            *_config(source), {"Name": "bootstrap.server", "Value": "x:1"}])
        assert unknown["ErrorCode"] != 0 and "bootstrap.servers" in unknown["ErrorMessage"]


def test_a_mirror_of_itself_is_refused(pair):
    _, daemon = pair
    with pytest.raises(CommandError, match="itself|own|same cluster"):
        daemon.create_mirror("loop", daemon.bootstrap)


def test_the_command_line_prints_the_tables(pair):
    _, daemon = pair
    lines = daemon.mirrors("--list").splitlines()
    assert lines[0].split() == ["MIRROR", "TOPICS", "SOURCE-CLUSTER-ID", "SOURCE-BOOTSTRAP-SERVER"]
    assert [line.split()[0] for line in lines[1:]] == ["new", "old"]
    lines = daemon.mirrors("--describe", "--mirror", "new").splitlines()
    assert lines[0].split() == ["MIRROR", "TOPIC", "PARTITION", "SOURCE-OFFSET", "DESTINATION-OFFSET", "LAG",
                                "STATE"]
    assert [line.split() for line in lines[1:]] == [
        ["new", "r-new", str(p), "20", "20", "0", "MIRRORING"] for p in range(2)]
    assert daemon.mirrors("--describe", "--failed").strip() == "No failed partitions found"


def test_states_survive_a_restart(pair):
    source, daemon = pair
    daemon.stop()
    daemon.start()
    wait.until(lambda: daemon.states("new") == [MIRRORING] * 2, "mirroring again")
    assert wire.list_offset(daemon.port, "r-new", 1) == wire.list_offset(source.port, "r-new", 1)
