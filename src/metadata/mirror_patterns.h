// The include and exclude lists of a mirror as Start and Stop change them.
// Sources: spec F.2, F.4.
#pragma once

#include <string>
#include <vector>

#include "kmirror/base/result.h"
#include "kmirror/metadata/topic_filter.h"
#include "metadata/command.h"

namespace kmirror::metadata {

/// `topic` as an expression that matches it alone.
[[nodiscard]] std::string literal_pattern(const std::string& topic);

class MirrorPatterns {
 public:
  /// The lists in force for `mirror`.
  MirrorPatterns(const Command& command, const std::string& mirror);

  /// Checks patterns of a request. Errors: INVALID_REGULAR_EXPRESSION, also for one with a comma,
  /// which separates the entries of a list.
  [[nodiscard]] static Result<void> check(const std::vector<std::string>& patterns);

  /// Adds to include and takes out of exclude.
  void include(const std::string& pattern);
  /// Adds to exclude and takes out of include.
  void exclude(const std::string& pattern);
  /// Makes sure that a topic named by hand is matched: adds its literal unless the include list
  /// matches it already, and takes its literal out of exclude.
  void include_topic(const std::string& topic);

  [[nodiscard]] Result<TopicFilter> filter() const;
  /// Writes the lists that changed.
  void emit(Command& command) const;

 private:
  std::string mirror_;
  std::vector<std::string> include_before_;
  std::vector<std::string> exclude_before_;
  std::vector<std::string> include_;
  std::vector<std::string> exclude_;
};

}  // namespace kmirror::metadata
