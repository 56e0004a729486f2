#include "kmirror/cli/simple_options.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "kmirror/cli/mirrors_options.h"

namespace kmirror::cli {

Result<SimpleOptions> SimpleOptions::parse(const std::vector<std::string>& arguments,
                                           const std::vector<OptionRule>& rules) {
  SimpleOptions options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string name = arguments[i];
    std::optional<std::string> value;
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    const auto rule = std::find_if(rules.begin(), rules.end(),
                                   [&name](const OptionRule& r) { return name == "--" + r.name; });
    if (rule == rules.end()) {
      return usage_error(fmt::format("unknown option '{}'; --help lists them", name));
    }
    if (!rule->value.empty() && !value) {
      if (i + 1 == arguments.size()) {
        return usage_error(fmt::format("{} needs a value: {}", name, rule->value));
      }
      value = arguments[++i];
    }
    options.values_[rule->name] = value.value_or("");
  }
  for (const OptionRule& rule : rules) {
    if (rule.required && !options.has(rule.name) && !options.has("help")) {
      return usage_error(fmt::format("--{} {} is missing", rule.name, rule.value));
    }
  }
  return options;
}

std::string SimpleOptions::text(const std::string& name, const std::string& otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : found->second;
}

Result<std::int64_t> SimpleOptions::number(const std::string& name, std::int64_t otherwise,
                                           std::int64_t least) const {
  if (!has(name)) return otherwise;
  const std::string value = text(name);
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (error != std::errc() || end != value.data() + value.size() || out < least) {
    return usage_error(
        fmt::format("--{} must be a whole number of at least {}, not '{}'", name, least, value));
  }
  return out;
}

std::string options_help(const std::string& usage, const std::vector<OptionRule>& rules) {
  std::string out = usage + "\n";
  for (const OptionRule& rule : rules) {
    const std::string left =
        fmt::format("--{}{}{}", rule.name, rule.value.empty() ? "" : " ", rule.value);
    out += fmt::format("  {:<34} {}{}\n", left, rule.help, rule.required ? " (required)" : "");
  }
  return out;
}

}  // namespace kmirror::cli
