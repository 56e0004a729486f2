// Real sockets on loopback, port 0.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "kmirror/env/async.h"
#include "kmirror/env/posix.h"
#include "support/temp_dir.h"

namespace kmirror::env {
namespace {

using namespace std::chrono_literals;

class PosixNetworkTest : public ::testing::Test {
 protected:
  PosixNetworkTest() { posix_.start(); }
  ~PosixNetworkTest() override { posix_.stop(); }
  Environment& env() { return posix_.environment(); }
  void run(Awaitable<void> task) { posix_.run(*env().loops[0], std::move(task)); }

  PosixEnvironment posix_{PosixOptions(2, 1)};
  test::TempDir dir_;
};

// A connection's two ends. The client is on loop 0, the server's stream on `server_loop`.
struct Pair {
  Pair() = default;
  std::unique_ptr<Stream> client;
  std::unique_ptr<Stream> server;
};

Awaitable<Result<Pair>> make_pair(Environment* env, Loop* server_loop) {
  Loop& here = *env->loops[0];
  const Endpoint any("127.0.0.1", 0);
  const SocketOptions options;
  KM_CO_TRY(acceptor, env->network.listen(here, any, options));
  const Endpoint at = acceptor->local();
  const Instant deadline = env->clock.now() + 10s;
  Pair pair;
  KM_CO_TRY(client, co_await env->network.connect(here, at, deadline, options));
  KM_CO_TRY(server, co_await acceptor->accept(*server_loop));
  pair.client = std::move(client);
  pair.server = std::move(server);
  co_return pair;
}

Awaitable<void> echo(Stream* stream) {
  Bytes buffer(64 * 1024);
  for (;;) {
    const Result<std::size_t> count = co_await stream->read_some(buffer);
    if (!count || *count == 0) co_return;
    ByteChain back(Slice::copy_of(ByteSpan(buffer.data(), *count)));
    const Result<void> written = co_await stream->write(std::move(back));
    if (!written) co_return;
  }
}

Awaitable<Result<Bytes>> read_exactly(Stream* stream, std::size_t size) {
  Bytes all(size);
  std::size_t have = 0;
  while (have < size) {
    const std::span<std::uint8_t> rest(all.data() + have, size - have);
    KM_CO_TRY(count, co_await stream->read_some(rest));
    if (count == 0) co_return system_error(ENODATA, "the peer ended early");
    have += count;
  }
  co_return all;
}

Awaitable<void> check_echo(Environment* env) {
  auto connected = co_await make_pair(env, env->loops[0]);
  EXPECT_TRUE(connected);
  if (!connected) co_return;
  Pair& pair = *connected;
  EXPECT_EQ(pair.client->peer(), pair.server->local());
  EXPECT_EQ(pair.client->local(), pair.server->peer());
  EXPECT_EQ(pair.client->peer().host, "127.0.0.1");
  TaskGroup group(*env->loops[0]);
  group.spawn("echo", echo(pair.server.get()));
  ByteChain request(Slice::copy_of("hello "));
  request.append(Slice::copy_of("world"));
  const Result<void> written = co_await pair.client->write(std::move(request));
  EXPECT_TRUE(written);
  const Result<Bytes> answer = co_await read_exactly(pair.client.get(), 11);
  EXPECT_TRUE(answer);
  if (answer) {
    EXPECT_EQ(std::string(answer->begin(), answer->end()), "hello world");
  }
  pair.client->close();
  co_await group.join();
}

TEST_F(PosixNetworkTest, BytesGoThereAndBack) { run(check_echo(&env())); }

// Memory and file ranges of many sizes; `expected` gets the bytes they stand for.
ByteChain make_mix(FileSystem& files, const std::string& path, Bytes& expected) {
  Bytes content(700'000);
  for (std::size_t i = 0; i < content.size(); ++i)
    content[i] = static_cast<std::uint8_t>(i * 7 / 3);
  auto file = files.open(path, OpenMode::kCreate);
  EXPECT_TRUE(file);
  EXPECT_TRUE((*file)->write_at(0, ByteChain(Slice::copy_of(content))));
  ByteChain chain;
  const auto memory = [&](std::size_t size, std::uint8_t seed) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(seed + i);
    expected.insert(expected.end(), bytes.begin(), bytes.end());
    chain.append(Slice::take(std::move(bytes)));
  };
  const auto range = [&](std::size_t position, std::size_t size) {
    const auto begin = content.begin() + static_cast<std::ptrdiff_t>(position);
    expected.insert(expected.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
    FileRange part;
    part.source = *file;
    part.position = position;
    part.size = size;
    chain.append(std::move(part));
  };
  memory(10, 1);
  range(0, 700'000);
  range(5, 1);
  for (int i = 0; i < 200; ++i)
    memory(static_cast<std::size_t>(1 + i * 13), static_cast<std::uint8_t>(i));
  range(123'456, 300'001);
  memory(3'000'000, 9);
  range(1, 699'999);
  return chain;
}

Awaitable<void> write_and_close(Stream* stream, ByteChain chain, Result<void>* result) {
  *result = co_await stream->write(std::move(chain));
  stream->close();
}

Awaitable<void> check_mix(Environment* env, ByteChain chain, Bytes expected) {
  auto connected = co_await make_pair(env, env->loops[0]);
  EXPECT_TRUE(connected);
  if (!connected) co_return;
  Pair& pair = *connected;
  TaskGroup group(*env->loops[0]);
  Result<void> written;
  group.spawn("writer", write_and_close(pair.server.get(), std::move(chain), &written));
  const Result<Bytes> got = co_await read_exactly(pair.client.get(), expected.size());
  co_await group.join();
  EXPECT_TRUE(written);
  EXPECT_TRUE(got);
  if (got) {
    EXPECT_EQ(*got, expected);
  }
  Bytes one(1);
  const Result<std::size_t> end = co_await pair.client->read_some(one);
  EXPECT_TRUE(end);
  if (end) {
    EXPECT_EQ(*end, 0U) << "nothing follows";
  }
}

TEST_F(PosixNetworkTest, FilesAndMemoryMixArriveInOrder) {
  Bytes expected;
  ByteChain chain = make_mix(env().files, dir_.at("data"), expected);
  ASSERT_EQ(chain.size(), expected.size());
  run(check_mix(&env(), std::move(chain), expected));
}

// Bytes at positions that are no file of the system.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(Bytes bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t position,
                                            std::span<std::uint8_t> out) const override {
    if (position >= bytes_.size()) return std::size_t{0};
    const std::size_t count = std::min(out.size(), bytes_.size() - position);
    std::memcpy(out.data(), bytes_.data() + position, count);
    return count;
  }

 private:
  Bytes bytes_;
};

TEST_F(PosixNetworkTest, RangesOfOtherSourcesAreSentToo) {
  Bytes content(1'000'000);
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<std::uint8_t>(i % 251);
  const auto source = std::make_shared<MemorySource>(content);
  ByteChain chain(Slice::copy_of("head"));
  FileRange range;
  range.source = source;
  range.position = 17;
  range.size = 900'000;
  chain.append(range);
  chain.append(Slice::copy_of("tail"));
  Bytes expected{'h', 'e', 'a', 'd'};
  expected.insert(expected.end(), content.begin() + 17, content.begin() + 900'017);
  for (const char c : std::string("tail")) expected.push_back(static_cast<std::uint8_t>(c));
  run(check_mix(&env(), std::move(chain), std::move(expected)));
}

Awaitable<void> check_short_file(Environment* env, std::shared_ptr<File> file) {
  auto connected = co_await make_pair(env, env->loops[0]);
  EXPECT_TRUE(connected);
  if (!connected) co_return;
  FileRange range;
  range.source = file;
  range.size = 100;
  ByteChain chain;
  chain.append(std::move(range));
  const Result<void> written = co_await connected->server->write(std::move(chain));
  EXPECT_FALSE(written);
  if (!written) {
    EXPECT_TRUE(is_system(written.error(), EIO));
    EXPECT_NE(written.error().message.find("became shorter"), std::string::npos);
  }
}

TEST_F(PosixNetworkTest, AFileCutUnderTheRangeIsAnError) {
  auto file = env().files.open(dir_.at("cut"), OpenMode::kCreate);
  ASSERT_TRUE((*file)->write_at(0, ByteChain(Slice::copy_of("only a few"))));
  run(check_short_file(&env(), *file));
}

Awaitable<void> read_until_error(Stream* stream, Result<std::size_t>* result) {
  Bytes buffer(10);
  *result = co_await stream->read_some(buffer);
}

Awaitable<void> wait_until_error(Stream* stream, Result<void>* result) {
  *result = co_await stream->wait_readable();
}

Awaitable<void> check_close_and_cancel(Environment* env) {
  auto connected = co_await make_pair(env, env->loops[0]);
  EXPECT_TRUE(connected);
  if (!connected) co_return;
  Pair& pair = *connected;
  TaskGroup group(*env->loops[0]);
  Result<std::size_t> closed = std::size_t{0};
  group.spawn("reader", read_until_error(pair.client.get(), &closed));
  co_await yield_now();
  co_await yield_now();
  pair.client->close();
  co_await group.join();
  EXPECT_TRUE(!closed && is_aborted(closed.error()));
  Result<std::size_t> again = std::size_t{0};
  co_await read_until_error(pair.client.get(), &again);
  EXPECT_TRUE(!again && is_aborted(again.error())) << "after close()";
  const Result<void> written = co_await pair.client->write(ByteChain(Slice::copy_of("x")));
  EXPECT_TRUE(!written && is_aborted(written.error()));
  Result<void> waited;
  co_await wait_until_error(pair.client.get(), &waited);
  EXPECT_TRUE(!waited && is_aborted(waited.error()));
}

TEST_F(PosixNetworkTest, CloseEndsARead) { run(check_close_and_cancel(&env())); }

Awaitable<void> check_cancelled_waits(Environment* env) {
  auto connected = co_await make_pair(env, env->loops[0]);
  EXPECT_TRUE(connected);
  if (!connected) co_return;
  Pair& pair = *connected;
  TaskGroup group(*env->loops[0]);
  Result<std::size_t> read = std::size_t{0};
  Result<void> waited;
  Result<void> written;
  group.spawn("reader", read_until_error(pair.client.get(), &read));
  group.spawn("waiter", wait_until_error(pair.server.get(), &waited));
  // More than the socket buffers take: the writer has to wait.
  ByteChain big(Slice::take(Bytes(64 * 1024 * 1024)));
  group.spawn("writer", write_and_close(pair.server.get(), std::move(big), &written));
  for (int i = 0; i < 100; ++i) co_await yield_now();
  group.cancel();
  co_await group.join();
  EXPECT_TRUE(!waited && is_aborted(waited.error()));
  EXPECT_TRUE(!written && is_aborted(written.error()));
}

TEST_F(PosixNetworkTest, CancelEndsEveryKindOfWait) { run(check_cancelled_waits(&env())); }

Awaitable<void> check_refused(Environment* env, Endpoint nobody) {
  const Instant deadline = env->clock.now() + 10s;
  const SocketOptions options;
  const auto refused = co_await env->network.connect(*env->loops[0], nobody, deadline, options);
  EXPECT_FALSE(refused);
  if (!refused) {
    EXPECT_TRUE(is_system(refused.error(), ECONNREFUSED)) << refused.error().message;
    EXPECT_NE(refused.error().message.find(nobody.text()), std::string::npos);
  }
}

Awaitable<void> check_peer_gone(Environment* env) {
  auto connected = co_await make_pair(env, env->loops[0]);
  EXPECT_TRUE(connected);
  if (!connected) co_return;
  Pair& pair = *connected;
  pair.client->close();
  Bytes one(1);
  const Result<std::size_t> end = co_await pair.server->read_some(one);
  EXPECT_TRUE(end && *end == 0);
  Result<void> written;
  // The first write may still be taken by the kernel; the reset that answers it ends a later one.
  for (int i = 0; i < 10'000 && written; ++i) {
    ByteChain bytes(Slice::take(Bytes(1024)));
    written = co_await pair.server->write(std::move(bytes));
  }
  EXPECT_FALSE(written) << "and SIGPIPE did not end the process";
}

TEST_F(PosixNetworkTest, AVanishedPeerIsAnErrorNotASignal) { run(check_peer_gone(&env())); }

TEST_F(PosixNetworkTest, RefusedConnectionsNameTheEndpoint) {
  auto acceptor = env().network.listen(*env().loops[0], Endpoint("127.0.0.1", 0), SocketOptions());
  ASSERT_TRUE(acceptor);
  const Endpoint nobody = (*acceptor)->local();
  (*acceptor)->close();
  run(check_refused(&env(), nobody));
}

Awaitable<void> check_localhost(Environment* env) {
  Loop& here = *env->loops[0];
  const Endpoint any("localhost", 0);
  const SocketOptions options;
  auto acceptor = env->network.listen(here, any, options);
  EXPECT_TRUE(acceptor);
  if (!acceptor) co_return;
  const Endpoint at("localhost", (*acceptor)->local().port);
  const Instant deadline = env->clock.now() + 10s;
  const auto stream = co_await env->network.connect(here, at, deadline, options);
  EXPECT_TRUE(stream) << stream.error().message;
  const Endpoint nowhere("no-such-host.invalid", 9092);
  const auto missing = co_await env->network.connect(here, nowhere, deadline, options);
  EXPECT_FALSE(missing);
  if (!missing) {
    EXPECT_NE(missing.error().message.find("no-such-host.invalid:9092"), std::string::npos);
  }
}

TEST_F(PosixNetworkTest, NamesAreLookedUp) { run(check_localhost(&env())); }

TEST_F(PosixNetworkTest, ATakenPortIsNamed) {
  const SocketOptions options;
  Loop& loop = *env().loops[0];
  auto first = env().network.listen(loop, Endpoint("127.0.0.1", 0), options);
  ASSERT_TRUE(first);
  const auto second = env().network.listen(loop, (*first)->local(), options);
  ASSERT_FALSE(second);
  EXPECT_TRUE(is_system(second.error(), EADDRINUSE));
  EXPECT_NE(second.error().message.find((*first)->local().text()), std::string::npos);
  const std::uint16_t port = (*first)->local().port;
  (*first)->close();
  EXPECT_TRUE(env().network.listen(loop, Endpoint("127.0.0.1", port), options))
      << "a closed port is free at once";
  EXPECT_TRUE(env().network.listen(loop, Endpoint("", 0), options)) << "every address";
}

Awaitable<void> accept_until_error(Acceptor* acceptor, Loop* loop, Error* error) {
  const auto stream = co_await acceptor->accept(*loop);
  if (!stream) *error = stream.error();
}

Awaitable<void> check_acceptor_close(Environment* env) {
  Loop& here = *env->loops[0];
  const SocketOptions options;
  const Endpoint any("127.0.0.1", 0);
  auto acceptor = env->network.listen(here, any, options);
  TaskGroup group(here);
  Error error;
  group.spawn("acceptor", accept_until_error(acceptor->get(), &here, &error));
  co_await yield_now();
  co_await yield_now();
  (*acceptor)->close();
  co_await group.join();
  EXPECT_TRUE(is_aborted(error));
}

TEST_F(PosixNetworkTest, CloseEndsAnAccept) { run(check_acceptor_close(&env())); }

Awaitable<void> serve_on_its_loop(Loop* loop, Stream* stream, Completion<int> done) {
  EXPECT_TRUE(loop->is_current());
  co_await echo(stream);
  EXPECT_TRUE(loop->is_current());
  done.complete(1);
}

Awaitable<void> check_two_loops(Environment* env) {
  Loop& there = *env->loops[1];
  auto connected = co_await make_pair(env, &there);
  EXPECT_TRUE(connected);
  if (!connected) co_return;
  Pair& pair = *connected;
  const Completion<int> done;
  std::optional<TaskGroup> group;
  UniqueFunction<void()> start = [&] {
    group.emplace(there);
    group->spawn("server", serve_on_its_loop(&there, pair.server.get(), done));
  };
  co_await call_on<void>(there, std::move(start));
  for (int i = 0; i < 50; ++i) {
    ByteChain request(Slice::take(Bytes(10'000, static_cast<std::uint8_t>(i))));
    const Result<void> written = co_await pair.client->write(std::move(request));
    EXPECT_TRUE(written);
    const Result<Bytes> answer = co_await read_exactly(pair.client.get(), 10'000);
    EXPECT_TRUE(answer && (*answer)[9999] == i);
  }
  pair.client->close();
  const Result<int> ended = co_await done.wait();
  EXPECT_TRUE(ended);
  UniqueFunction<bool()> finish = [&] {
    pair.server.reset();
    const bool over = group->size() == 0;
    if (over) group.reset();
    return over;
  };
  const bool over = co_await call_on<bool>(there, std::move(finish));
  EXPECT_TRUE(over);
}

TEST_F(PosixNetworkTest, AStreamMayLiveOnAnotherLoop) { run(check_two_loops(&env())); }

Awaitable<void> check_idle(Environment* env) {
  auto connected = co_await make_pair(env, env->loops[0]);
  EXPECT_TRUE(connected);
  if (!connected) co_return;
  Pair& pair = *connected;
  ByteChain bytes(Slice::copy_of("x"));
  const Result<void> written = co_await pair.client->write(std::move(bytes));
  EXPECT_TRUE(written);
  const Result<void> readable = co_await pair.server->wait_readable();
  EXPECT_TRUE(readable);
  Bytes buffer(10);
  const Result<std::size_t> count = co_await pair.server->read_some(buffer);
  EXPECT_TRUE(count && *count == 1);
  pair.client->close();
  const Result<void> ended = co_await pair.server->wait_readable();
  EXPECT_TRUE(ended) << "the peer's end is readable";
  const Result<std::size_t> end = co_await pair.server->read_some(buffer);
  EXPECT_TRUE(end && *end == 0);
}

TEST_F(PosixNetworkTest, AnIdleConnectionWaitsWithoutABuffer) { run(check_idle(&env())); }

Awaitable<void> wait_signal(Completion<int> got, int* number) {
  const Result<int> value = co_await got.wait();
  *number = value ? *value : -1;
}

TEST_F(PosixNetworkTest, SignalsArriveOnLoop0) {
  const Completion<int> got;
  Loop* first = env().loops[0];
  ASSERT_TRUE(posix_.handle_signals([got, first](int number) {
    EXPECT_TRUE(first->is_current());
    got.complete(number);
  }));
  ASSERT_EQ(::kill(::getpid(), SIGHUP), 0);
  int number = 0;
  run(wait_signal(got, &number));
  EXPECT_EQ(number, SIGHUP);
}

}  // namespace
}  // namespace kmirror::env
