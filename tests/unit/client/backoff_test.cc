// Backoff delays and the sorting of errors.
#include "kmirror/client/backoff.h"

#include <gtest/gtest.h>
#include <cerrno>

#include "kmirror/client/client_error.h"
#include "kmirror/env/errors.h"
#include "kmirror/model/error_code.h"

namespace kmirror::client {
namespace {

using std::chrono::milliseconds;

class FixedRng final : public env::Rng {
 public:
  explicit FixedRng(std::uint64_t value) : value_(value) {}
  std::uint64_t next() override { return value_; }

 private:
  std::uint64_t value_;
};

TEST(Backoff, DoublesFromTheInitialDelayUpToTheCap) {
  FixedRng middle(1ULL << 63);  // unit() is 0.5: no jitter
  Backoff backoff(BackoffOptions(milliseconds(100), milliseconds(1'000)));
  for (const int expected : {100, 200, 400, 800, 1'000, 1'000}) {
    EXPECT_EQ(backoff.next(middle), milliseconds(expected));
  }
  EXPECT_EQ(backoff.failures(), 6);
  backoff.reset();
  EXPECT_EQ(backoff.next(middle), milliseconds(100));
}

TEST(Backoff, JitterIsTwentyPercentEitherWayAndNeverAboveTheCap) {
  FixedRng lowest(0);
  FixedRng highest(~0ULL);
  const BackoffOptions options(milliseconds(1'000), milliseconds(1'100));
  EXPECT_EQ(backoff_delay(options, 1, lowest), milliseconds(800));
  EXPECT_EQ(backoff_delay(options, 1, highest), milliseconds(1'100));
  EXPECT_EQ(backoff_delay(options, 9'000'000'000, lowest), milliseconds(880));
  EXPECT_EQ(backoff_delay(options, 0, lowest), milliseconds(800)) << "below one counts as one";
}

TEST(ClientError, TellsConnectionFromRequest) {
  EXPECT_TRUE(is_connection_error(env::system_error(ECONNREFUSED, "a:1")));
  EXPECT_TRUE(is_connection_error(env::timed_out_error("a:1")));
  EXPECT_TRUE(is_connection_error(client_error(ClientErrc::kClosed, "x")));
  EXPECT_TRUE(is_connection_error(client_error(ClientErrc::kNoBroker, "x")));
  EXPECT_TRUE(is_connection_error(kafka_error(ErrorCode::REQUEST_TIMED_OUT, "x")));
  EXPECT_FALSE(is_connection_error(kafka_error(ErrorCode::CORRUPT_MESSAGE, "x")));
  EXPECT_FALSE(is_connection_error(kafka_error(ErrorCode::TOPIC_AUTHORIZATION_FAILED, "x")));
}

TEST(ClientError, KnowsARefusedPrincipal) {
  EXPECT_TRUE(is_authorization_error(kafka_error(ErrorCode::TOPIC_AUTHORIZATION_FAILED, "x")));
  EXPECT_TRUE(is_authorization_error(kafka_error(ErrorCode::SASL_AUTHENTICATION_FAILED, "x")));
  EXPECT_FALSE(is_authorization_error(kafka_error(ErrorCode::NOT_LEADER_OR_FOLLOWER, "x")));
  EXPECT_FALSE(is_authorization_error(env::system_error(EACCES, "x")));
}

}  // namespace
}  // namespace kmirror::client
