// StartMirrorTopics, StopMirrorTopics, PauseMirrorTopics, ResumeMirrorTopics: the controller's
// part. Actual states of partitions were checked by the mirror room before the request came here;
// here the desired states count, and StateOffset tells whether they changed since that check.
#include <algorithm>
#include <set>

#include "kmirror/metadata/names.h"
#include "metadata/commands.h"
#include "metadata/mirror_patterns.h"

namespace kmirror::metadata {
namespace {

Result<void> check_mirror(const Command& command, const std::string& mirror) {
  const auto feature = command.image().features.find("mirror.version");
  if (feature == command.image().features.end() || feature->second.finalized < 1) {
    return kafka_error(ErrorCode::UNSUPPORTED_VERSION,
                       "cluster mirroring is off: feature mirror.version is 0");
  }
  if (command.image().has_mirror(mirror)) return {};
  return kafka_error(ErrorCode::UNKNOWN_CLUSTER_MIRROR,
                     fmt::format("there is no mirror '{}'", mirror));
}

bool changed_since(const TopicImage& topic, Offset state_offset) {
  return state_offset.get() >= 0 && topic.last_state_offset > state_offset.get();
}

ErrorAnswer changed_answer(const TopicImage& topic) {
  return {ErrorCode::INVALID_CLUSTER_MIRROR_STATE,
          fmt::format("topic {} changed while the request was checked; try again", topic.name)};
}

/// Whole-request form of the lock, for start, pause and resume.
template <class Request>
Result<void> check_lock(const Command& command, const Request& request) {
  for (const auto& wanted : request.topics) {
    const std::shared_ptr<const TopicImage> topic = command.image().topic(wanted.topic_name);
    if (topic == nullptr || !changed_since(*topic, request.state_offset)) continue;
    const ErrorAnswer answer = changed_answer(*topic);
    return kafka_error(answer.code, answer.message);
  }
  return {};
}

template <class Response>
void fail(Response& response, const Error& error) {
  const ErrorAnswer answer(error);
  response.error_code = answer.code;
  response.error_message = answer.text();
}

template <class Response>
void add_result(Response& response, const std::string& topic, const ErrorAnswer& answer) {
  typename Response::TopicResult result;
  result.topic_name = topic;
  result.error_code = answer.code;
  result.error_message = answer.text();
  response.topics.push_back(std::move(result));
}

/// The topic if it belongs to `mirror`; else why not.
ErrorAnswer find_in_mirror(const Command& command, const std::string& mirror,
                           const std::string& name, std::shared_ptr<const TopicImage>& topic) {
  topic = command.image().topic(name);
  if (topic == nullptr) {
    return {ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, fmt::format("there is no topic '{}'", name)};
  }
  if (!topic->is_mirrored() || *topic->mirror_name != mirror) {
    return {ErrorCode::TOPIC_NOT_IN_CLUSTER_MIRROR,
            fmt::format("topic {} does not belong to mirror {}", name, mirror)};
  }
  return {};
}

// ---- start ----

using StartTopic = wire::StartMirrorTopicsRequest::TopicData;

/// The include and exclude lists as the request leaves them; refuses a named topic that they would
/// not mirror.
Result<MirrorPatterns> plan_patterns(const Command& command,
                                     const wire::StartMirrorTopicsRequest& request) {
  KM_TRY_VOID(MirrorPatterns::check(request.include_patterns));
  KM_TRY_VOID(MirrorPatterns::check(request.exclude_patterns));
  MirrorPatterns patterns(command, request.mirror_name);
  for (const std::string& pattern : request.include_patterns) patterns.include(pattern);
  for (const std::string& pattern : request.exclude_patterns) patterns.exclude(pattern);
  for (const StartTopic& wanted : request.topics) {
    KM_TRY_VOID(check_topic_name(wanted.topic_name));
    patterns.include_topic(wanted.topic_name);
  }
  KM_TRY(filter, patterns.filter());
  for (const StartTopic& wanted : request.topics) {
    if (!filter.excludes(wanted.topic_name)) continue;
    return kafka_error(
        ErrorCode::INVALID_REQUEST,
        fmt::format("topic {} matches mirror.topics.exclude of mirror {}; change that list first",
                    wanted.topic_name, request.mirror_name));
  }
  return patterns;
}

/// Topics of the mirror that the exclude list now names are stopped.
void stop_excluded(Command& command, const std::string& mirror, const TopicFilter& filter) {
  for (const auto& topic : command.image().mirror_topics(mirror)) {
    if (topic->desired_mirror_state == DesiredMirrorState::kStopped) continue;
    if (!filter.excludes(topic->name)) continue;
    command.emit_mirror_state(topic->id, mirror, DesiredMirrorState::kStopped);
  }
}

ErrorAnswer identity_fault(const MetadataImage& image, const StartTopic& wanted,
                           const TopicImage* topic) {
  if (wanted.topic_id.is_zero()) return {};  // a source before 2.8 has no ids
  const std::shared_ptr<const TopicImage> owner = image.topic(wanted.topic_id);
  if (owner != nullptr && owner->name != wanted.topic_name) {
    return {ErrorCode::TOPIC_ALREADY_EXISTS,
            fmt::format("topic id {} of {} belongs to topic {} here", wanted.topic_id,
                        wanted.topic_name, owner->name)};
  }
  if (topic != nullptr && topic->id != wanted.topic_id) {
    return {ErrorCode::INCONSISTENT_TOPIC_ID,
            fmt::format("topic {} has id {} here and {} at the source; delete it here, or mirror "
                        "into another cluster",
                        wanted.topic_name, topic->id, wanted.topic_id)};
  }
  return {};
}

/// Why an existing topic cannot be started.
ErrorAnswer start_fault(const Command& command, const std::string& mirror,
                        const TopicImage& topic) {
  if (is_internal_topic(topic.name)) {
    return {ErrorCode::INVALID_REQUEST,
            fmt::format("topic {} is internal and cannot be mirrored", topic.name)};
  }
  if (!topic.is_mirrored()) return {};
  const bool is_ours = *topic.mirror_name == mirror;
  if (!is_ours && topic.desired_mirror_state != DesiredMirrorState::kStopped) {
    return {ErrorCode::TOPIC_ALREADY_IN_CLUSTER_MIRROR,
            fmt::format("topic {} belongs to mirror {}; stop it there first", topic.name,
                        *topic.mirror_name)};
  }
  if (is_ours && topic.desired_mirror_state == DesiredMirrorState::kMirroring) return {};
  if (is_ours && topic.desired_mirror_state == DesiredMirrorState::kPaused) {
    return {ErrorCode::MIRROR_TOPIC_NOT_STOPPED,
            fmt::format("topic {} is paused; resume it", topic.name)};
  }
  if (!command.is_writable(topic)) {
    return {ErrorCode::MIRROR_TOPIC_NOT_STOPPED,
            fmt::format("topic {} is still being stopped; try again", topic.name)};
  }
  return {};
}

void clear_mark(Command& command, const std::string& mirror, const std::string& topic) {
  const auto marks = command.image().deleted_here.find(mirror);
  const bool is_marked =
      marks != command.image().deleted_here.end() && marks->second.contains(topic);
  if (is_marked) command.emit_deleted_here(mirror, topic, false);
}

ErrorAnswer start_topic(Command& command, const std::string& mirror, const StartTopic& wanted) {
  const std::shared_ptr<const TopicImage> topic = command.image().topic(wanted.topic_name);
  ErrorAnswer fault = identity_fault(command.image(), wanted, topic.get());
  if (fault.failed()) return fault;
  if (topic != nullptr) {
    fault = start_fault(command, mirror, *topic);
    if (fault.failed()) return fault;
    clear_mark(command, mirror, wanted.topic_name);
    const bool is_so = topic->is_mirrored() && *topic->mirror_name == mirror &&
                       topic->desired_mirror_state == DesiredMirrorState::kMirroring;
    if (!is_so) command.emit_mirror_state(topic->id, mirror, DesiredMirrorState::kMirroring);
    return {};
  }
  clear_mark(command, mirror, wanted.topic_name);
  // Not at the source yet: the include list remembers it, the refresh starts it.
  if (wanted.num_partitions <= 0) return {};
  if (is_internal_topic(wanted.topic_name)) {
    return {ErrorCode::INVALID_REQUEST,
            fmt::format("topic {} is internal and cannot be mirrored", wanted.topic_name)};
  }
  if (!command.has_room_for(static_cast<std::size_t>(wanted.num_partitions) + 4)) {
    return {ErrorCode::POLICY_VIOLATION,
            fmt::format("{} partitions are too many for one request; start fewer topics at a time",
                        wanted.num_partitions)};
  }
  const Uuid id = wanted.topic_id.is_zero() ? command.rng().uuid() : wanted.topic_id;
  command.emit_topic(wanted.topic_name, id, wanted.num_partitions);
  command.emit_mirror_state(id, mirror, DesiredMirrorState::kMirroring);
  return {};
}

}  // namespace

wire::StartMirrorTopicsResponse evaluate(Command& command,
                                         const wire::StartMirrorTopicsRequest& request) {
  wire::StartMirrorTopicsResponse response;
  const std::string& mirror = request.mirror_name;
  if (const Result<void> good = check_mirror(command, mirror); !good) {
    fail(response, good.error());
    return response;
  }
  if (const Result<void> good = check_lock(command, request); !good) {
    fail(response, good.error());
    return response;
  }
  const Result<MirrorPatterns> patterns = plan_patterns(command, request);
  if (!patterns) {
    fail(response, patterns.error());
    return response;
  }
  patterns->emit(command);
  if (const Result<TopicFilter> filter = patterns->filter(); filter) {
    stop_excluded(command, mirror, *filter);
  }
  std::set<std::string> answered;
  for (const StartTopic& wanted : request.topics) {
    if (!answered.insert(wanted.topic_name).second) continue;
    const ErrorAnswer answer = start_topic(command, mirror, wanted);
    add_result(response, wanted.topic_name, answer);
    if (answer.failed() && response.error_code == ErrorCode::NONE) {
      response.error_code = answer.code;
      response.error_message = answer.text();
    }
  }
  return response;
}

wire::StopMirrorTopicsResponse evaluate(Command& command,
                                        const wire::StopMirrorTopicsRequest& request) {
  wire::StopMirrorTopicsResponse response;
  const std::string& mirror = request.mirror_name;
  if (const Result<void> good = check_mirror(command, mirror); !good) {
    fail(response, good.error());
    return response;
  }
  if (const Result<void> good = MirrorPatterns::check(request.patterns); !good) {
    fail(response, good.error());
    return response;
  }
  std::vector<std::string> names;
  for (const auto& wanted : request.topics) names.push_back(wanted.topic_name);
  if (!request.patterns.empty()) {
    MirrorPatterns patterns(command, mirror);
    for (const std::string& pattern : request.patterns) patterns.exclude(pattern);
    patterns.emit(command);
    const Result<RegexList> stopped = RegexList::of(request.patterns);
    for (const auto& topic : command.image().mirror_topics(mirror)) {
      if (stopped && stopped->matches(topic->name)) names.push_back(topic->name);
    }
  }
  std::set<std::string> answered;
  for (const std::string& name : names) {
    if (!answered.insert(name).second) continue;
    std::shared_ptr<const TopicImage> topic;
    ErrorAnswer answer = find_in_mirror(command, mirror, name, topic);
    // Decided topic by topic, never refused for a neighbour (decisions 3.1).
    if (!answer.failed() && topic->desired_mirror_state != DesiredMirrorState::kStopped) {
      if (changed_since(*topic, request.state_offset)) {
        answer = changed_answer(*topic);
      } else {
        command.emit_mirror_state(topic->id, mirror, DesiredMirrorState::kStopped);
      }
    }
    add_result(response, name, answer);
  }
  return response;
}

namespace {

/// Pause and resume: `from` to `to`; `otherwise` for a topic that is in neither state.
template <class Response, class Request>
Response change_state(Command& command, const Request& request, DesiredMirrorState from,
                      DesiredMirrorState to, ErrorCode otherwise, const char* otherwise_text) {
  Response response;
  if (const Result<void> good = check_mirror(command, request.mirror_name); !good) {
    fail(response, good.error());
    return response;
  }
  if (const Result<void> good = check_lock(command, request); !good) {
    fail(response, good.error());
    return response;
  }
  std::set<std::string> answered;
  for (const auto& wanted : request.topics) {
    if (!answered.insert(wanted.topic_name).second) continue;
    std::shared_ptr<const TopicImage> topic;
    ErrorAnswer answer = find_in_mirror(command, request.mirror_name, wanted.topic_name, topic);
    if (!answer.failed() && topic->desired_mirror_state != to) {
      if (topic->desired_mirror_state == from) {
        command.emit_mirror_state(topic->id, request.mirror_name, to);
      } else {
        answer =
            ErrorAnswer(otherwise, fmt::format("topic {} {}", wanted.topic_name, otherwise_text));
      }
    }
    add_result(response, wanted.topic_name, answer);
  }
  return response;
}

}  // namespace

wire::PauseMirrorTopicsResponse evaluate(Command& command,
                                         const wire::PauseMirrorTopicsRequest& request) {
  return change_state<wire::PauseMirrorTopicsResponse>(
      command, request, DesiredMirrorState::kMirroring, DesiredMirrorState::kPaused,
      ErrorCode::MIRROR_TOPIC_ALREADY_STOPPED, "is stopped and cannot be paused");
}

wire::ResumeMirrorTopicsResponse evaluate(Command& command,
                                          const wire::ResumeMirrorTopicsRequest& request) {
  return change_state<wire::ResumeMirrorTopicsResponse>(
      command, request, DesiredMirrorState::kPaused, DesiredMirrorState::kMirroring,
      ErrorCode::MIRROR_TOPIC_NOT_PAUSED, "is stopped, not paused; start it");
}

}  // namespace kmirror::metadata
