#include "env/posix/loops.h"

#include <pthread.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "kmirror/env/async.h"

namespace kmirror::env {

namespace asio = boost::asio;

PosixLoop::PosixLoop(std::size_t index) : index_(index), guard_(context_.get_executor()) {}

PosixLoop::~PosixLoop() { stop(); }

void PosixLoop::start() {
  thread_ = std::thread([this] {
    const std::string name = fmt::format("loop-{}", index_);
    pthread_setname_np(pthread_self(), name.c_str());
    context_.run();
  });
}

void PosixLoop::stop() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

void PosixLoop::post(UniqueFunction<void()> work) {
  asio::post(context_, [work = std::move(work)]() mutable { work(); });
}

bool PosixLoop::is_current() const {
  return const_cast<asio::io_context&>(context_).get_executor().running_in_this_thread();
}

void PosixDiskPool::submit(UniqueFunction<void()> work) {
  if (waiting_.fetch_add(1, std::memory_order_relaxed) >= kMostWaiting) {
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    work();
    return;
  }
  asio::post(pool_, [this, work = std::move(work)]() mutable {
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    work();
  });
}

Instant PosixClock::now() const { return std::chrono::steady_clock::now(); }

std::int64_t PosixClock::wall_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

namespace {

Awaitable<void> sleep_on_timer(Instant when) {
  const bool cancelled = co_await task_cancelled();
  if (cancelled) {
    co_await yield_now();
    co_return;
  }
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, when);
  const auto ended = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  static_cast<void>(ended);  // early only if the task was cancelled
}

class AsioTimer final : public Timer {
 public:
  AsioTimer(const asio::any_io_executor& executor, Instant when, UniqueFunction<void()> work)
      : work_(std::make_shared<UniqueFunction<void()>>(std::move(work))), timer_(executor, when) {
    // The handler may already be queued when the timer is destroyed, so the work is shared with it
    // and emptied by the destructor.
    timer_.async_wait([work = work_](const ErrorCodeBase& error) {
      if (error || !*work) return;
      UniqueFunction<void()> once = std::move(*work);
      *work = nullptr;
      once();
    });
  }
  ~AsioTimer() override { *work_ = nullptr; }

 private:
  std::shared_ptr<UniqueFunction<void()>> work_;
  asio::steady_timer timer_;
};

}  // namespace

Awaitable<void> PosixClock::sleep_until(Instant when) { return sleep_on_timer(when); }

std::unique_ptr<Timer> PosixClock::call_at(const asio::any_io_executor& executor, Instant when,
                                           UniqueFunction<void()> work) {
  return std::make_unique<AsioTimer>(executor, when, std::move(work));
}

}  // namespace kmirror::env
