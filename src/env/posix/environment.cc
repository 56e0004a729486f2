// PosixEnvironment: assembly, start, stop, signals.
// Owner: the thread that made it.
#include <sys/random.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <future>

#include "env/posix/files.h"
#include "env/posix/loops.h"
#include "env/posix/network.h"
#include "env/split_mix.h"
#include "kmirror/env/async.h"
#include "kmirror/env/posix.h"

namespace kmirror::env {

namespace asio = boost::asio;

namespace {

std::uint64_t seed_from_system() {
  std::uint64_t seed = 0;
  const ssize_t count = ::getrandom(&seed, sizeof seed, 0);
  KM_CHECK(count == sizeof seed, "getrandom gave {} bytes", count);
  return seed;
}

std::vector<std::unique_ptr<PosixLoop>> make_loops(std::size_t count) {
  KM_CHECK(count >= 1, "at least one loop is needed");
  std::vector<std::unique_ptr<PosixLoop>> loops;
  for (std::size_t i = 0; i < count; ++i) loops.push_back(std::make_unique<PosixLoop>(i));
  return loops;
}

std::vector<Loop*> pointers(const std::vector<std::unique_ptr<PosixLoop>>& loops) {
  std::vector<Loop*> all;
  for (const auto& loop : loops) all.push_back(loop.get());
  return all;
}

}  // namespace

struct PosixEnvironment::Impl {
  explicit Impl(const PosixOptions& options)
      : rng(seed_from_system()),
        network(clock),
        pool(std::max<std::size_t>(options.disk_thread_count, 1)),
        loops(make_loops(options.loop_count)),
        environment(clock, rng, files, network, pool, pointers(loops)) {}

  void wait_for_signal() {
    signals->async_wait([this](const ErrorCodeBase& error, int number) {
      if (error) return;
      on_signal(number);
      wait_for_signal();
    });
  }

  PosixClock clock;
  SplitMix rng;
  PosixFileSystem files;
  PosixNetwork network;
  PosixDiskPool pool;
  std::vector<std::unique_ptr<PosixLoop>> loops;
  Environment environment;
  UniqueFunction<void(int)> on_signal;
  std::unique_ptr<asio::signal_set> signals;
};

PosixEnvironment::PosixEnvironment(PosixOptions options) {
  // sendfile has no flag for it.
  std::signal(SIGPIPE, SIG_IGN);
  impl_ = std::make_unique<Impl>(options);
}

PosixEnvironment::~PosixEnvironment() { stop(); }

Environment& PosixEnvironment::environment() { return impl_->environment; }

void PosixEnvironment::start() {
  for (const auto& loop : impl_->loops) loop->start();
}

void PosixEnvironment::stop() {
  impl_->pool.drain();
  for (const auto& loop : impl_->loops) loop->stop();
  impl_->signals.reset();
}

Result<void> PosixEnvironment::handle_signals(UniqueFunction<void(int)> on_signal) {
  auto signals = std::make_unique<asio::signal_set>(impl_->loops.front()->context());
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    ErrorCodeBase error;
    signals->add(number, error);
    if (error) return Error(error, "waiting for signals: " + error.message());
  }
  impl_->on_signal = std::move(on_signal);
  impl_->signals = std::move(signals);
  impl_->wait_for_signal();
  return {};
}

namespace {

// The promise is shared: set_value() still uses it when the waiting thread is already off.
Awaitable<void> run_and_tell(Awaitable<void> task, std::shared_ptr<std::promise<void>> ended) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await std::move(task);
  ended->set_value();
}

}  // namespace

void PosixEnvironment::run(Loop& loop, Awaitable<void> task) {
  KM_CHECK(!loop.is_current(), "run() would wait for its own loop");
  auto ended = std::make_shared<std::promise<void>>();
  std::future<void> end = ended->get_future();
  asio::co_spawn(loop.context(), run_and_tell(std::move(task), std::move(ended)),
                 [](const std::exception_ptr& exception) {
                   if (exception) std::rethrow_exception(exception);
                 });
  end.wait();
}

}  // namespace kmirror::env
