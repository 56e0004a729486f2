#include "metadata/embedded_engine_impl.h"

#include "kmirror/base/check.h"
#include "kmirror/base/log.h"
#include "metadata/commands.h"

namespace kmirror::metadata {

EmbeddedEngine::Impl::Metrics::Metrics(metrics::Registry& registry)
    : offset(registry.gauge("kmirror_metadata_last_applied_record_offset",
                            "Offset of the newest metadata record that is in force.")),
      pending(registry.gauge("kmirror_metadata_pending_commands",
                             "Metadata commands that wait to be evaluated or to be on disk.")),
      snapshot_bytes(registry.gauge("kmirror_metadata_snapshot_size_bytes",
                                    "Size of the newest metadata snapshot.")),
      commits(
          registry.counter("kmirror_metadata_commits_total", "Group commits of the metadata log.")),
      failures(registry.counter("kmirror_metadata_write_failures_total",
                                "Metadata commands that could not be written.")) {}

EmbeddedEngine::Impl::Impl(env::Environment& env, EmbeddedEngineOptions opts,
                           metrics::Registry& registry)
    : environment(env),
      options(std::move(opts)),
      resolver(options.file, options.node_id),
      services(resolver, environment.rng),
      metrics_(registry) {
  services.max_records = options.max_records_in_command;
}

Result<void> EmbeddedEngine::Impl::open() {
  tip_.set_identity(options.cluster_id, options.node_id);
  KM_TRY(log, MetadataLog::open(environment, options.directory, options.segment_bytes, tip_));
  log_ = std::move(log);
  if (tip_.image().offset < 0) {
    // The first start: a log of its own form begins with the levels of its features.
    Command command(tip_, services);
    write_features(command);
    KM_TRY_VOID(log_->append(command.take_records(), environment.clock.wall_ms()));
    const storage::PartitionLog::FlushTask task = log_->log().start_flush();
    KM_TRY_VOID(task.run());
    log_->log().flush_done(task);
  }
  const std::shared_ptr<const MetadataDelta> delta = tip_.take();
  published.store(delta->after);
  metrics_.offset.set(delta->after->offset);
  KM_LOG(kInfo, "metadata.loaded", "metadata log at offset {}: {} topics, {} mirrors",
         delta->after->offset, delta->after->topics.size(), delta->after->mirror_names().size());
  return {};
}

ErrorAnswer EmbeddedEngine::Impl::refusal_now() const {
  if (offline_) {
    return {ErrorCode::KAFKA_STORAGE_ERROR,
            "the metadata log is offline after a disk error: " + offline_->message};
  }
  if (closing_) return {ErrorCode::NOT_CONTROLLER, "the daemon is stopping"};
  return {};
}

void EmbeddedEngine::Impl::submit(PendingCommand pending) {
  // Bounded: a caller that is faster than the disk is told so at once.
  const std::size_t before = pending_count_.fetch_add(1);
  if (before >= options.max_pending_commands) {
    loop().post([self = shared_from_this(), pending = std::move(pending)]() mutable {
      self->finish(pending, {ErrorCode::REQUEST_TIMED_OUT,
                             "too many metadata changes wait already; try again"});
    });
    return;
  }
  loop().post([self = shared_from_this(), pending = std::move(pending)]() mutable {
    self->execute(std::move(pending));
  });
}

void EmbeddedEngine::Impl::execute(PendingCommand pending) {
  metrics_.pending.set(static_cast<std::int64_t>(pending_count_.load()));
  if (const ErrorAnswer refused = refusal_now(); refused.failed()) {
    finish(pending, refused);
    return;
  }
  Command command(tip_, services);
  pending.evaluate(command);
  std::vector<Slice> records = command.take_records();
  if (!records.empty()) {
    if (const ErrorAnswer failed = write(std::move(records)); failed.failed()) {
      finish(pending, failed);
      return;
    }
  } else if (waiting_.empty() && !flushing_) {
    finish(pending, {});
    return;
  }
  waiting_.push_back(std::move(pending));
  flush_if_needed();
}

ErrorAnswer EmbeddedEngine::Impl::write(std::vector<Slice> records) {
  const Result<void> appended = log_->append(records, environment.clock.wall_ms());
  if (appended) {
    unwritten_.push_back(std::move(records));
    return {};
  }
  metrics_.failures.add();
  KM_LOG(kError, "metadata.append_failed", "metadata log: {}", appended.error().message);
  undo_unwritten();
  if (!log_->is_online()) go_offline(appended.error());
  return {ErrorCode::KAFKA_STORAGE_ERROR,
          "the change could not be written to the metadata log: " + appended.error().message};
}

// The command changed the tip before its records failed: go back to the last image and apply again
// what was appended since.
void EmbeddedEngine::Impl::undo_unwritten() {
  tip_.revert();
  for (const std::vector<Slice>& batch : unwritten_) {
    for (const Slice& record : batch) {
      const Result<void> applied = tip_.replay(record, tip_.image().offset + 1);
      KM_CHECK(applied, "a record that was applied once: {}", applied.error().message);
    }
  }
}

void EmbeddedEngine::Impl::finish(PendingCommand& pending, const ErrorAnswer& answer) {
  pending_count_.fetch_sub(1);
  metrics_.pending.set(static_cast<std::int64_t>(pending_count_.load()));
  pending.finish(answer);
}

void EmbeddedEngine::Impl::finish_all(std::vector<PendingCommand> group,
                                      const ErrorAnswer& answer) {
  for (PendingCommand& pending : group) finish(pending, answer);
}

void EmbeddedEngine::Impl::flush_if_needed() {
  if (flushing_ || waiting_.empty() || offline_) return;
  if (unwritten_.empty()) {
    finish_all(std::exchange(waiting_, {}), {});
    return;
  }
  flushing_ = true;
  in_flush_ = std::exchange(waiting_, {});
  unwritten_.clear();
  const std::shared_ptr<const MetadataDelta> delta = tip_.take();
  auto task = std::make_shared<storage::PartitionLog::FlushTask>(log_->log().start_flush());
  environment.disk.submit([self = shared_from_this(), task, delta] {
    auto result = std::make_shared<Result<void>>(task->run());
    self->loop().post([self, task, delta, result] { self->flushed(*task, *result, delta); });
  });
}

void EmbeddedEngine::Impl::flushed(const storage::PartitionLog::FlushTask& task,
                                   const Result<void>& result,
                                   const std::shared_ptr<const MetadataDelta>& delta) {
  flushing_ = false;
  std::vector<PendingCommand> group = std::exchange(in_flush_, {});
  if (!result) {
    metrics_.failures.add();
    go_offline(result.error());
    finish_all(std::move(group), refusal_now());
    finish_all(std::exchange(waiting_, {}), refusal_now());
    close_if_idle();
    return;
  }
  log_->log().flush_done(task);
  metrics_.commits.add();
  publish(delta);
  finish_all(std::move(group), {});
  snapshot_if_needed();
  flush_if_needed();
  close_if_idle();
}

void EmbeddedEngine::Impl::publish(const std::shared_ptr<const MetadataDelta>& delta) {
  published.store(delta->after);
  metrics_.offset.set(delta->after->offset);
  for (MetadataListener* listener : listeners_) listener->on_metadata(*delta);
}

void EmbeddedEngine::Impl::add_listener(MetadataListener& listener) {
  listeners_.push_back(&listener);
  MetadataDelta first;
  first.after = published.load();
  for (const auto& [name, topic] : first.after->topics) first.changed_topics.insert(name);
  for (const auto& [resource, configs] : first.after->configs) {
    first.changed_configs.insert(resource);
  }
  first.acls_changed = true;
  first.brokers_changed = true;
  listener.on_metadata(first);
}

void EmbeddedEngine::Impl::snapshot_if_needed() {
  if (snapshotting_ || offline_ || closing_) return;
  if (log_->bytes_since_snapshot() < options.snapshot_after_bytes) return;
  const std::shared_ptr<const MetadataImage> image = published.load();
  const Result<MetadataLog::SnapshotTask> task = log_->start_snapshot(*image);
  if (!task) {
    KM_LOG(kWarn, "metadata.snapshot_failed", "metadata snapshot: {}", task.error().message);
    return;
  }
  snapshotting_ = true;
  environment.disk.submit([self = shared_from_this(), image, task = *task] {
    auto result = std::make_shared<Result<std::uint64_t>>(self->log_->write(task, *image));
    self->loop().post([self, task, result] { self->snapshot_done(task, *result); });
  });
}

void EmbeddedEngine::Impl::snapshot_done(const MetadataLog::SnapshotTask& task,
                                         const Result<std::uint64_t>& result) {
  snapshotting_ = false;
  if (!result) {
    // The log is whole without it; it is tried again after the next commit.
    KM_LOG(kWarn, "metadata.snapshot_failed", "metadata snapshot: {}", result.error().message);
    log_->snapshot_failed(task);
  } else if (!offline_) {
    metrics_.snapshot_bytes.set(static_cast<std::int64_t>(*result));
    Result<std::vector<std::string>> removable = log_->snapshot_written(task);
    if (!removable) {
      KM_LOG(kWarn, "metadata.snapshot_failed", "metadata log: {}", removable.error().message);
    } else {
      environment.disk.submit([self = shared_from_this(), paths = std::move(*removable)] {
        for (const std::string& path : paths) {
          const Result<void> removed = self->environment.files.remove(path);
          if (!removed) {
            KM_LOG(kWarn, "metadata.remove_failed", "{}", removed.error().message);
          }
        }
      });
    }
  }
  close_if_idle();
}

void EmbeddedEngine::Impl::go_offline(const Error& reason) {
  if (offline_) return;
  offline_ = reason;
  log_->log().take_offline(reason);
  KM_LOG(kError, "metadata.offline", "the metadata log takes no more changes: {}", reason.message);
}

void EmbeddedEngine::Impl::shut_down(Done<Result<void>> done) {
  loop().post([self = shared_from_this(), done = std::move(done)]() mutable {
    KM_CHECK(!self->closing_, "shut_down() twice");
    self->closing_ = true;
    self->closed_ = std::move(done);
    self->close_if_idle();
  });
}

void EmbeddedEngine::Impl::close_if_idle() {
  if (!closing_ || !closed_ || flushing_ || snapshotting_ || !waiting_.empty()) return;
  auto done = std::make_shared<Done<Result<void>>>(std::move(closed_));
  closed_ = nullptr;
  if (offline_) {
    (*done)(Result<void>(*offline_));
    return;
  }
  environment.disk.submit([self = shared_from_this(), done] {
    auto result = std::make_shared<Result<void>>(self->log_->close());
    self->loop().post([done, result] { (*done)(std::move(*result)); });
  });
}

}  // namespace kmirror::metadata
