"""A second codec for Kafka messages: Python, read from proto-json at run time.

It shares nothing with the C++ generator, so an error in one of them shows. Values are dicts with the
schemas' field names; a field that is left out has the schema's default.
"""

import functools
import json
import os
import re
import struct
import uuid

from harness import paths

_FIXED = {"bool": ">?", "int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "uint32": ">I",
          "int64": ">q", "float64": ">d"}
_FOREVER = 1 << 15


def _range(text):
    """(first, last) version of `3+`, `1-4`, `2` or `none`."""
    if text is None or text == "none":
        return (1, 0)
    low, _, high = text.partition("-")
    if text.endswith("+"):
        return (int(text[:-1]), _FOREVER)
    return (int(low), int(high or low))


def _within(text, version):
    low, high = _range(text)
    return low <= version <= high


@functools.lru_cache(maxsize=None)
def schema(name):
    """One message definition, for example `FetchRequest`."""
    path = os.path.join(paths.ROOT, "proto-json", name + ".json")
    with open(path, encoding="utf-8") as file:
        return json.loads(re.sub(r"^\s*//.*$", "", file.read(), flags=re.MULTILINE))


class Writer:
    """Bytes of one message version."""

    def __init__(self, message, version):
        self.out = bytearray()
        self._version = version
        self._flexible = _within(message.get("flexibleVersions"), version)
        self._structs = {s["name"]: s["fields"] for s in message.get("commonStructs", ())}

    def varint(self, value):
        """Unsigned, seven bits a byte."""
        while value >= 0x80:
            self.out.append(value & 0x7F | 0x80)
            value >>= 7
        self.out.append(value)

    def struct(self, fields, values):
        """All fields that the version has, then the tagged ones."""
        unknown = set(values) - {field["name"] for field in fields}
        if unknown:
            raise KeyError(f"no field {sorted(unknown)}; there are {[f['name'] for f in fields]}")
        tagged = []
        for field in fields:
            value = values.get(field["name"], default(field))
            if _within(field.get("taggedVersions"), self._version):
                if value != default(field):
                    tagged.append((field["tag"], field, value))
            elif _within(field["versions"], self._version):
                self._value(field["type"], field, value)
        if self._flexible:
            self._tags(sorted(tagged, key=lambda item: item[0]))

    def _tags(self, tagged):
        self.varint(len(tagged))
        for tag, field, value in tagged:
            kept, self.out = self.out, bytearray()
            self._value(field["type"], field, value)
            body, self.out = self.out, kept
            self.varint(tag)
            self.varint(len(body))
            self.out += body

    def _length(self, value, fmt, nullable):
        if self._flexible:
            self.varint(0 if value is None else len(value) + 1)
        else:
            self.out += struct.pack(fmt, -1 if value is None else len(value))
        if value is None and not nullable:
            raise ValueError("null in a field that cannot be null")

    def _value(self, kind, field, value):
        nullable = _within(field.get("nullableVersions"), self._version)
        if kind in _FIXED:
            self.out += struct.pack(_FIXED[kind], value)
        elif kind == "uuid":
            self.out += value.bytes
        elif kind in ("string", "bytes", "records"):
            data = value.encode() if isinstance(value, str) else value
            self._length(data, ">h" if kind == "string" else ">i", nullable)
            self.out += data or b""
        elif kind.startswith("[]"):
            self._length(value, ">i", nullable)
            for item in value or ():
                self._value(kind[2:], {**field, "nullableVersions": None}, item)
        else:
            if nullable:
                self.out += struct.pack(">b", -1 if value is None else 1)
            if value is not None:
                self.struct(field.get("fields") or self._structs[kind], value)


class Reader:
    """Values of one message version; ValueError for anything that does not fit."""

    def __init__(self, message, version, data):
        self.data = memoryview(data)
        self._version = version
        self._flexible = _within(message.get("flexibleVersions"), version)
        self._structs = {s["name"]: s["fields"] for s in message.get("commonStructs", ())}

    def take(self, count):
        """The next bytes."""
        if count > len(self.data):
            raise ValueError(f"{count} bytes wanted, {len(self.data)} left")
        piece, self.data = self.data[:count], self.data[count:]
        return bytes(piece)

    def varint(self):
        """Unsigned, seven bits a byte."""
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def struct(self, fields):
        """All fields; those that the version does not have get their defaults."""
        values = {field["name"]: default(field) for field in fields}
        for field in fields:
            if _within(field["versions"], self._version) and \
                    not _within(field.get("taggedVersions"), self._version):
                values[field["name"]] = self._value(field["type"], field)
        if self._flexible:
            self._tags(fields, values)
        return values

    def _tags(self, fields, values):
        known = {f["tag"]: f for f in fields if _within(f.get("taggedVersions"), self._version)}
        for _ in range(self.varint()):
            tag = self.varint()
            body = self.take(self.varint())
            if tag not in known:
                continue
            kept, self.data = self.data, memoryview(body)
            values[known[tag]["name"]] = self._value(known[tag]["type"], known[tag])
            self.data = kept

    def _length(self, fmt):
        if self._flexible:
            return self.varint() - 1
        return struct.unpack(fmt, self.take(struct.calcsize(fmt)))[0]

    def _value(self, kind, field):
        if kind in _FIXED:
            return struct.unpack(_FIXED[kind], self.take(struct.calcsize(_FIXED[kind])))[0]
        if kind == "uuid":
            return uuid.UUID(bytes=self.take(16))
        if kind in ("string", "bytes", "records"):
            length = self._length(">h" if kind == "string" else ">i")
            data = None if length < 0 else self.take(length)
            return data.decode() if kind == "string" and data is not None else data
        if kind.startswith("[]"):
            count = self._length(">i")
            item = {**field, "nullableVersions": None}
            return None if count < 0 else [self._value(kind[2:], item) for _ in range(count)]
        if _within(field.get("nullableVersions"), self._version) and self.take(1) == b"\xff":
            return None
        return self.struct(field.get("fields") or self._structs[kind])


def default(field):
    """What a field holds when nothing is said."""
    kind, text = field["type"], field.get("default")
    if text == "null":
        return None
    if kind.startswith("[]"):
        return []
    if kind == "string":
        return text or ""
    if kind in ("bytes", "records"):
        return b""
    if kind == "uuid":
        return uuid.UUID(int=0)
    if kind == "bool":
        return str(text).lower() == "true"
    if kind == "float64":
        return float(text or 0)
    if kind in _FIXED:
        return int(str(text), 0) if text not in (None, "") else 0
    return {f["name"]: default(f) for f in field.get("fields", ())}


def encode(name, version, values):
    """Body of a message."""
    message = schema(name)
    writer = Writer(message, version)
    writer.struct(message["fields"], values)
    return bytes(writer.out)


def decode(name, version, data):
    """Values of a body; ValueError if bytes are missing or left over."""
    message = schema(name)
    reader = Reader(message, version, data)
    values = reader.struct(message["fields"])
    if reader.data:
        raise ValueError(f"{len(reader.data)} bytes left over in {name} v{version}")
    return values


def is_flexible(name, version):
    """Whether this version uses compact forms and tags."""
    return _within(schema(name).get("flexibleVersions"), version)
