// The records of __mirror_state, in today's form and in that of the reference's sample dump.
#include <gtest/gtest.h>

#include "kmirror/wire/early_mirror_partition_state_value.h"
#include "kmirror/wire/early_mirror_state_key.h"
#include "kmirror/wire/last_mirror_epochs_key.h"
#include "kmirror/wire/mirror_partition_state_key.h"
#include "kmirror/wire/mirror_partition_state_value.h"
#include "kmirror/wire/record_value.h"

namespace kmirror::wire {
namespace {

// The sample has keySize 13 and valueSize 17 for mirror "my-mirror", topic "my-topic".
TEST(MirrorRecords, SampleOfTheReference) {
  Reader key_reader(
      Slice::take(from_hex("0002"
                           "0009"
                           "6d792d6d6972726f72")));
  EXPECT_EQ(*decode_coordinator_type(key_reader), MirrorPartitionStateKey::kApiKey);
  const auto key = EarlyMirrorStateKey::decode(key_reader, ApiVersion(0));
  ASSERT_TRUE(key);
  EXPECT_EQ(key->mirror_name, "my-mirror");
  EXPECT_EQ(key_reader.position(), 13U);

  Reader value_reader(
      Slice::take(from_hex("0000"
                           "09"
                           "6d792d746f706963"
                           "00000000"
                           "01"
                           "00")));
  const auto value = decode_versioned<EarlyMirrorPartitionStateValue>(value_reader);
  ASSERT_TRUE(value);
  EXPECT_EQ(value->topic_name, "my-topic");
  EXPECT_EQ(value->state, 1);
  EXPECT_EQ(value_reader.position(), 17U);
}

TEST(MirrorRecords, CompositeKeys) {
  LastMirrorEpochsKey key;
  key.mirror_name = "m";
  key.partition = 3;
  const auto bytes = encode_coordinator_key(key);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(to_hex(bytes->span()),
            "0001"
            "00016d"
            "00000000000000000000000000000000"
            "00000003");
  EXPECT_EQ(MirrorPartitionStateKey::kApiKey, ApiKey(2));
}

TEST(MirrorRecords, StateValue) {
  MirrorPartitionStateValue value;
  value.state = 8;
  value.error_message = "x";
  value.retry_attempt = 2;
  value.previous_state = 3;
  const auto bytes = encode_versioned(value, ApiVersion(0));
  ASSERT_TRUE(bytes);
  EXPECT_EQ(to_hex(bytes->span()),
            "0000"
            "08"
            "ffffffff"
            "00000000"
            "0278"
            "0002"
            "03"
            "00");
  Reader reader(*bytes);
  const auto back = decode_versioned<MirrorPartitionStateValue>(reader);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, value);
}

}  // namespace
}  // namespace kmirror::wire
