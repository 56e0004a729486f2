"""C++ text of one message: the header with the structs, the field lists, the .cc file."""

import cpp_types
import schema_model

NO_VERSION = 32767


def _file_head(message, what):
    return f"// {what} of {message.name}. Generated from proto-json/{message.name}.json.\n"


def _version_type(message):
    """ApiVersion, spelled out where a struct of the message has that name too."""
    hidden = any(struct.name == "ApiVersion" for struct in message.structs)
    return "kmirror::ApiVersion" if hidden else "ApiVersion"


def _member(struct, field):
    kind = cpp_types.cpp_type(struct, field)
    return f"{kind} {cpp_types.snake_case(field.name)}{cpp_types.initializer(struct, field)};"


def _struct_body(struct, pad, flexible):
    lines = [f"{pad}{struct.name}();"]
    lines += [pad + _member(struct, field) for field in struct.fields]
    if flexible:
        lines.append(f"{pad}std::vector<UnknownTaggedField> unknown_tagged_fields;")
    lines.append(f"{pad}friend bool operator==(const {struct.name}&, const {struct.name}&) = default;")
    return lines


def header(message):
    """The message's header: constants, nested structs, members, decode and encode."""
    name = message.name
    version = _version_type(message)
    flexible = bool(message.flexible)
    flexible_from = message.flexible.low if flexible else NO_VERSION
    lines = [_file_head(message, "Structs") + "#pragma once", "",
             '#include "kmirror/wire/message.h"', "", "namespace kmirror::wire {", "",
             f"struct {name} {{"]
    if message.api_key is not None:
        lines.append(f"  static constexpr ApiKey kApiKey{{{message.api_key}}};")
    lines += [f'  static constexpr std::string_view kName = "{name}";',
              f"  static constexpr {version} kMinVersion{{{message.versions.low}}};",
              f"  static constexpr {version} kMaxVersion{{{message.versions.high}}};",
              f"  static constexpr {version} kFlexibleFrom{{{flexible_from}}};", ""]
    for struct in message.structs:
        lines.append(f"  struct {struct.name} {{")
        lines += _struct_body(struct, "    ", flexible)
        lines += ["  };", ""]
    lines += _struct_body(message.root, "  ", flexible)
    lines += ["",
              "  /// See decode_message() and encode_message() for errors. A decoded `records` field",
              "  /// shares the frame's memory.",
              f"  [[nodiscard]] static Result<{name}> decode(Reader& reader, {version} api_version);",
              f"  [[nodiscard]] Result<void> encode(Writer& writer, {version} api_version) const;",
              "  /// Bytes that encode() would write; `records_bytes`: how many of them are `records`.",
              f"  [[nodiscard]] Result<std::size_t> encoded_size({version} api_version,",
              "                                                 std::size_t* records_bytes = nullptr) const;",
              "};", "", "}  // namespace kmirror::wire", ""]
    return "\n".join(lines)


def _versions(prefix, versions):
    text = [f".{prefix}from = {versions.low}"]
    if versions.high != schema_model.MAX_VERSION:
        text.append(f".{prefix}to = {versions.high}")
    return text


def _spec(message, struct, field):
    where = message.name if struct is message.root else f"{message.name}.{struct.name}"
    parts = [f'.path = "{where}.{field.name}"'] + _versions("", field.versions)
    if field.nullable:
        parts += _versions("null_", field.nullable)
    if field.tag is not None:
        parts.append(f".tag = {field.tag}")
    if field.is_array:
        parts.append(f".min_element_bytes = {schema_model.min_element_bytes(message, field)}")
    if field.ignorable:
        parts.append(".ignorable = true")
    if field.never_flexible:
        parts.append(".never_flexible = true")
    return ", ".join(parts)


def _full_name(message, struct):
    return message.name if struct is message.root else f"{message.name}::{struct.name}"


def fields_header(message):
    """The lists of fields that every codec walks: regular ones in order, then tagged ones by tag."""
    lines = [_file_head(message, "Field lists") + "#pragma once", "",
             '#include "kmirror/wire/codec.h"',
             f'#include "kmirror/wire/{cpp_types.snake_case(message.name)}.h"', "",
             "namespace kmirror::wire {", ""]
    for struct in message.structs + [message.root]:
        full = _full_name(message, struct)
        fields = struct.regular() + struct.tagged()
        lines += ["template <>", f"struct Fields<{full}> {{",
                  f'  static constexpr const char* kStructPath = "{full.replace("::", ".")}";']
        for field in fields:
            lines.append(f"  static constexpr FieldSpec k{field.name[0].upper()}{field.name[1:]}"
                         f"{{{_spec(message, struct, field)}}};")
        unused = "" if fields else "[[maybe_unused]] "
        lines += ["  template <class Codec, class Struct>",
                  f"  static void visit({unused}Codec& codec, {unused}Struct& value) {{"]
        if fields:
            lines.append(f"    const auto& standard = default_of<{full}>();")
        for field in fields:
            member = cpp_types.snake_case(field.name)
            lines.append(f"    codec.field(k{field.name[0].upper()}{field.name[1:]}, "
                         f"value.{member}, standard.{member});")
        lines += ["  }", "};", ""]
    lines += ["}  // namespace kmirror::wire", ""]
    return "\n".join(lines)


def source(message):
    """The .cc file: constructors and the three functions of the message."""
    snake = cpp_types.snake_case(message.name)
    lines = [_file_head(message, "Codec") + f'#include "kmirror/wire/{snake}.h"', "",
             '#include "kmirror/wire/decoder.h"', '#include "kmirror/wire/encoder.h"',
             f'#include "kmirror/wire/{snake}.fields.h"', "", "namespace kmirror::wire {", ""]
    for struct in message.structs + [message.root]:
        lines.append(f"{_full_name(message, struct)}::{struct.name}() = default;")
    name = message.name
    version = _version_type(message)
    lines += ["", f"Result<{name}> {name}::decode(Reader& reader, {version} api_version) {{",
              f"  return decode_message<{name}>(reader, api_version);", "}", "",
              f"Result<void> {name}::encode(Writer& writer, {version} api_version) const {{",
              "  return encode_message(*this, &writer, api_version);", "}", "",
              f"Result<std::size_t> {name}::encoded_size({version} api_version,",
              "                                      std::size_t* records_bytes) const {",
              "  std::size_t byte_count = 0;",
              "  KM_TRY_VOID(encode_message(*this, nullptr, api_version, &byte_count, records_bytes));",
              "  return byte_count;", "}", "", "}  // namespace kmirror::wire", ""]
    return "\n".join(lines)
