// The inside of ClusterMirrorCoordinator. Owner: any thread; see the public header.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/runtime/coordinator_runtime.h"
#include "kmirror/coordinator/cluster_mirror_coordinator.h"

namespace kmirror::coordinator {

class MirrorStateShard;

class ClusterMirrorCoordinator::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(env::Environment& environment, storage::LogManager& logs, metadata::MetadataEngine& engine,
       const ClusterMirrorCoordinatorConfig& config);

  void read(std::vector<MirrorPartitionKey> keys, env::Loop& reply_on,
            Done<std::vector<MirrorStateRead>> done);
  void write(std::vector<MirrorStateWrite> writes, env::Loop& reply_on,
             Done<std::vector<MirrorStateWritten>> done);
  void list(std::string mirror_name, env::Loop& reply_on, Done<Result<States>> done);
  /// `keys_of` says which keys of a shard go.
  using KeysOf = std::function<std::vector<MirrorPartitionKey>(const MirrorStateShard&)>;
  void remove(KeysOf keys_of, env::Loop& reply_on, Done<Result<void>> done);
  [[nodiscard]] std::int32_t partition_for(const MirrorPartitionKey& key) const;
  [[nodiscard]] std::shared_ptr<const metadata::MetadataImage> image() const {
    return engine_.image();
  }

  const std::shared_ptr<CoordinatorRuntime> runtime;

 private:
  void read_from_shards(std::vector<MirrorPartitionKey> keys, env::Loop& reply_on,
                        Done<std::vector<MirrorStateRead>> done);
  void list_shards(const std::string& mirror_name, env::Loop& reply_on, Done<Result<States>> done);
  void remove_from_shards(const KeysOf& keys_of, env::Loop& reply_on, Done<Result<void>> done);
  void write_to_shards(std::vector<MirrorStateWrite> writes, env::Loop& reply_on,
                       Done<std::vector<MirrorStateWritten>> done);

  metadata::MetadataEngine& engine_;
};

}  // namespace kmirror::coordinator
