"""Record batches of format 2, built and taken apart by hand."""

import struct

_POLY = 0x82F63B78
_TABLE = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (_POLY if _byte & 1 else 0)
    _TABLE.append(_byte)
TIME = 1_700_000_000_000


def crc32c(data):
    """Castagnoli checksum."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def varint(value):
    """Zigzag, seven bits a byte."""
    value = value << 1 ^ value >> 63
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def _field(data):
    return varint(-1) if data is None else varint(len(data)) + data


def record(delta, value, key=None, headers=()):
    """One record; `delta` is both its offset and its time within the batch."""
    body = b"\0" + varint(delta) + varint(delta) + _field(key) + _field(value) + varint(len(headers))
    for name, content in headers:
        body += _field(name.encode()) + _field(content)
    return varint(len(body)) + body


def batch(values, base=0, producer=(-1, -1, -1), attributes=0, time=TIME, last_delta=None, keys=None,
          epoch=-1, count=None):
    """A batch of these values. producer is (id, epoch, first sequence)."""
    keys = keys or [None] * len(values)
    body = b"".join(record(i, v, k) for i, (v, k) in enumerate(zip(values, keys)))
    last = len(values) - 1 if last_delta is None else last_delta
    number = len(values) if count is None else count
    tail = struct.pack(">hiqqqhii", attributes, last, time, time + max(len(values) - 1, 0), *producer,
                       number) + body
    return struct.pack(">qiibI", base, len(tail) + 9, epoch, 2, crc32c(tail)) + tail


def split(data):
    """[(base offset, last offset, bytes)] of the whole batches in `data`."""
    found, place = [], 0
    while place + 61 <= len(data):
        base, length = struct.unpack_from(">qi", data, place)
        if place + 12 + length > len(data):
            break
        last = base + struct.unpack_from(">i", data, place + 23)[0]
        found.append((base, last, bytes(data[place:place + 12 + length])))
        place += 12 + length
    return found
