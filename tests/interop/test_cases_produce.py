"""Produce, the same on a real Kafka and on kmirrord (cases G17, G44, G45)."""

from harness import batches, wait
from harness.client import Client, create_topic, list_offset, produce


def _refused(client, topic, records, error, **options):
    answer = produce(client, topic, records, **options)
    assert (answer["ErrorCode"], answer["BaseOffset"]) == (error, -1)


def test_g44_malformed_batches_are_refused_and_nothing_is_stored(server):
    create_topic(server.port, "g44")
    create_topic(server.port, "g44-compact", cleanup_policy="compact")
    good = batches.batch([b"a"])
    with Client(server.port) as client:
        _refused(client, "g44", good[:-1] + b"\1", 2)
        _refused(client, "g44", batches.batch([b"a"], last_delta=3), 87)
        _refused(client, "g44", batches.batch([b"a"], base=5), 87)
        _refused(client, "g44", batches.batch([b"a"], producer=(77, 0, -1)), 87)
        _refused(client, "g44", batches.batch([b"a"], attributes=0x20), 87)
        _refused(client, "g44", batches.batch([], last_delta=0), 87)
        _refused(client, "g44-compact", good, 87)
        _refused(client, "g44", good, 21, acks=5)
        assert list_offset(client, "g44", -1)["Offset"] == 0
        assert produce(client, "g44", good)["ErrorCode"] == 0


def test_g45_window_of_an_idempotent_producer(server):
    create_topic(server.port, "g45")
    with Client(server.port) as client:
        def allocated():
            answer = client.call("InitProducerId", 1, TransactionalId=None, TransactionTimeoutMs=60000)
            return answer if answer["ErrorCode"] == 0 else None
        fresh = wait.until(allocated, "a producer id")
        steps = [(0, 5, 0, 0), (0, 6, 0, 1), (0, 5, 0, 0), (0, 8, 45, None), (0, 7, 0, 2), (0, 8, 0, 3),
                 (0, 9, 0, 4), (0, 10, 0, 5), (0, 11, 0, 6), (0, 6, 45, None), (0, 7, 0, 2),
                 (1, 3, 45, None), (1, 0, 0, 7), (0, 12, 47, None)]
        for number, (epoch, sequence, error, offset) in enumerate(steps):
            answer = produce(client, "g45", batches.batch(
                [b"a"], producer=(fresh["ProducerId"], epoch, sequence)))
            assert answer["ErrorCode"] == error, f"step {number}: {answer}"
            if offset is not None:
                assert answer["BaseOffset"] == offset, f"step {number}: {answer}"
