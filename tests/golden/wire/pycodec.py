"""A second codec of Kafka messages, written apart from the generated one, to judge it.

    pycodec.py SEED OTHERS MADE VERDICTS

reads the samples in OTHERS (made by the codec under test), decodes each, encodes it again and
compares values and bytes; VERDICTS gets a line for each that differs, and MADE gets samples of its
own making of the same messages and versions. The mirror protocol has no Java classes: here is its
judge. It interprets proto-json/ directly and shares no code with tools/codegen.

A message is a dict of Kafka's field names. Tags that the schema lacks are kept under "?".
Sample: name (2 bytes of length), version (2), bytes (4), JSON (4); lengths are big-endian.
"""

import base64
import json
import pathlib
import random
import struct
import sys

SCHEMAS = pathlib.Path(__file__).resolve().parents[3] / "proto-json"
FIXED = {"bool": "?", "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I",
         "int64": "q", "float64": "d"}
UNKNOWN = "?"
SAMPLES = 10


def in_range(text, version):
    """Is `version` in a range like "2", "1-3", "4+" or "none"?"""
    if text in (None, "none"):
        return False
    if text[-1] == "+":
        return version >= int(text[:-1])
    bounds = [int(part) for part in text.split("-")]
    return bounds[0] <= version <= bounds[-1]


class Cursor:
    """Bytes taken from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        """The next `count` bytes; ValueError at the end."""
        if count < 0 or self.at + count > len(self.data):
            raise ValueError(f"{count} bytes wanted at {self.at} of {len(self.data)}")
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, code):
        """One fixed-size number."""
        return struct.unpack(">" + code, self.take(struct.calcsize(code)))[0]

    def uvarint(self):
        """An unsigned varint."""
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value


def uvarint(value):
    """`value` as an unsigned varint."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


class Codec:
    """One message in one version."""

    def __init__(self, name, version):
        self.schema = json.loads((SCHEMAS / (name + ".json")).read_text(encoding="utf-8"))
        self.version = version
        self.flexible = in_range(self.schema["flexibleVersions"], version)
        self.structs = {common["name"]: common["fields"]
                        for common in self.schema.get("commonStructs", [])}

    # What a schema says.

    def fields_of(self, field):
        """The fields of the struct that `field`, an entry of a schema, holds."""
        return field.get("fields") or self.structs[field["type"].removeprefix("[]")]

    def present(self, fields, tagged):
        """The fields that this version has, with or without tags."""
        found = [f for f in fields if in_range(f["versions"], self.version)
                 and ("tag" in f) == tagged]
        return sorted(found, key=lambda f: f["tag"]) if tagged else found

    def nullable(self, field):
        """May the field be null in this version?"""
        return in_range(field.get("nullableVersions"), self.version)

    def default(self, field):
        """The value a field has when nobody sets it."""
        text = field.get("default")
        kind = field["type"]
        if text == "null":
            return None
        if kind.startswith("[]"):
            return []
        if kind == "string":
            return text or ""
        if kind in ("bytes", "records"):
            return b""
        if kind == "uuid":
            return bytes(16)
        if kind == "bool":
            return text == "true"
        if kind == "float64":
            return float(text or 0)
        if kind in FIXED:
            return int(text or "0", 0)
        return self.defaults(self.fields_of(field))

    def defaults(self, fields):
        """A struct nobody has touched."""
        every = self.present(fields, False) + self.present(fields, True)
        return {f["name"]: self.default(f) for f in every}

    # Bytes to values.

    def decode(self, cursor):
        """The message at the cursor."""
        return self.read_struct(cursor, self.schema["fields"])

    def read_struct(self, cursor, fields):
        """A struct, its tagged fields included."""
        out = self.defaults(fields)
        for field in self.present(fields, False):
            out[field["name"]] = self.read(cursor, field, field["type"])
        if self.flexible:
            known = {f["tag"]: f for f in self.present(fields, True)}
            for _ in range(cursor.uvarint()):
                tag = cursor.uvarint()
                part = Cursor(cursor.take(cursor.uvarint()))
                if tag in known:
                    field = known[tag]
                    out[field["name"]] = self.read(part, field, field["type"])
                    if part.at != len(part.data):
                        raise ValueError(f"tag {tag} is longer than its field")
                else:
                    out.setdefault(UNKNOWN, []).append((tag, part.data))
        return out

    def length(self, cursor, code):
        """A length, -1 for null, in the form of the version."""
        return cursor.uvarint() - 1 if self.flexible else cursor.number(code)

    def read(self, cursor, field, kind):
        """One value of `kind`."""
        if kind in FIXED:
            return cursor.number(FIXED[kind])
        if kind == "uuid":
            return cursor.take(16)
        if kind.startswith("[]"):
            count = self.length(cursor, "i")
            if count >= 0:
                return [self.read(cursor, field, kind[2:]) for _ in range(count)]
        elif kind in ("string", "bytes", "records"):
            size = self.length(cursor, "h" if kind == "string" else "i")
            if size >= 0:
                data = cursor.take(size)
                return data.decode("utf-8") if kind == "string" else data
        else:
            # A mark stands before a struct that is not an element of an array.
            if self.nullable(field) and not field["type"].startswith("[]"):
                absent = cursor.uvarint() == 0 if "tag" in field else cursor.number("b") < 0
                if absent:
                    return None
            return self.read_struct(cursor, self.fields_of(field))
        if not self.nullable(field):
            raise ValueError(f"{field['name']} is null")
        return None

    # Values to bytes.

    def encode(self, message):
        """The bytes of a message."""
        return self.write_struct(message, self.schema["fields"])

    def write_struct(self, value, fields):
        """A struct, its tagged fields included."""
        out = b"".join(self.write(value[f["name"]], f, f["type"])
                       for f in self.present(fields, False))
        if not self.flexible:
            return out
        tags = dict(value.get(UNKNOWN, []))
        for field in self.present(fields, True):
            if value[field["name"]] != self.default(field):
                tags[field["tag"]] = self.write(value[field["name"]], field, field["type"])
        out += uvarint(len(tags))
        for tag in sorted(tags):
            out += uvarint(tag) + uvarint(len(tags[tag])) + tags[tag]
        return out

    def prefix(self, count, code):
        """A length in the form of the version; -1 for null."""
        return uvarint(count + 1) if self.flexible else struct.pack(">" + code, count)

    def write(self, value, field, kind):
        """One value of `kind`."""
        if kind in FIXED:
            return struct.pack(">" + FIXED[kind], value)
        if kind == "uuid":
            return value
        if kind.startswith("[]"):
            if value is None:
                return self.prefix(-1, "i")
            return self.prefix(len(value), "i") + b"".join(
                self.write(v, field, kind[2:]) for v in value)
        if kind in ("string", "bytes", "records"):
            code = "h" if kind == "string" else "i"
            if value is None:
                return self.prefix(-1, code)
            data = value.encode("utf-8") if kind == "string" else value
            return self.prefix(len(data), code) + data
        mark = b""
        if self.nullable(field) and not field["type"].startswith("[]"):
            if value is None:
                return b"\0" if "tag" in field else b"\xff"
            mark = b"\1"
        return mark + self.write_struct(value, self.fields_of(field))

    # Values to JSON, as Kafka's converters show them.

    def show(self, value, fields):
        """A struct as a dict for json.dumps."""
        out = {}
        for field in self.present(fields, False) + self.present(fields, True):
            name, item = field["name"], value[field["name"]]
            if "tag" in field and item == self.default(field):
                continue
            name = name[0].lower() + name[1:]
            if field["type"] == "records" and item is not None:
                out[name + "SizeInBytes"] = len(item)
            else:
                out[name] = self.show_value(item, field, field["type"])
        return out

    def show_value(self, value, field, kind):
        """One value as json.dumps takes it."""
        if value is None or kind in FIXED or kind == "string":
            return value
        if kind == "uuid":
            return base64.urlsafe_b64encode(value).decode().rstrip("=")
        if kind == "bytes":
            return base64.b64encode(value).decode()
        if kind.startswith("[]"):
            return [self.show_value(v, field, kind[2:]) for v in value]
        return self.show(value, self.fields_of(field))


class Maker:
    """Random messages."""

    def __init__(self, rng, codec, long):
        self.rng, self.codec, self.long = rng, codec, long

    def fill(self, fields, depth=0):
        """A struct with random values."""
        out = self.codec.defaults(fields)
        for field in self.codec.present(fields, False) + self.codec.present(fields, True):
            if "tag" not in field or self.rng.random() < 0.7:
                out[field["name"]] = self.value(field, field["type"], depth)
        if self.codec.flexible and self.rng.random() < 0.3:
            out[UNKNOWN] = [(20000 + i * 7, self.rng.randbytes(i)) for i in range(3)]
        return out

    def count(self, depth):
        """A length for a string or an array."""
        if self.long and depth == 0:
            return self.rng.randrange(120, 140)
        return self.rng.randrange(4)

    def value(self, field, kind, depth):
        """One random value."""
        rng = self.rng
        if not kind.startswith("[]") or kind == field["type"]:
            if self.codec.nullable(field) and kind == field["type"] and rng.random() < 0.25:
                return None
        if kind == "bool":
            return rng.random() < 0.5
        if kind == "float64":
            return rng.randrange(-10**6, 10**6) / 8
        if kind in FIXED:
            size = struct.calcsize(FIXED[kind])
            return struct.unpack(">" + FIXED[kind], rng.randbytes(size))[0]
        if kind == "uuid":
            return rng.randbytes(16)
        if kind == "string":
            return "".join(rng.choice("abc\"\\\n\u00e9\u6f22\U0001f600")
                           for _ in range(self.count(depth + (rng.random() < 0.8))))
        if kind in ("bytes", "records"):
            return rng.randbytes(self.count(depth))
        if kind.startswith("[]"):
            return [self.value(field, kind[2:], depth + 1) for _ in range(self.count(depth))]
        return self.fill(self.codec.fields_of(field), depth + 1)


def read_samples(path):
    """(name, version, bytes, JSON text) of each sample in the file."""
    cursor = Cursor(pathlib.Path(path).read_bytes())
    while cursor.at < len(cursor.data):
        name = cursor.take(cursor.number("H")).decode()
        version = cursor.number("h")
        data = cursor.take(cursor.number("i"))
        yield name, version, data, cursor.take(cursor.number("i")).decode()


def verdict(name, version, data, text):
    """What is wrong with a sample, or nothing."""
    try:
        codec = Codec(name, version)
        cursor = Cursor(data)
        message = codec.decode(cursor)
        if cursor.at != len(data):
            return f"{len(data) - cursor.at} bytes left over"
        if codec.encode(message) != data:
            return "encodes to other bytes"
        ours = json.loads(json.dumps(codec.show(message, codec.schema["fields"])))
        return None if ours == json.loads(text) else f"values differ: {ours!r} and {text!r}"
    except (ValueError, KeyError, struct.error) as error:
        return f"{type(error).__name__}: {error}"


def main():
    """Judges and makes samples; see the top of the file."""
    seed, others, made, verdicts = sys.argv[1:]
    rng = random.Random(int(seed))
    lines, asked = [], {}
    for name, version, data, text in read_samples(others):
        asked.setdefault(name, set()).add(version)
        wrong = verdict(name, version, data, text)
        if wrong:
            lines.append(f"bad {name} {version} " + wrong.replace("\n", " "))
    with open(made, "wb") as out:
        for name, versions in asked.items():
            lines.append(f"range {name} {min(versions)} {max(versions)}")
            for version in sorted(versions):
                codec = Codec(name, version)
                for number in range(SAMPLES):
                    fields = codec.schema["fields"]
                    message = (codec.defaults(fields) if number == 0
                               else Maker(rng, codec, number == 1).fill(fields))
                    data = codec.encode(message)
                    text = json.dumps(codec.show(message, fields)).encode()
                    head = name.encode()
                    out.write(struct.pack(">H", len(head)) + head + struct.pack(">hi", version, len(data))
                              + data + struct.pack(">i", len(text)) + text)
    pathlib.Path(verdicts).write_text("\n".join(lines + ["done", ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
