#include "coordinator/runtime/log_partition.h"

#include "kmirror/base/log.h"

namespace kmirror::coordinator {
Result<Offset> LogPartitionWriter::append(Slice batch) {
  KM_TRY(info, log_->append_as_leader(std::move(batch), leader_epoch_(),
                                      storage::AppendOrigin::kCoordinator));
  return info.last_offset.next();
}

void LogPartitionWriter::flush(UniqueFunction<void(Result<void>)> done) {
  logs_.flush(log_, std::move(done));
}

struct LogPartitionLoader::Job : std::enable_shared_from_this<Job> {
  Job(env::DiskPool& d, env::Loop& l, std::shared_ptr<storage::PartitionLog> of)
      : disk(d),
        loop(l),
        log(std::move(of)),
        next(log->log_start_offset()),
        end(log->log_end_offset()) {}

  struct Piece {
    Piece() = default;
    std::vector<LoadedBatch> batches;
    Offset next;
  };
  [[nodiscard]] Result<Piece> read_piece() const;
  void got(Result<Piece> piece);

  env::DiskPool& disk;
  env::Loop& loop;
  std::shared_ptr<storage::PartitionLog> log;
  Offset next;
  Offset end;
  bool cancelled = false;  ///< owner loop
  UniqueFunction<void(std::vector<LoadedBatch>)> on_batches;
  UniqueFunction<void(Result<void>)> done;
};

Result<LogPartitionLoader::Job::Piece> LogPartitionLoader::Job::read_piece() const {
  storage::ReadRequest request;
  request.from = next;
  request.max_bytes = kLoadPieceBytes;
  request.isolation = storage::Isolation::kLogEnd;
  KM_TRY(read, log->read(request));
  KM_TRY(bytes, read.records.flatten());
  Piece piece;
  piece.next = next;
  BatchIterator iterator(std::move(bytes));
  for (;;) {
    KM_TRY(batch, iterator.next());
    if (!batch) break;
    piece.next = batch->next_offset();
    auto loaded = loaded_batch(*batch);
    if (!loaded) {
      KM_LOG(kError, "coordinator.bad_batch", "{}: a batch at offset {} is skipped: {}",
             log->topic_partition(), batch->base_offset(), loaded.error().message);
      continue;
    }
    piece.batches.push_back(std::move(*loaded));
  }
  // Nothing came although the end is not reached: there is nothing left that can be read.
  if (piece.next == next) piece.next = end;
  return piece;
}

void LogPartitionLoader::Job::got(Result<Piece> piece) {
  if (cancelled) return;
  if (!piece) {
    done(std::move(piece).error());
    return;
  }
  next = piece->next;
  on_batches(std::move(piece->batches));
  if (!cancelled) read_next(shared_from_this());
}

void LogPartitionLoader::read_next(const std::shared_ptr<Job>& job) {
  if (job->next >= job->end) {
    job->loop.post([job] {
      if (!job->cancelled) job->done(Result<void>());
    });
    return;
  }
  job->disk.submit([job] {
    auto piece = std::make_shared<Result<Job::Piece>>(job->read_piece());
    job->loop.post([job, piece] { job->got(std::move(*piece)); });
  });
}

void LogPartitionLoader::load(UniqueFunction<void(std::vector<LoadedBatch>)> on_batches,
                              UniqueFunction<void(Result<void>)> done) {
  job_ = std::make_shared<Job>(disk_, loop_, log_);
  job_->on_batches = std::move(on_batches);
  job_->done = std::move(done);
  read_next(job_);
}

void LogPartitionLoader::cancel() {
  if (job_) job_->cancelled = true;
}

}  // namespace kmirror::coordinator
