"""A few Kafka requests by hand, for polling brokers and for sending them nonsense."""

import socket
import struct


def connect(port, timeout_s=5.0):
    """A socket to 127.0.0.1:port with a timeout on every call."""
    sock = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
    sock.settimeout(timeout_s)
    return sock


def read_exactly(sock, count):
    """`count` bytes; OSError when the peer closes before."""
    data = b""
    while len(data) < count:
        piece = sock.recv(count - len(data))
        if not piece:
            raise ConnectionError(f"closed after {len(data)} of {count} bytes")
        data += piece
    return data


def frame(key, version, body, correlation=1, client=b"harness"):
    """One request with a version 1 header."""
    head = struct.pack(">hhih", key, version, correlation, len(client)) + client
    return struct.pack(">i", len(head) + len(body)) + head + body


def read_frame(sock):
    """One response without its length: the correlation id, then the body."""
    return read_exactly(sock, struct.unpack(">i", read_exactly(sock, 4))[0])


def call(port, key, version, body, timeout_s=5.0):
    """Body of the answer to one request on a connection of its own (header version 0)."""
    with connect(port, timeout_s) as sock:
        sock.sendall(frame(key, version, body))
        return read_frame(sock)[4:]


def string(text):
    """Kafka's string with a 16 bit length."""
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def broker_count(port):
    """Number of brokers in Metadata version 1; 0 if the port does not answer."""
    try:
        return struct.unpack(">i", call(port, 3, 1, struct.pack(">i", 0))[:4])[0]
    except (OSError, struct.error):
        return 0


def list_offset(port, topic, partition, timestamp=-1):
    """Offset by ListOffsets version 1 (-1 latest, -2 earliest); OSError names the error code."""
    body = struct.pack(">ii", -1, 1) + string(topic) + struct.pack(">iiq", 1, partition, timestamp)
    answer = call(port, 2, 1, body)
    error, _, offset = struct.unpack(">hqq", answer[4 + 2 + len(topic.encode()) + 4 + 4:][:18])
    if error != 0:
        raise OSError(f"ListOffsets {topic}-{partition}: error {error}")
    return offset


def api_versions(port):
    """{api key: (lowest version, highest version)} by ApiVersions version 0."""
    answer = call(port, 18, 0, b"")
    error, count = struct.unpack(">hi", answer[:6])
    if error != 0:
        raise OSError(f"ApiVersions: error {error}")
    rows = [struct.unpack(">hhh", answer[6 + 6 * i:12 + 6 * i]) for i in range(count)]
    return {key: (low, high) for key, low, high in rows}
