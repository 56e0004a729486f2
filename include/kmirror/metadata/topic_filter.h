// TopicFilter: an include and an exclude list of regular expressions over names (topics, groups,
// property names). AclIncludeRules: the rules of mirror.acl.include.
// Owner: any thread; immutable after parse().
// Invariants: an expression matches whole names only; exclude wins.
// Sources: spec E.1; RE2 syntax (the KIP's dialect).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/metadata/image.h"

namespace re2 {
class RE2;
}

namespace kmirror::metadata {

/// Alternatives of one regex list, compiled. An empty list matches nothing.
class RegexList {
 public:
  RegexList() = default;
  /// `value`: expressions separated by commas; blanks around them are cut, empty ones skipped.
  /// Error: INVALID_REGULAR_EXPRESSION naming the expression and what is wrong with it.
  [[nodiscard]] static Result<RegexList> parse(std::string_view value);
  /// The same for entries that may contain commas.
  [[nodiscard]] static Result<RegexList> of(const std::vector<std::string>& expressions);

  /// True if one expression matches all of `name`.
  [[nodiscard]] bool matches(std::string_view name) const;
  [[nodiscard]] bool empty() const { return expressions_.empty(); }
  [[nodiscard]] const std::vector<std::string>& expressions() const { return expressions_; }

 private:
  std::vector<std::string> expressions_;
  std::vector<std::shared_ptr<const re2::RE2>> compiled_;
};

class TopicFilter {
 public:
  TopicFilter() = default;
  /// Errors as RegexList::parse.
  [[nodiscard]] static Result<TopicFilter> parse(std::string_view include,
                                                 std::string_view exclude);

  [[nodiscard]] bool includes(std::string_view name) const { return include_.matches(name); }
  [[nodiscard]] bool excludes(std::string_view name) const { return exclude_.matches(name); }
  /// Included and not excluded.
  [[nodiscard]] bool matches(std::string_view name) const {
    return includes(name) && !excludes(name);
  }

 private:
  RegexList include_;
  RegexList exclude_;
};

/// The rules "resourceType;resourceName;operation;permissionType;principal": '*' is any, name and
/// principal are regular expressions for the whole text, trailing fields may be left out.
class AclIncludeRules {
 public:
  AclIncludeRules() = default;
  /// `value`: rules separated by commas. Errors: INVALID_CONFIG for an unknown type, operation or
  /// permission and for more than five fields; INVALID_REGULAR_EXPRESSION.
  [[nodiscard]] static Result<AclIncludeRules> parse(std::string_view value);
  /// True if one rule takes `acl` in. Ids and owners do not matter.
  [[nodiscard]] bool matches(const AclImage& acl) const;

 private:
  struct Rule {
    Rule() = default;
    std::int8_t resource_type = kAny;
    std::shared_ptr<const re2::RE2> resource_name;  ///< null: any
    std::int8_t operation = kAny;
    std::int8_t permission_type = kAny;
    std::shared_ptr<const re2::RE2> principal;  ///< null: any
  };
  static constexpr std::int8_t kAny = 1;  // Kafka's code for ANY in all three enums
  [[nodiscard]] static Result<Rule> parse_rule(std::string_view text);

  std::vector<Rule> rules_;
};

}  // namespace kmirror::metadata
