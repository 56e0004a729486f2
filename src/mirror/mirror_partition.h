// MirrorPartition and Mirror: what loop 0 knows of a mirror partition and of a mirror.
// Owner: loop 0.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kmirror/base/unique_function.h"
#include "kmirror/client/admin.h"
#include "kmirror/client/backoff.h"
#include "kmirror/client/source_metadata.h"
#include "kmirror/coordinator/cluster_mirror_coordinator.h"
#include "kmirror/env/async.h"
#include "kmirror/mirror/fetcher_thread.h"
#include "kmirror/model/mirror_state.h"
#include "mirror/mirror_settings.h"

namespace kmirror::mirror {

struct MirrorPartition {
  MirrorPartition(const std::string& mirror, const std::string& topic, Uuid topic_id,
                  std::int32_t index)
      : key(mirror, topic_id, index), where(topic, index) {}
  MirrorPartition(const MirrorPartition&) = delete;
  MirrorPartition& operator=(const MirrorPartition&) = delete;

  [[nodiscard]] MirrorState state() const { return stored.status.state; }

  coordinator::MirrorPartitionKey key;
  TopicPartition where;
  bool is_gone = false;                      ///< no longer of this mirror
  coordinator::MirrorPartitionState stored;  ///< as the coordinator has it
  LeaderEpoch own_epoch = kNoLeaderEpoch;    ///< leader epoch of our partition, by the image

  // Transitions wait here while one is being stored.
  bool is_writing = false;
  std::deque<MirrorEvent> events;

  // Fetching.
  std::uint64_t assignment = 0;  ///< 0: not assigned
  NodeId broker{-1};
  LeaderEpoch assigned_epoch = kNoLeaderEpoch;
  bool is_releasing = false;
  std::vector<UniqueFunction<void()>> on_released;
  bool awaits_metadata = false;
  LeaderEpoch wanted_epoch =
      kNoLeaderEpoch;  ///< what the source's metadata must show; -1: anything
  std::string wanted_why;
  std::shared_ptr<PartitionProgress> progress = std::make_shared<PartitionProgress>();

  // What the states need.
  LeaderEpoch needed_epoch = kNoLeaderEpoch;  ///< EPOCH_FENCING: ours must reach this
  bool is_bumping = false;
  Offset cut_to = kNoOffset;  ///< ULE_RECOVERY
  bool is_stopping = false;   ///< the stop of this partition is under way

  // FAILED.
  std::int64_t failures = 0;       ///< in a row, for the backoff
  bool is_unreachable = false;     ///< the newest failure was one of reaching the source
  std::uint64_t retry_number = 0;  ///< of the timer that counts
};
using PartitionPtr = std::shared_ptr<MirrorPartition>;

struct Mirror {
  Mirror(std::string mirror_name, env::Loop& loop)
      : name(std::move(mirror_name)),
        wake(loop),
        early_backoff(
            client::BackoffOptions(std::chrono::milliseconds(100), std::chrono::milliseconds(500))),
        failure_backoff(client::BackoffOptions(std::chrono::milliseconds(500),
                                               std::chrono::milliseconds(5'000))) {}
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  std::string name;
  bool is_gone = false;
  MirrorSettings settings;
  std::map<TopicPartition, PartitionPtr> partitions;

  client::SourceMetadata source;
  std::unique_ptr<client::AdminClient> admin;
  bool reconnect = false;  ///< the settings changed: close `admin` before the next use
  env::AsyncEvent wake;    ///< something to do before the next regular refresh
  bool wants_refresh = false;
  env::Instant next_regular;
  env::Instant earliest_early;  ///< pace of refreshes out of turn
  client::Backoff early_backoff;
  client::Backoff failure_backoff;
  std::optional<env::Instant> unreachable_since;
  std::string unreachable_why;
  std::map<std::string, int> missing_rounds;  ///< regular refreshes in a row without the topic
  bool cluster_mismatch = false;
};
using MirrorPtr = std::shared_ptr<Mirror>;

}  // namespace kmirror::mirror
