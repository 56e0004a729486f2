// ImageBuilder: the newest state of the metadata, changed record by record; immutable images of it
// are taken now and then.
// Owner: one task (loop 0, or start-up).
// Invariants: what an image that was taken points to is never changed: a topic is copied on the
// first change after a take, then changed in place until the next.
// Sources: Kafka 4.4 MetadataDelta, TopicDelta, ConfigurationsDelta, AclsDelta.
#pragma once

#include <memory>
#include <unordered_map>

#include "kmirror/base/result.h"
#include "kmirror/bytes/slice.h"
#include "kmirror/metadata/image.h"
#include "kmirror/wire/access_control_entry_record.h"
#include "kmirror/wire/acl_owners_record.h"
#include "kmirror/wire/config_record.h"
#include "kmirror/wire/deleted_mirror_topic_record.h"
#include "kmirror/wire/feature_level_record.h"
#include "kmirror/wire/mirror_topic_state_change_record.h"
#include "kmirror/wire/no_op_record.h"
#include "kmirror/wire/partition_change_record.h"
#include "kmirror/wire/partition_record.h"
#include "kmirror/wire/producer_ids_record.h"
#include "kmirror/wire/register_broker_record.h"
#include "kmirror/wire/remove_access_control_entry_record.h"
#include "kmirror/wire/remove_topic_record.h"
#include "kmirror/wire/topic_record.h"
#include "kmirror/wire/unregister_broker_record.h"

namespace kmirror::metadata {

class ImageBuilder {
 public:
  /// Starts from `base` (null: from nothing).
  explicit ImageBuilder(std::shared_ptr<const MetadataImage> base);

  /// Everything applied so far. Valid until the next change.
  [[nodiscard]] const MetadataImage& image() const { return image_; }

  /// Decodes one record of the log or a snapshot and applies it as that at `offset`. Errors: bytes
  /// errors; UNSUPPORTED_VERSION naming a record type or version that this release does not know;
  /// CORRUPT_MESSAGE for a record that does not fit what came before (an unknown topic id, …).
  [[nodiscard]] Result<void> replay(const Slice& value, std::int64_t offset);

  // One record each. Error: CORRUPT_MESSAGE if it does not fit.
  [[nodiscard]] Result<void> apply(const wire::RegisterBrokerRecord& record, std::int64_t offset);
  [[nodiscard]] Result<void> apply(const wire::UnregisterBrokerRecord& record, std::int64_t offset);
  [[nodiscard]] Result<void> apply(const wire::TopicRecord& record, std::int64_t offset);
  [[nodiscard]] Result<void> apply(const wire::PartitionRecord& record, std::int64_t offset);
  [[nodiscard]] Result<void> apply(const wire::PartitionChangeRecord& record, std::int64_t offset);
  [[nodiscard]] Result<void> apply(const wire::RemoveTopicRecord& record, std::int64_t offset);
  [[nodiscard]] Result<void> apply(const wire::ConfigRecord& record, std::int64_t offset);
  [[nodiscard]] Result<void> apply(const wire::FeatureLevelRecord& record, std::int64_t offset);
  [[nodiscard]] Result<void> apply(const wire::ProducerIdsRecord& record, std::int64_t offset);
  [[nodiscard]] Result<void> apply(const wire::AccessControlEntryRecord& record,
                                   std::int64_t offset);
  [[nodiscard]] Result<void> apply(const wire::RemoveAccessControlEntryRecord& record,
                                   std::int64_t offset);
  [[nodiscard]] Result<void> apply(const wire::AclOwnersRecord& record, std::int64_t offset);
  [[nodiscard]] Result<void> apply(const wire::MirrorTopicStateChangeRecord& record,
                                   std::int64_t offset);
  [[nodiscard]] Result<void> apply(const wire::DeletedMirrorTopicRecord& record,
                                   std::int64_t offset);
  [[nodiscard]] Result<void> apply(const wire::NoOpRecord& record, std::int64_t offset);

  /// Facts that are in no record.
  void set_identity(std::string cluster_id, NodeId controller_id);
  /// The offset of the last record, after a snapshot was read.
  void set_offset(std::int64_t offset) { image_.offset = offset; }

  /// An image of now, and what changed since the last call (everything, the first time).
  [[nodiscard]] std::shared_ptr<const MetadataDelta> take();
  /// Forgets everything applied since the last take(): its records could not be written.
  void revert();

 private:
  /// The topic with this id, open for changes; null if there is none.
  [[nodiscard]] TopicImage* edit(const Uuid& id);
  void put(std::shared_ptr<TopicImage> topic);

  MetadataImage image_;
  std::shared_ptr<const MetadataImage> last_taken_;
  std::unordered_map<Uuid, std::shared_ptr<TopicImage>> open_;  ///< copied since the last take
  MetadataDelta delta_;
};

/// The levels of features that this release supports; finalized 0 in all of them.
[[nodiscard]] const std::map<std::string, FeatureLevel, std::less<>>& supported_features();

}  // namespace kmirror::metadata
