"""Reads the segment files of a partition batch by batch, without any Kafka code."""

import glob
import os
import struct
from dataclasses import dataclass

_HEADER = 12
_MAGIC_AT = 16


@dataclass(frozen=True)
class Batch:
    """One batch as it lies in the file; `data` includes base offset and length."""

    base_offset: int
    last_offset: int
    data: bytes


def files(folder, suffix=".log"):
    """Paths of the segments in offset order."""
    return sorted(glob.glob(os.path.join(folder, "[0-9]" * 20 + suffix)))


def batches(folder):
    """All whole batches of a partition folder in order. A torn tail ends the list."""
    found = []
    for path in files(folder):
        with open(path, "rb") as file:
            data = file.read()
        place = 0
        while place + _HEADER <= len(data):
            base, length = struct.unpack_from(">qi", data, place)
            whole = data[place:place + _HEADER + length]
            if length <= 0 or len(whole) < _HEADER + length:
                break
            last = base
            if whole[_MAGIC_AT] == 2:
                last = base + struct.unpack_from(">i", whole, 23)[0]
            found.append(Batch(base, last, whole))
            place += len(whole)
    return found


def assert_equal(left, right, up_to=None):
    """Both folders hold the same batches, byte for byte (below offset `up_to` if given)."""
    ours = [b for b in batches(left) if up_to is None or b.base_offset < up_to]
    theirs = [b for b in batches(right) if up_to is None or b.base_offset < up_to]
    for number, (a, b) in enumerate(zip(ours, theirs)):
        assert a.base_offset == b.base_offset, f"batch {number}: offset {a.base_offset} or {b.base_offset}"
        assert a.data == b.data, f"batch {number} at offset {a.base_offset} differs"
    assert len(ours) == len(theirs), f"{len(ours)} batches in {left}, {len(theirs)} in {right}"
