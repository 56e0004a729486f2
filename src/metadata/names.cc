// Names of topics and mirrors.
#include "kmirror/metadata/names.h"

#include <algorithm>
#include <array>

#include "kmirror/model/error_code.h"

namespace kmirror::metadata {
namespace {

constexpr std::string_view kPausedSuffix = ".paused";
constexpr std::string_view kStoppedSuffix = ".stopped";
constexpr std::array<std::string_view, 3> kReservedSuffixes = {kPausedSuffix, kStoppedSuffix,
                                                               ".removed"};

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

/// What is wrong with `name`, empty if nothing.
std::string fault_of(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name == "." || name == "..") return "must not be '.' or '..'";
  if (name.size() > kMaxTopicNameChars) {
    return fmt::format("has {} characters; at most {}", name.size(), kMaxTopicNameChars);
  }
  if (!std::all_of(name.begin(), name.end(), is_name_char)) {
    return "has a character other than letters, digits, '.', '_' and '-'";
  }
  return {};
}

}  // namespace

Result<void> check_topic_name(std::string_view name) {
  const std::string fault = fault_of(name);
  if (fault.empty()) return {};
  return kafka_error(ErrorCode::INVALID_TOPIC_EXCEPTION,
                     fmt::format("topic name '{}' {}", name.substr(0, 300), fault));
}

std::string collision_key(std::string_view topic) {
  std::string key(topic);
  std::replace(key.begin(), key.end(), '.', '_');
  return key;
}

bool is_internal_topic(std::string_view name) {
  return name == kConsumerOffsetsTopic || name == kTransactionStateTopic ||
         name == kMirrorStateTopic || name == kMetadataTopic || name == "__share_group_state";
}

Result<void> check_mirror_name(std::string_view name) {
  std::string fault = fault_of(name);
  for (const std::string_view suffix : kReservedSuffixes) {
    if (fault.empty() && name.ends_with(suffix)) {
      fault = fmt::format("must not end in '{}', which stands for a state", suffix);
    }
  }
  if (fault.empty()) return {};
  return kafka_error(ErrorCode::INVALID_CLUSTER_MIRROR_NAME,
                     fmt::format("mirror name '{}' {}", name.substr(0, 300), fault));
}

Result<MirrorNameForm> MirrorNameForm::parse(std::string_view value) {
  MirrorNameForm form;
  if (value.ends_with(kPausedSuffix)) {
    form.state = DesiredMirrorState::kPaused;
    value.remove_suffix(kPausedSuffix.size());
  } else if (value.ends_with(kStoppedSuffix)) {
    form.state = DesiredMirrorState::kStopped;
    value.remove_suffix(kStoppedSuffix.size());
  }
  if (Result<void> good = check_mirror_name(value); !good) {
    return kafka_error(ErrorCode::INVALID_CONFIG, "mirror.name: " + good.error().message);
  }
  form.mirror = value;
  return form;
}

std::string MirrorNameForm::text() const {
  std::string text = mirror;
  if (state == DesiredMirrorState::kPaused) text += kPausedSuffix;
  if (state == DesiredMirrorState::kStopped) text += kStoppedSuffix;
  return text;
}

std::string mirror_name_of(const TopicImage& topic) {
  if (!topic.is_mirrored()) return {};
  MirrorNameForm form;
  form.mirror = *topic.mirror_name;
  form.state = topic.desired_mirror_state;
  return form.text();
}

}  // namespace kmirror::metadata
