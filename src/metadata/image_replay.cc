// From the bytes of a metadata record to the change it stands for.
#include <limits>

#include "kmirror/model/error_code.h"
#include "kmirror/wire/record_value.h"
#include "metadata/image_builder.h"

namespace kmirror::metadata {
namespace {

template <class Record>
Result<void> decode_and_apply(ImageBuilder& builder, Reader& reader, ApiVersion version,
                              std::int64_t offset) {
  if (version > Record::kMaxVersion || version < Record::kMinVersion) {
    return kafka_error(
        ErrorCode::UNSUPPORTED_VERSION,
        fmt::format("the metadata log has a {} of version {} at offset {}; this release of kmirror "
                    "knows versions {} to {}: start a newer release",
                    Record::kName, version, offset, Record::kMinVersion, Record::kMaxVersion));
  }
  KM_TRY(record, Record::decode(reader, version));
  if (reader.remaining() != 0) {
    return kafka_error(ErrorCode::CORRUPT_MESSAGE,
                       fmt::format("{} at offset {} has {} bytes too many", Record::kName, offset,
                                   reader.remaining()));
  }
  return builder.apply(record, offset);
}

using Apply = Result<void> (*)(ImageBuilder&, Reader&, ApiVersion, std::int64_t);

struct Known {
  ApiKey key;
  Apply apply;
};

template <class... Records>
Apply find_apply(ApiKey key) {
  const Known known[] = {Known{Records::kApiKey, &decode_and_apply<Records>}...};
  for (const Known& entry : known) {
    if (entry.key == key) return entry.apply;
  }
  return nullptr;
}

}  // namespace

Result<void> ImageBuilder::replay(const Slice& value, std::int64_t offset) {
  Reader reader(value);
  KM_TRY(head, wire::decode_metadata_head(reader));
  const Apply known =
      find_apply<wire::RegisterBrokerRecord, wire::UnregisterBrokerRecord, wire::TopicRecord,
                 wire::PartitionRecord, wire::PartitionChangeRecord, wire::RemoveTopicRecord,
                 wire::ConfigRecord, wire::FeatureLevelRecord, wire::ProducerIdsRecord,
                 wire::AccessControlEntryRecord, wire::RemoveAccessControlEntryRecord,
                 wire::AclOwnersRecord, wire::MirrorTopicStateChangeRecord,
                 wire::DeletedMirrorTopicRecord, wire::NoOpRecord>(head.api_key);
  if (known == nullptr) {
    return kafka_error(
        ErrorCode::UNSUPPORTED_VERSION,
        fmt::format(
            "the metadata log has a record of type {} (version {}) at offset {}, which this "
            "release of kmirror does not know: start a newer release",
            head.api_key, head.version, offset));
  }
  return known(*this, reader, head.version, offset);
}

}  // namespace kmirror::metadata
