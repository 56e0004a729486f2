// SimpleOptions: --name value options of the smaller commands, described once, parsed and printed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kmirror/base/result.h"

namespace kmirror::cli {

struct OptionRule {
  OptionRule() = default;
  OptionRule(std::string option_name, std::string value_name, std::string text, bool is_required)
      : name(std::move(option_name)),
        value(std::move(value_name)),
        help(std::move(text)),
        required(is_required) {}
  std::string name;   ///< without "--"
  std::string value;  ///< what the value is, for the help; empty: a flag
  std::string help;
  bool required = false;
};

class SimpleOptions {
 public:
  /// Parses `arguments` by `rules`. Errors (usage): an unknown option, a missing value or a missing
  /// required option, each by name.
  [[nodiscard]] static Result<SimpleOptions> parse(const std::vector<std::string>& arguments,
                                                   const std::vector<OptionRule>& rules);
  [[nodiscard]] bool has(const std::string& name) const { return values_.contains(name); }
  [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise = "") const;
  /// Error (usage) if the value is no whole number of at least `least`.
  [[nodiscard]] Result<std::int64_t> number(const std::string& name, std::int64_t otherwise,
                                            std::int64_t least) const;

 private:
  std::map<std::string, std::string> values_;
};

/// One line an option.
[[nodiscard]] std::string options_help(const std::string& usage,
                                       const std::vector<OptionRule>& rules);

}  // namespace kmirror::cli
