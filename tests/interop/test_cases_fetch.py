"""Fetch and Metadata, the same on a real Kafka and on kmirrord (cases G10 to G18, G20)."""

import time

from harness import batches, wait
from harness.client import Client, create_topic, fetch, fetch_body, list_offset, produce


def _fill(client, topic, count, partition=0):
    for number in range(count):
        assert produce(client, topic, batches.batch([b"v%d" % number]), partition)["ErrorCode"] == 0


def test_g10_metadata_of_all_none_and_unknown_topics(server):
    create_topic(server.port, "g10")
    with Client(server.port) as client:
        assert "g10" in [t["Name"] for t in client.call("Metadata", 0, Topics=[])["Topics"]]
        assert "g10" in [t["Name"] for t in client.call("Metadata", 1, Topics=None)["Topics"]]
        none = client.call("Metadata", 1, Topics=[])
        assert none["Topics"] == [] and none["Brokers"]
        unknown = client.call("Metadata", 4, Topics=[{"Name": "nope"}], AllowAutoTopicCreation=False)
        assert (unknown["Topics"][0]["ErrorCode"], unknown["Topics"][0]["Partitions"]) == (3, [])
        everything = client.call("Metadata", 1, Topics=None)
        assert "nope" not in [t["Name"] for t in everything["Topics"]]


def test_g10_the_coordinator_is_a_broker_of_metadata(server):
    with Client(server.port) as client:
        def found():
            answer = client.call("FindCoordinator", 3, Key="g10", KeyType=0)
            return answer if answer["ErrorCode"] == 0 else None
        where = wait.until(found, "a coordinator")
        brokers = [(b["NodeId"], b["Host"], b["Port"]) for b in client.call("Metadata", 1, Topics=[])["Brokers"]]
        assert (where["NodeId"], where["Host"], where["Port"]) in brokers


def test_g11_fetch_at_and_above_the_end(server):
    create_topic(server.port, "g11")
    with Client(server.port) as client:
        _fill(client, "g11", 6)
        at_end = fetch(client, "g11", 6)
        assert (at_end["ErrorCode"], at_end["HighWatermark"], at_end["Records"] or b"") == (0, 6, b"")
        assert fetch(client, "g11", 7)["ErrorCode"] == 1
        assert list_offset(client, "g11", -1)["Offset"] == 6


def test_g12_the_first_batch_comes_whole_whatever_the_limits(server):
    create_topic(server.port, "g12", partitions=2)
    big = batches.batch([b"x" * 50])
    with Client(server.port) as client:
        assert produce(client, "g12", big, 0)["ErrorCode"] == 0
        assert produce(client, "g12", big, 1)["ErrorCode"] == 0
        body = fetch_body([("g12", 0, 0), ("g12", 1, 0)], max_bytes=1, partition_bytes=1)
        answer = client.call("Fetch", 11, **body)
        parts = {p["PartitionIndex"]: p for t in answer["Responses"] for p in t["Partitions"]}
        assert len(parts[0]["Records"]) == len(big)
        assert (parts[1]["ErrorCode"], parts[1]["Records"] or b"") == (0, b"")


def test_g13_long_poll_waits_when_idle_and_wakes_on_data(server):
    create_topic(server.port, "g13")
    with Client(server.port) as client, Client(server.port) as writer:
        start = time.monotonic()
        idle = fetch(client, "g13", 0, wait_ms=700, min_bytes=1)
        assert (idle["ErrorCode"], idle["Records"] or b"") == (0, b"")
        assert time.monotonic() - start >= 0.65
        # Far longer than the deadline of the client: only data can end this wait in time.
        client.send("Fetch", 11, **fetch_body([("g13", 0, 0)], wait_ms=600_000, min_bytes=1))
        assert produce(writer, "g13", batches.batch([b"a"]))["ErrorCode"] == 0
        assert batches.split(client.receive()["Responses"][0]["Partitions"][0]["Records"])
        start = time.monotonic()
        assert fetch(client, "g13", 0, wait_ms=800, min_bytes=1000)["Records"]
        assert time.monotonic() - start >= 0.75


def test_g14_life_of_a_fetch_session(server):
    create_topic(server.port, "g14-e")
    create_topic(server.port, "g14-m")
    both = [("g14-e", 0, 0), ("g14-m", 0, 0)]
    with Client(server.port) as client, Client(server.port) as writer:
        first = client.call("Fetch", 11, **fetch_body(both, session=(0, 0)))
        session = first["SessionId"]
        assert session > 0 and len(first["Responses"]) == 2
        nothing = client.call("Fetch", 11, **fetch_body([], session=(session, 1)))
        assert (nothing["ErrorCode"], nothing["Responses"]) == (0, [])
        _fill(writer, "g14-e", 1)
        news = client.call("Fetch", 11, **fetch_body([], session=(session, 2)))
        assert [t["Topic"] for t in news["Responses"]] == ["g14-e"]
        again = client.call("Fetch", 11, **fetch_body([], session=(session, 2)))
        assert (again["ErrorCode"], again["SessionId"]) == (71, 0)
        forgotten = client.call("Fetch", 11, **fetch_body([], session=(session, 3), forget=[("g14-e", 0)]))
        assert (forgotten["ErrorCode"], forgotten["Responses"]) == (0, [])
        assert client.call("Fetch", 11, **fetch_body([], session=(123456, 1)))["ErrorCode"] == 70
        closing = client.call("Fetch", 11, **fetch_body(both, session=(session, -1)))
        assert (closing["ErrorCode"], closing["SessionId"], len(closing["Responses"])) == (0, 0, 2)
        assert client.call("Fetch", 11, **fetch_body([], session=(session, 4)))["ErrorCode"] == 70


def test_g15_an_offset_inside_a_batch_gives_the_whole_batch(server):
    create_topic(server.port, "g15")
    with Client(server.port) as client:
        for values in ([b"a", b"b", b"c"], [b"d", b"e"]):
            assert produce(client, "g15", batches.batch(values))["ErrorCode"] == 0
        found = batches.split(fetch(client, "g15", 1)["Records"])
        assert [(base, last) for base, last, _ in found] == [(0, 2), (3, 4)]


def test_g16_zstd_is_served_as_it_is_stored(server):
    create_topic(server.port, "g16", compression_type="zstd")
    stored = bytes.fromhex(
        "000000000000000000000046000000000271c48c7d0004000000000000018bcfe568000000018bcfe56800ffffffffffff"
        "ffffffffffffffff0000000128b52ffd200c61000016000000010a68656c6c6f00")
    with Client(server.port) as client:
        assert produce(client, "g16", stored)["ErrorCode"] == 0
        found = fetch(client, "g16", 0, version=10)
        assert (found["ErrorCode"], found["Records"]) == (0, stored)


def test_g18_an_unknown_topic_id_is_a_partition_error(server):
    with Client(server.port) as client:
        for wrong in (bytes(range(1, 17)), bytes(16)):
            answer = client.call("Fetch", 13, MaxBytes=1000, SessionEpoch=-1, Topics=[{
                "TopicId": wrong, "Partitions": [
                    {"Partition": 0, "FetchOffset": 0, "PartitionMaxBytes": 1000}]}])
            part = answer["Responses"][0]["Partitions"][0]
            assert (answer["ErrorCode"], part["ErrorCode"], part["HighWatermark"]) == (0, 100, -1)


def test_g18_the_leader_epoch_is_checked(server):
    create_topic(server.port, "g18")
    with Client(server.port) as client:
        _fill(client, "g18", 1)
        for epoch, error in ((-1, 0), (0, 0), (1, 75)):
            assert fetch(client, "g18", 0, epoch=epoch)["ErrorCode"] == error
            assert list_offset(client, "g18", -1, epoch=epoch)["ErrorCode"] == error


def test_g20_a_diverging_epoch_is_reported(server):
    create_topic(server.port, "g20")
    with Client(server.port) as client:
        _fill(client, "g20", 1)
        same = fetch(client, "g20", 1, version=12, last_epoch=0)
        assert (same["ErrorCode"], same["Records"] or b"", same["DivergingEpoch"]["EndOffset"]) == (0, b"", -1)
        beyond = fetch(client, "g20", 5, version=12, last_epoch=0)
        assert (beyond["ErrorCode"], beyond["Records"] or b"") == (0, b"")
        assert beyond["DivergingEpoch"] == {"Epoch": 0, "EndOffset": 1}
        assert fetch(client, "g20", 0, version=12)["Records"]
