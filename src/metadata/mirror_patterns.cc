#include "metadata/mirror_patterns.h"

#include <algorithm>

namespace kmirror::metadata {
namespace {

constexpr const char* kInclude = "mirror.topics.include";
constexpr const char* kExclude = "mirror.topics.exclude";

void add(std::vector<std::string>& list, const std::string& entry) {
  if (std::find(list.begin(), list.end(), entry) == list.end()) list.push_back(entry);
}
void remove(std::vector<std::string>& list, const std::string& entry) { std::erase(list, entry); }

}  // namespace

std::string literal_pattern(const std::string& topic) {
  // Of the characters of a topic name only '.' has a meaning in an expression.
  std::string pattern;
  for (const char c : topic) {
    if (c == '.') pattern += '\\';
    pattern += c;
  }
  return pattern;
}

MirrorPatterns::MirrorPatterns(const Command& command, const std::string& mirror)
    : mirror_(mirror) {
  const auto list = [&](const char* key) {
    return split_list(command.resolver().mirror_value(command.image(), mirror, key).value_or(""));
  };
  include_ = include_before_ = list(kInclude);
  exclude_ = exclude_before_ = list(kExclude);
}

Result<void> MirrorPatterns::check(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    if (pattern.empty() || pattern.find(',') != std::string::npos) {
      return kafka_error(ErrorCode::INVALID_REGULAR_EXPRESSION,
                         fmt::format("pattern '{}' is empty or has a comma, which separates the "
                                     "patterns of a list",
                                     pattern));
    }
  }
  KM_TRY_VOID(RegexList::of(patterns));
  return {};
}

void MirrorPatterns::include(const std::string& pattern) {
  add(include_, pattern);
  remove(exclude_, pattern);
}

void MirrorPatterns::exclude(const std::string& pattern) {
  add(exclude_, pattern);
  remove(include_, pattern);
}

void MirrorPatterns::include_topic(const std::string& topic) {
  const std::string literal = literal_pattern(topic);
  remove(exclude_, literal);
  remove(exclude_, topic);
  const Result<RegexList> included = RegexList::of(include_);
  if (included && included->matches(topic)) return;
  add(include_, literal);
}

Result<TopicFilter> MirrorPatterns::filter() const {
  return TopicFilter::parse(join_list(include_), join_list(exclude_));
}

void MirrorPatterns::emit(Command& command) const {
  const ConfigResource resource(ConfigResourceType::kClusterMirror, mirror_);
  if (include_ != include_before_) command.emit_config(resource, kInclude, join_list(include_));
  if (exclude_ != exclude_before_) command.emit_config(resource, kExclude, join_list(exclude_));
}

}  // namespace kmirror::metadata
