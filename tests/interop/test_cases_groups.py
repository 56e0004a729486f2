"""Groups and committed offsets, the same on a real Kafka and on kmirrord (cases G47, G48)."""

from harness import wait
from harness.client import Client, create_topic

_PROTOCOLS = [{"Name": "range", "Metadata": b"\0\0\0\0\0\0\0\0\0\0"}]


def _coordinator(client, group):
    def found():
        return client.call("FindCoordinator", 3, Key=group, KeyType=0)["ErrorCode"] == 0
    wait.until(found, f"a coordinator for {group}")


def _join(client, group, version, member="", instance=None):
    def loaded():
        fields = {"GroupInstanceId": instance} if version >= 5 else {}
        answer = client.call("JoinGroup", version, GroupId=group, SessionTimeoutMs=30000,
                             RebalanceTimeoutMs=30000, MemberId=member, ProtocolType="consumer",
                             Protocols=_PROTOCOLS, **fields)
        return answer if answer["ErrorCode"] not in (14, 16) else None
    return wait.until(loaded, f"joining {group}")


def test_g47_a_member_id_is_required_from_version_4(server):
    with Client(server.port) as client:
        _coordinator(client, "g47")
        asked = _join(client, "g47", 4)
        assert asked["ErrorCode"] == 79 and asked["MemberId"]
        assert _join(client, "g47", 4, asked["MemberId"])["ErrorCode"] == 0


def test_g47_version_3_joins_at_once(server):
    with Client(server.port) as client:
        _coordinator(client, "g47-old")
        assert _join(client, "g47-old", 3)["ErrorCode"] == 0


def test_g47_a_static_member_is_fenced_by_its_successor(server):
    with Client(server.port) as client, Client(server.port) as other:
        _coordinator(client, "g47-static")
        first = _join(client, "g47-static", 5, instance="i1")
        assert first["ErrorCode"] == 0
        assert _join(client, "g47-static", 5, member="bogus")["ErrorCode"] == 25
        second = _join(other, "g47-static", 5, instance="i1")
        assert second["ErrorCode"] == 0 and second["MemberId"] != first["MemberId"]
        beat = client.call("Heartbeat", 3, GroupId="g47-static", GenerationId=first["GenerationId"],
                           MemberId=first["MemberId"], GroupInstanceId="i1")
        assert beat["ErrorCode"] == 82


def _commit(client, group, topic, offset=7, metadata="m", generation=-1, member=""):
    answer = client.call("OffsetCommit", 3, GroupId=group, GenerationIdOrMemberEpoch=generation,
                         MemberId=member, RetentionTimeMs=-1, Topics=[{"Name": topic, "Partitions": [
                             {"PartitionIndex": 0, "CommittedOffset": offset,
                              "CommittedMetadata": metadata}]}])
    return answer["Topics"][0]["Partitions"][0]["ErrorCode"]


def test_g48_commits_of_a_group_without_members(server):
    create_topic(server.port, "g48")
    with Client(server.port) as client, Client(server.port) as other:
        _coordinator(client, "g48")
        assert wait.until(lambda: _commit(client, "g48", "g48") == 0, "the coordinator has loaded")
        assert _commit(client, "g48", "missing") == 3
        assert _commit(client, "g48", "g48", metadata="x" * 5000) == 12
        assert _commit(client, "g48", "g48", generation=3, member="m") == 25
        assert _join(other, "g48-live", 3)["ErrorCode"] == 0
        assert _commit(client, "g48-live", "g48") == 25


def test_g48_what_is_fetched(server):
    create_topic(server.port, "g48-fetch", partitions=2)
    with Client(server.port) as client:
        _coordinator(client, "g48-fetch")
        assert wait.until(lambda: _commit(client, "g48-fetch", "g48-fetch") == 0, "committed")
        wanted = [{"Name": "g48-fetch", "PartitionIndexes": [0, 1]}]
        answer = client.call("OffsetFetch", 5, GroupId="g48-fetch", Topics=wanted)
        rows = {p["PartitionIndex"]: (p["CommittedOffset"], p["Metadata"], p["ErrorCode"])
                for p in answer["Topics"][0]["Partitions"]}
        assert rows == {0: (7, "m", 0), 1: (-1, "", 0)}
        unknown = client.call("OffsetFetch", 5, GroupId="g48-none", Topics=wanted)
        assert all((p["CommittedOffset"], p["ErrorCode"]) == (-1, 0)
                   for p in unknown["Topics"][0]["Partitions"])
        everything = client.call("OffsetFetch", 5, GroupId="g48-fetch", Topics=None)
        assert [p["PartitionIndex"] for t in everything["Topics"] for p in t["Partitions"]] == [0]
        assert client.call("OffsetFetch", 5, GroupId="g48-none", Topics=None)["Topics"] == []


def test_g48_describing_groups_that_are_empty_or_absent(server):
    create_topic(server.port, "g48-describe")
    with Client(server.port) as client:
        _coordinator(client, "g48-describe")
        assert wait.until(lambda: _commit(client, "g48-describe", "g48-describe") == 0, "committed")
        for version, absent_error in ((0, 0), (5, 0), (6, 69)):
            absent, empty = (client.call("DescribeGroups", version, Groups=[name])["Groups"][0]
                             for name in ("g48-absent", "g48-describe"))
            assert (absent["ErrorCode"], absent["GroupState"]) == (absent_error, "Dead")
            assert (empty["ErrorCode"], empty["GroupState"], empty["Members"]) == (0, "Empty", [])
