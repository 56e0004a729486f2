// EmbeddedEngine::Impl: the queue of commands, the group commit, and the snapshots.
// Owner: loop 0; submit(), image() and the counters from any thread.
// Invariants: at most one flush and one snapshot are under way. `waiting` holds the commands
// evaluated since the running flush began, `unwritten` their records; when that flush is done the
// next takes them all (group commit). A command without records still waits for those before it,
// for its answer may rest on them.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "kmirror/base/published.h"
#include "kmirror/metadata/embedded_engine.h"
#include "metadata/command.h"
#include "metadata/metadata_log.h"

namespace kmirror::metadata {

/// One command on its way: evaluated once, finished once, on loop 0.
struct PendingCommand {
  PendingCommand() = default;
  UniqueFunction<void(Command&)> evaluate;
  UniqueFunction<void(const ErrorAnswer&)> finish;  ///< no error: with what evaluate() answered
};

class EmbeddedEngine::Impl : public std::enable_shared_from_this<EmbeddedEngine::Impl> {
 public:
  Impl(env::Environment& environment, EmbeddedEngineOptions options, metrics::Registry& metrics);

  [[nodiscard]] Result<void> open();
  /// Any thread.
  void submit(PendingCommand pending);
  void add_listener(MetadataListener& listener);
  void shut_down(Done<Result<void>> done);

  env::Environment& environment;
  EmbeddedEngineOptions options;
  ConfigResolver resolver;
  CommandServices services;
  Published<MetadataImage> published;

 private:
  struct Metrics {
    explicit Metrics(metrics::Registry& registry);
    metrics::Gauge& offset;
    metrics::Gauge& pending;
    metrics::Gauge& snapshot_bytes;
    metrics::Counter& commits;
    metrics::Counter& failures;
  };

  [[nodiscard]] env::Loop& loop() { return *environment.loops[0]; }
  void execute(PendingCommand pending);
  [[nodiscard]] ErrorAnswer write(std::vector<Slice> records);
  void undo_unwritten();
  void finish(PendingCommand& pending, const ErrorAnswer& answer);
  void finish_all(std::vector<PendingCommand> group, const ErrorAnswer& answer);
  void flush_if_needed();
  void flushed(const storage::PartitionLog::FlushTask& task, const Result<void>& result,
               const std::shared_ptr<const MetadataDelta>& delta);
  void publish(const std::shared_ptr<const MetadataDelta>& delta);
  void snapshot_if_needed();
  void snapshot_done(const MetadataLog::SnapshotTask& task, const Result<std::uint64_t>& result);
  void go_offline(const Error& reason);
  void close_if_idle();
  [[nodiscard]] ErrorAnswer refusal_now() const;

  Metrics metrics_;
  std::unique_ptr<MetadataLog> log_;
  ImageBuilder tip_{nullptr};
  std::vector<MetadataListener*> listeners_;
  std::vector<PendingCommand> waiting_;
  std::vector<std::vector<Slice>> unwritten_;  ///< batches appended since the last take of tip_
  std::vector<PendingCommand> in_flush_;
  bool flushing_ = false;
  bool snapshotting_ = false;
  bool closing_ = false;
  std::optional<Error> offline_;
  Done<Result<void>> closed_;
  std::atomic<std::size_t> pending_count_{0};
};

}  // namespace kmirror::metadata
