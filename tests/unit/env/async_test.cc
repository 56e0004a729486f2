// The coroutine helpers, on real loops and on simulated ones. Built with TSan too: most of these
// cross threads.
#include "kmirror/env/async.h"

#include <gtest/gtest.h>

#include "kmirror/env/posix.h"
#include "kmirror/env/sim.h"

namespace kmirror::env {
namespace {

using namespace std::chrono_literals;

// Two loops and a disk pool, real or simulated.
class Stage {
 public:
  virtual ~Stage() = default;
  virtual Environment& env() = 0;
  virtual void run(Loop& loop, Awaitable<void> task) = 0;
};

class PosixStage final : public Stage {
 public:
  PosixStage() { posix_.start(); }
  ~PosixStage() override { posix_.stop(); }
  Environment& env() override { return posix_.environment(); }
  void run(Loop& loop, Awaitable<void> task) override { posix_.run(loop, std::move(task)); }

 private:
  PosixEnvironment posix_{PosixOptions(2, 2)};
};

class SimStage final : public Stage {
 public:
  SimStage() {
    SimProcessOptions options;
    options.loop_count = 2;
    process_ = std::make_unique<SimProcess>(world_, "host", disk_, options);
  }
  Environment& env() override { return process_->environment(); }
  void run(Loop& loop, Awaitable<void> task) override { world_.run(loop, std::move(task)); }

 private:
  SimWorld world_{1};
  SimDisk disk_{world_};
  std::unique_ptr<SimProcess> process_;
};

class AsyncTest : public ::testing::TestWithParam<const char*> {
 protected:
  AsyncTest() {
    if (GetParam() == std::string("posix")) {
      stage_ = std::make_unique<PosixStage>();
    } else {
      stage_ = std::make_unique<SimStage>();
    }
  }
  Environment& env() { return stage_->env(); }
  Loop& loop(std::size_t i = 0) { return *env().loops[i]; }
  void run(Awaitable<void> task) { stage_->run(loop(), std::move(task)); }

  std::unique_ptr<Stage> stage_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, AsyncTest, ::testing::Values("posix", "sim"),
                         [](const auto& world) { return std::string(world.param); });

Awaitable<void> check_call_on(Loop* here, Loop* there) {
  UniqueFunction<int()> work = [here, there] {
    EXPECT_TRUE(there->is_current());
    EXPECT_FALSE(here->is_current());
    return 42;
  };
  const int answer = co_await call_on<int>(*there, std::move(work));
  EXPECT_EQ(answer, 42);
  EXPECT_TRUE(here->is_current());
  bool ran = false;
  UniqueFunction<void()> nothing = [&ran] { ran = true; };
  co_await call_on<void>(*there, std::move(nothing));
  EXPECT_TRUE(ran);
  EXPECT_TRUE(here->is_current());
}

TEST_P(AsyncTest, CallOnRunsThereAndComesBack) { run(check_call_on(&loop(0), &loop(1))); }

Awaitable<void> check_call_on_self(Loop* here) {
  std::vector<int> order;
  here->post([&order] { order.push_back(1); });
  UniqueFunction<void()> work = [&order] { order.push_back(2); };
  co_await call_on<void>(*here, std::move(work));
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_P(AsyncTest, CallOnOwnLoopKeepsItsPlaceInTheQueue) { run(check_call_on_self(&loop())); }

Awaitable<void> check_run_on(Loop* here, DiskPool* pool) {
  UniqueFunction<std::unique_ptr<std::string>()> work = [here] {
    EXPECT_FALSE(here->is_current());
    return std::make_unique<std::string>("from the pool");
  };
  const std::unique_ptr<std::string> text =
      co_await run_on<std::unique_ptr<std::string>>(*pool, std::move(work));
  EXPECT_EQ(*text, "from the pool");
  EXPECT_TRUE(here->is_current());
}

TEST_P(AsyncTest, RunOnThePoolYieldsMoveOnlyValues) { run(check_run_on(&loop(), &env().disk)); }

Awaitable<void> wait_event(AsyncEvent* event, int* woken) {
  co_await event->wait();
  ++*woken;
}

Awaitable<void> check_event(Environment* env, Loop* loop) {
  AsyncEvent event(*loop);
  TaskGroup group(*loop);
  int woken = 0;
  for (int i = 0; i < 3; ++i) group.spawn("waiter", wait_event(&event, &woken));
  co_await yield_now();
  co_await yield_now();
  EXPECT_EQ(woken, 0);
  event.set();
  EXPECT_EQ(woken, 0) << "set() must not run a waiter inside itself";
  event.reset();
  co_await group.join();
  EXPECT_EQ(woken, 3) << "reset() must not swallow the wake-up";
  const Instant deadline = env->clock.now() + 2ms;
  const bool set = co_await event.wait_until(env->clock, deadline);
  EXPECT_FALSE(set);
  EXPECT_GE(env->clock.now(), deadline);
  event.set();
  const bool now_set = co_await event.wait_until(env->clock, deadline);
  EXPECT_TRUE(now_set);
}

TEST_P(AsyncTest, EventWakesAllAndTimesOut) { run(check_event(&env(), &loop())); }

Awaitable<void> wait_until_told(AsyncEvent* event, Clock* clock, Instant deadline, int* result) {
  const bool set = co_await event->wait_until(*clock, deadline);
  *result = set ? 1 : 0;
}

Awaitable<void> check_event_destroyed(Environment* env, Loop* loop) {
  auto event = std::make_unique<AsyncEvent>(*loop);
  TaskGroup group(*loop);
  int result = -1;
  const Instant deadline = env->clock.now() + 1h;
  group.spawn("waiter", wait_until_told(event.get(), &env->clock, deadline, &result));
  co_await yield_now();
  co_await yield_now();
  event.reset();
  co_await group.join();
  EXPECT_EQ(result, 0);
}

TEST_P(AsyncTest, ADyingEventEndsItsWaits) { run(check_event_destroyed(&env(), &loop())); }

Awaitable<void> sleep_twice(Clock* clock, Instant until, int* reached) {
  co_await clock->sleep_until(until);
  ++*reached;
  const bool cancelled = co_await task_cancelled();
  EXPECT_TRUE(cancelled);
  co_await clock->sleep_until(until);  // a cancelled task does not wait any more
  ++*reached;
}

Awaitable<void> check_cancel(Environment* env, Loop* loop) {
  TaskGroup group(*loop);
  int reached = 0;
  const Instant far = env->clock.now() + 1h;
  for (int i = 0; i < 10; ++i) group.spawn("sleeper", sleep_twice(&env->clock, far, &reached));
  EXPECT_EQ(group.size(), 10U);
  co_await yield_now();
  co_await yield_now();
  group.cancel();
  EXPECT_TRUE(group.is_cancelled());
  co_await group.join();
  EXPECT_EQ(reached, 20);
  EXPECT_EQ(group.size(), 0U);
  group.spawn("too late", sleep_twice(&env->clock, far, &reached));
  EXPECT_EQ(group.size(), 0U);
  EXPECT_LT(env->clock.now(), far);
}

TEST_P(AsyncTest, CancelEndsEveryWaitOfEveryTask) { run(check_cancel(&env(), &loop())); }

Awaitable<void> check_cancel_before_start(Environment* env, Loop* loop) {
  TaskGroup group(*loop);
  int reached = 0;
  const Instant far = env->clock.now() + 1h;
  group.spawn("sleeper", sleep_twice(&env->clock, far, &reached));
  group.cancel();
  co_await group.join();
  EXPECT_EQ(reached, 2);
}

TEST_P(AsyncTest, ATaskCancelledBeforeItStartsStillRunsToItsEnd) {
  run(check_cancel_before_start(&env(), &loop()));
}

Awaitable<Result<int>> sleepy(Clock* clock, Instant until, int value) {
  co_await clock->sleep_until(until);
  const bool cancelled = co_await task_cancelled();
  if (cancelled) co_return aborted_error("sleeping");
  co_return value;
}

Awaitable<void> check_deadline(Environment* env) {
  const Instant soon = env->clock.now() + 3ms;
  const Instant far = env->clock.now() + 1h;
  auto slow = sleepy(&env->clock, far, 1);
  std::string what = "the slow one";
  const Result<int> late =
      co_await with_deadline(env->clock, soon, std::move(slow), std::move(what));
  EXPECT_FALSE(late);
  if (!late) {
    EXPECT_TRUE(is_timed_out(late.error()));
    EXPECT_EQ(late.error().message, "the slow one: Connection timed out");
  }
  auto quick = sleepy(&env->clock, soon, 2);
  std::string what2 = "the quick one";
  const Result<int> in_time =
      co_await with_deadline(env->clock, far, std::move(quick), std::move(what2));
  EXPECT_TRUE(in_time);
  if (in_time) {
    EXPECT_EQ(*in_time, 2);
  }
}

TEST_P(AsyncTest, DeadlineCancelsWhatIsLate) { run(check_deadline(&env())); }

Awaitable<void> deadline_task(Clock* clock, Instant far, Result<int>* result) {
  auto slow = sleepy(clock, far, 1);
  std::string what = "the slow one";
  *result = co_await with_deadline(*clock, far, std::move(slow), std::move(what));
}

Awaitable<void> check_cancel_in_deadline(Environment* env, Loop* loop) {
  TaskGroup group(*loop);
  Result<int> result = 7;
  const Instant far = env->clock.now() + 1h;
  group.spawn("with deadline", deadline_task(&env->clock, far, &result));
  co_await yield_now();
  co_await yield_now();
  group.cancel();
  co_await group.join();
  EXPECT_FALSE(result);
  if (!result) {
    EXPECT_TRUE(is_aborted(result.error()));
  }
}

TEST_P(AsyncTest, CancelReachesThroughADeadline) { run(check_cancel_in_deadline(&env(), &loop())); }

Awaitable<void> check_completion(Environment* env, Loop* here, Loop* there) {
  const Completion<Result<std::string>> later;
  there->post([later] { later.complete(std::string("hello")); });
  Result<std::string> text = co_await later.wait();
  EXPECT_TRUE(here->is_current());
  EXPECT_EQ(*text, "hello");

  const Completion<int> before;
  EXPECT_TRUE(before.complete(1));
  EXPECT_FALSE(before.complete(2));
  const Result<int> one = co_await before.wait();
  EXPECT_EQ(*one, 1);

  const Completion<int> never;
  const Instant soon = env->clock.now() + 2ms;
  const Result<int> late = co_await never.wait_until(env->clock, soon);
  EXPECT_FALSE(late);
  if (!late) {
    EXPECT_TRUE(is_timed_out(late.error()));
  }
  there->post([never] { never.complete(3); });
  const Result<int> three = co_await never.wait();  // a second wait after a time-out
  EXPECT_EQ(*three, 3);
}

TEST_P(AsyncTest, CompletionFromAnotherLoop) { run(check_completion(&env(), &loop(0), &loop(1))); }

Awaitable<void> wait_completion(Completion<int> completion, bool* aborted) {
  const Result<int> value = co_await completion.wait();
  *aborted = !value && is_aborted(value.error());
}

Awaitable<void> check_completion_cancelled(Loop* loop) {
  TaskGroup group(*loop);
  bool aborted = false;
  const Completion<int> completion;
  group.spawn("waiter", wait_completion(completion, &aborted));
  co_await yield_now();
  co_await yield_now();
  group.cancel();
  co_await group.join();
  EXPECT_TRUE(aborted);
  EXPECT_TRUE(completion.complete(1)) << "the completing side need not know";
}

TEST_P(AsyncTest, CancelEndsTheWaitForACompletion) { run(check_completion_cancelled(&loop())); }

Awaitable<void> ping_pong(Loop* there, int rounds, std::int64_t* sum) {
  for (int i = 0; i < rounds; ++i) {
    UniqueFunction<int()> work = [i] { return i; };
    const int value = co_await call_on<int>(*there, std::move(work));
    *sum += value;
    const Completion<int> completion;
    there->post([completion, i] { completion.complete(i); });
    const Result<int> other = co_await completion.wait();
    *sum += *other;
  }
}

Awaitable<void> check_crowd(Loop* here, Loop* there) {
  TaskGroup group(*here);
  std::int64_t sum = 0;
  for (int i = 0; i < 50; ++i) group.spawn("ping", ping_pong(there, 40, &sum));
  co_await group.join();
  EXPECT_EQ(sum, 50 * 2 * (39 * 40 / 2));
}

TEST_P(AsyncTest, ManyTasksCrossLoopsAtOnce) {
  run(check_crowd(&loop(0), &loop(1)));
  stage_->run(loop(1), check_crowd(&loop(1), &loop(0)));
}

Awaitable<void> check_timer_taken_back(Environment* env) {
  const auto executor = co_await boost::asio::this_coro::executor;
  int fired = 0;
  const Instant now = env->clock.now();
  std::unique_ptr<Timer> taken_back;
  // Both are due at once: when the first runs, the second waits in the loop's queue.
  UniqueFunction<void()> take_back = [&] { taken_back.reset(); };
  const std::unique_ptr<Timer> first = env->clock.call_at(executor, now, std::move(take_back));
  taken_back = env->clock.call_at(executor, now, [&fired] { ++fired; });
  const std::unique_ptr<Timer> kept =
      env->clock.call_at(executor, now + 1ms, [&fired] { fired += 10; });
  co_await env->clock.sleep_until(now + 2ms);
  co_await yield_now();
  EXPECT_EQ(fired, 10);
}

TEST_P(AsyncTest, ATimerTakenBackNeverRuns) { run(check_timer_taken_back(&env())); }

Awaitable<void> throw_something() {
  co_await yield_now();
  throw std::runtime_error("boom");
}

Awaitable<void> run_thrower(Loop* loop) {
  TaskGroup group(*loop);
  group.spawn("the thrower", throw_something());
  co_await group.join();
}

void die_by_exception() {
  PosixEnvironment posix{PosixOptions(1, 1)};
  posix.start();
  Loop& loop = *posix.environment().loops[0];
  posix.run(loop, run_thrower(&loop));
}

// Components are made on one loop for another: no call but the constructor may come from there.
Awaitable<void> wait_made_set(AsyncEvent* event, bool* woken) {
  co_await event->wait();
  *woken = true;
}

TEST(AsyncEvent, MayBeMadeSetOnAnotherThread) {
  PosixEnvironment posix{PosixOptions(1, 1)};
  posix.start();
  Loop& loop = *posix.environment().loops[0];
  AsyncEvent event(loop, true);
  bool woken = false;
  posix.run(loop, wait_made_set(&event, &woken));
  EXPECT_TRUE(woken);
  posix.stop();
}

TEST(AsyncDeathTest, AnEscapedExceptionAbortsWithTheTasksName) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(die_by_exception(), "the thrower: boom");
}

}  // namespace
}  // namespace kmirror::env
