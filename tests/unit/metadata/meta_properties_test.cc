#include "kmirror/metadata/meta_properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kmirror/env/sim.h"

namespace kmirror::metadata {
namespace {

using ::testing::HasSubstr;

class MetaPropertiesTest : public ::testing::Test {
 protected:
  Result<LogDirectories> prepare(const std::vector<std::string>& directories, std::int32_t node = 1,
                                 const std::optional<std::string>& cluster = std::nullopt) {
    return prepare_log_directories(process_.environment(), directories, NodeId(node), cluster);
  }
  std::string error_of(const Result<LogDirectories>& result) {
    return result ? "accepted" : result.error().message;
  }
  void write(const std::string& path, std::string_view text) {
    ASSERT_TRUE(process_.environment().files.write_text_atomically(path, text));
  }

  env::SimWorld world_{1};
  env::SimDisk disk_{world_};
  env::SimProcess process_{world_, "host", disk_};
};

TEST_F(MetaPropertiesTest, TheFirstStartNamesTheDirectories) {
  const auto first = prepare({"/a/b", "/c"});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->cluster_id.size(), 22U);
  EXPECT_EQ(first->directory_ids.size(), 2U);
  EXPECT_NE(first->directory_ids[0], first->directory_ids[1]);
  const auto again = prepare({"/a/b", "/c"});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->cluster_id, first->cluster_id);
  EXPECT_EQ(again->directory_ids, first->directory_ids);
}

TEST_F(MetaPropertiesTest, TheFilesSurviveAPowerCut) {
  const auto first = prepare({"/a/b/c"});
  const auto later = disk_.crashed_copy(env::SimCrash::kPowerCutLosesAll);
  EXPECT_TRUE(later->exists("/a/b/c/meta.properties"));
  EXPECT_TRUE(first);
}

TEST_F(MetaPropertiesTest, ANewDirectoryJoinsTheOthers) {
  const auto first = prepare({"/a"});
  const auto both = prepare({"/b", "/a"});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->cluster_id, first->cluster_id);
  EXPECT_EQ(both->directory_ids[1], first->directory_ids[0]);
}

TEST_F(MetaPropertiesTest, ForeignDirectoriesAreRefused) {
  ASSERT_TRUE(prepare({"/a"}, 1));
  const std::string node = error_of(prepare({"/a"}, 2));
  EXPECT_THAT(node, HasSubstr("/a belongs to node 1, this is node 2"));
  EXPECT_THAT(error_of(prepare({"/a"}, 1, "BBBBBBBBBBBBBBBBBBBBBg")),
              HasSubstr("cluster.id of the configuration is BBBBBBBBBBBBBBBBBBBBBg"));
  ASSERT_TRUE(prepare({"/other"}, 1, "BBBBBBBBBBBBBBBBBBBBBg"));
  EXPECT_THAT(error_of(prepare({"/a", "/other"})), HasSubstr("/other belongs to cluster BBBB"));
}

TEST_F(MetaPropertiesTest, ACopiedDirectoryIsRefused) {
  ASSERT_TRUE(prepare({"/a"}));
  const Bytes bytes = disk_.contents("/a/meta.properties");
  ASSERT_TRUE(process_.environment().files.make_directories("/b"));
  write("/b/meta.properties",
        std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  EXPECT_THAT(error_of(prepare({"/a", "/b"})), HasSubstr("copy of the other"));
}

TEST_F(MetaPropertiesTest, ALostFileIsNoFirstStart) {
  ASSERT_TRUE(process_.environment().files.make_directories("/a/__cluster_metadata-0"));
  EXPECT_THAT(error_of(prepare({"/a"})), HasSubstr("/a/meta.properties is missing"));
}

TEST_F(MetaPropertiesTest, BrokenFilesAreNamed) {
  ASSERT_TRUE(process_.environment().files.make_directories("/a"));
  const auto with = [this](std::string_view text) {
    write("/a/meta.properties", text);
    return error_of(prepare({"/a"}));
  };
  const std::string good =
      "version=1\ncluster.id=BBBBBBBBBBBBBBBBBBBBBg\nnode.id=1\ndirectory.id="
      "AAAAAAAAAAAAAAAAAAAABQ\n";
  EXPECT_THAT(with(good), "accepted");
  EXPECT_THAT(with(""), HasSubstr("/a/meta.properties: version is ''"));
  EXPECT_THAT(with("version=0\n"), HasSubstr("version is '0'"));
  EXPECT_THAT(with("version=1\nnode.id=1\n"), HasSubstr("cluster.id is missing"));
  EXPECT_THAT(with("version=1\ncluster.id=x\nnode.id=one\n"), HasSubstr("node.id 'one'"));
  EXPECT_THAT(with("version=1\ncluster.id=x\nnode.id=1\n"), HasSubstr("directory.id ''"));
  EXPECT_THAT(with("version=1\nnonsense\n"), HasSubstr("'nonsense'"));
}

// As kafka-storage format writes it: comment, date, another order.
TEST_F(MetaPropertiesTest, KafkasOwnFormIsRead) {
  const auto parsed = MetaProperties::parse(
      "#\n#Tue Oct 06 17:14:00 UTC 2026\ncluster.id=BBBBBBBBBBBBBBBBBBBBBg\n"
      "directory.id=AAAAAAAAAAAAAAAAAAAABQ\nnode.id=7\nversion=1\n");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->node_id, NodeId(7));
  EXPECT_EQ(parsed->cluster_id, "BBBBBBBBBBBBBBBBBBBBBg");
  EXPECT_EQ(MetaProperties::parse(parsed->text())->directory_id, parsed->directory_id);
}

}  // namespace
}  // namespace kmirror::metadata
