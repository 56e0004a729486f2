"""Kafka message definitions as Python objects, checked for what the generator relies on.

Sources: the schema files in proto-json/; KIP-482 for tagged fields and flexible versions.
"""

import dataclasses
import json
import re

MAX_VERSION = 32767
SCALARS = {"bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8,
           "float64": 8, "uuid": 16}
VARIABLE = ("string", "bytes", "records")
KINDS = ("request", "response", "header", "metadata", "data", "coordinator-key",
         "coordinator-value")


class SchemaError(Exception):
    """A definition the generator does not understand; the text names message and field."""


@dataclasses.dataclass(frozen=True)
class Versions:
    """An inclusive range; empty if low > high."""

    low: int
    high: int

    @staticmethod
    def parse(text):
        """`3`, `3-5`, `3+` or `none`; None counts as none."""
        if text is None or text == "none":
            return Versions(0, -1)
        if text.endswith("+"):
            return Versions(int(text[:-1]), MAX_VERSION)
        low, _, high = text.partition("-")
        return Versions(int(low), int(high or low))

    def __bool__(self):
        return self.low <= self.high

    def __contains__(self, version):
        return self.low <= version <= self.high

    def intersect(self, other):
        """The versions in both."""
        return Versions(max(self.low, other.low), min(self.high, other.high))

    def each(self):
        """All versions of a range that has an end."""
        return range(self.low, self.high + 1)


@dataclasses.dataclass
class Field:
    """One field: Kafka's name, its type split in `is_array` and `element`, and its rules."""

    name: str
    is_array: bool
    element: str  # a scalar's or variable type's name, or a struct's
    versions: Versions
    nullable: Versions
    tag: int | None
    ignorable: bool
    entity: str | None
    default: str | None
    never_flexible: bool
    struct: "Struct | None" = None  # of the element, if it is a struct


@dataclasses.dataclass
class Struct:
    """A struct inside a message, or the message's own fields."""

    name: str
    fields: list[Field]

    def regular(self):
        """The fields that stand in order."""
        return [f for f in self.fields if f.tag is None]

    def tagged(self):
        """The fields with a tag, in order of their tags."""
        return sorted((f for f in self.fields if f.tag is not None), key=lambda f: f.tag)


@dataclasses.dataclass
class Message:
    """A whole definition. `structs`: those inside, each after the ones it uses."""

    name: str
    kind: str
    api_key: int | None
    versions: Versions
    flexible: Versions
    latest_unstable: bool
    listeners: list[str]
    root: Struct
    structs: list[Struct]


def _parse_field(entry, where):
    spelled = entry["type"]
    is_array = spelled.startswith("[]")
    element = spelled[2:] if is_array else spelled
    versions = Versions.parse(entry["versions"])
    tag = entry.get("tag")
    if tag is not None and Versions.parse(entry["taggedVersions"]) != versions:
        raise SchemaError(f"{where}.{entry['name']}: tagged in some of its versions only")
    return Field(
        name=entry["name"], is_array=is_array, element=element, versions=versions,
        nullable=Versions.parse(entry.get("nullableVersions")), tag=tag,
        ignorable=bool(entry.get("ignorable", False)), entity=entry.get("entityType"),
        default=entry.get("default"), never_flexible=entry.get("flexibleVersions") == "none")


class _Loader:
    def __init__(self, schema):
        self.message = schema["name"]
        self.known = {}
        self.order = []
        self.open = []  # names being resolved, to find recursion
        self.definitions = {}
        for common in schema.get("commonStructs", []):
            self.definitions[common["name"]] = common["fields"]
        self._collect(schema.get("fields", []))
        for common in schema.get("commonStructs", []):
            self._collect(common["fields"])

    def _collect(self, entries):
        for entry in entries:
            if "fields" not in entry:
                continue
            name = entry["type"].removeprefix("[]")
            if name in self.definitions:
                raise SchemaError(f"{self.message}: struct {name} is defined twice")
            self.definitions[name] = entry["fields"]
            self._collect(entry["fields"])

    def struct(self, name, entries):
        self.open.append(name)
        fields = []
        for entry in entries:
            field = _parse_field(entry, f"{self.message}.{name}")
            if field.element not in SCALARS and field.element not in VARIABLE:
                field.struct = self._named(field.element)
            fields.append(field)
        self.open.pop()
        return Struct(name, fields)

    def _named(self, name):
        if name in self.open:
            raise SchemaError(f"{self.message}: struct {name} contains itself")
        if name not in self.definitions:
            raise SchemaError(f"{self.message}: no struct {name}")
        if name not in self.known:
            self.known[name] = self.struct(name, self.definitions[name])
            self.order.append(self.known[name])
        return self.known[name]


def min_bytes_of_field(field, version, flexible):
    """The least a field takes on the wire in `version`, the count of its tags not included."""
    if version not in field.versions or field.tag is not None:
        return 0
    flexible = flexible and not field.never_flexible
    if field.is_array:
        return 1 if flexible else 4
    if field.element in SCALARS:
        return SCALARS[field.element]
    if field.element == "string":
        return 1 if flexible else 2
    if field.element in VARIABLE:
        return 1 if flexible else 4
    if version in field.nullable:
        return 1
    return min_bytes_of_struct(field.struct, version, flexible)


def min_bytes_of_struct(struct, version, flexible):
    """The least a struct takes on the wire in `version`."""
    total = sum(min_bytes_of_field(f, version, flexible) for f in struct.fields)
    return total + (1 if flexible else 0)


def min_element_bytes(message, field):
    """The least an element of the array `field` takes, over all versions that have it."""
    least = []
    for version in message.versions.intersect(field.versions).each():
        flexible = version in message.flexible
        if field.struct:
            least.append(min_bytes_of_struct(field.struct, version, flexible))
        else:
            one = dataclasses.replace(field, is_array=False, tag=None, nullable=Versions(0, -1))
            least.append(min_bytes_of_field(one, version, flexible))
    if least and min(least) == 0:
        raise SchemaError(f"{message.name}: elements of {field.name} may take no bytes")
    return min(least, default=1)


def _check(message):
    for struct in [message.root] + message.structs:
        seen = set()
        for field in struct.fields:
            where = f"{message.name}.{struct.name}.{field.name}"
            if field.name in seen:
                raise SchemaError(f"{where}: defined twice")
            seen.add(field.name)
            if field.tag is not None and not message.flexible:
                raise SchemaError(f"{where}: a tag in a message without flexible versions")
            if field.is_array:
                min_element_bytes(message, field)
        tags = [f.tag for f in struct.tagged()]
        if len(tags) != len(set(tags)):
            raise SchemaError(f"{message.name}.{struct.name}: a tag is used twice")


def load(path):
    """The message defined in the file `path`. Raises SchemaError."""
    schema = json.loads(path.read_text(encoding="utf-8"))
    if schema["type"] not in KINDS or not re.fullmatch(r"[A-Z]\w*", schema["name"]):
        raise SchemaError(f"{path}: type {schema['type']}, name {schema['name']}")
    loader = _Loader(schema)
    root = loader.struct(schema["name"], schema.get("fields", []))
    message = Message(
        name=schema["name"], kind=schema["type"], api_key=schema.get("apiKey"),
        versions=Versions.parse(schema["validVersions"]),
        flexible=Versions.parse(schema["flexibleVersions"]),
        latest_unstable=bool(schema.get("latestVersionUnstable", False)),
        listeners=schema.get("listeners", []), root=root, structs=loader.order)
    if message.flexible and message.flexible.high != MAX_VERSION:
        raise SchemaError(f"{path}: flexible versions must have no end")
    _check(message)
    return message


def load_all(folder):
    """All messages of a folder, by name."""
    return {m.name: m for m in (load(p) for p in sorted(folder.glob("*.json")))}
