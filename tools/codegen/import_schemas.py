"""Takes protocol facts over from the message definitions inside Kafka's jars.

  import_schemas.py --lib DIR --out proto-json

DIR holds kafka-clients, kafka-metadata, kafka-group-coordinator, kafka-transaction-coordinator and
kafka-storage jars of one version. Only facts are taken (names, types, versions, defaults, tags);
prose is left behind. This project's own additions to stock messages are put in here, so that an
import of a newer Kafka keeps them. Files of messages that Kafka does not have are not touched.
"""

import argparse
import json
import pathlib
import re
import sys
import zipfile

import schema_text

JARS = ("kafka-clients", "kafka-metadata", "kafka-group-coordinator",
        "kafka-transaction-coordinator", "kafka-storage")

# Share and streams groups, quorum elections, tiered storage: nothing here speaks them.
LEFT_OUT = re.compile(
    r"(.*Share.*|Streams.*|Vote(Request|Response)|(Begin|End)QuorumEpoch.*|UpdateRaftVoter.*"
    r"|Remote(Log|Partition).*)$")

KEPT_KEYS = set(schema_text.KEY_ORDER)

MIRROR_TAG = 12790
MIRROR_LEADER_EPOCH = {
    "name": "MirrorLeaderEpoch", "type": "int32", "versions": "12+", "tag": MIRROR_TAG,
    "taggedVersions": "12+", "ignorable": True, "default": "-1"}
MIRROR_INFO = {
    "name": "MirrorInfo", "type": "MirrorInfo", "versions": "5+", "nullableVersions": "5+",
    "tag": MIRROR_TAG, "taggedVersions": "5+", "ignorable": True, "default": "null", "fields": [
        {"name": "MirrorName", "type": "string", "versions": "5+", "nullableVersions": "5+",
         "default": "null"},
        {"name": "TopicId", "type": "uuid", "versions": "5+"}]}
# Message, then the name of the struct that gets the field.
ADDITIONS = {
    "FetchRequest": ("FetchPartition", MIRROR_LEADER_EPOCH),
    "FetchResponse": ("PartitionData", MIRROR_LEADER_EPOCH),
    "CreateTopicsRequest": ("CreatableTopic", MIRROR_INFO),
}


def without_comments(text):
    """Kafka writes // comments into its JSON; none of them is inside a string with a quote after."""
    return re.sub(r'^\s*//.*$|\s//[^"\n]*$', "", text, flags=re.MULTILINE)


def facts(entry):
    """`entry` without prose, and with the version range spelled out."""
    out = {key: value for key, value in entry.items() if key in KEPT_KEYS}
    if "name" in out and "taggedVersions" in out and "versions" not in out:
        out["versions"] = out["taggedVersions"]
    if out.get("latestVersionUnstable") is False:
        del out["latestVersionUnstable"]
    if "default" in out:
        value = out.pop("default")
        # A JSON null is no default for Kafka's generator; the word "null" is the null default.
        if value is not None:
            out["default"] = str(value).lower() if isinstance(value, bool) else str(value)
    for key in ("fields", "commonStructs"):
        if key in out:
            out[key] = [facts(child) for child in out[key]]
    return out


def add_ours(schema):
    """Puts this project's tagged field into `schema` if it has one."""
    if schema["name"] not in ADDITIONS:
        return
    struct_name, field = ADDITIONS[schema["name"]]
    found = []

    def walk(fields):
        for entry in fields:
            if entry["type"] in (struct_name, f"[]{struct_name}") and "fields" in entry:
                found.append(entry)
            walk(entry.get("fields", []))

    walk(schema["fields"])
    if len(found) != 1:
        raise ValueError(f"{schema['name']}: {len(found)} structs named {struct_name}")
    found[0]["fields"].append(field)


def main():
    """Writes one file a message into --out and lists what was left out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lib", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    options = parser.parse_args()
    skipped = []
    for prefix in JARS:
        jars = [p for p in options.lib.glob(f"{prefix}-*.jar")
                if re.fullmatch(rf"{prefix}-[0-9.]+\.jar", p.name)]
        if len(jars) != 1:
            print(f"{options.lib}: {len(jars)} jars named {prefix}-VERSION.jar", file=sys.stderr)
            return 1
        with zipfile.ZipFile(jars[0]) as jar:
            for name in sorted(n for n in jar.namelist() if n.endswith(".json")):
                schema = facts(json.loads(without_comments(jar.read(name).decode("utf-8"))))
                if schema["validVersions"] == "none" or LEFT_OUT.match(schema["name"]):
                    skipped.append(schema["name"])
                    continue
                add_ours(schema)
                path = options.out / f"{schema['name']}.json"
                path.write_text(schema_text.render(schema), encoding="utf-8")
    print("left out:", ", ".join(skipped))
    return 0


if __name__ == "__main__":
    sys.exit(main())
