// From an empty mirror to copied bytes, in a simulated world.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/mirror/mirror_site.h"

namespace kmirror::mirror {
namespace {

const TopicPartition kT0("t", 0);
const TopicPartition kT1("t", 1);

class MirrorBasicsTest : public ::testing::Test {
 protected:
  MirrorBasicsTest() {
    site_.source.create_topic("t", 2);
    for (int i = 0; i < 20; ++i) {
      site_.source.produce(kT0, 5);
      site_.source.produce(kT1, 3);
    }
    site_.start();
  }
  MirrorSite site_;
};

TEST_F(MirrorBasicsTest, CopiesBytesIdsAndOffsets) {
  site_.create_mirror();
  EXPECT_EQ(site_.start_topics({"t"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.catches_up(kT0, 100));
  ASSERT_TRUE(site_.catches_up(kT1, 60));
  EXPECT_EQ(site_.bytes_of(kT0), site_.source_bytes_of(kT0));
  EXPECT_EQ(site_.bytes_of(kT1), site_.source_bytes_of(kT1));
  EXPECT_EQ(site_.log(kT0)->topic_id(), site_.source.topic("t").id);
  EXPECT_TRUE(site_.reaches(kT0, "MIRRORING"));
  site_.source.produce(kT0, 7);
  ASSERT_TRUE(site_.catches_up(kT0, 107));
  const Described shown = site_.describe(kT0);
  EXPECT_EQ(shown.source_offset, 107);
  EXPECT_EQ(shown.destination_offset, 107);
  EXPECT_FALSE(site_.service->is_writable("t", 0));
  EXPECT_EQ(site_.service->read_only_message("t"), "topic t is a read-only mirror of m");
}

TEST_F(MirrorBasicsTest, GoesOnAfterARestart) {
  site_.create_mirror();
  EXPECT_EQ(site_.start_topics({"t"}), ErrorCode::NONE);
  ASSERT_TRUE(site_.catches_up(kT0, 100));
  site_.stop();
  site_.source.produce(kT0, 11);
  site_.start();
  ASSERT_TRUE(site_.catches_up(kT0, 111));
  EXPECT_EQ(site_.bytes_of(kT0), site_.source_bytes_of(kT0));
  EXPECT_TRUE(site_.reaches(kT0, "MIRRORING"));
}

}  // namespace
}  // namespace kmirror::mirror
