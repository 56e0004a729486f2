// The name of an awaitable without Asio's headers: interfaces that wait can be declared cheaply.
// Files that define or await one include kmirror/env/async.h.
#pragma once

namespace boost::asio {
class any_io_executor;
class io_context;
template <typename T, typename Executor>
class awaitable;
}  // namespace boost::asio

namespace kmirror::env {

/// A coroutine that yields T once and runs on the executor that spawned it.
template <class T>
using Awaitable = boost::asio::awaitable<T, boost::asio::any_io_executor>;

}  // namespace kmirror::env
