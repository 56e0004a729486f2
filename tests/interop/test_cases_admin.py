"""ListOffsets, configurations and topics, the same on a real Kafka and on kmirrord (G21, G50, G51)."""

from harness import batches
from harness.client import Client, create_topic, list_offset, produce


def test_g50_special_timestamps_of_an_empty_topic(server):
    create_topic(server.port, "g50")
    with Client(server.port) as client:
        for version, timestamp, offset in ((7, -3, -1), (8, -4, 0), (9, -5, -1), (7, 5, -1)):
            row = list_offset(client, "g50", timestamp, version=version)
            assert (row["ErrorCode"], row["Offset"]) == (0, offset), timestamp
        assert list_offset(client, "g50", -3, version=5)["ErrorCode"] == 35


def test_g50_the_greatest_timestamp_is_found_first(server):
    create_topic(server.port, "g50-append", message_timestamp_type="LogAppendTime")
    with Client(server.port) as client:
        assert produce(client, "g50-append", batches.batch([b"a", b"b", b"c"]))["ErrorCode"] == 0
        assert list_offset(client, "g50-append", -3, version=7)["Offset"] == 0


def test_g21_offsets_carry_the_epoch_of_their_record(server):
    create_topic(server.port, "g21")
    with Client(server.port) as client:
        assert produce(client, "g21", batches.batch([b"a", b"b"]))["ErrorCode"] == 0
        assert [list_offset(client, "g21", t)["LeaderEpoch"] for t in (-2, -1, batches.TIME)] == [0, 0, 0]
        beyond = list_offset(client, "g21", batches.TIME + 10**9)
        assert [beyond[k] for k in ("ErrorCode", "Offset", "Timestamp", "LeaderEpoch")] == [0, -1, -1, -1]


def _describe(client, name, keys, kind=2):
    return client.call("DescribeConfigs", 1, Resources=[
        {"ResourceType": kind, "ResourceName": name, "ConfigurationKeys": keys}])["Results"][0]


def test_g51_describing_configurations(server):
    create_topic(server.port, "g51")
    with Client(server.port) as client:
        every = _describe(client, "g51", None)["Configs"]
        assert len(every) > 10
        assert len(_describe(client, "g51", ["retention.ms"])["Configs"]) == 1
        nothing = _describe(client, "g51", ["nokey"])
        assert (nothing["ErrorCode"], nothing["Configs"]) == (0, [])
        assert _describe(client, "g51-missing", None)["ErrorCode"] == 3


def _create(client, name, partitions=1, factor=1, validate=False, assignments=()):
    answer = client.call("CreateTopics", 4, timeoutMs=20000, validateOnly=validate, Topics=[{
        "Name": name, "NumPartitions": partitions, "ReplicationFactor": factor,
        "Assignments": list(assignments)}])
    return answer["Topics"][0]["ErrorCode"]


def test_g51_creating_topics(server):
    with Client(server.port) as client:
        assert _create(client, "g51-default", -1, -1) == 0
        assert _create(client, "g51-once", validate=True) == 0
        assert _create(client, "g51-once") == 0
        assert _create(client, "g51-both", assignments=[{"PartitionIndex": 0, "BrokerIds": [1]}]) == 42
        assert _create(client, "g51-once") == 36
        assert _create(client, "g51-three", factor=3) == 38
        assert _create(client, "g51-zero", partitions=0) == 37
        for bad in ("a/b", "..", "", "x" * 250):
            assert _create(client, bad) == 17
        assert _create(client, "g51.like") == 0
        assert _create(client, "g51_like") == 17


def _alter(client, name, changes):
    answer = client.call("IncrementalAlterConfigs", 0, Resources=[{
        "ResourceType": 2, "ResourceName": name, "Configs": [
            {"Name": key, "ConfigOperation": operation, "Value": value}
            for key, operation, value in changes]}])
    return answer["Responses"][0]["ErrorCode"]


def test_g51_changing_configurations_step_by_step(server):
    create_topic(server.port, "g51-alter")
    with Client(server.port) as client:
        assert _alter(client, "g51-alter", [("cleanup.policy", 2, "compact")]) == 0
        policy = _describe(client, "g51-alter", ["cleanup.policy"])["Configs"][0]["Value"]
        assert policy == "delete,compact"
        assert _alter(client, "g51-alter", [("retention.ms", 0, "1"), ("retention.ms", 0, "2")]) == 42
        before = _describe(client, "g51-alter", ["retention.ms"])["Configs"][0]["Value"]
        assert _alter(client, "g51-alter", [("retention.ms", 0, "5000")]) == 0
        assert _describe(client, "g51-alter", ["retention.ms"])["Configs"][0]["Value"] == "5000"
        assert _alter(client, "g51-alter", [("retention.ms", 1, None)]) == 0
        assert _describe(client, "g51-alter", ["retention.ms"])["Configs"][0]["Value"] == before
