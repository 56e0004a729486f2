#include "kmirror/env/errors.h"

#include <cerrno>

#include <fmt/format.h>

namespace kmirror::env {

Error system_error(int code, const std::string& what) {
  const ErrorCodeBase error_code(code, boost::system::system_category());
  return {error_code, fmt::format("{}: {}", what, error_code.message())};
}

Error aborted_error(const std::string& what) { return system_error(ECANCELED, what); }

Error timed_out_error(const std::string& what) { return system_error(ETIMEDOUT, what); }

bool is_aborted(const Error& error) { return is_system(error, ECANCELED); }

bool is_timed_out(const Error& error) { return is_system(error, ETIMEDOUT); }

bool is_system(const Error& error, int code) {
  return error.code == ErrorCodeBase(code, boost::system::system_category());
}

}  // namespace kmirror::env
