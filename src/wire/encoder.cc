#include "kmirror/wire/encoder.h"

#include <fmt/format.h>

namespace kmirror::wire {

void Encoder::fail(const char* path, const Error& cause) {
  if (failed_) return;
  failed_ = true;
  error_ = Error(cause.code, fmt::format("{}: {}", path, cause.message));
}

void Encoder::absent(const FieldSpec& spec) {
  fail(spec.path, kafka_error(ErrorCode::UNSUPPORTED_VERSION,
                              fmt::format("is set, and version {} has no such field", version_)));
}

void Encoder::null_not_allowed(const FieldSpec& spec) {
  fail(spec.path, bytes_error(BytesErrc::kBadValue,
                              fmt::format("null is not allowed in version {}", version_)));
}

void Encoder::uuid(const Uuid& value) {
  size_ += value.bytes().size();
  if (writer_ != nullptr) writer_->raw(value.bytes());
}

void Encoder::string(const FieldSpec& spec, const std::string& value, bool flexible) {
  size_ += value.size() +
           (flexible ? unsigned_varint_size(static_cast<std::uint32_t>(value.size() + 1)) : 2);
  if (writer_ == nullptr) return;
  const auto result = writer_->string(value, flexible);
  if (!result) fail(spec.path, result.error());
}

void Encoder::bytes(const Bytes& value, bool flexible) {
  array_length(value.size(), flexible);
  size_ += value.size();
  if (writer_ != nullptr) writer_->raw(value);
}

void Encoder::records(const ByteChain& value, bool flexible) {
  array_length(value.size(), flexible);
  size_ += value.size();
  records_size_ += value.size();
  if (writer_ != nullptr) writer_->append(value);
}

void Encoder::array_length(std::size_t count, bool flexible) {
  size_ += flexible ? unsigned_varint_size(static_cast<std::uint32_t>(count + 1)) : 4;
  if (writer_ != nullptr) writer_->array_length(count, flexible);
}

void Encoder::null_mark(const FieldSpec& spec, bool present) {
  // Kafka marks null by -1, but by 0 inside a tagged field.
  const std::int8_t null = spec.tag == kNoTag ? -1 : 0;
  number<std::int8_t>(present ? std::int8_t{1} : null);
}

void Encoder::null_length(bool flexible, bool wide) {
  if (flexible) {
    unsigned_varint(0);
  } else if (wide) {
    number<std::int32_t>(-1);
  } else {
    number<std::int16_t>(-1);
  }
}

void Encoder::unsigned_varint(std::uint32_t value) {
  size_ += unsigned_varint_size(value);
  if (writer_ != nullptr) writer_->unsigned_varint(value);
}

void Encoder::begin_tags(const char* path, const std::vector<UnknownTaggedField>& unknown) {
  if (failed_) return;
  if (!flexible_) {
    if (!unknown.empty()) {
      fail(path, kafka_error(ErrorCode::UNSUPPORTED_VERSION,
                             fmt::format("version {} takes no tagged fields", version_)));
    }
    return;
  }
  const std::size_t count = tags_.count + unknown.size();
  unsigned_varint(static_cast<std::uint32_t>(count));
  tags_.writing = count > 0;
  tags_.unknown = &unknown;
}

void Encoder::unknown_tags_below(std::int64_t tag) {
  for (; tags_.next_unknown < tags_.unknown->size(); ++tags_.next_unknown) {
    const UnknownTaggedField& unknown = (*tags_.unknown)[tags_.next_unknown];
    if (unknown.tag >= tag) return;
    unsigned_varint(unknown.tag);
    unsigned_varint(static_cast<std::uint32_t>(unknown.data.size()));
    size_ += unknown.data.size();
    if (writer_ != nullptr) writer_->raw(unknown.data);
  }
}

}  // namespace kmirror::wire
