// Encoder: writes message structs in any version, or counts how long they would be.
// Owner: one task, for the time of one encode. Invariant: after the first error nothing is written
// any more (what was written before it stays in the Writer). For generated code.
// Sources: Kafka protocol guide; KIP-482.
#pragma once

#include <utility>

#include "kmirror/wire/codec.h"
#include "kmirror/wire/decoder.h"
#include "kmirror/wire/message.h"

namespace kmirror::wire {

class Encoder {
 public:
  /// Without a writer it only counts.
  Encoder(Writer* writer, ApiVersion version, bool flexible)
      : writer_(writer), version_(version.get()), flexible_(flexible) {}

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] Error take_error() { return std::move(error_); }
  /// Bytes written or counted.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Those of them that are `records`, which a Writer takes without copying.
  [[nodiscard]] std::size_t records_size() const { return records_size_; }

  /// Writes the fields of `value` and, in a flexible version, its tagged ones.
  template <class Struct>
  void structure(const Struct& value) {
    const Tags outer = std::exchange(tags_, Tags{});
    Fields<Struct>::visit(*this, value);
    if constexpr (requires { value.unknown_tagged_fields; }) {
      begin_tags(Fields<Struct>::kStructPath, value.unknown_tagged_fields);
      if (tags_.writing && !failed_) {
        Fields<Struct>::visit(*this, value);
        unknown_tags_below(kAboveAllTags);
      }
    }
    tags_ = outer;
  }

  /// Called by Fields::visit, once for the regular fields and once for the tagged ones.
  template <class T>
  void field(const FieldSpec& spec, const T& value, const T& standard) {
    if (failed_) return;
    const bool flexible = flexible_ && !spec.never_flexible;
    if (!spec.has(version_)) {
      if (!spec.ignorable && !tags_.writing && !(value == standard)) absent(spec);
    } else if (spec.tag == kNoTag) {
      if (!tags_.writing) write(spec, value, flexible);
    } else if (!(value == standard)) {
      if (tags_.writing) {
        write_tag(spec, value);
      } else {
        ++tags_.count;
      }
    }
  }

 private:
  static constexpr std::int64_t kAboveAllTags = std::int64_t{1} << 32;
  struct Tags {
    bool writing = false;
    std::uint32_t count = 0;
    std::size_t next_unknown = 0;
    const std::vector<UnknownTaggedField>* unknown = nullptr;
  };

  template <class T>
  void write(const FieldSpec& spec, const T& value, bool flexible) {
    if constexpr (kIsOptional<T>) {
      write_nullable(spec, value, flexible);
    } else if constexpr (kIsNumber<T>) {
      number(plain(value));
    } else if constexpr (kIsArray<T>) {
      array_length(value.size(), flexible);
      for (const auto& element : value) write(spec, element, flexible);
    } else if constexpr (std::is_same_v<T, Uuid>) {
      uuid(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      string(spec, value, flexible);
    } else if constexpr (std::is_same_v<T, Bytes>) {
      bytes(value, flexible);
    } else if constexpr (std::is_same_v<T, ByteChain>) {
      records(value, flexible);
    } else {
      structure(value);
    }
  }

  template <class T>
  void write_nullable(const FieldSpec& spec, const std::optional<T>& value, bool flexible) {
    constexpr bool kHasLength = kIsArray<T> || std::is_same_v<T, std::string> ||
                                std::is_same_v<T, Bytes> || std::is_same_v<T, ByteChain>;
    if (!value && !spec.allows_null(version_)) return null_not_allowed(spec);
    if constexpr (!kHasLength) {
      if (spec.allows_null(version_)) null_mark(spec, value.has_value());
      if (value) structure(*value);
    } else if (value) {
      write(spec, *value, flexible);
    } else {
      null_length(flexible, !std::is_same_v<T, std::string>);
    }
  }

  template <class T>
  void write_tag(const FieldSpec& spec, const T& value) {
    unknown_tags_below(spec.tag);
    Encoder counter(nullptr, ApiVersion(version_), flexible_);
    counter.write(spec, value, true);
    unsigned_varint(static_cast<std::uint32_t>(spec.tag));
    unsigned_varint(static_cast<std::uint32_t>(counter.size()));
    write(spec, value, true);
  }

  template <class T>
  void number(T value) {
    size_ += sizeof(T);
    if (writer_ == nullptr) return;
    if constexpr (std::is_same_v<T, bool>) {
      writer_->boolean(value);
    } else if constexpr (std::is_same_v<T, double>) {
      writer_->float64(value);
    } else {
      writer_->integer(value);
    }
  }

  void uuid(const Uuid& value);
  void string(const FieldSpec& spec, const std::string& value, bool flexible);
  void bytes(const Bytes& value, bool flexible);
  void records(const ByteChain& value, bool flexible);
  void array_length(std::size_t count, bool flexible);
  // In front of a struct that may be null.
  void null_mark(const FieldSpec& spec, bool present);
  void null_length(bool flexible, bool wide);
  void unsigned_varint(std::uint32_t value);
  // Writes the number of tagged fields; sets tags_ up for the second pass if there are any.
  void begin_tags(const char* path, const std::vector<UnknownTaggedField>& unknown);
  // Writes the unknown ones that come before `tag`.
  void unknown_tags_below(std::int64_t tag);
  void absent(const FieldSpec& spec);
  void null_not_allowed(const FieldSpec& spec);
  void fail(const char* path, const Error& cause);

  Writer* writer_;
  const std::int16_t version_;
  const bool flexible_;
  bool failed_ = false;
  std::size_t size_ = 0;
  std::size_t records_size_ = 0;
  Tags tags_;
  Error error_;
};

/// Appends `message` in `version` to `writer`. Errors: UNSUPPORTED_VERSION for a version out of
/// range and for a field set to more than its default that the version lacks and the schema does
/// not call ignorable; bytes errors for a null that is not allowed and a string too long.
template <class Message>
[[nodiscard]] Result<void> encode_message(const Message& message, Writer* writer,
                                          ApiVersion version, std::size_t* size = nullptr,
                                          std::size_t* records_size = nullptr) {
  if (version < Message::kMinVersion || version > Message::kMaxVersion) {
    return unsupported_version(Message::kName, version, Message::kMinVersion, Message::kMaxVersion);
  }
  Encoder encoder(writer, version, version >= Message::kFlexibleFrom);
  encoder.structure(message);
  if (encoder.failed()) return encoder.take_error();
  if (size != nullptr) *size = encoder.size();
  if (records_size != nullptr) *records_size = encoder.records_size();
  return {};
}

}  // namespace kmirror::wire
