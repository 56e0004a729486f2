// What the daemon itself writes: registration, features, producer ids, ACLs.
#include <algorithm>
#include <tuple>

#include "metadata/commands.h"

namespace kmirror::metadata {
namespace {

constexpr std::int32_t kProducerIdBlockLength = 1000;
// Above this no block would be left for anybody.
constexpr std::int64_t kGreatestProducerId =
    std::numeric_limits<std::int64_t>::max() - 1'000'000'000;

void emit_next_producer_id(Command& command, std::int64_t next) {
  wire::ProducerIdsRecord record;
  record.broker_id = command.node_id();
  const auto self = command.image().brokers.find(command.node_id());
  record.broker_epoch = self == command.image().brokers.end() ? -1 : self->second->broker_epoch;
  record.next_producer_id = ProducerId(next);
  command.emit(record);
}

bool same_listeners(const std::vector<ListenerEndpoint>& a,
                    const std::vector<ListenerEndpoint>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ListenerEndpoint& x, const ListenerEndpoint& y) {
                      return x.name == y.name && x.host == y.host && x.port == y.port &&
                             x.security_protocol == y.security_protocol;
                    });
}

/// An ACL without id and owners.
using Binding = std::tuple<std::int8_t, std::string, std::int8_t, std::string, std::string,
                           std::int8_t, std::int8_t>;
Binding binding_of(const AclImage& acl) {
  return {acl.resource_type, acl.resource_name, acl.pattern_type,   acl.principal,
          acl.host,          acl.operation,     acl.permission_type};
}

void emit_owners(Command& command, const Uuid& id, const std::set<std::string>& owners) {
  wire::AclOwnersRecord record;
  record.acl_id = id;
  record.owners.assign(owners.begin(), owners.end());
  command.emit(record);
}

}  // namespace

void write_features(Command& command) {
  for (const auto& [name, level] : supported_features()) {
    wire::FeatureLevelRecord record;
    record.name = name;
    record.feature_level = level.max;
    command.emit(record);
  }
}

Result<void> register_broker(Command& command, const std::vector<ListenerEndpoint>& listeners,
                             const std::optional<std::string>& rack,
                             const std::vector<Uuid>& log_directory_ids) {
  const auto self = command.image().brokers.find(command.node_id());
  const bool is_so = self != command.image().brokers.end() && self->second->rack == rack &&
                     same_listeners(self->second->listeners, listeners);
  if (is_so) return {};
  wire::RegisterBrokerRecord record;
  record.broker_id = command.node_id();
  record.incarnation_id = command.rng().uuid();
  record.broker_epoch = command.next_offset();
  record.rack = rack;
  record.fenced = false;
  record.log_dirs = log_directory_ids;
  for (const ListenerEndpoint& listener : listeners) {
    wire::RegisterBrokerRecord::BrokerEndpoint end_point;
    end_point.name = listener.name;
    end_point.host = listener.host;
    end_point.port = listener.port;
    end_point.security_protocol = listener.security_protocol;
    record.end_points.push_back(std::move(end_point));
  }
  for (const auto& [name, level] : supported_features()) {
    wire::RegisterBrokerRecord::BrokerFeature feature;
    feature.name = name;
    feature.min_supported_version = level.min;
    feature.max_supported_version = level.max;
    record.features.push_back(std::move(feature));
  }
  command.emit(record, ApiVersion(3));
  return {};
}

Result<MetadataEngine::ProducerIdBlock> allocate_producer_ids(Command& command) {
  MetadataEngine::ProducerIdBlock block;
  block.first = command.image().next_producer_id;
  block.length = kProducerIdBlockLength;
  if (block.first > kGreatestProducerId) {
    return kafka_error(ErrorCode::UNKNOWN_SERVER_ERROR, "there are no producer ids left");
  }
  emit_next_producer_id(command, block.first + block.length);
  return block;
}

Result<void> raise_producer_ids(Command& command, ProducerId seen) {
  if (seen.get() < command.image().next_producer_id) return {};
  if (seen.get() >= kGreatestProducerId) {
    return kafka_error(ErrorCode::INVALID_PRODUCER_ID_MAPPING,
                       fmt::format("producer id {} leaves no ids above it", seen));
  }
  emit_next_producer_id(command, seen.get() + 1);
  return {};
}

Result<void> add_acls(Command& command, const std::vector<AclImage>& acls) {
  if (!command.has_room_for(2 * acls.size())) {
    return kafka_error(ErrorCode::POLICY_VIOLATION, "too many ACLs for one request");
  }
  std::map<Binding, Uuid> present;
  for (const auto& [id, acl] : command.image().acls) present.emplace(binding_of(*acl), id);
  for (const AclImage& acl : acls) {
    const std::set<std::string> wanted =
        acl.owners.empty() ? std::set<std::string>{""} : acl.owners;
    const auto same = present.find(binding_of(acl));
    if (same != present.end()) {
      const std::set<std::string>& before = command.image().acls.at(same->second)->owners;
      std::set<std::string> owners = before;
      owners.insert(wanted.begin(), wanted.end());
      if (owners != before) emit_owners(command, same->second, owners);
      continue;
    }
    wire::AccessControlEntryRecord record;
    record.id = command.rng().uuid();
    record.resource_type = acl.resource_type;
    record.resource_name = acl.resource_name;
    record.pattern_type = acl.pattern_type;
    record.principal = acl.principal;
    record.host = acl.host;
    record.operation = acl.operation;
    record.permission_type = acl.permission_type;
    command.emit(record);
    present.emplace(binding_of(acl), record.id);
    if (wanted != std::set<std::string>{""}) emit_owners(command, record.id, wanted);
  }
  return {};
}

Result<void> remove_acls(Command& command, const std::vector<Uuid>& ids,
                         const std::optional<std::string>& owner) {
  if (!command.has_room_for(ids.size())) {
    return kafka_error(ErrorCode::POLICY_VIOLATION, "too many ACLs for one request");
  }
  for (const Uuid& id : ids) {
    const auto found = command.image().acls.find(id);
    if (found == command.image().acls.end()) continue;
    if (owner) {
      std::set<std::string> owners = found->second->owners;
      if (owners.erase(*owner) == 0) continue;
      if (!owners.empty()) {
        emit_owners(command, id, owners);
        continue;
      }
    }
    wire::RemoveAccessControlEntryRecord record;
    record.id = id;
    command.emit(record);
  }
  return {};
}

}  // namespace kmirror::metadata
