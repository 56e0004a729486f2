// Names of topics and mirrors: what is legal, and the forms of mirror.name.
// Owner: any thread; pure functions.
// Sources: Kafka 4.4 Topic.validate, Topic.hasCollision; spec D.2; decisions section 2.
#pragma once

#include <string>
#include <string_view>

#include "kmirror/base/result.h"
#include "kmirror/metadata/image.h"

namespace kmirror::metadata {

inline constexpr std::size_t kMaxTopicNameChars = 249;
inline constexpr std::string_view kMirrorStateTopic = "__mirror_state";
inline constexpr std::string_view kConsumerOffsetsTopic = "__consumer_offsets";
inline constexpr std::string_view kTransactionStateTopic = "__transaction_state";
inline constexpr std::string_view kMetadataTopic = "__cluster_metadata";

/// 1 … 249 characters of [A-Za-z0-9._-], not "." or "..". Error: INVALID_TOPIC_EXCEPTION with the
/// reason.
[[nodiscard]] Result<void> check_topic_name(std::string_view name);
/// The name with '.' as '_': two topics with the same key would share metric names.
[[nodiscard]] std::string collision_key(std::string_view topic);
/// Topics that only kmirror itself creates and writes.
[[nodiscard]] bool is_internal_topic(std::string_view name);

/// As a topic name; also not ending in ".paused", ".stopped" or ".removed", which mirror.name would
/// take for a state. Error: INVALID_CLUSTER_MIRROR_NAME.
[[nodiscard]] Result<void> check_mirror_name(std::string_view name);

/// mirror.name as a topic configuration: "m", "m.paused", "m.stopped".
struct MirrorNameForm {
  MirrorNameForm() = default;
  std::string mirror;
  DesiredMirrorState state = DesiredMirrorState::kMirroring;

  /// Error: INVALID_CONFIG if what is left of the suffix is no mirror name.
  [[nodiscard]] static Result<MirrorNameForm> parse(std::string_view value);
  [[nodiscard]] std::string text() const;
};

/// The value that DescribeConfigs shows for `topic`; "" if it belongs to no mirror.
[[nodiscard]] std::string mirror_name_of(const TopicImage& topic);

}  // namespace kmirror::metadata
