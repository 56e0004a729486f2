// LogWorld: what a partition log needs around it in a test: real files in a temporary directory, a
// clock that the test moves, loops that run when the test says so.
// Owner: one test, one thread.
#pragma once

#include <deque>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kmirror/env/async.h"
#include "kmirror/env/environment.h"
#include "kmirror/env/posix.h"
#include "kmirror/storage/partition_log.h"
#include "support/batches.h"
#include "support/temp_dir.h"

namespace kmirror::testing {

class ManualClock final : public env::Clock {
 public:
  [[nodiscard]] env::Instant now() const override { return env::Instant(now_); }
  [[nodiscard]] std::int64_t wall_ms() const override { return wall_ms_; }
  [[nodiscard]] env::Awaitable<void> sleep_until(env::Instant) override { co_return; }
  [[nodiscard]] std::unique_ptr<env::Timer> call_at(const boost::asio::any_io_executor&,
                                                    env::Instant when,
                                                    UniqueFunction<void()> work) override {
    auto call = std::make_shared<Call>();
    call->when = when;
    call->work = std::move(work);
    calls_.push_back(call);
    return std::make_unique<CallTimer>(call);
  }
  void set_wall_ms(std::int64_t value) { wall_ms_ = value; }
  /// Time passes; calls that are due run, in order.
  void advance_ms(std::int64_t by) {
    wall_ms_ += by;
    now_ += std::chrono::milliseconds(by);
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!calls_[i]->work || calls_[i]->when > now()) continue;
      auto work = std::move(calls_[i]->work);
      calls_[i]->work = nullptr;
      work();
    }
    std::erase_if(calls_, [](const auto& call) { return !call->work; });
  }

 private:
  struct Call {
    Call() = default;
    env::Instant when;
    UniqueFunction<void()> work;
  };
  class CallTimer final : public env::Timer {
   public:
    explicit CallTimer(std::shared_ptr<Call> call) : call_(std::move(call)) {}
    ~CallTimer() override { call_->work = nullptr; }

   private:
    std::shared_ptr<Call> call_;
  };
  std::vector<std::shared_ptr<Call>> calls_;
  env::Duration now_{};
  std::int64_t wall_ms_ = kGivenTimeMs;
};

/// Work waits until run().
class QueueLoop final : public env::Loop {
 public:
  explicit QueueLoop(boost::asio::io_context& context) : context_(context) {}
  void post(UniqueFunction<void()> work) override { queue_.push_back(std::move(work)); }
  [[nodiscard]] bool is_current() const override { return true; }
  [[nodiscard]] std::size_t index() const override { return 0; }
  [[nodiscard]] boost::asio::io_context& context() override { return context_; }
  void run() {
    while (!queue_.empty()) {
      auto work = std::move(queue_.front());
      queue_.pop_front();
      work();
    }
  }

 private:
  boost::asio::io_context& context_;
  std::deque<UniqueFunction<void()>> queue_;
};

class QueuePool final : public env::DiskPool {
 public:
  void submit(UniqueFunction<void()> work) override { queue_.push_back(std::move(work)); }
  bool run() {
    const bool any = !queue_.empty();
    while (!queue_.empty()) {
      auto work = std::move(queue_.front());
      queue_.pop_front();
      work();
    }
    return any;
  }

 private:
  std::deque<UniqueFunction<void()>> queue_;
};

class LogWorld {
 public:
  LogWorld()
      : posix_(env::PosixOptions(1, 1)),
        loop(posix_.environment().loops[0]->context()),
        environment(clock, posix_.environment().rng, posix_.environment().files,
                    posix_.environment().network, pool, {&loop}) {
    config.timestamp_after_max_ms = std::numeric_limits<std::int64_t>::max();
  }

  [[nodiscard]] std::string directory() const { return dir.at("t-0"); }

  /// Opens the log of t-0; `clean` and offsets as its owner would pass them.
  std::shared_ptr<storage::PartitionLog> open(storage::PartitionLog::OpenOptions options = {}) {
    storage::PartitionLog::Identity identity;
    identity.topic_partition = TopicPartition("t", 0);
    identity.topic_id = topic_id;
    identity.directory = directory();
    auto log = storage::PartitionLog::open(environment, identity, config, std::move(options));
    EXPECT_TRUE(log) << log.error().message;
    return log ? *log : nullptr;
  }
  std::shared_ptr<storage::PartitionLog> open_clean() {
    storage::PartitionLog::OpenOptions options;
    options.clean = true;
    return open(options);
  }
  /// As after kill -9: nothing is known but what the directory holds.
  std::shared_ptr<storage::PartitionLog> open_unclean(std::int64_t start = 0,
                                                      std::int64_t recovery_point = 0) {
    storage::PartitionLog::OpenOptions options;
    options.log_start_offset = Offset(start);
    options.recovery_point = Offset(recovery_point);
    return open(options);
  }
  /// Runs loop and pool until both are empty.
  void run() {
    do {
      loop.run();
    } while (pool.run());
  }

  [[nodiscard]] std::string path(std::string_view name) const {
    return directory() + "/" + std::string(name);
  }
  [[nodiscard]] Bytes contents(std::string_view name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  void replace(std::string_view name, ByteSpan bytes) const {
    std::ofstream out(path(name), std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : *environment.files.list(directory())) out.push_back(entry.name);
    return out;
  }
  [[nodiscard]] bool has(std::string_view name) const {
    return environment.files.exists(path(name));
  }

 private:
  env::PosixEnvironment posix_;

 public:
  test::TempDir dir;
  ManualClock clock;
  QueuePool pool;
  QueueLoop loop;
  env::Environment environment;
  storage::LogConfig config;
  Uuid topic_id{std::array<std::uint8_t, 16>{1, 2, 3}};
};

/// All bytes from `from` on, over as many reads as it takes.
inline Bytes read_all(const storage::PartitionLog& log, std::int64_t from,
                      storage::Isolation isolation = storage::Isolation::kReadUncommitted) {
  Bytes out;
  Offset at(from);
  for (;;) {
    storage::ReadRequest request;
    request.from = at;
    request.isolation = isolation;
    const auto result = log.read(request);
    EXPECT_TRUE(result) << result.error().message;
    if (!result || result->records.empty()) return out;
    const auto bytes = result->records.flatten();
    EXPECT_TRUE(bytes);
    BatchIterator it(*bytes);
    for (;;) {
      const auto batch = it.next();
      EXPECT_TRUE(batch);
      if (!batch || !*batch) break;
      at = (*batch)->next_offset();
      out.insert(out.end(), (*batch)->bytes().span().begin(), (*batch)->bytes().span().end());
    }
  }
}

inline storage::PartitionLog::FollowerAppend follow(storage::PartitionLog& log,
                                                    const Slice& bytes) {
  return log.append_as_follower(ByteChain(bytes), false);
}

}  // namespace kmirror::testing
