"""Kafka messages as dicts of the schemas' field names, through the codec that judges the generated one.

A field that is left out of a request has the schema's default; UUIDs are 16 bytes.
"""

import functools
import os
import sys

from harness import paths

sys.path.insert(0, os.path.join(paths.ROOT, "tests", "golden", "wire"))

from pycodec import Codec, Cursor, in_range  # noqa: E402


@functools.lru_cache(maxsize=None)
def codec(name, version):
    """The codec of one message in one version, for example `FetchRequest`, 12."""
    return Codec(name, version)


def api_key(api):
    """The number of an API."""
    return codec(api + "Request", 0).schema["apiKey"]


def is_flexible(name, version):
    """Whether this version uses compact forms and tags."""
    return in_range(codec(name, version).schema["flexibleVersions"], version)


def _complete(made_by, fields, values):
    """The values with defaults for what is left out; KeyError for a field that is not there."""
    known = {field["name"]: field for field in fields}
    unknown = set(values) - set(known)
    if unknown:
        raise KeyError(f"no field {sorted(unknown)}; there are {sorted(known)}")
    whole = made_by.defaults(fields)
    for name, value in values.items():
        kind = known[name]["type"]
        if isinstance(value, dict):
            value = _complete(made_by, made_by.fields_of(known[name]), value)
        elif kind.startswith("[]") and value and isinstance(value[0], dict):
            value = [_complete(made_by, made_by.fields_of(known[name]), item) for item in value]
        whole[name] = value
    return whole


def encode(name, version, values):
    """Body of a message."""
    made_by = codec(name, version)
    return made_by.encode(_complete(made_by, made_by.schema["fields"], values))


def decode(name, version, data):
    """Values of a body; ValueError if bytes are missing or left over."""
    cursor = Cursor(data)
    values = codec(name, version).decode(cursor)
    if cursor.at != len(data):
        raise ValueError(f"{len(data) - cursor.at} bytes left over in {name} v{version}")
    return values
