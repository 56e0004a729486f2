// Virtual time, the order of work, and that a seed repeats a run.
#include "kmirror/env/sim.h"

#include <gtest/gtest.h>

#include "kmirror/env/async.h"

namespace kmirror::env {
namespace {

using namespace std::chrono_literals;

Awaitable<void> sleep_and_note(Clock* clock, Duration duration, int id, std::vector<int>* order) {
  co_await pause_for(*clock, duration);
  order->push_back(id);
}

TEST(SimWorldTest, TimeJumpsToTheNextEvent) {
  SimWorld world(1);
  SimDisk disk(world);
  SimProcess process(world, "a", disk);
  TaskGroup group(process.loop());
  std::vector<int> order;
  Clock& clock = process.environment().clock;
  const Instant start = clock.now();
  const std::int64_t wall = clock.wall_ms();
  group.spawn("long", sleep_and_note(&clock, 24h, 3, &order));
  group.spawn("short", sleep_and_note(&clock, 1ms, 1, &order));
  group.spawn("middle", sleep_and_note(&clock, 1h, 2, &order));
  EXPECT_TRUE(world.run_until([&] { return order.size() == 2; }, 2h));
  EXPECT_EQ(clock.now(), start + 1h);
  EXPECT_FALSE(world.run_until([&] { return order.size() == 3; }, 2h)) << "past the limit";
  EXPECT_TRUE(world.run_until([&] { return order.size() == 3; }, 24h));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(clock.wall_ms(), wall + 24 * 3600 * 1000);
  world.jump_wall_clock(-5000);
  EXPECT_EQ(clock.wall_ms(), wall + 24 * 3600 * 1000 - 5000);
  EXPECT_EQ(clock.now(), start + 24h);
  EXPECT_FALSE(world.run_until([] { return false; }, 1h)) << "nothing is left to happen";
  world.run_for(1h);
  EXPECT_EQ(clock.now(), start + 25h);
}

TEST(SimWorldTest, LoopsKnowWhoRuns) {
  SimWorld world(1);
  SimDisk disk(world);
  SimProcessOptions options;
  options.loop_count = 2;
  SimProcess process(world, "a", disk, options);
  int ran = 0;
  process.loop(0).post([&] {
    EXPECT_TRUE(process.loop(0).is_current());
    EXPECT_FALSE(process.loop(1).is_current());
    ++ran;
  });
  process.environment().disk.submit([&] {
    EXPECT_FALSE(process.loop(0).is_current());
    EXPECT_FALSE(process.loop(1).is_current());
    ++ran;
  });
  EXPECT_TRUE(world.run_until([&] { return ran == 2; }, 1s));
}

TEST(SimWorldTest, DiskPoolRunsInOrderAndTakesTime) {
  SimWorld world(1);
  SimDisk disk(world);
  SimProcessOptions options;
  options.disk_latency = 5ms;
  SimProcess process(world, "a", disk, options);
  std::vector<int> order;
  const Instant start = world.clock().now();
  for (int i = 0; i < 3; ++i)
    process.environment().disk.submit([&order, i] { order.push_back(i); });
  EXPECT_TRUE(world.run_until([&] { return order.size() == 3; }, 1s));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(world.clock().now(), start + 15ms);
}

// A busy little site: a server that stores what it gets, clients that send, faults in between.
Awaitable<void> store(SimProcess* process, Stream* stream, std::shared_ptr<File> file) {
  Bytes buffer(300);
  std::uint64_t position = 0;
  for (;;) {
    const Result<std::size_t> count = co_await stream->read_some(buffer);
    if (!count || *count == 0) co_return;
    ByteChain bytes(Slice::copy_of(ByteSpan(buffer.data(), *count)));
    const Result<void> written = file->write_at(position, bytes);
    if (!written) co_return;
    position += *count;
    UniqueFunction<bool()> sync = [file] { return static_cast<bool>(file->sync()); };
    const bool synced = co_await run_on<bool>(process->environment().disk, std::move(sync));
    if (!synced) co_return;
  }
}

Awaitable<void> serve(SimProcess* process, Acceptor* acceptor, TaskGroup* group,
                      std::vector<std::unique_ptr<Stream>>* streams) {
  for (int id = 0;; ++id) {
    auto stream = co_await acceptor->accept(process->loop());
    if (!stream) co_return;
    auto file = process->environment().files.open("/log-" + std::to_string(id), OpenMode::kCreate);
    if (!file) co_return;
    streams->push_back(std::move(*stream));
    group->spawn("store", store(process, streams->back().get(), *file));
  }
}

Awaitable<void> chatter(SimProcess* process, Endpoint to, int rounds) {
  Environment& env = process->environment();
  const SocketOptions options;
  const Instant deadline = env.clock.now() + 5s;
  auto stream = co_await env.network.connect(process->loop(), to, deadline, options);
  if (!stream) co_return;
  for (int i = 0; i < rounds; ++i) {
    ByteChain bytes(Slice::take(Bytes(1 + env.rng.below(2000), static_cast<std::uint8_t>(i))));
    const Result<void> written = co_await (*stream)->write(std::move(bytes));
    if (!written) co_return;
    const Duration pause = std::chrono::microseconds(env.rng.below(3000));
    co_await pause_for(env.clock, pause);
  }
}

Awaitable<void> end_all(TaskGroup* group) {
  group->cancel();
  co_await group->join();
}

struct Outcome {
  std::uint64_t hash = 0;
  std::vector<std::string> trace;
  std::vector<Bytes> files;
};

Outcome run_site(std::uint64_t seed) {
  SimWorld world(seed);
  world.keep_trace();
  SimLink link;
  link.jitter = 2ms;
  world.network().set_default_link(link);
  world.network().set_fragmentation(500);
  SimDisk server_disk(world);
  SimDisk client_disk(world);
  SimProcess server(world, "server", server_disk);
  SimProcessOptions options;
  options.loop_count = 3;
  SimProcess client(world, "client", client_disk, options);
  auto acceptor =
      server.environment().network.listen(server.loop(), Endpoint("", 0), SocketOptions());
  TaskGroup at_server(server.loop());
  std::vector<std::unique_ptr<Stream>> streams;
  at_server.spawn("serve", serve(&server, acceptor->get(), &at_server, &streams));
  TaskGroup at_client(client.loop());
  for (int i = 0; i < 4; ++i) {
    at_client.spawn("chatter", chatter(&client, (*acceptor)->local(), 30));
  }
  world.schedule(20ms, [&] { world.network().cut("client", "server"); });
  world.schedule(900ms, [&] { world.network().heal("client", "server"); });
  world.schedule(910ms, [&] { server_disk.add_fault(DiskFault(DiskOp::kSync, "/log-2", EIO)); });
  EXPECT_TRUE(world.run_until([&] { return at_client.size() == 0; }, 1min));
  world.run_for(1s);
  world.run(server.loop(), end_all(&at_server));
  Outcome outcome;
  const auto left = server_disk.crashed_copy(SimCrash::kPowerCut);
  for (const std::string& path : left->all_files()) outcome.files.push_back(left->contents(path));
  outcome.hash = world.trace_hash();
  outcome.trace = world.trace();
  return outcome;
}

TEST(SimWorldTest, TheSameSeedGivesTheSameRun) {
  const Outcome one = run_site(11);
  const Outcome two = run_site(11);
  const Outcome other = run_site(12);
  EXPECT_EQ(one.hash, two.hash);
  EXPECT_EQ(one.trace, two.trace);
  EXPECT_EQ(one.files, two.files);
  EXPECT_GT(one.trace.size(), 200U);
  EXPECT_NE(one.hash, other.hash);
  EXPECT_NE(one.trace, other.trace);
}

TEST(SimWorldTest, ManySeedsRunThrough) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < 30; ++seed) hashes.insert(run_site(seed).hash);
  EXPECT_EQ(hashes.size(), 30U);
}

Awaitable<void> note_loop(std::vector<std::size_t>* order, std::size_t index, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    order->push_back(index);
    co_await yield_now();
  }
}

TEST(SimWorldTest, SeedsInterleaveLoopsDifferently) {
  std::set<std::vector<std::size_t>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimWorld world(seed);
    SimDisk disk(world);
    SimProcessOptions options;
    options.loop_count = 2;
    SimProcess process(world, "a", disk, options);
    TaskGroup zero(process.loop(0));
    TaskGroup one(process.loop(1));
    std::vector<std::size_t> order;
    zero.spawn("zero", note_loop(&order, 0, 10));
    one.spawn("one", note_loop(&order, 1, 10));
    EXPECT_TRUE(world.run_until([&] { return zero.size() + one.size() == 0; }, 1s));
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 10U);
}

Awaitable<void> never_ends(AsyncEvent* event) { co_await event->wait(); }

TEST(SimWorldDeathTest, ATaskThatNeverEndsIsReportedWithTheSeed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SimWorld world(99);
  SimDisk disk(world);
  SimProcess process(world, "a", disk);
  AsyncEvent event(process.loop());
  EXPECT_DEATH(world.run(process.loop(), never_ends(&event)), "seed 99: the task has not ended");
}

}  // namespace
}  // namespace kmirror::env
