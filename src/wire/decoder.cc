#include "kmirror/wire/decoder.h"

#include <fmt/format.h>

namespace kmirror::wire {

void Decoder::fail(const char* path, const Error& cause) {
  if (failed_) return;
  failed_ = true;
  error_ = Error(cause.code, fmt::format("{}: {}", path, cause.message));
}

template <class T>
T Decoder::number(const FieldSpec& spec) {
  auto result = [this] {
    if constexpr (std::is_same_v<T, bool>) {
      return reader_.boolean();
    } else if constexpr (std::is_same_v<T, double>) {
      return reader_.float64();
    } else {
      return reader_.integer<T>();
    }
  }();
  if (!result) [[unlikely]] {
    fail(spec.path, result.error());
    return T{};
  }
  return *result;
}

template bool Decoder::number<bool>(const FieldSpec&);
template std::int8_t Decoder::number<std::int8_t>(const FieldSpec&);
template std::int16_t Decoder::number<std::int16_t>(const FieldSpec&);
template std::uint16_t Decoder::number<std::uint16_t>(const FieldSpec&);
template std::int32_t Decoder::number<std::int32_t>(const FieldSpec&);
template std::uint32_t Decoder::number<std::uint32_t>(const FieldSpec&);
template std::int64_t Decoder::number<std::int64_t>(const FieldSpec&);
template double Decoder::number<double>(const FieldSpec&);

Uuid Decoder::uuid(const FieldSpec& spec) {
  std::array<std::uint8_t, 16> raw{};
  const auto part = reader_.slice(raw.size());
  if (!part) {
    fail(spec.path, part.error());
    return {};
  }
  std::copy(part->data(), part->data() + raw.size(), raw.begin());
  return Uuid(raw);
}

void Decoder::string(const FieldSpec& spec, std::string& value, bool flexible) {
  auto text = reader_.string(flexible);
  if (!text) return fail(spec.path, text.error());
  value = std::move(*text);
}

void Decoder::bytes(const FieldSpec& spec, Bytes& value, bool flexible) {
  const auto part = reader_.bytes(flexible);
  if (!part) return fail(spec.path, part.error());
  value.assign(part->span().begin(), part->span().end());
}

void Decoder::records(const FieldSpec& spec, ByteChain& value, bool flexible) {
  auto part = reader_.bytes(flexible);
  if (!part) return fail(spec.path, part.error());
  value = ByteChain(std::move(*part));
}

void Decoder::nullable_string(const FieldSpec& spec, std::optional<std::string>& value,
                              bool flexible) {
  auto text = reader_.nullable_string(flexible);
  if (!text) return fail(spec.path, text.error());
  value = std::move(*text);
  if (!value) check_null_allowed(spec);
}

std::optional<Slice> Decoder::nullable_slice(const FieldSpec& spec, bool flexible) {
  auto part = reader_.nullable_bytes(flexible);
  if (!part) {
    fail(spec.path, part.error());
    return std::nullopt;
  }
  if (!*part) check_null_allowed(spec);
  return std::move(*part);
}

void Decoder::nullable_bytes(const FieldSpec& spec, std::optional<Bytes>& value, bool flexible) {
  const auto part = nullable_slice(spec, flexible);
  if (part) {
    value.emplace(part->span().begin(), part->span().end());
  } else {
    value.reset();
  }
}

void Decoder::nullable_records(const FieldSpec& spec, std::optional<ByteChain>& value,
                               bool flexible) {
  auto part = nullable_slice(spec, flexible);
  if (part) {
    value.emplace(std::move(*part));
  } else {
    value.reset();
  }
}

bool Decoder::is_null(const FieldSpec& spec) {
  // A version in which the struct may not be null has no mark in front of it.
  if (!spec.allows_null(version_)) return false;
  // Kafka marks null by a byte below 0, but by an unsigned varint of 0 inside a tagged field.
  if (spec.tag != kNoTag) return unsigned_varint(spec.path) == 0;
  return number<std::int8_t>(spec) < 0;
}

std::optional<std::size_t> Decoder::array_length(const FieldSpec& spec, bool flexible,
                                                 bool nullable) {
  const auto count = reader_.array_length(flexible, spec.min_element_bytes);
  if (!count) {
    fail(spec.path, count.error());
    return std::nullopt;
  }
  if (!*count) {
    if (nullable) {
      check_null_allowed(spec);
    } else {
      fail(spec.path, bytes_error(BytesErrc::kBadValue, "null where an array must be"));
    }
  }
  return *count;
}

std::uint32_t Decoder::unsigned_varint(const char* path) {
  const auto value = reader_.unsigned_varint();
  if (!value) {
    fail(path, value.error());
    return 0;
  }
  return *value;
}

std::size_t Decoder::tag_head(const char* path, std::int64_t& last_tag) {
  const std::int64_t tag = unsigned_varint(path);
  const std::size_t size = unsigned_varint(path);
  if (failed_) return 0;
  if (tag <= last_tag) {
    fail(path, bytes_error(BytesErrc::kBadValue, fmt::format("tag {} after {}", tag, last_tag)));
  } else if (size > reader_.remaining()) {
    fail(path, bytes_error(BytesErrc::kBadLength, fmt::format("tag {} of {} bytes, {} left", tag,
                                                              size, reader_.remaining())));
  }
  last_tag = tag;
  return size;
}

void Decoder::keep_unknown(const char* path, std::uint32_t tag, std::size_t size,
                           std::vector<UnknownTaggedField>& into) {
  const auto part = reader_.slice(size);
  if (!part) return fail(path, part.error());
  into.emplace_back(tag, Bytes(part->span().begin(), part->span().end()));
}

void Decoder::check_tag_size(const char* path, std::int64_t tag, std::size_t told,
                             std::size_t read) {
  if (told == read) return;
  fail(path, bytes_error(BytesErrc::kBadLength,
                         fmt::format("tag {} says {} bytes and has {}", tag, told, read)));
}

bool Decoder::too_many(const FieldSpec& spec) {
  fail(spec.path,
       bytes_error(BytesErrc::kBadLength, "more elements than a frame of this size may hold"));
  return false;
}

void Decoder::check_null_allowed(const FieldSpec& spec) {
  if (spec.allows_null(version_)) return;
  fail(spec.path, bytes_error(BytesErrc::kBadValue,
                              fmt::format("null is not allowed in version {}", version_)));
}

Error unsupported_version(std::string_view name, ApiVersion version, ApiVersion min,
                          ApiVersion max) {
  return kafka_error(ErrorCode::UNSUPPORTED_VERSION,
                     fmt::format("{} version {}: supported are {} to {}", name, version, min, max));
}

}  // namespace kmirror::wire
