// The client room's error category and how its errors are sorted.
// Owner: any thread.
#include "kmirror/client/client_error.h"

#include "kmirror/base/error_category.h"
#include "kmirror/bytes/reader.h"
#include "kmirror/model/error_code.h"

namespace kmirror::client {
namespace {

std::string words(int code) {
  switch (static_cast<ClientErrc>(code)) {
    case ClientErrc::kClosed:
      return "the peer closed the connection";
    case ClientErrc::kFrameTooLarge:
      return "response too large";
    case ClientErrc::kBadFrame:
      return "not a Kafka response";
    case ClientErrc::kNoBroker:
      return "no bootstrap server answered";
  }
  return "unknown client error";
}

}  // namespace

const boost::system::error_category& client_category() {
  static const NamedCategory category("client", words);
  return category;
}

bool is_connection_error(const Error& error) {
  const boost::system::error_category& category = error.code.category();
  if (category == kafka_category()) {
    const auto code = static_cast<ErrorCode>(error.code.value());
    return code == ErrorCode::NETWORK_EXCEPTION || code == ErrorCode::REQUEST_TIMED_OUT;
  }
  // What is left besides our own and Kafka's categories is the network's (system, Asio's netdb).
  return category != bytes_category();
}

bool is_authorization_error(const Error& error) {
  if (error.code.category() != kafka_category()) return false;
  switch (static_cast<ErrorCode>(error.code.value())) {
    case ErrorCode::SASL_AUTHENTICATION_FAILED:
    case ErrorCode::ILLEGAL_SASL_STATE:
    case ErrorCode::UNSUPPORTED_SASL_MECHANISM:
    case ErrorCode::TOPIC_AUTHORIZATION_FAILED:
    case ErrorCode::GROUP_AUTHORIZATION_FAILED:
    case ErrorCode::CLUSTER_AUTHORIZATION_FAILED:
    case ErrorCode::CLUSTER_MIRROR_AUTHORIZATION_FAILED:
      return true;
    default:
      return false;
  }
}

}  // namespace kmirror::client
