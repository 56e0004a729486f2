"""Generates the C++ of kmirror/wire from Kafka message definitions.

  kafkagen.py --schemas proto-json --out build/gen/kmirror/wire

Per message NAME.json: name.h (structs), name.fields.h (field lists for codecs), name.cc. Besides:
api_table.inc (one line an API) and messages_N.inc (all messages in a few parts, for tests). A file
is rewritten only if its text changed; files of messages that are gone are deleted.
"""

import argparse
import pathlib
import sys

import cpp_types
import emit_message
import schema_model

PARTS = 8  # of the list of all messages; tests/golden/wire/CMakeLists.txt has the same number


def api_table(messages):
    """KM_API(name, key, min, max, flexible_from, latest_unstable, broker, controller) lines."""
    lines = ["// All APIs, by key. Generated from proto-json/.\n"
             "// KM_API(name, key, min, max, flexible_from, latest_unstable, broker, controller)"]
    requests = [m for m in messages.values() if m.kind == "request"]
    for request in sorted(requests, key=lambda m: m.api_key):
        name = request.name.removesuffix("Request")
        response = messages.get(name + "Response")
        if response is None or (response.api_key, response.versions, response.flexible) != (
                request.api_key, request.versions, request.flexible):
            raise schema_model.SchemaError(f"{name}: request and response do not match")
        flexible = request.flexible.low if request.flexible else emit_message.NO_VERSION
        words = ["true" if flag else "false" for flag in (
            request.latest_unstable, "broker" in request.listeners,
            "controller" in request.listeners)]
        lines.append(f"KM_API({name}, {request.api_key}, {request.versions.low}, "
                     f"{request.versions.high}, {flexible}, {', '.join(words)})")
    keys = [m.api_key for m in requests]
    if len(keys) != len(set(keys)):
        raise schema_model.SchemaError("an api key is used twice")
    return "\n".join(lines) + "\n"


def all_messages(messages):
    """File name to text: lists of all messages, each with the includes it needs.

    One list with everything would take a minute to compile where all codecs are instantiated.
    """
    files = {}
    for part in range(PARTS):
        names = list(messages)[part::PARTS]
        lines = ["// Some of the messages. Generated from proto-json/.",
                 "// With KM_MESSAGE(name) defined: their names; else: their field lists.",
                 "#ifndef KM_MESSAGE"]
        lines += [f'#include "kmirror/wire/{cpp_types.snake_case(n)}.fields.h"' for n in names]
        lines += ["#else"] + [f"KM_MESSAGE({name})" for name in names] + ["#endif"]
        files[f"messages_{part}.inc"] = "\n".join(lines) + "\n"
    return files


def generate(messages):
    """File name to text, for everything."""
    files = {}
    for message in messages.values():
        snake = cpp_types.snake_case(message.name)
        files[f"{snake}.h"] = emit_message.header(message)
        files[f"{snake}.fields.h"] = emit_message.fields_header(message)
        files[f"{snake}.cc"] = emit_message.source(message)
    files["api_table.inc"] = api_table(messages)
    files.update(all_messages(messages))
    return files


def main():
    """Exit code 0, or 1 with one line on what is wrong in a schema."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schemas", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    options = parser.parse_args()
    try:
        files = generate(schema_model.load_all(options.schemas))
    except (schema_model.SchemaError, ValueError, KeyError) as error:
        print(f"kafkagen: {error!r}", file=sys.stderr)
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    for path in options.out.iterdir():
        if path.name not in files:
            path.unlink()
    for name, text in files.items():
        path = options.out / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
