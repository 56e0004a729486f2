// Java properties files: the form of Kafka's configuration files.
// Sources: java.util.Properties.load (Java 17 API documentation).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kmirror/base/result.h"

namespace kmirror {

struct Property {
  Property() = default;
  std::string key;
  std::string value;
  int line = 0;  ///< where the entry starts, from 1
};

/// The entries in the order of the text, repeated keys included. Comments (# and !), the separators
/// '=', ':' and blanks, continuation lines and the escapes \t \n \r \f \uXXXX are as in Java; the
/// text is UTF-8. Error (invalid_argument): a broken \u escape, naming the line.
[[nodiscard]] Result<std::vector<Property>> parse_properties(std::string_view text);

}  // namespace kmirror
