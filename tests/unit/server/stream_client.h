// What clients in tests do with a stream, as coroutines.
#pragma once

#include "kmirror/bytes/slice.h"
#include "kmirror/env/awaitable.h"
#include "kmirror/env/network.h"

namespace kmirror::server {

/// A frame's bytes after its length, taken apart further by the test.
using Frame = Bytes;

// How much of a read came before the peer's end. (A Result of bool would convert from itself.)
enum class Read { kWhole, kEnd };

env::Awaitable<void> write_stream(env::Stream* stream, Slice bytes);
env::Awaitable<Result<Read>> read_frame(env::Stream* stream, Frame* frame);

}  // namespace kmirror::server
