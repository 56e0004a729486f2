#include "kmirror/base/check.h"

#include <cstdio>
#include <cstdlib>

#include "kmirror/base/result.h"

namespace kmirror {

void check_failed(const char* expression, const char* file, int line, const std::string& values) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %s\n", file, line, expression, values.c_str());
  std::abort();
}

void throw_exception_from_error(const Error& error, const boost::source_location& where) {
  check_failed("Result::value()", where.file_name(), static_cast<int>(where.line()), error.message);
}

}  // namespace kmirror
