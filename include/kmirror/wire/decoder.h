// Decoder: fills message structs from a frame, of any version, guided by their field lists.
// Owner: one task, for the time of one decode. Invariants: after the first error nothing is read
// any more; nothing is allocated for a length that the rest of the frame cannot hold; the elements
// of all arrays together take at most kMaxExpansion times the frame (and kFreeElementBytes); depth
// is that of the schema, which has no recursion. For generated code.
// Sources: Kafka protocol guide; KIP-482.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "kmirror/wire/codec.h"
#include "kmirror/wire/message.h"

namespace kmirror::wire {

/// Array elements are larger in memory than on the wire: 2 to 10 times in what real peers send, 30
/// times in a frame of empty elements made to exhaust memory. A decoded message whose elements take
/// more than this many times the frame's bytes is refused.
inline constexpr std::size_t kMaxExpansion = 16;
/// Elements of small frames are not counted so closely.
inline constexpr std::size_t kFreeElementBytes = 65536;

class Decoder {
 public:
  Decoder(Reader& reader, ApiVersion version, bool flexible)
      : reader_(reader),
        version_(version.get()),
        flexible_(flexible),
        element_bytes_left_(reader.remaining() * kMaxExpansion + kFreeElementBytes) {}

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] Error take_error() { return std::move(error_); }

  /// Reads the fields of `value` and, in a flexible version, its tagged ones.
  template <class Struct>
  void structure(Struct& value) {
    const std::int64_t outer_tag = std::exchange(wanted_tag_, kNoTag);
    Fields<Struct>::visit(*this, value);
    if constexpr (requires { value.unknown_tagged_fields; }) {
      if (flexible_ && !failed_) tags(value);
    }
    wanted_tag_ = outer_tag;
  }

  /// Called by Fields::visit. A field that the version lacks keeps its default.
  template <class T>
  void field(const FieldSpec& spec, T& value, const T& /*standard*/) {
    if (failed_ || spec.tag != wanted_tag_ || !spec.has(version_)) return;
    read(spec, value, flexible_ && !spec.never_flexible);
    matched_ = true;
  }

 private:
  template <class T>
  void read(const FieldSpec& spec, T& value, bool flexible) {
    if constexpr (kIsOptional<T>) {
      read_nullable(spec, value, flexible);
    } else if constexpr (kIsNumber<T>) {
      value = static_cast<T>(number<Plain<T>>(spec));
    } else if constexpr (kIsArray<T>) {
      const auto count = array_length(spec, flexible, false);
      if (count) elements(spec, value, *count, flexible);
    } else if constexpr (std::is_same_v<T, Uuid>) {
      value = uuid(spec);
    } else if constexpr (std::is_same_v<T, std::string>) {
      string(spec, value, flexible);
    } else if constexpr (std::is_same_v<T, Bytes>) {
      bytes(spec, value, flexible);
    } else if constexpr (std::is_same_v<T, ByteChain>) {
      records(spec, value, flexible);
    } else {
      structure(value);
    }
  }

  template <class T>
  void read_nullable(const FieldSpec& spec, std::optional<T>& value, bool flexible) {
    if constexpr (kIsArray<T>) {
      const auto count = array_length(spec, flexible, true);
      if (count) {
        elements(spec, value.emplace(), *count, flexible);
      } else {
        value.reset();
      }
    } else if constexpr (std::is_same_v<T, std::string>) {
      nullable_string(spec, value, flexible);
    } else if constexpr (std::is_same_v<T, Bytes>) {
      nullable_bytes(spec, value, flexible);
    } else if constexpr (std::is_same_v<T, ByteChain>) {
      nullable_records(spec, value, flexible);
    } else {
      if (is_null(spec)) {
        value.reset();
      } else {
        structure(value.emplace());
      }
    }
  }

  template <class T>
  void elements(const FieldSpec& spec, std::vector<T>& value, std::size_t count, bool flexible) {
    value.clear();
    // A count within the frame may still be false: memory grows with what is really there.
    value.reserve(std::min(count, reader_.remaining() / sizeof(T) + 1));
    for (std::size_t i = 0; i < count && !failed_; ++i) {
      if (!take_memory(spec, sizeof(T))) return;
      read(spec, value.emplace_back(), flexible);
    }
  }

  template <class Struct>
  void tags(Struct& value) {
    const char* path = Fields<Struct>::kStructPath;
    const std::uint32_t count = unsigned_varint(path);
    std::int64_t last_tag = kNoTag;
    for (std::uint32_t i = 0; i < count && !failed_; ++i) {
      const std::size_t size = tag_head(path, last_tag);
      if (failed_) return;
      const std::size_t start = reader_.position();
      wanted_tag_ = last_tag;
      matched_ = false;
      Fields<Struct>::visit(*this, value);
      wanted_tag_ = kNoTag;
      if (failed_) return;
      if (!matched_) {
        keep_unknown(path, static_cast<std::uint32_t>(last_tag), size, value.unknown_tagged_fields);
      } else {
        check_tag_size(path, last_tag, size, reader_.position() - start);
      }
    }
  }

  template <class T>
  [[nodiscard]] T number(const FieldSpec& spec);

  [[nodiscard]] Uuid uuid(const FieldSpec& spec);
  void string(const FieldSpec& spec, std::string& value, bool flexible);
  void bytes(const FieldSpec& spec, Bytes& value, bool flexible);
  void records(const FieldSpec& spec, ByteChain& value, bool flexible);
  void nullable_string(const FieldSpec& spec, std::optional<std::string>& value, bool flexible);
  void nullable_bytes(const FieldSpec& spec, std::optional<Bytes>& value, bool flexible);
  void nullable_records(const FieldSpec& spec, std::optional<ByteChain>& value, bool flexible);
  [[nodiscard]] std::optional<Slice> nullable_slice(const FieldSpec& spec, bool flexible);
  [[nodiscard]] bool is_null(const FieldSpec& spec);
  // Nothing on null and on error; a null that is not allowed is an error.
  [[nodiscard]] std::optional<std::size_t> array_length(const FieldSpec& spec, bool flexible,
                                                        bool nullable);
  [[nodiscard]] std::uint32_t unsigned_varint(const char* path);
  // Reads tag and size; the tag must be above `last_tag`, which it replaces.
  [[nodiscard]] std::size_t tag_head(const char* path, std::int64_t& last_tag);
  void keep_unknown(const char* path, std::uint32_t tag, std::size_t size,
                    std::vector<UnknownTaggedField>& into);
  void check_tag_size(const char* path, std::int64_t tag, std::size_t told, std::size_t read);
  void check_null_allowed(const FieldSpec& spec);
  // False, and an error, if the elements have become too many for their frame.
  [[nodiscard]] bool take_memory(const FieldSpec& spec, std::size_t bytes) {
    if (bytes > element_bytes_left_) [[unlikely]] {
      return too_many(spec);
    }
    element_bytes_left_ -= bytes;
    return true;
  }
  bool too_many(const FieldSpec& spec);
  void fail(const char* path, const Error& cause);

  Reader& reader_;
  const std::int16_t version_;
  const bool flexible_;
  bool failed_ = false;
  bool matched_ = false;
  std::int64_t wanted_tag_ = kNoTag;
  std::size_t element_bytes_left_;
  Error error_;
};

extern template bool Decoder::number<bool>(const FieldSpec&);
extern template std::int8_t Decoder::number<std::int8_t>(const FieldSpec&);
extern template std::int16_t Decoder::number<std::int16_t>(const FieldSpec&);
extern template std::uint16_t Decoder::number<std::uint16_t>(const FieldSpec&);
extern template std::int32_t Decoder::number<std::int32_t>(const FieldSpec&);
extern template std::uint32_t Decoder::number<std::uint32_t>(const FieldSpec&);
extern template std::int64_t Decoder::number<std::int64_t>(const FieldSpec&);
extern template double Decoder::number<double>(const FieldSpec&);

/// UNSUPPORTED_VERSION, with the message's name and its range.
[[nodiscard]] Error unsupported_version(std::string_view name, ApiVersion version, ApiVersion min,
                                        ApiVersion max);

/// One message of `version` off `reader`, which may hold more behind it. Errors:
/// UNSUPPORTED_VERSION, and those of Reader with the field's name in front.
template <class Message>
[[nodiscard]] Result<Message> decode_message(Reader& reader, ApiVersion version) {
  if (version < Message::kMinVersion || version > Message::kMaxVersion) {
    return unsupported_version(Message::kName, version, Message::kMinVersion, Message::kMaxVersion);
  }
  Message message;
  Decoder decoder(reader, version, version >= Message::kFlexibleFrom);
  decoder.structure(message);
  if (decoder.failed()) return decoder.take_error();
  return message;
}

}  // namespace kmirror::wire
