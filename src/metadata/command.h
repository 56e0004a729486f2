// Command: the room in which one controller request is evaluated: it sees everything before it and
// collects the records that carry it out.
// Owner: loop 0, for the time of one evaluation.
// Invariants: an emitted record is in image() at once; the records of one command are one batch, so
// they are kept or lost together.
// Sources: Kafka 4.4 ControllerResult (idea).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kmirror/base/check.h"
#include "kmirror/env/clock.h"
#include "kmirror/metadata/config_resolver.h"
#include "kmirror/model/error_code.h"
#include "kmirror/wire/record_value.h"
#include "metadata/image_builder.h"

namespace kmirror::metadata {

/// What a command may use besides the image; set up once by the engine.
struct CommandServices {
  CommandServices(const ConfigResolver& r, env::Rng& dice) : resolver(r), rng(dice) {}
  const ConfigResolver& resolver;
  env::Rng& rng;
  std::size_t max_records = 50'000;
  std::function<bool(const TopicImage&)> is_writable;
};

class Command {
 public:
  Command(ImageBuilder& tip, const CommandServices& services) : tip_(tip), services_(services) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  [[nodiscard]] const MetadataImage& image() const { return tip_.image(); }
  [[nodiscard]] const ConfigResolver& resolver() const { return services_.resolver; }
  [[nodiscard]] env::Rng& rng() const { return services_.rng; }
  [[nodiscard]] NodeId node_id() const { return services_.resolver.node_id(); }
  /// The offset that the next record gets.
  [[nodiscard]] std::int64_t next_offset() const { return tip_.image().offset + 1; }
  /// True while `count` more records fit into the command's batch.
  [[nodiscard]] bool has_room_for(std::size_t count) const {
    return records_.size() + count <= services_.max_records;
  }
  /// True once all partitions of a mirror topic are STOPPED, and for topics of no mirror.
  [[nodiscard]] bool is_writable(const TopicImage& topic) const {
    if (!topic.is_mirrored()) return true;
    if (topic.desired_mirror_state != DesiredMirrorState::kStopped) return false;
    return services_.is_writable && services_.is_writable(topic);
  }

  /// Adds a record in its newest version, or in `version`.
  template <class Record>
  void emit(const Record& record, ApiVersion version = Record::kMaxVersion) {
    Result<Slice> encoded = wire::encode_metadata_record(record, version);
    KM_CHECK(encoded, "{} does not encode: {}", Record::kName, encoded.error().message);
    const Result<void> applied = tip_.apply(record, next_offset());
    KM_CHECK(applied, "{} does not fit: {}", Record::kName, applied.error().message);
    records_.push_back(std::move(*encoded));
  }
  /// Sets, or with a null value resets, one configuration key.
  void emit_config(const ConfigResource& resource, const std::string& key,
                   std::optional<std::string> value);
  /// A topic with its partitions, all led by this node. `assignments` only for their number of
  /// replicas; the sole broker holds them.
  void emit_topic(const std::string& name, const Uuid& id, std::int32_t partitions);
  void emit_partition(const Uuid& topic_id, std::int32_t index, LeaderEpoch leader_epoch,
                      std::int32_t partition_epoch);
  void emit_mirror_state(const Uuid& topic_id, std::optional<std::string> mirror,
                         DesiredMirrorState state);
  void emit_deleted_here(const std::string& mirror, const std::string& topic, bool deleted);

  [[nodiscard]] std::vector<Slice> take_records() { return std::exchange(records_, {}); }

 private:
  ImageBuilder& tip_;
  const CommandServices& services_;
  std::vector<Slice> records_;
};

/// An error code and its text, as most answers carry them.
struct ErrorAnswer {
  ErrorAnswer() = default;
  ErrorAnswer(ErrorCode error, std::string text) : code(error), message(std::move(text)) {}
  explicit ErrorAnswer(const Error& error) : code(to_kafka_error(error)), message(error.message) {}
  ErrorCode code = ErrorCode::NONE;
  std::string message;
  [[nodiscard]] bool failed() const { return code != ErrorCode::NONE; }
  /// Null without an error, as Kafka's brokers answer.
  [[nodiscard]] std::optional<std::string> text() const {
    if (!failed()) return std::nullopt;
    return message;
  }
};

/// "topic NAME is a read-only mirror of MIRROR" (decisions section 2).
[[nodiscard]] std::string read_only_text(const TopicImage& topic);

}  // namespace kmirror::metadata
