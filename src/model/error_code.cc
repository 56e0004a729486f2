#include "kmirror/model/error_code.h"

#include <string>

#include <boost/system/error_code.hpp>

#include "kmirror/base/error_category.h"
#include "kmirror/bytes/reader.h"

namespace kmirror {
namespace {

std::string words(int code) {
  return std::string(name(static_cast<ErrorCode>(static_cast<std::int16_t>(code))));
}

}  // namespace

std::string_view name(ErrorCode code) {
  switch (code) {
#define KM_ERROR(name, code, retriable) \
  case ErrorCode::name:                 \
    return #name;
#include "kmirror/model/error_code.def"
#undef KM_ERROR
  }
  return "UNKNOWN_CODE";
}

bool is_retriable(ErrorCode code) {
  switch (code) {
#define KM_ERROR(name, code, retriable) \
  case ErrorCode::name:                 \
    return (retriable) != 0;
#include "kmirror/model/error_code.def"
#undef KM_ERROR
  }
  return false;
}

const boost::system::error_category& kafka_category() {
  static const NamedCategory category("kafka", &words);
  return category;
}

Error kafka_error(ErrorCode code, std::string text) {
  return {ErrorCodeBase(static_cast<int>(code), kafka_category()), std::move(text)};
}

ErrorCode to_kafka_error(const Error& error) {
  if (error.code.category() == kafka_category()) {
    return static_cast<ErrorCode>(static_cast<std::int16_t>(error.code.value()));
  }
  if (error.code.category() == bytes_category()) return ErrorCode::CORRUPT_MESSAGE;
  if (error.code.category() == boost::system::system_category() ||
      error.code.category() == boost::system::generic_category() ||
      std::string_view(error.code.category().name()) == "storage") {
    return ErrorCode::KAFKA_STORAGE_ERROR;
  }
  return ErrorCode::UNKNOWN_SERVER_ERROR;
}

}  // namespace kmirror
