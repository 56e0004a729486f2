"""The same record seen by three clients, brought into one form for comparison.

A record is (partition, offset, timestamp, key, value, headers); bytes as bytes, headers as a tuple of
(name, bytes or None).
"""

import base64

import confluent_kafka

from harness import kcat, wait

_CONSUMER = {"enable.auto.commit": False, "auto.offset.reset": "earliest", "group.id": "harness",
             "enable.partition.eof": True, "check.crcs": True}


def _bytes(text):
    return None if text is None else base64.b64decode(text)


def by_java(agent, bootstrap, topic, isolation="read_uncommitted"):
    """Every record of a topic as the stock Java consumer sees it."""
    rows = agent.call("consume", bootstrap=bootstrap, topic=topic, isolation=isolation)
    return sorted((r["p"], r["o"], r["t"], _bytes(r["k"]), _bytes(r["v"]),
                   tuple((name, _bytes(value)) for name, value in r["h"])) for r in rows)


def by_kcat(bootstrap, topic, partitions, isolation="read_uncommitted"):
    """The same through librdkafka's command line; keys and values must be text."""
    found = []
    for partition in range(partitions):
        for row in kcat.consume(bootstrap, topic, partition, isolation):
            flat = row.get("headers", [])
            headers = tuple((name, None if value is None else value.encode())
                            for name, value in zip(flat[::2], flat[1::2]))
            key, value = row["key"], row["payload"]
            found.append((partition, row["offset"], row["ts"], None if key is None else key.encode(),
                          None if value is None else value.encode(), headers))
    return sorted(found)


def by_python(bootstrap, topic, partitions, isolation="read_uncommitted", deadline_s=60):
    """The same through confluent-kafka."""
    consumer = confluent_kafka.Consumer({**_CONSUMER, "bootstrap.servers": bootstrap,
                                         "isolation.level": isolation})
    found, ended = [], set()
    consumer.assign([confluent_kafka.TopicPartition(topic, p, confluent_kafka.OFFSET_BEGINNING)
                     for p in range(partitions)])

    def step():
        message = consumer.poll(0.2)
        if message is None:
            return False
        if message.error():
            assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
            ended.add(message.partition())
        else:
            found.append((message.partition(), message.offset(), message.timestamp()[1], message.key(),
                          message.value(), tuple(message.headers() or ())))
        return len(ended) == partitions
    try:
        wait.until(step, f"the end of {topic}", deadline_s, every_s=0)
    finally:
        consumer.close()
    return sorted(found)


def produce_by_python(bootstrap, topic, values, partition=0, codec="none", **properties):
    """Sends values with confluent-kafka and waits for all acknowledgements."""
    errors = []
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "compression.type": codec,
                                         **properties})
    for value in values:
        producer.produce(topic, value, key=b"python", partition=partition,
                         on_delivery=lambda error, _: errors.append(error) if error else None)
    assert producer.flush(60) == 0, "not everything was acknowledged"
    assert not errors, errors[:3]


def same(left, right):
    """AssertionError with the first difference of two lists of records."""
    for ours, theirs in zip(left, right):
        assert ours == theirs
    assert len(left) == len(right)
