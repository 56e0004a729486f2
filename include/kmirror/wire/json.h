// JsonRenderer: a message as JSON, in the form of Kafka's own *JsonConverter classes.
// For tools that print records, and for tests. Needs the message's *.fields.h.
// Owner: one task, for the time of one rendering.
// Form: fields of the version in order of the field lists; tagged ones only if they differ from
// their default; bytes as base64; `records` as `<name>SizeInBytes`; unknown tagged fields left out.
// Sources: output of Kafka 4.4's generated JsonConverter classes.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "kmirror/wire/codec.h"
#include "kmirror/wire/message.h"

namespace kmirror::wire {

class JsonRenderer {
 public:
  explicit JsonRenderer(ApiVersion version) : version_(version.get()) {}

  [[nodiscard]] std::string take() { return std::move(out_); }

  template <class Struct>
  void structure(const Struct& value) {
    const bool outer_first = std::exchange(first_, true);
    out_ += '{';
    Fields<Struct>::visit(*this, value);
    out_ += '}';
    first_ = outer_first;
  }

  /// Called by Fields::visit.
  template <class T>
  void field(const FieldSpec& spec, const T& value, const T& standard) {
    if (!spec.has(version_) || (spec.tag != kNoTag && value == standard)) return;
    constexpr bool kIsRecords =
        std::is_same_v<T, ByteChain> || std::is_same_v<T, std::optional<ByteChain>>;
    name(spec, kIsRecords && !is_null(value));
    write(value);
  }

 private:
  template <class T>
  [[nodiscard]] static bool is_null(const T& value) {
    if constexpr (kIsOptional<T>) {
      return !value.has_value();
    } else {
      return false;
    }
  }

  template <class T>
  void write(const T& value) {
    if constexpr (kIsOptional<T>) {
      if (value) {
        write(*value);
      } else {
        out_ += "null";
      }
    } else if constexpr (kIsNumber<T>) {
      number(plain(value));
    } else if constexpr (kIsArray<T>) {
      out_ += '[';
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (i > 0) out_ += ',';
        write(value[i]);
      }
      out_ += ']';
    } else if constexpr (std::is_same_v<T, Uuid>) {
      string(value.text());
    } else if constexpr (std::is_same_v<T, std::string>) {
      string(value);
    } else if constexpr (std::is_same_v<T, Bytes>) {
      base64(value);
    } else if constexpr (std::is_same_v<T, ByteChain>) {
      number(static_cast<std::int64_t>(value.size()));
    } else {
      structure(value);
    }
  }

  template <class T>
  void number(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      out_ += value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, double>) {
      floating(value);
    } else {
      integer(static_cast<std::int64_t>(value));
    }
  }

  // Comma if needed, then "name": with the first letter in lower case.
  void name(const FieldSpec& spec, bool as_size);
  void integer(std::int64_t value);
  void floating(double value);
  void string(std::string_view text);
  void base64(const Bytes& bytes);

  const std::int16_t version_;
  bool first_ = true;
  std::string out_;
};

/// `message` in `version` as one line of JSON. The version must be one of the message's.
template <class Message>
[[nodiscard]] std::string to_json(const Message& message, ApiVersion version) {
  JsonRenderer renderer(version);
  renderer.structure(message);
  return renderer.take();
}

}  // namespace kmirror::wire
