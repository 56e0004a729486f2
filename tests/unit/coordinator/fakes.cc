#include "fakes.h"

#include <boost/asio/awaitable.hpp>

namespace kmirror::coordinator::testing {

env::Awaitable<void> FakeClock::sleep_until(env::Instant) {
  check_failed("no coroutine runs here", __FILE__, __LINE__, "");
}

std::unique_ptr<env::Timer> FakeClock::call_at(const boost::asio::any_io_executor&, env::Instant,
                                               UniqueFunction<void()>) {
  return nullptr;
}

}  // namespace kmirror::coordinator::testing
