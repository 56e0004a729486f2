#include "stream_client.h"

#include <array>
#include <span>

#include "kmirror/bytes/byte_chain.h"
#include "kmirror/bytes/endian.h"
#include "kmirror/env/async.h"

namespace kmirror::server {

env::Awaitable<void> write_stream(env::Stream* stream, Slice bytes) {
  ByteChain chain(std::move(bytes));
  (void)co_await stream->write(std::move(chain));
}

static env::Awaitable<Result<Read>> read_exactly(env::Stream* stream,
                                                 std::span<std::uint8_t> into) {
  while (!into.empty()) {
    const Result<std::size_t> got = co_await stream->read_some(into);
    if (!got) co_return got.error();
    if (*got == 0) co_return Read::kEnd;
    into = into.subspan(*got);
  }
  co_return Read::kWhole;
}

env::Awaitable<Result<Read>> read_frame(env::Stream* stream, Frame* frame) {
  std::array<std::uint8_t, 4> length{};
  const std::span<std::uint8_t> head(length);
  const Result<Read> started = co_await read_exactly(stream, head);
  if (!started || *started == Read::kEnd) co_return started;
  frame->resize(static_cast<std::size_t>(load_be<std::int32_t>(length.data())));
  const std::span<std::uint8_t> body(*frame);
  co_return co_await read_exactly(stream, body);
}

}  // namespace kmirror::server
