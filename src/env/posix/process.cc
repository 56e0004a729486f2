#include "kmirror/env/process.h"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace kmirror::env {
namespace {

Error last_error(const std::string& what) {
  const ErrorCodeBase code(errno, boost::system::system_category());
  return {code, what + ": " + code.message()};
}

}  // namespace

bool standard_output_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

std::size_t processor_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  const int count = CPU_COUNT(&set);
  return count > 0 ? static_cast<std::size_t>(count) : 1;
}

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

Result<void> notify_service_manager(const std::string& state) {
  const auto path = environment_variable("NOTIFY_SOCKET");
  if (!path || path->empty()) return {};
  sockaddr_un address{};
  if (path->size() >= sizeof(address.sun_path)) {
    return Error(make_error_code(boost::system::errc::filename_too_long),
                 "NOTIFY_SOCKET is too long: " + *path);
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path->data(), path->size());
  // '@' stands for the zero byte of an abstract socket.
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return last_error("notify socket");
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path->size());
  const ssize_t sent = ::sendto(socket, state.data(), state.size(), MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&address), length);
  Result<void> result;
  if (sent < 0) result = last_error("notify socket " + *path);
  ::close(socket);
  return result;
}

}  // namespace kmirror::env
