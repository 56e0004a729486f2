"""A connection that speaks single requests in a chosen version, through the second codec."""

import struct

from harness import codec, wait, wire


class Client:
    """One connection to 127.0.0.1:port. Answers are read in the order of the requests."""

    def __init__(self, port, timeout_s=15.0, name="case"):
        self._sock = wire.connect(port, timeout_s)
        self._name = name.encode()
        self._next = 1
        self._waiting = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._sock.close()

    def send_raw(self, data):
        """Bytes as they are; nothing is expected back unless the caller reads it."""
        self._sock.sendall(data)

    def read_raw(self):
        """The next response without its length."""
        return wire.read_frame(self._sock)

    def closed(self):
        """True when the peer has closed the connection; OSError if it stays silent."""
        try:
            return self._sock.recv(1) == b""
        except ConnectionError:
            return True

    def frame(self, api, version, values, correlation):
        """The whole request with its length."""
        head = struct.pack(">hhih", codec.api_key(api), version, correlation, len(self._name)) + self._name
        if codec.is_flexible(api + "Request", version):
            head += b"\0"
        body = head + codec.encode(api + "Request", version, values)
        return struct.pack(">i", len(body)) + body

    def send(self, api, version, expect=True, **values):
        """Sends a request; its answer is read by receive() if one is expected."""
        self._sock.sendall(self.frame(api, version, values, self._next))
        if expect:
            self._waiting.append((self._next, api, version))
        self._next += 1

    def receive(self):
        """The next answer, decoded. AssertionError if it answers another request."""
        correlation, api, version = self._waiting.pop(0)
        data = self.read_raw()
        assert struct.unpack(">i", data[:4])[0] == correlation, "answer to another request"
        body = data[4:]
        if api != "ApiVersions" and codec.is_flexible(api + "Response", version):
            assert body[0] == 0, "tags in the response header"
            body = body[1:]
        return codec.decode(api + "Response", version, body)

    def call(self, api, version, **values):
        """One request and its answer."""
        self.send(api, version, **values)
        return self.receive()


def create_topic(port, name, partitions=1, **configs):
    """Creates a topic; AssertionError names the error."""
    with Client(port) as client:
        answer = client.call("CreateTopics", 5, timeoutMs=20000, Topics=[{
            "Name": name, "NumPartitions": partitions, "ReplicationFactor": 1,
            "Configs": [{"Name": k.replace("_", "."), "Value": str(v)} for k, v in configs.items()]}])
        error = answer["Topics"][0]
        assert error["ErrorCode"] == 0, f"creating {name}: {error['ErrorCode']} {error['ErrorMessage']}"
        for partition in range(partitions):
            wait.until(lambda p=partition: list_offset(client, name, -1, p)["ErrorCode"] == 0,
                       f"{name}-{partition} has a leader")


def produce(client, topic, records, partition=0, acks=-1, version=8, transaction=None):
    """Sends one batch (bytes); the partition's answer."""
    answer = client.call("Produce", version, TransactionalId=transaction, Acks=acks, TimeoutMs=20000,
                         TopicData=[{"Name": topic, "PartitionData": [
                             {"Index": partition, "Records": records}]}])
    return answer["Responses"][0]["PartitionResponses"][0]


def fetch(client, topic, offset, partition=0, version=11, max_bytes=1 << 20, partition_bytes=1 << 20,
          wait_ms=0, min_bytes=0, isolation=0, epoch=-1, last_epoch=-1):
    """One Fetch of one partition without a session; the partition's answer."""
    answer = client.call("Fetch", version, **fetch_body(
        [(topic, partition, offset)], max_bytes, partition_bytes, wait_ms, min_bytes, isolation, epoch,
        last_epoch))
    assert answer["ErrorCode"] == 0, f"Fetch: {answer['ErrorCode']}"
    return answer["Responses"][0]["Partitions"][0]


def fetch_body(wanted, max_bytes=1 << 20, partition_bytes=1 << 20, wait_ms=0, min_bytes=0, isolation=0,
               epoch=-1, last_epoch=-1, session=(0, -1), forget=()):
    """Fields of a Fetch by names: wanted is a list of (topic, partition, offset)."""
    return {"MaxWaitMs": wait_ms, "MinBytes": min_bytes, "MaxBytes": max_bytes, "IsolationLevel": isolation,
            "SessionId": session[0], "SessionEpoch": session[1],
            "Topics": [{"Topic": topic, "Partitions": [
                {"Partition": partition, "CurrentLeaderEpoch": epoch, "FetchOffset": offset,
                 "LastFetchedEpoch": last_epoch, "PartitionMaxBytes": partition_bytes}]}
                for topic, partition, offset in wanted],
            "ForgottenTopicsData": [{"Topic": topic, "Partitions": [p]} for topic, p in forget]}


def list_offset(client, topic, timestamp, partition=0, version=5, isolation=0, epoch=-1):
    """One ListOffsets of one partition; the partition's answer."""
    answer = client.call("ListOffsets", version, IsolationLevel=isolation, Topics=[{
        "Name": topic, "Partitions": [
            {"PartitionIndex": partition, "CurrentLeaderEpoch": epoch, "Timestamp": timestamp}]}])
    return answer["Topics"][0]["Partitions"][0]
