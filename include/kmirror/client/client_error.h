// Errors of an outgoing connection, and the question every retry asks: was it the connection?
// Owner: any thread.
#pragma once

#include <string>

#include "kmirror/base/result.h"

namespace kmirror::client {

enum class ClientErrc {
  kClosed = 1,         ///< the peer ended the connection
  kFrameTooLarge = 2,  ///< a response longer than the limit
  kBadFrame = 3,       ///< not a Kafka response: negative length, wrong correlation id, bad header
  kNoBroker = 4,       ///< no bootstrap server answered
};
[[nodiscard]] const boost::system::error_category& client_category();
[[nodiscard]] inline Error client_error(ClientErrc code, std::string text) {
  return {ErrorCodeBase(static_cast<int>(code), client_category()), std::move(text)};
}

/// True if `error` is about reaching or talking to the peer (name, refused, reset, time-out,
/// closed, nonsense bytes), not about what was asked. Such errors never exhaust attempts
/// (decisions 3.18).
[[nodiscard]] bool is_connection_error(const Error& error);
/// True if the peer refused us as a principal: authentication or authorization.
[[nodiscard]] bool is_authorization_error(const Error& error);

}  // namespace kmirror::client
