#include "kmirror/coordinator/cluster_mirror_coordinator.h"

#include <algorithm>
#include <map>

#include "coordinator/mirror/coordinator_impl.h"
#include "coordinator/mirror/mirror_state_shard.h"
#include "coordinator/runtime/gather.h"

namespace kmirror::coordinator {
namespace {

CoordinatorRuntimeConfig runtime_config(const ClusterMirrorCoordinatorConfig& config) {
  CoordinatorRuntimeConfig runtime;
  runtime.topic = kMirrorStateTopic;
  runtime.partition_count = config.topic_num_partitions;
  runtime.topic_configs = {
      {"cleanup.policy", "compact"}, {"compression.type", "producer"}, {"retention.ms", "-1"}};
  runtime.log_config.cleanup_compact = true;
  runtime.log_config.cleanup_delete = false;
  runtime.log_config.retention_ms = -1;
  runtime.flush = config.flush;
  runtime.wait_while_loading = true;
  return runtime;
}

MirrorStateShard& as_mirror(CoordinatorShard& shard) {
  return static_cast<MirrorStateShard&>(shard);
}

/// Positions of `items` by the partition their key hashes to.
template <class Items, class PartitionOf>
std::map<std::int32_t, std::vector<std::size_t>> by_partition(const Items& items,
                                                              PartitionOf partition_of) {
  std::map<std::int32_t, std::vector<std::size_t>> positions;
  for (std::size_t i = 0; i < items.size(); ++i) positions[partition_of(items[i])].push_back(i);
  return positions;
}

/// `done` of one of two continuations.
template <class Response>
std::shared_ptr<UniqueFunction<void(Response)>> share(UniqueFunction<void(Response)> done) {
  return std::make_shared<UniqueFunction<void(Response)>>(std::move(done));
}

ErrorCode code_of(const Result<void>& result) {
  return result ? ErrorCode::NONE : to_kafka_error(result.error());
}

void set_error(MirrorStateWritten& written, ErrorCode code) {
  written.error = code;
  written.error_message = std::string(name(code));
}

}  // namespace

ClusterMirrorCoordinator::Impl::Impl(env::Environment& environment, storage::LogManager& logs,
                                     metadata::MetadataEngine& engine,
                                     const ClusterMirrorCoordinatorConfig& config)
    : runtime(std::make_shared<CoordinatorRuntime>(
          environment, logs, engine, runtime_config(config),
          [retry = config.retry](ShardContext& context) {
            return std::make_unique<MirrorStateShard>(context, retry);
          })),
      engine_(engine) {}

std::int32_t ClusterMirrorCoordinator::Impl::partition_for(const MirrorPartitionKey& key) const {
  const std::string text = fmt::format("{}:{}:{}", key.mirror, key.topic_id.text(), key.partition);
  return partition_for_hash(java_hash_code(text), runtime->partition_count());
}

void ClusterMirrorCoordinator::Impl::read(std::vector<MirrorPartitionKey> keys, env::Loop& reply_on,
                                          Done<std::vector<MirrorStateRead>> done) {
  using Reads = std::vector<MirrorStateRead>;
  const auto reply = share(std::move(done));
  const std::size_t count = keys.size();
  runtime->if_topic(
      [self = shared_from_this(), keys = std::move(keys), loop = &reply_on, reply]() mutable {
        self->read_from_shards(std::move(keys), *loop, std::move(*reply));
      },
      [count, loop = &reply_on, reply](Result<void> why) {
        Reads reads(count);
        for (MirrorStateRead& one : reads) one.error = code_of(why);
        Gather<Reads>::make(*loop, 0, std::move(reads), std::move(*reply));
      });
}

void ClusterMirrorCoordinator::Impl::read_from_shards(std::vector<MirrorPartitionKey> keys,
                                                      env::Loop& reply_on,
                                                      Done<std::vector<MirrorStateRead>> done) {
  using Reads = std::vector<MirrorStateRead>;
  Reads initial(keys.size());
  const auto shared = std::make_shared<const std::vector<MirrorPartitionKey>>(std::move(keys));
  const auto positions =
      by_partition(*shared, [this](const MirrorPartitionKey& key) { return partition_for(key); });
  const auto gather =
      Gather<Reads>::make(reply_on, positions.size(), std::move(initial), std::move(done));
  for (const auto& [partition, places] : positions) {
    const auto answer = [gather, places = places](const Reads& reads, ErrorCode code) {
      gather->add([places, reads, code](Reads& total) {
        for (std::size_t i = 0; i < places.size(); ++i) {
          if (code == ErrorCode::NONE) total[places[i]] = reads[i];
          total[places[i]].error = code;
        }
      });
    };
    runtime->dispatch(
        partition,
        [shared, places = places, answer](CoordinatorShard& shard) {
          Reads reads(places.size());
          MirrorStateShard& states = as_mirror(shard);
          for (std::size_t i = 0; i < places.size(); ++i) {
            reads[i].state = states.read((*shared)[places[i]]);
          }
          states.when_durable(
              [answer, reads = std::move(reads)](ErrorCode code) { answer(reads, code); });
        },
        [answer](ErrorCode code) { answer({}, code); });
  }
}

void ClusterMirrorCoordinator::Impl::write(std::vector<MirrorStateWrite> writes,
                                           env::Loop& reply_on,
                                           Done<std::vector<MirrorStateWritten>> done) {
  runtime->ensure_topic([self = shared_from_this(), writes = std::move(writes), loop = &reply_on,
                         done = std::move(done)](Result<void> ready) mutable {
    if (ready) {
      self->write_to_shards(std::move(writes), *loop, std::move(done));
      return;
    }
    std::vector<MirrorStateWritten> refused(writes.size());
    for (MirrorStateWritten& one : refused) {
      one.error = to_kafka_error(ready.error());
      one.error_message = ready.error().message;
    }
    Gather<std::vector<MirrorStateWritten>>::make(*loop, 0, std::move(refused), std::move(done));
  });
}

void ClusterMirrorCoordinator::Impl::write_to_shards(std::vector<MirrorStateWrite> writes,
                                                     env::Loop& reply_on,
                                                     Done<std::vector<MirrorStateWritten>> done) {
  using Written = std::vector<MirrorStateWritten>;
  const auto positions = by_partition(
      writes, [this](const MirrorStateWrite& write) { return partition_for(write.key); });
  const auto gather =
      Gather<Written>::make(reply_on, positions.size(), Written(writes.size()), std::move(done));
  for (const auto& [partition, places] : positions) {
    std::vector<MirrorStateWrite> part;
    for (const std::size_t place : places) part.push_back(std::move(writes[place]));
    const auto answer = [gather, places = places](Written written, ErrorCode code) {
      written.resize(places.size());
      gather->add([places, written = std::move(written), code](Written& total) mutable {
        for (std::size_t i = 0; i < places.size(); ++i) {
          total[places[i]] = std::move(written[i]);
          if (code != ErrorCode::NONE) set_error(total[places[i]], code);
        }
      });
    };
    runtime->dispatch(
        partition,
        [part = std::move(part), answer](CoordinatorShard& shard) {
          MirrorStateShard& states = as_mirror(shard);
          Written written = states.write(part);
          states.when_durable([answer, written = std::move(written)](ErrorCode code) mutable {
            answer(std::move(written), code);
          });
        },
        [answer](ErrorCode code) { answer({}, code); });
  }
}

void ClusterMirrorCoordinator::Impl::list(std::string mirror_name, env::Loop& reply_on,
                                          Done<Result<States>> done) {
  const auto reply = share(std::move(done));
  runtime->if_topic(
      [self = shared_from_this(), mirror_name = std::move(mirror_name), loop = &reply_on, reply] {
        self->list_shards(mirror_name, *loop, std::move(*reply));
      },
      [loop = &reply_on, reply](Result<void> why) {
        auto nothing = why ? Result<States>(States()) : Result<States>(why.error());
        Gather<Result<States>>::make(*loop, 0, std::move(nothing), std::move(*reply));
      });
}

void ClusterMirrorCoordinator::Impl::list_shards(const std::string& mirror_name,
                                                 env::Loop& reply_on, Done<Result<States>> done) {
  const std::int32_t count = runtime->partition_count();
  auto sorted = [done = std::move(done)](Result<States> total) mutable {
    if (total) {
      std::sort(total->begin(), total->end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    done(std::move(total));
  };
  const auto gather = Gather<Result<States>>::make(reply_on, static_cast<std::size_t>(count),
                                                   States(), std::move(sorted));
  const auto refuse = [gather](ErrorCode code) {
    gather->add([code](Result<States>& total) {
      total = kafka_error(code, fmt::format("a shard of {} cannot answer", kMirrorStateTopic));
    });
  };
  for (std::int32_t partition = 0; partition < count; ++partition) {
    runtime->dispatch(
        partition,
        [mirror_name, gather, refuse](CoordinatorShard& shard) {
          States part;
          for (const auto& [key, state] : as_mirror(shard).states()) {
            if (mirror_name.empty() || key.mirror == mirror_name) part.emplace_back(key, state);
          }
          as_mirror(shard).when_durable(
              [gather, refuse, part = std::move(part)](ErrorCode code) mutable {
                if (code != ErrorCode::NONE) return refuse(code);
                gather->add([part = std::move(part)](Result<States>& total) {
                  if (total) total->insert(total->end(), part.begin(), part.end());
                });
              });
        },
        refuse);
  }
}

void ClusterMirrorCoordinator::Impl::remove(KeysOf keys_of, env::Loop& reply_on,
                                            Done<Result<void>> done) {
  const auto reply = share(std::move(done));
  runtime->if_topic([self = shared_from_this(), keys_of = std::move(keys_of), loop = &reply_on,
                     reply] { self->remove_from_shards(keys_of, *loop, std::move(*reply)); },
                    [loop = &reply_on, reply](Result<void> why) {
                      Gather<Result<void>>::make(*loop, 0, std::move(why), std::move(*reply));
                    });
}

void ClusterMirrorCoordinator::Impl::remove_from_shards(const KeysOf& keys_of, env::Loop& reply_on,
                                                        Done<Result<void>> done) {
  const std::int32_t count = runtime->partition_count();
  const auto gather = Gather<Result<void>>::make(reply_on, static_cast<std::size_t>(count),
                                                 Result<void>(), std::move(done));
  const auto answer = [gather](const Result<void>& result, ErrorCode code) {
    gather->add([result, code](Result<void>& total) {
      if (!result) {
        total = result;
      } else if (code != ErrorCode::NONE) {
        total = kafka_error(code, fmt::format("a shard of {} cannot answer", kMirrorStateTopic));
      }
    });
  };
  for (std::int32_t partition = 0; partition < count; ++partition) {
    runtime->dispatch(
        partition,
        [keys_of, answer](CoordinatorShard& shard) {
          MirrorStateShard& states = as_mirror(shard);
          auto result = states.remove(keys_of(states));
          states.when_durable(
              [answer, result = std::move(result)](ErrorCode code) { answer(result, code); });
        },
        [answer](ErrorCode code) { answer(Result<void>(), code); });
  }
}

ClusterMirrorCoordinator::ClusterMirrorCoordinator(env::Environment& environment,
                                                   storage::LogManager& logs,
                                                   metadata::MetadataEngine& metadata,
                                                   ClusterMirrorCoordinatorConfig config)
    : impl_(std::make_shared<Impl>(environment, logs, metadata, config)) {}
ClusterMirrorCoordinator::~ClusterMirrorCoordinator() = default;

void ClusterMirrorCoordinator::start() { impl_->runtime->start(); }
void ClusterMirrorCoordinator::log_created(std::shared_ptr<storage::PartitionLog> log) {
  impl_->runtime->log_created(std::move(log));
}
void ClusterMirrorCoordinator::shut_down(UniqueFunction<void()> done) {
  impl_->runtime->shut_down(std::move(done));
}
void ClusterMirrorCoordinator::ensure_topic(env::Loop& reply_on, Done<Result<void>> done) {
  impl_->runtime->ensure_topic([loop = &reply_on,
                                done = std::move(done)](Result<void> result) mutable {
    loop->post([done = std::move(done), result = std::move(result)]() mutable { done(result); });
  });
}
std::int32_t ClusterMirrorCoordinator::partition_for(const MirrorPartitionKey& key) const {
  return impl_->partition_for(key);
}
void ClusterMirrorCoordinator::read(std::vector<MirrorPartitionKey> keys, env::Loop& reply_on,
                                    Done<std::vector<MirrorStateRead>> done) {
  impl_->read(std::move(keys), reply_on, std::move(done));
}
void ClusterMirrorCoordinator::write(std::vector<MirrorStateWrite> writes, env::Loop& reply_on,
                                     Done<std::vector<MirrorStateWritten>> done) {
  impl_->write(std::move(writes), reply_on, std::move(done));
}
void ClusterMirrorCoordinator::list(std::string mirror_name, env::Loop& reply_on,
                                    Done<Result<States>> done) {
  impl_->list(std::move(mirror_name), reply_on, std::move(done));
}
void ClusterMirrorCoordinator::remove_mirror(std::string mirror_name, env::Loop& reply_on,
                                             Done<Result<void>> done) {
  impl_->remove(
      [mirror_name = std::move(mirror_name)](const MirrorStateShard& shard) {
        return mirror_name.empty() ? std::vector<MirrorPartitionKey>() : shard.keys_of(mirror_name);
      },
      reply_on, std::move(done));
}
void ClusterMirrorCoordinator::remove(std::vector<MirrorPartitionKey> keys, env::Loop& reply_on,
                                      Done<Result<void>> done) {
  impl_->remove([keys = std::move(keys)](const MirrorStateShard&) { return keys; }, reply_on,
                std::move(done));
}

}  // namespace kmirror::coordinator
