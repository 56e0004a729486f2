"""From Kafka's names and types to those of C++: the one table of naming rules.

A rule gives a field a strong type by its wire type and its name. The first that matches holds.
"""

import re

KEYWORDS = {"and", "default", "delete", "enum", "export", "namespace", "new", "operator", "or",
            "register", "template", "this", "union", "using", "explicit", "private", "public"}

PLAIN = {"bool": "bool", "int8": "std::int8_t", "int16": "std::int16_t",
         "uint16": "std::uint16_t", "int32": "std::int32_t", "uint32": "std::uint32_t",
         "int64": "std::int64_t", "float64": "double", "uuid": "Uuid", "string": "std::string",
         "bytes": "Bytes", "records": "ByteChain"}

# Wire type, entity type of the schema (None: any), pattern of Struct.Field, C++ type.
# Counters that are called epochs but do not count leaders (session, member, group, assignment,
# broker, state, topology) match nothing here and stay plain integers.
STRONG_RULES = (
    ("int16", None, r"\.\w*ErrorCode", "ErrorCode"),
    ("int16", None, r"\.\w*ProducerEpoch", "ProducerEpoch"),
    ("int64", "producerId", r"", "ProducerId"),
    ("int64", None, r"\.\w*ProducerId", "ProducerId"),
    ("int64", None, r"\.\w*[oO]ffsets?$", "Offset"),
    ("int64", None, r"\.(High|Low)Watermark", "Offset"),
    ("int32", "brokerId", r"", "NodeId"),
    ("int32", None, r"\.(Leader|Node|Replica|Broker|Controller|Voter|Voted)Id$", "NodeId"),
    ("int32", None, r"\.(Isr|Replicas|\w+Replicas)$", "NodeId"),
    ("int32", None, r"\.\w*[lL]eaderEpoch$", "LeaderEpoch"),
    ("int32", None, r"\.(LastFetched|LastMirror|LastOffset)Epoch$", "LeaderEpoch"),
    ("int32", None, r"(EpochEndOffset|SnapshotId)\.Epoch$", "LeaderEpoch"),
)


def snake_case(name):
    """HighWatermark -> high_watermark, V3AndBelowProducerId -> v3_and_below_producer_id."""
    text = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    text = re.sub(r"([A-Z])([A-Z][a-z])", r"\1_\2", text).lower()
    return text + "_" if text in KEYWORDS else text


def element_type(struct, field):
    """The C++ type of one element of `field`, or of the field itself if it is no array."""
    if field.struct:
        return field.struct.name
    name = f"{struct.name}.{field.name}"
    for wire, entity, pattern, strong in STRONG_RULES:
        if wire == field.element and (entity is None or entity == field.entity) and (
                re.search(pattern, name)):
            return strong
    return PLAIN[field.element]


def cpp_type(struct, field):
    """The C++ type of the member."""
    inner = element_type(struct, field)
    if field.is_array:
        inner = f"std::vector<{inner}>"
    return f"std::optional<{inner}>" if field.nullable else inner


def initializer(struct, field):
    """The text after the member's name that gives it Kafka's default; empty if none is needed."""
    default = field.default
    if field.nullable and default == "null":
        return ""
    if field.is_array or field.struct or field.element in ("string", "bytes", "records"):
        if default not in (None, ""):
            raise ValueError(f"{struct.name}.{field.name}: default {default!r}")
        return "{std::in_place}" if field.nullable else ""
    kind = element_type(struct, field)
    if field.element == "uuid":
        return ""
    if field.element == "bool":
        return " = true" if default == "true" else " = false"
    if field.element == "float64":
        return f" = {float(default or 0)}"
    value = int(default or "0", 0)
    literal = {-2147483648: "INT32_MIN", -2**63: "INT64_MIN"}.get(value, str(value))
    if kind == "ErrorCode":
        return " = ErrorCode::NONE" if value == 0 else f" = static_cast<ErrorCode>({literal})"
    if kind == PLAIN[field.element]:
        return f" = {literal}"
    return "" if value == 0 else f" = {kind}{{{literal}}}"
