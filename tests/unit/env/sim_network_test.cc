// Simulated hosts, links and connections.
#include "kmirror/env/sim_network.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "kmirror/env/async.h"
#include "kmirror/env/sim.h"

namespace kmirror::env {
namespace {

using namespace std::chrono_literals;

// Host "a" connects to host "b".
class SimNetworkTest : public ::testing::Test {
 protected:
  SimNetworkTest() { restart_b(); }
  SimNetwork& net() { return world_.network(); }
  void restart_b() {
    b_.reset();
    b_ = std::make_unique<SimProcess>(world_, "b", disk_b_);
  }
  void run(Awaitable<void> task) { world_.run(a_.loop(), std::move(task)); }

  SimWorld world_{7};
  SimDisk disk_a_{world_};
  SimDisk disk_b_{world_};
  SimProcess a_{world_, "a", disk_a_};
  std::unique_ptr<SimProcess> b_;
};

struct Pair {
  Pair() = default;
  std::unique_ptr<Acceptor> acceptor;
  std::unique_ptr<Stream> client;
  std::unique_ptr<Stream> server;
};

// Not on a's loop only: in one thread every loop may be used.
Awaitable<void> connect_pair(SimProcess* a, SimProcess* b, Pair* pair) {
  Environment& here = a->environment();
  const SocketOptions options;
  const Endpoint any("", 0);
  auto acceptor = b->environment().network.listen(b->loop(), any, options);
  EXPECT_TRUE(acceptor);
  pair->acceptor = std::move(*acceptor);
  const Endpoint at = pair->acceptor->local();
  const Instant deadline = here.clock.now() + 10s;
  auto client = co_await here.network.connect(a->loop(), at, deadline, options);
  EXPECT_TRUE(client) << client.error().message;
  pair->client = std::move(*client);
  auto server = co_await pair->acceptor->accept(b->loop());
  EXPECT_TRUE(server);
  pair->server = std::move(*server);
}

Awaitable<void> write_text(Stream* stream, std::string text, Result<void>* result) {
  ByteChain bytes(Slice::copy_of(text));
  *result = co_await stream->write(std::move(bytes));
}

Awaitable<void> read_text(Stream* stream, std::size_t size, Result<std::string>* result) {
  std::string text;
  Bytes buffer(100'000);
  while (text.size() < size) {
    const std::span<std::uint8_t> room(buffer.data(), std::min(buffer.size(), size - text.size()));
    const Result<std::size_t> count = co_await stream->read_some(room);
    if (!count) {
      *result = count.error();
      co_return;
    }
    if (*count == 0) break;
    text.append(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*count));
  }
  *result = text;
}

TEST_F(SimNetworkTest, BytesTakeTheLinksTime) {
  SimLink link;
  link.delay = 3ms;
  net().set_link("a", "b", link);
  Pair pair;
  run(connect_pair(&a_, b_.get(), &pair));
  EXPECT_EQ(pair.client->peer(), pair.server->local());
  EXPECT_EQ(pair.client->peer().host, "b");
  EXPECT_EQ(pair.server->peer(), pair.client->local());
  const Instant before = world_.clock().now();
  Result<void> written;
  run(write_text(pair.client.get(), "hello", &written));
  EXPECT_TRUE(written);
  EXPECT_EQ(world_.clock().now(), before) << "a writer does not wait for the line";
  Result<std::string> got = std::string();
  run(read_text(pair.server.get(), 5, &got));
  EXPECT_EQ(*got, "hello");
  EXPECT_EQ(world_.clock().now(), before + 3ms);
  EXPECT_EQ(net().bytes_delivered("a", "b"), 5U);
}

TEST_F(SimNetworkTest, BandwidthAndWindowHoldAWriterBack) {
  SimLink link;
  link.bytes_per_second = 1'000'000;
  net().set_link("a", "b", link);
  net().set_window(10'000);
  Pair pair;
  run(connect_pair(&a_, b_.get(), &pair));
  TaskGroup group(a_.loop());
  Result<void> written;
  const std::string big(100'000, 'x');
  group.spawn("writer", write_text(pair.client.get(), big, &written));
  world_.run_for(10s);
  EXPECT_EQ(group.size(), 1U) << "nobody reads, so the writer waits";
  EXPECT_EQ(net().bytes_delivered("a", "b"), 10'000U);
  const Instant before = world_.clock().now();
  Result<std::string> got = std::string();
  run(read_text(pair.server.get(), big.size(), &got));
  EXPECT_EQ(*got, big);
  EXPECT_GE(world_.clock().now() - before, 90ms);
  run(group.join());
  EXPECT_TRUE(written);
}

TEST_F(SimNetworkTest, FragmentationChangesPiecesNotBytes) {
  net().set_fragmentation(7);
  Pair pair;
  run(connect_pair(&a_, b_.get(), &pair));
  std::string text;
  for (int i = 0; i < 2000; ++i) text += std::to_string(i);
  TaskGroup group(a_.loop());
  Result<void> written;
  group.spawn("writer", write_text(pair.client.get(), text, &written));
  Result<std::string> got = std::string();
  run(read_text(pair.server.get(), text.size(), &got));
  EXPECT_EQ(*got, text);
  Result<std::string> none = std::string();
  group.spawn("reader", read_text(pair.server.get(), 10, &none));
  pair.client->close();
  run(group.join());
  EXPECT_EQ(*none, "") << "the end follows the last byte";
}

TEST_F(SimNetworkTest, ACutLinkHoldsBytesUntilItHeals) {
  Pair pair;
  run(connect_pair(&a_, b_.get(), &pair));
  net().cut("a", "b");
  TaskGroup group(a_.loop());
  Result<void> written;
  group.spawn("writer", write_text(pair.client.get(), "one", &written));
  world_.run_for(1h);
  group.spawn("writer", write_text(pair.client.get(), "two", &written));
  Result<std::string> got = std::string();
  group.spawn("reader", read_text(pair.server.get(), 6, &got));
  world_.run_for(1h);
  EXPECT_EQ(net().bytes_delivered("a", "b"), 0U);
  EXPECT_EQ(group.size(), 1U);
  net().heal("a", "b");
  run(group.join());
  EXPECT_EQ(*got, "onetwo");
}

TEST_F(SimNetworkTest, ADirectionCanBeCutAlone) {
  Pair pair;
  run(connect_pair(&a_, b_.get(), &pair));
  net().cut_one_way("a", "b");
  Result<void> written;
  run(write_text(pair.client.get(), "lost for now", &written));
  run(write_text(pair.server.get(), "back", &written));
  Result<std::string> got = std::string();
  run(read_text(pair.client.get(), 4, &got));
  EXPECT_EQ(*got, "back");
  EXPECT_EQ(net().bytes_delivered("a", "b"), 0U);
}

TEST_F(SimNetworkTest, HalfCloseEndsOneDirectionOnly) {
  Pair pair;
  run(connect_pair(&a_, b_.get(), &pair));
  net().end_direction("b", "a");
  Result<std::string> got = std::string("?");
  run(read_text(pair.client.get(), 5, &got));
  EXPECT_EQ(*got, "");
  Result<void> written;
  run(write_text(pair.client.get(), "still", &written));
  run(read_text(pair.server.get(), 5, &got));
  EXPECT_EQ(*got, "still");
}

TEST_F(SimNetworkTest, ResetIsSeenByBothSides) {
  Pair pair;
  run(connect_pair(&a_, b_.get(), &pair));
  TaskGroup group(a_.loop());
  Result<std::string> one = std::string();
  Result<std::string> two = std::string();
  group.spawn("client", read_text(pair.client.get(), 5, &one));
  group.spawn("server", read_text(pair.server.get(), 5, &two));
  world_.run_for(1s);
  net().reset_connections("b", "a");
  run(group.join());
  EXPECT_TRUE(!one && is_system(one.error(), ECONNRESET));
  EXPECT_TRUE(!two && is_system(two.error(), ECONNRESET));
  Result<void> written;
  run(write_text(pair.client.get(), "x", &written));
  EXPECT_TRUE(!written && is_system(written.error(), ECONNRESET));
}

TEST_F(SimNetworkTest, CloseEndsOwnWaitsAndTellsThePeer) {
  Pair pair;
  run(connect_pair(&a_, b_.get(), &pair));
  EXPECT_EQ(net().connection_count(), 1U);
  TaskGroup group(a_.loop());
  Result<std::string> own = std::string();
  Result<std::string> peer = std::string("?");
  group.spawn("client", read_text(pair.client.get(), 5, &own));
  group.spawn("server", read_text(pair.server.get(), 5, &peer));
  world_.run_for(1s);
  pair.client->close();
  run(group.join());
  EXPECT_TRUE(!own && is_aborted(own.error()));
  EXPECT_EQ(*peer, "");
  Result<void> written;
  run(write_text(pair.server.get(), "too late", &written));
  EXPECT_TRUE(written) << "the first write is taken";
  world_.run_for(1s);
  run(write_text(pair.server.get(), "again", &written));
  EXPECT_TRUE(!written && is_system(written.error(), ECONNRESET));
  pair.server->close();
  EXPECT_EQ(net().connection_count(), 0U);
}

TEST_F(SimNetworkTest, CancelEndsEveryKindOfWait) {
  net().set_window(10);
  Pair pair;
  run(connect_pair(&a_, b_.get(), &pair));
  TaskGroup group(a_.loop());
  Result<std::string> read = std::string();
  Result<void> written;
  group.spawn("reader", read_text(pair.client.get(), 5, &read));
  group.spawn("writer", write_text(pair.client.get(), "more than ten bytes", &written));
  world_.run_for(1s);
  EXPECT_EQ(group.size(), 2U);
  group.cancel();
  run(group.join());
  EXPECT_TRUE(!read && is_aborted(read.error()));
  EXPECT_TRUE(!written && is_aborted(written.error()));
}

Awaitable<void> try_connect(SimProcess* from, Endpoint to, Duration patience, Error* error,
                            std::unique_ptr<Stream>* kept) {
  Environment& env = from->environment();
  const SocketOptions options;
  const Instant deadline = env.clock.now() + patience;
  auto stream = co_await env.network.connect(from->loop(), to, deadline, options);
  if (stream) {
    *error = Error();
    *kept = std::move(*stream);
  } else {
    *error = stream.error();
  }
}

TEST_F(SimNetworkTest, ConnectErrors) {
  Error error;
  std::unique_ptr<Stream> kept;
  run(try_connect(&a_, Endpoint("b", 1), 5s, &error, &kept));
  EXPECT_TRUE(is_system(error, ECONNREFUSED));
  EXPECT_NE(error.message.find("b:1"), std::string::npos);
  run(try_connect(&a_, Endpoint("nobody", 1), 5s, &error, &kept));
  EXPECT_NE(error.message.find("looking up nobody:1"), std::string::npos);
  net().cut("a", "b");
  const Instant before = world_.clock().now();
  run(try_connect(&a_, Endpoint("b", 1), 5s, &error, &kept));
  EXPECT_TRUE(is_timed_out(error));
  EXPECT_EQ(world_.clock().now(), before + 5s);
  EXPECT_EQ(kept, nullptr);
}

TEST_F(SimNetworkTest, ConnectSucceedsWhenTheLinkHealsInTime) {
  const SocketOptions options;
  auto acceptor = b_->environment().network.listen(b_->loop(), Endpoint("", 9092), options);
  ASSERT_TRUE(acceptor);
  EXPECT_FALSE(b_->environment().network.listen(b_->loop(), Endpoint("b", 9092), options));
  EXPECT_FALSE(b_->environment().network.listen(b_->loop(), Endpoint("a", 9093), options));
  net().add_name("broker.example", "b");
  net().cut("a", "b");
  world_.schedule(3s, [this] { net().heal("a", "b"); });
  Error error;
  std::unique_ptr<Stream> kept;
  run(try_connect(&a_, Endpoint("broker.example", 9092), 10s, &error, &kept));
  EXPECT_NE(kept, nullptr) << error.message;
}

TEST_F(SimNetworkTest, ACrashedProcessIsRefusedAndItsPeersAreReset) {
  Pair pair;
  run(connect_pair(&a_, b_.get(), &pair));
  TaskGroup group(a_.loop());
  Result<std::string> read = std::string();
  group.spawn("reader", read_text(pair.client.get(), 5, &read));
  world_.run_for(1s);
  const Endpoint at = pair.acceptor->local();
  b_->crash(SimCrash::kProcessDies);
  run(group.join());
  EXPECT_TRUE(!read && is_system(read.error(), ECONNRESET));
  Result<void> written;
  run(write_text(pair.server.get(), "from the dead", &written));
  EXPECT_FALSE(written);
  Error error;
  std::unique_ptr<Stream> kept;
  run(try_connect(&a_, at, 5s, &error, &kept));
  EXPECT_TRUE(is_system(error, ECONNREFUSED));
  EXPECT_FALSE(b_->environment().network.listen(b_->loop(), Endpoint("", 0), SocketOptions()));
}

TEST_F(SimNetworkTest, APowerCutIsNoticedOnlyWhenTheHostIsBack) {
  Pair pair;
  run(connect_pair(&a_, b_.get(), &pair));
  TaskGroup group(a_.loop());
  Result<std::string> read = std::string();
  group.spawn("reader", read_text(pair.client.get(), 5, &read));
  b_->crash(SimCrash::kPowerCut);
  pair.server.reset();
  pair.acceptor.reset();
  Result<void> written;
  run(write_text(pair.client.get(), "anybody?", &written));
  world_.run_for(1h);
  EXPECT_EQ(group.size(), 1U) << "silence";
  restart_b();
  run(group.join());
  EXPECT_TRUE(!read && is_system(read.error(), ECONNRESET));
}

}  // namespace
}  // namespace kmirror::env
