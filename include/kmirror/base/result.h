// Result<T>: a value or an Error, and the macros that pass errors on.
// Owner: any thread. Invariant: an Error's code is never "no error".
// Sources: docs/decisions/0001-error-carries-text.md.
#pragma once

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace kmirror {

using ErrorCodeBase = boost::system::error_code;

/// What went wrong: a code to act on and a text for people. The text is written once, where the
/// error is born, and names the thing and, where there is one, the remedy.
struct Error {
  Error() = default;
  Error(ErrorCodeBase error_code, std::string text) : code(error_code), message(std::move(text)) {}
  // A bare code is an error with the category's own text.
  Error(ErrorCodeBase error_code) : code(error_code), message(error_code.message()) {}  // NOLINT

  ErrorCodeBase code;
  std::string message;
};

/// Called by Result::value() on an error: a programming mistake, so it aborts with the text.
[[noreturn]] void throw_exception_from_error(const Error& error,
                                             const boost::source_location& where);

template <class T>
using Result = boost::system::result<T, Error>;

}  // namespace kmirror

#define KM_CONCAT_(a, b) a##b
#define KM_CONCAT(a, b) KM_CONCAT_(a, b)

// KM_TRY(name, expression): declares `name` with the value, or returns the error.
#define KM_TRY(name, ...)                                      \
  auto KM_CONCAT(km_result_, __LINE__) = (__VA_ARGS__);        \
  if (!KM_CONCAT(km_result_, __LINE__)) [[unlikely]]           \
    return std::move(KM_CONCAT(km_result_, __LINE__)).error(); \
  auto name = std::move(*KM_CONCAT(km_result_, __LINE__))

// KM_TRY_VOID(expression): returns the error of a Result<void> (or drops the value).
#define KM_TRY_VOID(...)                   \
  do {                                     \
    auto km_result = (__VA_ARGS__);        \
    if (!km_result) [[unlikely]]           \
      return std::move(km_result).error(); \
  } while (false)

// The same inside a coroutine. `expression` must be a plain co_await of a named awaitable call;
// see docs/decisions/0002-coroutine-rules.md.
#define KM_CO_TRY(name, ...)                                      \
  auto KM_CONCAT(km_result_, __LINE__) = __VA_ARGS__;             \
  if (!KM_CONCAT(km_result_, __LINE__)) [[unlikely]]              \
    co_return std::move(KM_CONCAT(km_result_, __LINE__)).error(); \
  auto name = std::move(*KM_CONCAT(km_result_, __LINE__))

#define KM_CO_TRY_VOID(...)                   \
  do {                                        \
    auto km_result = __VA_ARGS__;             \
    if (!km_result) [[unlikely]]              \
      co_return std::move(km_result).error(); \
  } while (false)
