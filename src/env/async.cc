// The coroutine helpers of env/async.h that are no templates.
// Owner: see the header. Sources: docs/decisions/0002-coroutine-rules.md.
#include "kmirror/env/async.h"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <list>
#include <map>

namespace kmirror::env {

namespace asio = boost::asio;

namespace detail {

void post_resume(ResumeHandler handler) {
  const Executor executor = handler.get_executor();
  asio::post(executor, [handler = std::move(handler)]() mutable { handler(); });
}

struct Parking::Enter {
  Parking* parking;
  void operator()(ResumeHandler handler) const { parking->enter(std::move(handler)); }
};

Awaitable<void> Parking::park() {
  return asio::async_initiate<const asio::use_awaitable_t<Executor>&, void()>(
      Enter{this}, asio::use_awaitable_t<Executor>());
}

void Parking::enter(ResumeHandler handler) {
  KM_CHECK(!handler_, "two coroutines park in one place");
  auto slot = asio::get_associated_cancellation_slot(handler);
  if (slot.is_connected()) slot.assign([this](asio::cancellation_type_t) { resume(); });
  handler_.emplace(std::move(handler));
  if (unparked_early_) resume();
}

void Parking::unpark() {
  if (handler_) {
    resume();
  } else {
    unparked_early_ = true;
  }
}

void Parking::resume() {
  if (!handler_) return;
  unparked_early_ = false;
  ResumeHandler handler = std::move(*handler_);
  handler_.reset();
  post_resume(std::move(handler));
}

namespace {

// Hands the coroutine to another thread and back. The coroutine is resumed on its own loop, which
// is the thread that runs this, so nothing here is destroyed while it runs.
template <class Send>
struct ErrandInitiation {
  Send send;
  UniqueFunction<void()> errand;
  void operator()(ResumeHandler handler) {
    send([errand = std::move(errand), handler = std::move(handler)]() mutable {
      errand();
      post_resume(std::move(handler));
    });
  }
};

template <class Send>
Awaitable<void> initiate_errand(Send send, UniqueFunction<void()> errand) {
  return asio::async_initiate<const asio::use_awaitable_t<Executor>&, void()>(
      ErrandInitiation<Send>{std::move(send), std::move(errand)},
      asio::use_awaitable_t<Executor>());
}

}  // namespace

Awaitable<void> send_errand(Loop& target, UniqueFunction<void()> errand) {
  return initiate_errand([&target](UniqueFunction<void()> work) { target.post(std::move(work)); },
                         std::move(errand));
}

Awaitable<void> send_errand(DiskPool& pool, UniqueFunction<void()> errand) {
  return initiate_errand([&pool](UniqueFunction<void()> work) { pool.submit(std::move(work)); },
                         std::move(errand));
}

bool CompletionCore::is_done() const {
  return (phase_.load(std::memory_order_acquire) & kDoneBit) != 0;
}

void CompletionCore::publish() {
  const int before = phase_.fetch_or(kDoneBit, std::memory_order_acq_rel);
  if ((before & kWaiting) == 0) return;
  asio::post(executor_, [self = shared_from_this()] {
    if (self->parking_ != nullptr) self->parking_->unpark();
  });
}

Awaitable<WaitEnd> CompletionCore::wait(std::shared_ptr<CompletionCore> self, Clock* clock,
                                        Instant deadline) {
  if (self->is_done()) co_return WaitEnd::kDone;
  const bool cancelled = co_await task_cancelled();
  if (cancelled) co_return WaitEnd::kCancelled;
  const Executor executor = co_await asio::this_coro::executor;
  KM_CHECK(self->parking_ == nullptr, "two coroutines wait for one completion");
  if ((self->phase_.load(std::memory_order_acquire) & kWaiting) == 0) {
    self->executor_ = executor;
    const int before = self->phase_.fetch_or(kWaiting, std::memory_order_acq_rel);
    if ((before & kDoneBit) != 0) co_return WaitEnd::kDone;
  }
  Parking parking;
  self->parking_ = &parking;
  bool timed_out = false;
  std::unique_ptr<Timer> timer;
  if (clock != nullptr) {
    timer = clock->call_at(executor, deadline, [&parking, &timed_out] {
      timed_out = true;
      parking.unpark();
    });
  }
  co_await parking.park();
  self->parking_ = nullptr;
  if (self->is_done()) co_return WaitEnd::kDone;
  co_return timed_out ? WaitEnd::kTimedOut : WaitEnd::kCancelled;
}

namespace {

// Every coroutine thread of ours starts here: cancellation ends waits, it throws nothing.
Awaitable<void> run_quietly(Awaitable<void> task) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await std::move(task);
}

struct Child {
  asio::cancellation_signal stop;
  Parking parking;
  bool ended = false;
  std::exception_ptr exception;
};

}  // namespace

Awaitable<bool> run_until_deadline(Clock& clock, Instant deadline, Awaitable<void> operation) {
  const Executor executor = co_await asio::this_coro::executor;
  const bool cancelled_before = co_await task_cancelled();
  Child child;
  Child* const shared = &child;
  asio::co_spawn(executor, run_quietly(std::move(operation)),
                 asio::bind_cancellation_slot(child.stop.slot(), [shared](std::exception_ptr e) {
                   shared->exception = std::move(e);
                   shared->ended = true;
                   shared->parking.unpark();
                 }));
  bool late = false;
  std::unique_ptr<Timer> timer;
  if (!child.ended) {
    timer = clock.call_at(executor, deadline, [shared, &late] {
      if (shared->ended) return;
      late = true;
      shared->stop.emit(asio::cancellation_type::terminal);
    });
  }
  bool stop_sent = cancelled_before;
  if (cancelled_before && !child.ended) child.stop.emit(asio::cancellation_type::terminal);
  while (!child.ended) {
    co_await child.parking.park();
    const bool cancelled = co_await task_cancelled();
    if (cancelled && !stop_sent && !child.ended) {
      stop_sent = true;
      child.stop.emit(asio::cancellation_type::terminal);
    }
  }
  timer.reset();
  if (child.exception) std::rethrow_exception(child.exception);
  co_return late;
}

}  // namespace detail

Awaitable<bool> task_cancelled() {
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

Awaitable<void> yield_now() {
  const detail::Executor executor = co_await asio::this_coro::executor;
  co_await asio::post(executor, asio::use_awaitable);
}

std::unique_ptr<Timer> call_at(Clock& clock, Loop& loop, Instant when,
                               UniqueFunction<void()> work) {
  return clock.call_at(loop.context().get_executor(), when, std::move(work));
}

Awaitable<void> pause_for(Clock& clock, Duration duration) {
  return clock.sleep_until(clock.now() + duration);
}

// --- AsyncEvent -----------------------------------------------------------------------------

namespace {
struct EventWaiter;
}

struct AsyncEvent::State {
  State(Loop& loop, bool initially) : owner(loop), set(initially) {}
  Loop& owner;
  bool set;
  bool closed = false;
  std::list<EventWaiter*> waiters;
};

namespace {

struct EventWaiter {
  explicit EventWaiter(std::shared_ptr<AsyncEvent::State> of) : state(std::move(of)) {
    place = state->waiters.insert(state->waiters.end(), this);
  }
  ~EventWaiter() { state->waiters.erase(place); }
  EventWaiter(const EventWaiter&) = delete;
  EventWaiter& operator=(const EventWaiter&) = delete;

  std::shared_ptr<AsyncEvent::State> state;
  std::list<EventWaiter*>::iterator place;
  detail::Parking parking;
  bool notified = false;
};

Awaitable<bool> wait_for_event(std::shared_ptr<AsyncEvent::State> state, Clock* clock,
                               Instant deadline) {
  KM_CHECK(state->owner.is_current(), "an event is awaited on another loop than its own");
  if (state->set) co_return true;
  const bool cancelled = co_await task_cancelled();
  if (cancelled || state->closed) co_return false;
  const detail::Executor executor = co_await asio::this_coro::executor;
  EventWaiter waiter(std::move(state));
  EventWaiter* const self = &waiter;
  std::unique_ptr<Timer> timer;
  if (clock != nullptr) {
    timer = clock->call_at(executor, deadline, [self] { self->parking.unpark(); });
  }
  co_await waiter.parking.park();
  co_return waiter.notified;
}

Awaitable<void> wait_for_event(std::shared_ptr<AsyncEvent::State> state) {
  const bool was_set = co_await wait_for_event(std::move(state), nullptr, Instant());
  static_cast<void>(was_set);
}

}  // namespace

AsyncEvent::AsyncEvent(Loop& owner, bool initially_set)
    : state_(std::make_shared<State>(owner, initially_set)) {}

AsyncEvent::~AsyncEvent() {
  state_->closed = true;
  for (EventWaiter* waiter : state_->waiters) waiter->parking.unpark();
}

void AsyncEvent::set() {
  KM_CHECK(state_->owner.is_current(), "an event is set from another loop than its own");
  if (state_->set) return;
  state_->set = true;
  for (EventWaiter* waiter : state_->waiters) {
    waiter->notified = true;
    waiter->parking.unpark();
  }
}

void AsyncEvent::reset() { state_->set = false; }

bool AsyncEvent::is_set() const { return state_->set; }

Awaitable<bool> AsyncEvent::wait_until(Clock& clock, Instant deadline) {
  return wait_for_event(state_, &clock, deadline);
}

Awaitable<void> AsyncEvent::wait() { return wait_for_event(state_); }

// --- TaskGroup ------------------------------------------------------------------------------

namespace {

struct Task {
  Task(std::string task_name, Awaitable<void> task_body)
      : name(std::move(task_name)), body(std::move(task_body)) {}
  std::string name;
  Awaitable<void> body;
  asio::cancellation_signal stop;
  bool started = false;

  // A signal before the start would be lost: start() sends it then.
  void cancel() {
    if (started) stop.emit(asio::cancellation_type::terminal);
  }
};

}  // namespace

struct TaskGroup::State {
  explicit State(Loop& of) : loop(of) {}

  static void start(const std::shared_ptr<State>& state, std::uint64_t id) {
    Task& task = *state->tasks.at(id);
    task.started = true;
    asio::co_spawn(
        state->loop.context(), detail::run_quietly(std::move(task.body)),
        asio::bind_cancellation_slot(task.stop.slot(), [state, id](std::exception_ptr exception) {
          state->finished(id, exception);
        }));
    // The task may have ended the group's life as a whole.
    const auto found = state->tasks.find(id);
    if (state->cancelled && found != state->tasks.end()) found->second->cancel();
  }

  void finished(std::uint64_t id, const std::exception_ptr& exception) {
    const auto found = tasks.find(id);
    KM_CHECK(found != tasks.end(), "task {} ended twice", id);
    if (exception) abort_with(found->second->name, exception);
    // The task's last frames still use its signal: it lives until the next task ends.
    last_ended = std::move(found->second);
    tasks.erase(found);
    if (!tasks.empty()) return;
    for (detail::Parking* joiner : joiners) joiner->unpark();
  }

  [[noreturn]] static void abort_with(const std::string& name,
                                      const std::exception_ptr& exception) {
    std::string text = "an exception that is no std::exception";
    try {
      std::rethrow_exception(exception);
    } catch (const std::exception& e) {
      text = e.what();
    } catch (...) {
    }
    check_failed("task ended by an exception", __FILE__, __LINE__, name + ": " + text);
  }

  Loop& loop;
  bool cancelled = false;
  std::uint64_t next_id = 0;
  std::map<std::uint64_t, std::unique_ptr<Task>> tasks;
  std::unique_ptr<Task> last_ended;
  std::list<detail::Parking*> joiners;
};

namespace {

Awaitable<void> join_tasks(std::shared_ptr<TaskGroup::State> state) {
  detail::Parking parking;
  while (!state->tasks.empty()) {
    const auto place = state->joiners.insert(state->joiners.end(), &parking);
    co_await parking.park();
    state->joiners.erase(place);
  }
}

}  // namespace

TaskGroup::TaskGroup(Loop& loop) : state_(std::make_shared<State>(loop)) {}

TaskGroup::~TaskGroup() {
  KM_CHECK(state_->tasks.empty(), "a task group dies with {} tasks, the first is '{}'",
           state_->tasks.size(), state_->tasks.begin()->second->name);
}

void TaskGroup::spawn(std::string name, Awaitable<void> task) {
  KM_CHECK(state_->loop.is_current(), "task '{}' is spawned from another loop", name);
  if (state_->cancelled) return;
  const std::uint64_t id = state_->next_id++;
  state_->tasks.emplace(id, std::make_unique<Task>(std::move(name), std::move(task)));
  asio::post(state_->loop.context(), [state = state_, id] { State::start(state, id); });
}

void TaskGroup::cancel() {
  KM_CHECK(state_->loop.is_current(), "a task group is cancelled from another loop");
  if (state_->cancelled) return;
  state_->cancelled = true;
  for (auto& [id, task] : state_->tasks) task->cancel();
}

bool TaskGroup::is_cancelled() const { return state_->cancelled; }

std::size_t TaskGroup::size() const { return state_->tasks.size(); }

Awaitable<void> TaskGroup::join() { return join_tasks(state_); }

}  // namespace kmirror::env
