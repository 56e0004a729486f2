"""One uniform text form for the files of proto-json/.

Object keys have a fixed order, two spaces indent a level, and an object without nested fields
stands on one line. Used by import_schemas.py; `--check` is for tests.
"""

import json
import pathlib
import sys

KEY_ORDER = (
    "apiKey", "type", "listeners", "name", "validVersions", "latestVersionUnstable",
    "flexibleVersions", "versions", "nullableVersions", "tag", "taggedVersions", "mapKey",
    "ignorable", "entityType", "default", "commonStructs", "fields",
)
# A field starts with what it is called and what it is; a message with its key.
FIELD_KEY_ORDER = ("name", "type") + tuple(
    key for key in KEY_ORDER if key not in ("name", "type"))


def _sorted_items(entry, is_message):
    order = KEY_ORDER if is_message else FIELD_KEY_ORDER
    unknown = set(entry) - set(order)
    if unknown:
        raise ValueError(f"unknown keys {sorted(unknown)} in {entry.get('name')}")
    return [(key, entry[key]) for key in order if key in entry]


def _object(entry, indent, is_message):
    pad = "  " * indent
    items = _sorted_items(entry, is_message)
    nested = [key for key, _ in items if key in ("fields", "commonStructs")]
    if not nested:
        return pad + "{" + ", ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in items) + "}"
    flat = [(k, v) for k, v in items if k not in nested]
    if is_message:
        lines = [f"{pad}  {json.dumps(k)}: {json.dumps(v)}" for k, v in flat]
        start, end = pad + "{\n", "\n" + pad + "}"
    else:
        lines = [", ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in flat)]
        start, end = pad + "{", "\n" + pad + "}"
    for key in nested:
        children = [_object(child, indent + 2 if is_message else indent + 1, False)
                    for child in entry[key]]
        head = f"{pad}  {json.dumps(key)}: [" if is_message else f"{json.dumps(key)}: ["
        tail = (f"\n{pad}  ]" if is_message else f"\n{pad}]") if children else "]"
        text = head + ("\n" + ",\n".join(children) if children else "") + tail
        lines.append(text)
    joined = (",\n" if is_message else ", ").join(lines)
    return start + joined + (end if is_message else "}")


def render(schema):
    """The text of one message definition."""
    return _object(schema, 0, True) + "\n"


def main():
    """Rewrites the named files, or with --check reports those not in the uniform form."""
    arguments = sys.argv[1:]
    check = "--check" in arguments
    wrong = 0
    for name in (a for a in arguments if a != "--check"):
        path = pathlib.Path(name)
        text = path.read_text(encoding="utf-8")
        wanted = render(json.loads(text))
        if text == wanted:
            continue
        wrong += 1
        if check:
            print(f"{name}: not in the uniform form; run tools/codegen/schema_text.py {name}")
        else:
            path.write_text(wanted, encoding="utf-8")
    return 1 if check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
