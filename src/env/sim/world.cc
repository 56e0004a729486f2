// SimWorld: who runs next, and when.
// Owner: the test's thread.
#include "env/sim/world.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include "kmirror/env/async.h"

namespace kmirror::env {

namespace asio = boost::asio;

namespace {

// More pieces of work at one instant than any honest run has: tasks that wake each other for ever.
constexpr std::uint64_t kLivelockPieces = 20'000'000;

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001B3ULL;
  return hash;
}

}  // namespace

// --- EventQueue -----------------------------------------------------------------------------

EventQueue::Key EventQueue::add(Instant when, UniqueFunction<void()> work) {
  const Key key(when, sequence_++);
  events_.emplace(key, std::move(work));
  return key;
}

UniqueFunction<void()> EventQueue::pop() {
  UniqueFunction<void()> work = std::move(events_.begin()->second);
  events_.erase(events_.begin());
  return work;
}

// --- SimLoop --------------------------------------------------------------------------------

SimLoop::SimLoop(SimWorld::Impl& world, std::size_t index)
    : world_(world),
      index_(index),
      context_(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE),
      guard_(context_.get_executor()) {
  world_.loops.push_back(this);
}

SimLoop::~SimLoop() { std::erase(world_.loops, this); }

void SimLoop::post(UniqueFunction<void()> work) {
  asio::post(context_, [work = std::move(work)]() mutable { work(); });
}

bool SimLoop::is_current() const { return world_.running == this || world_.running == nullptr; }

bool SimLoop::run_one() {
  const void* const before = std::exchange(world_.running, this);
  const bool ran = context_.poll_one() != 0;
  world_.running = before;
  return ran;
}

// --- SimClock -------------------------------------------------------------------------------

namespace {

class SimTimer final : public Timer {
 public:
  SimTimer(EventQueue& queue, const asio::any_io_executor& executor, Instant when,
           UniqueFunction<void()> work)
      : queue_(queue), work_(std::make_shared<UniqueFunction<void()>>(std::move(work))) {
    key_ = queue_.add(when, [executor, work = work_] {
      asio::post(executor, [work] {
        if (!*work) return;
        UniqueFunction<void()> once = std::move(*work);
        *work = nullptr;
        once();
      });
    });
  }
  ~SimTimer() override {
    *work_ = nullptr;
    queue_.remove(key_);
  }

 private:
  EventQueue& queue_;
  EventQueue::Key key_;
  std::shared_ptr<UniqueFunction<void()>> work_;
};

Awaitable<void> sleep_in_queue(EventQueue* queue, Instant when) {
  const bool cancelled = co_await task_cancelled();
  if (cancelled) {
    co_await yield_now();
    co_return;
  }
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  detail::Parking parking;
  detail::Parking* const place = &parking;
  const SimTimer timer(*queue, executor, when, [place] { place->unpark(); });
  co_await parking.park();
}

}  // namespace

std::int64_t SimClock::wall_ms() const {
  return wall_offset_ms_ +
         std::chrono::duration_cast<std::chrono::milliseconds>(now_.time_since_epoch()).count();
}

Awaitable<void> SimClock::sleep_until(Instant when) { return sleep_in_queue(&queue_, when); }

std::unique_ptr<Timer> SimClock::call_at(const asio::any_io_executor& executor, Instant when,
                                         UniqueFunction<void()> work) {
  return std::make_unique<SimTimer>(queue_, executor, when, std::move(work));
}

// --- SimDiskPool ----------------------------------------------------------------------------

void SimDiskPool::submit(UniqueFunction<void()> work) {
  busy_until_ = std::max(busy_until_, world_.clock.now()) + latency_;
  world_.queue.add(busy_until_,
                   [this, world = &world_, alive = alive_, work = std::move(work)]() mutable {
                     if (!*alive) return;
                     const void* const before = std::exchange(world->running, this);
                     work();
                     world->running = before;
                   });
}

// --- SimWorld -------------------------------------------------------------------------------

SimWorld::Impl::Impl(SimWorld& world, std::uint64_t world_seed)
    : seed(world_seed),
      test_rng(world_seed),
      schedule_rng(world_seed ^ 0x5C4ED01EULL),
      fault_rng(world_seed ^ 0xFA017FA017ULL),
      hash(world_seed),
      network(world) {}

bool SimWorld::Impl::run_ready() {
  const std::size_t count = loops.size();
  if (count == 0) return false;
  const std::size_t first = schedule_rng.below(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t chosen = (first + i) % count;
    if (!loops[chosen]->run_one()) continue;
    mix(chosen);
    KM_CHECK(++pieces_at_this_time < kLivelockPieces,
             "seed {}: tasks keep each other busy and time does not move", seed);
    return true;
  }
  return false;
}

bool SimWorld::Impl::run_event(Instant limit) {
  if (queue.empty() || queue.next_time() > limit) return false;
  if (queue.next_time() > clock.now()) pieces_at_this_time = 0;
  clock.advance_to(queue.next_time());
  mix(static_cast<std::uint64_t>(clock.now().time_since_epoch().count()));
  UniqueFunction<void()> work = queue.pop();
  work();
  return true;
}

void SimWorld::Impl::mix(std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
  hash ^= hash >> 29;
}

void SimWorld::Impl::note(std::string_view line) {
  mix(hash_text(line));
  if (!keeps_trace) return;
  const auto time = std::chrono::duration_cast<std::chrono::microseconds>(
      clock.now().time_since_epoch() - std::chrono::hours(1));
  trace.push_back(fmt::format("{:>12} us  {}", time.count(), line));
}

SimWorld::SimWorld(std::uint64_t seed) : impl_(std::make_unique<Impl>(*this, seed)) {}

SimWorld::~SimWorld() {
  KM_CHECK(impl_->loops.empty(), "{} loops outlive their world", impl_->loops.size());
}

std::uint64_t SimWorld::seed() const { return impl_->seed; }
Clock& SimWorld::clock() { return impl_->clock; }
Rng& SimWorld::rng() { return impl_->test_rng; }
SimNetwork& SimWorld::network() { return impl_->network; }
void SimWorld::jump_wall_clock(std::int64_t by_ms) { impl_->clock.jump_wall(by_ms); }

bool SimWorld::run_until(const std::function<bool()>& done, Duration limit) {
  const Instant end = impl_->clock.now() + limit;
  while (!done()) {
    if (!impl_->run_ready() && !impl_->run_event(end)) return done();
  }
  return true;
}

void SimWorld::run_for(Duration duration) {
  const Instant end = impl_->clock.now() + duration;
  while (impl_->run_ready() || impl_->run_event(end)) {
  }
  impl_->clock.advance_to(end);
}

namespace {

Awaitable<void> run_and_tell(Awaitable<void> task, std::shared_ptr<bool> ended) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await std::move(task);
  *ended = true;
}

}  // namespace

void SimWorld::run(Loop& loop, Awaitable<void> task, Duration limit) {
  const auto ended = std::make_shared<bool>(false);
  asio::co_spawn(loop.context(), run_and_tell(std::move(task), ended),
                 [](const std::exception_ptr& exception) {
                   if (exception) std::rethrow_exception(exception);
                 });
  const bool in_time = run_until([&ended] { return *ended; }, limit);
  KM_CHECK(in_time, "seed {}: the task has not ended", impl_->seed);
}

void SimWorld::schedule(Duration delay, UniqueFunction<void()> work) {
  impl_->after(delay, std::move(work));
}

std::uint64_t SimWorld::trace_hash() const { return impl_->hash; }
void SimWorld::note(std::string_view line) { impl_->note(line); }
void SimWorld::keep_trace() { impl_->keeps_trace = true; }
const std::vector<std::string>& SimWorld::trace() const { return impl_->trace; }

// --- SimProcess -----------------------------------------------------------------------------

namespace {

std::vector<std::unique_ptr<SimLoop>> make_loops(SimWorld::Impl& world, std::size_t count) {
  KM_CHECK(count >= 1, "at least one loop is needed");
  std::vector<std::unique_ptr<SimLoop>> loops;
  for (std::size_t i = 0; i < count; ++i) loops.push_back(std::make_unique<SimLoop>(world, i));
  return loops;
}

std::vector<Loop*> pointers(const std::vector<std::unique_ptr<SimLoop>>& loops) {
  std::vector<Loop*> all;
  for (const auto& loop : loops) all.push_back(loop.get());
  return all;
}

}  // namespace

struct SimProcess::Impl {
  Impl(SimWorld& sim_world, std::string host_name, SimDisk& sim_disk,
       const SimProcessOptions& options)
      : world(sim_world),
        host(std::move(host_name)),
        disk(sim_disk),
        rng(world.impl().fault_rng.next()),
        files(disk.mount()),
        network(world.network().attach(host)),
        pool(world.impl(), options.disk_latency),
        loops(make_loops(world.impl(), options.loop_count)),
        environment(world.clock(), rng, *files, *network, pool, pointers(loops)) {}

  SimWorld& world;
  std::string host;
  SimDisk& disk;
  SplitMix rng;
  std::unique_ptr<FileSystem> files;
  std::unique_ptr<Network> network;
  SimDiskPool pool;
  std::vector<std::unique_ptr<SimLoop>> loops;
  Environment environment;
};

SimProcess::SimProcess(SimWorld& world, std::string host, SimDisk& disk, SimProcessOptions options)
    : impl_(std::make_unique<Impl>(world, std::move(host), disk, options)) {}

SimProcess::~SimProcess() = default;

Environment& SimProcess::environment() { return impl_->environment; }
Loop& SimProcess::loop(std::size_t index) { return *impl_->loops.at(index); }
const std::string& SimProcess::host() const { return impl_->host; }

void SimProcess::crash(SimCrash crash) {
  impl_->world.note("crash of " + impl_->host);
  impl_->disk.crash(crash);
  impl_->world.network().crash_host(impl_->host, crash != SimCrash::kProcessDies);
}

}  // namespace kmirror::env
