// Regex lists and ACL rules, compiled with RE2.
#include "kmirror/metadata/topic_filter.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "kmirror/metadata/config_def.h"
#include "kmirror/model/error_code.h"

namespace kmirror::metadata {
namespace {

// An expression's compiled size is bounded, so that a configuration cannot eat the memory.
constexpr std::int64_t kMaxCompiledBytes = 1 << 20;

Result<std::shared_ptr<const re2::RE2>> compile(const std::string& expression) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMaxCompiledBytes);
  auto compiled = std::make_shared<const re2::RE2>(expression, options);
  if (!compiled->ok()) {
    return kafka_error(
        ErrorCode::INVALID_REGULAR_EXPRESSION,
        fmt::format("'{}' is no regular expression: {}", expression, compiled->error()));
  }
  return compiled;
}

struct Word {
  std::string_view text;
  std::int8_t code;
};

constexpr std::array<Word, 9> kResourceTypes = {{{"*", 1},
                                                 {"ANY", 1},
                                                 {"TOPIC", 2},
                                                 {"GROUP", 3},
                                                 {"CLUSTER", 4},
                                                 {"TRANSACTIONAL_ID", 5},
                                                 {"DELEGATION_TOKEN", 6},
                                                 {"USER", 7},
                                                 {"CLUSTER_MIRROR", 64}}};
constexpr std::array<Word, 16> kOperations = {{{"*", 1},
                                               {"ANY", 1},
                                               {"ALL", 2},
                                               {"READ", 3},
                                               {"WRITE", 4},
                                               {"CREATE", 5},
                                               {"DELETE", 6},
                                               {"ALTER", 7},
                                               {"DESCRIBE", 8},
                                               {"CLUSTER_ACTION", 9},
                                               {"DESCRIBE_CONFIGS", 10},
                                               {"ALTER_CONFIGS", 11},
                                               {"IDEMPOTENT_WRITE", 12},
                                               {"CREATE_TOKENS", 13},
                                               {"DESCRIBE_TOKENS", 14},
                                               {"TWO_PHASE_COMMIT", 15}}};
constexpr std::array<Word, 4> kPermissions = {{{"*", 1}, {"ANY", 1}, {"DENY", 2}, {"ALLOW", 3}}};

/// Upper case without underscores: IdempotentWrite and IDEMPOTENT_WRITE are the same word.
std::string plain_word(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c != '_') plain += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return plain;
}

template <std::size_t N>
Result<std::int8_t> code_of(const std::array<Word, N>& words, std::string_view text,
                            const char* what) {
  const std::string wanted = plain_word(text);
  for (const Word& word : words) {
    if (plain_word(word.text) == wanted) return word.code;
  }
  return kafka_error(ErrorCode::INVALID_CONFIG,
                     fmt::format("'{}' in an ACL rule is no {}", text, what));
}

std::vector<std::string> split_fields(std::string_view text) {
  std::vector<std::string> fields;
  std::size_t from = 0;
  while (true) {
    const std::size_t end = text.find(';', from);
    std::string_view field = text.substr(from, end == std::string_view::npos ? end : end - from);
    while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
    while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
    fields.emplace_back(field);
    if (end == std::string_view::npos) return fields;
    from = end + 1;
  }
}

}  // namespace

Result<RegexList> RegexList::of(const std::vector<std::string>& expressions) {
  RegexList list;
  for (const std::string& expression : expressions) {
    if (expression.empty()) continue;
    KM_TRY(compiled, compile(expression));
    list.expressions_.push_back(expression);
    list.compiled_.push_back(std::move(compiled));
  }
  return list;
}

Result<RegexList> RegexList::parse(std::string_view value) { return of(split_list(value)); }

bool RegexList::matches(std::string_view name) const {
  const re2::StringPiece piece(name.data(), name.size());
  return std::any_of(compiled_.begin(), compiled_.end(), [&piece](const auto& expression) {
    return re2::RE2::FullMatch(piece, *expression);
  });
}

Result<TopicFilter> TopicFilter::parse(std::string_view include, std::string_view exclude) {
  TopicFilter filter;
  KM_TRY(included, RegexList::parse(include));
  KM_TRY(excluded, RegexList::parse(exclude));
  filter.include_ = std::move(included);
  filter.exclude_ = std::move(excluded);
  return filter;
}

Result<AclIncludeRules::Rule> AclIncludeRules::parse_rule(std::string_view text) {
  std::vector<std::string> fields = split_fields(text);
  if (fields.size() > 5) {
    return kafka_error(ErrorCode::INVALID_CONFIG,
                       fmt::format("ACL rule '{}' has {} fields; at most 5: "
                                   "resourceType;resourceName;operation;permissionType;principal",
                                   text, fields.size()));
  }
  fields.resize(5);
  for (std::string& field : fields) {
    if (field.empty()) field = "*";
  }
  Rule rule;
  KM_TRY(resource_type, code_of(kResourceTypes, fields[0], "resource type"));
  KM_TRY(operation, code_of(kOperations, fields[2], "operation"));
  KM_TRY(permission, code_of(kPermissions, fields[3], "permission type"));
  rule.resource_type = resource_type;
  rule.operation = operation;
  rule.permission_type = permission;
  if (fields[1] != "*") {
    KM_TRY(name, compile(fields[1]));
    rule.resource_name = std::move(name);
  }
  if (fields[4] != "*") {
    KM_TRY(principal, compile(fields[4]));
    rule.principal = std::move(principal);
  }
  return rule;
}

Result<AclIncludeRules> AclIncludeRules::parse(std::string_view value) {
  AclIncludeRules rules;
  for (const std::string& text : split_list(value)) {
    KM_TRY(rule, parse_rule(text));
    rules.rules_.push_back(std::move(rule));
  }
  return rules;
}

bool AclIncludeRules::matches(const AclImage& acl) const {
  const auto fits = [](std::int8_t wanted, std::int8_t code) {
    return wanted == kAny || wanted == code;
  };
  const auto text_fits = [](const std::shared_ptr<const re2::RE2>& wanted,
                            const std::string& text) {
    return wanted == nullptr || re2::RE2::FullMatch(text, *wanted);
  };
  return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    return fits(rule.resource_type, acl.resource_type) && fits(rule.operation, acl.operation) &&
           fits(rule.permission_type, acl.permission_type) &&
           text_fits(rule.resource_name, acl.resource_name) &&
           text_fits(rule.principal, acl.principal);
  });
}

}  // namespace kmirror::metadata
