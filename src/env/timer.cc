#include "kmirror/env/timer.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>

namespace kmirror::env {

std::unique_ptr<Timer> call_at(Clock& clock, Loop& loop, Instant when,
                               UniqueFunction<void()> work) {
  return clock.call_at(loop.context().get_executor(), when, std::move(work));
}

}  // namespace kmirror::env
