"""Connection and framing, the same on a real Kafka and on kmirrord (cases G01 to G05, G90)."""

import struct

import pytest

from harness import batches, codec
from harness.client import Client, create_topic, list_offset


def test_g01_api_versions_at_a_version_that_nobody_has(server):
    with Client(server.port) as client:
        client.send_raw(bytes.fromhex("0000000c001200630000000700017400"))
        answer = client.read_raw()
        assert answer[:4] == bytes.fromhex("00000007")
        values = codec.decode("ApiVersionsResponse", 0, answer[4:])
        assert values["ErrorCode"] == 35
        assert 18 in {row["ApiKey"] for row in values["ApiKeys"]}
        assert client.call("ApiVersions", 0)["ErrorCode"] == 0


def test_g02_an_unknown_tag_is_skipped(server):
    with Client(server.port) as client:
        client.send_raw(bytes.fromhex("0000001600120003000000090001740002740231010703616263"))
        answer = client.read_raw()
        assert answer[:6] == bytes.fromhex("000000090000")
        assert codec.decode("ApiVersionsResponse", 3, answer[4:])["ErrorCode"] == 0


def test_g02_a_tag_longer_than_the_frame_is_refused(server):
    with Client(server.port) as client:
        client.send_raw(bytes.fromhex("00000017001200030000000a00017400027402310107ffffffff07"))
        assert client.closed()
    with Client(server.port) as client:
        assert client.call("ApiVersions", 0)["ErrorCode"] == 0


def test_g03_answers_come_in_the_order_of_the_requests(server):
    create_topic(server.port, "g03")
    with Client(server.port) as client:
        client.send("Fetch", 11, MaxWaitMs=1500, MinBytes=1, MaxBytes=1000, SessionEpoch=-1, Topics=[
            {"Topic": "g03", "Partitions": [{"Partition": 0, "FetchOffset": 0, "PartitionMaxBytes": 1000}]}])
        client.send("Metadata", 1, Topics=[])
        assert client.receive()["Responses"][0]["Partitions"][0]["ErrorCode"] == 0
        assert client.receive()["Brokers"]


def test_g04_produce_without_acks_is_not_answered(server):
    create_topic(server.port, "g04")
    with Client(server.port) as client:
        client.send("Produce", 8, expect=False, Acks=0, TimeoutMs=1000, TopicData=[
            {"Name": "g04", "PartitionData": [{"Index": 0, "Records": batches.batch([b"a"])}]}])
        client.send("Metadata", 1, Topics=[])
        assert client.receive()["Brokers"]
        assert list_offset(client, "g04", -1)["Offset"] == 1


@pytest.mark.parametrize("data", ["1603010200010001fc0303", "7fffffff00", "ffffffff00"])
def test_g05_what_is_not_kafka_is_cut_off(server, data):
    strangers = [Client(server.port) for _ in range(50)]
    for stranger in strangers:
        stranger.send_raw(bytes.fromhex(data))
    assert all(stranger.closed() for stranger in strangers)
    with Client(server.port) as client:
        assert client.call("ApiVersions", 0)["ErrorCode"] == 0


def test_a_frame_without_a_known_api_closes_the_connection_only(server):
    with Client(server.port) as client:
        client.send_raw(struct.pack(">ihhih", 10, 31000, 0, 1, 0))
        assert client.closed()
    with Client(server.port) as client:
        assert client.call("ApiVersions", 0)["ErrorCode"] == 0


def test_g90_features_with_minimum_zero(server):
    with Client(server.port) as client:
        old = client.call("ApiVersions", 3, ClientSoftwareName="a", ClientSoftwareVersion="1")
        assert all(f["MinVersion"] > 0 for f in old["SupportedFeatures"])
        new = client.call("ApiVersions", 4, ClientSoftwareName="a", ClientSoftwareVersion="1")
        supported = {f["Name"]: (f["MinVersion"], f["MaxVersion"]) for f in new["SupportedFeatures"]}
        assert supported["group.version"][0] == 0
        for answer in (old, new):
            assert answer["FinalizedFeaturesEpoch"] >= 0
        client.send_raw(bytes.fromhex("0000001000120003000000010001740001023100"))
        assert struct.unpack(">h", client.read_raw()[4:6])[0] == 42
        assert client.call("ApiVersions", 0)["ErrorCode"] == 0
