// The templates of env/async.h and the primitive under all of them: Parking, one suspended
// coroutine. Included by async.h only.
// Owner: Parking belongs to the loop of the coroutine that parks; CompletionCore says.
// Sources: Boost 1.81 boost/asio/impl/{awaitable,use_awaitable}.hpp for what a handler may do.
#pragma once

#include <utility>

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

namespace kmirror::env {
namespace detail {

using Executor = boost::asio::any_io_executor;
using ResumeHandler =
    boost::asio::async_result<boost::asio::use_awaitable_t<Executor>, void()>::handler_type;

/// Resumes the coroutine behind `handler` later, through its own executor's queue. Any thread.
void post_resume(ResumeHandler handler);

/// A place in a coroutine's frame where it waits until unpark() or until its task is cancelled.
/// All calls on the coroutine's loop. One coroutine at a time; may be used again.
class Parking {
 public:
  Parking() = default;
  Parking(const Parking&) = delete;
  Parking& operator=(const Parking&) = delete;

  /// Suspends; returns at once if unpark() came first. A cancel before the call does not end it:
  /// the caller looks at task_cancelled() first.
  [[nodiscard]] Awaitable<void> park();
  /// Ends park(), now or the next one. Calls that find nobody parked count as one.
  void unpark();

 private:
  struct Enter;
  void enter(ResumeHandler handler);
  void resume();

  std::optional<ResumeHandler> handler_;
  bool unparked_early_ = false;
};

enum class WaitEnd { kDone, kTimedOut, kCancelled };

/// The part of Completion that does not know the type. The completing side, on any thread, stores
/// the value and calls publish(); the waiting side learns of it by a message to its own loop.
class CompletionCore : public std::enable_shared_from_this<CompletionCore> {
 public:
  CompletionCore() = default;
  CompletionCore(const CompletionCore&) = delete;
  CompletionCore& operator=(const CompletionCore&) = delete;

  /// True for the first caller only, who alone may store the value.
  [[nodiscard]] bool claim() { return !claimed_.exchange(true, std::memory_order_acq_rel); }
  void publish();
  [[nodiscard]] bool is_done() const;
  /// `clock` null: no deadline.
  [[nodiscard]] static Awaitable<WaitEnd> wait(std::shared_ptr<CompletionCore> self, Clock* clock,
                                               Instant deadline);

 private:
  static constexpr int kWaiting = 1;
  static constexpr int kDoneBit = 2;

  std::atomic<bool> claimed_{false};
  std::atomic<int> phase_{0};
  Executor executor_;           // written by the waiter before kWaiting is set
  Parking* parking_ = nullptr;  // the waiter's loop only
};

template <class T>
struct AsResult {
  using type = Result<T>;
};
template <class T>
struct AsResult<Result<T>> {
  using type = Result<T>;
};

/// Runs `child` as a part of the calling task until it ends; asks it to end at `deadline`. True if
/// the deadline passed first.
[[nodiscard]] Awaitable<bool> run_until_deadline(Clock& clock, Instant deadline,
                                                 Awaitable<void> child);

template <class T>
Awaitable<void> keep_result(Awaitable<Result<T>> operation, std::optional<Result<T>>* kept) {
  Result<T> result = co_await std::move(operation);
  kept->emplace(std::move(result));
}

struct Nothing {};

// Runs the work and keeps its value until the coroutine is back on its own loop.
template <class T>
struct Errand {
  using Value = std::conditional_t<std::is_void_v<T>, Nothing, T>;
  explicit Errand(UniqueFunction<T()> function) : work(std::move(function)) {}
  void run() {
    if constexpr (std::is_void_v<T>) {
      work();
      value.emplace();
    } else {
      value.emplace(work());
    }
    work = nullptr;
  }
  UniqueFunction<T()> work;
  std::optional<Value> value;
};

/// Runs `errand` by `send` (post or submit) and resumes the caller afterwards. `errand` lives in
/// the caller's frame.
[[nodiscard]] Awaitable<void> send_errand(Loop& target, UniqueFunction<void()> errand);
[[nodiscard]] Awaitable<void> send_errand(DiskPool& pool, UniqueFunction<void()> errand);

template <class T, class Target>
Awaitable<T> run_elsewhere(Target* target, UniqueFunction<T()> work) {
  Errand<T> errand(std::move(work));
  UniqueFunction<void()> run = [&errand] { errand.run(); };
  co_await send_errand(*target, std::move(run));
  if constexpr (!std::is_void_v<T>) co_return std::move(*errand.value);
}

}  // namespace detail

template <class T>
class Completion {
 public:
  static_assert(!std::is_void_v<T>, "use Completion<Result<void>>");
  /// T itself if it is a Result, else Result<T>.
  using Waited = typename detail::AsResult<T>::type;

  Completion() : state_(std::make_shared<State>()) {}

  /// Hands over the value; true if it was the first. Any thread, at most once is usual.
  bool complete(T value) const {
    if (!state_->claim()) return false;
    state_->value.emplace(std::move(value));
    state_->publish();
    return true;
  }
  [[nodiscard]] bool is_complete() const { return state_->is_done(); }

  /// The value, or operation_aborted if the waiting task is cancelled. Bounded by the completing
  /// side's promise to complete.
  [[nodiscard]] Awaitable<Waited> wait() const { return wait_on(state_, nullptr, Instant()); }
  /// The same, or timed_out at `deadline`. The value may be waited for again afterwards.
  [[nodiscard]] Awaitable<Waited> wait_until(Clock& clock, Instant deadline) const {
    return wait_on(state_, &clock, deadline);
  }

 private:
  struct State : detail::CompletionCore {
    std::optional<T> value;
  };

  static Awaitable<Waited> wait_on(std::shared_ptr<State> state, Clock* clock, Instant deadline) {
    std::shared_ptr<detail::CompletionCore> core = state;
    const detail::WaitEnd end =
        co_await detail::CompletionCore::wait(std::move(core), clock, deadline);
    if (end == detail::WaitEnd::kTimedOut) co_return timed_out_error("waiting for an answer");
    if (end == detail::WaitEnd::kCancelled) co_return aborted_error("waiting for an answer");
    co_return Waited(std::move(*state->value));
  }

  std::shared_ptr<State> state_;
};

template <class T>
Awaitable<T> call_on(Loop& target, UniqueFunction<T()> work) {
  return detail::run_elsewhere<T>(&target, std::move(work));
}

template <class T>
Awaitable<T> run_on(DiskPool& pool, UniqueFunction<T()> work) {
  return detail::run_elsewhere<T>(&pool, std::move(work));
}

template <class T>
Awaitable<Result<T>> with_deadline(Clock& clock, Instant deadline, Awaitable<Result<T>> operation,
                                   std::string what) {
  std::optional<Result<T>> result;
  auto child = detail::keep_result<T>(std::move(operation), &result);
  const bool late = co_await detail::run_until_deadline(clock, deadline, std::move(child));
  if (late) co_return timed_out_error(what);
  KM_CHECK(result.has_value(), "{}: the operation ended without a result", what);
  co_return std::move(*result);
}

}  // namespace kmirror::env
