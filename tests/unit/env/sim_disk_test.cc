// What a simulated disk keeps, loses and refuses.
#include "kmirror/env/sim_disk.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "kmirror/env/errors.h"
#include "kmirror/env/sim.h"

namespace kmirror::env {
namespace {

class SimDiskTest : public ::testing::Test {
 protected:
  SimDiskTest() : files_(disk_.mount()) {}

  std::shared_ptr<File> create(const std::string& path) {
    auto file = files_->open(path, OpenMode::kCreate);
    EXPECT_TRUE(file) << file.error().message;
    return *file;
  }
  static void write(File& file, std::uint64_t position, const std::string& text) {
    const auto written = file.write_at(position, ByteChain(Slice::copy_of(text)));
    EXPECT_TRUE(written) << written.error().message;
  }
  static std::string text(const SimDisk& disk, const std::string& path) {
    const Bytes bytes = disk.contents(path);
    return {bytes.begin(), bytes.end()};
  }
  void crash(SimCrash how) {
    disk_.crash(how);
    files_ = disk_.mount();
  }

  SimWorld world_{1};
  SimDisk disk_{world_};
  std::unique_ptr<FileSystem> files_;
};

TEST_F(SimDiskTest, BehavesLikeAFileSystem) {
  ASSERT_TRUE(files_->make_directories("/data/t-0"));
  const auto file = create("/data/t-0/a");
  write(*file, 0, "hello");
  write(*file, 3, "p!");
  Bytes out(10);
  EXPECT_EQ(*file->read_at(1, out), 4U);
  EXPECT_EQ(std::string(out.begin(), out.begin() + 4), "elp!");
  EXPECT_EQ(*file->read_at(5, out), 0U);
  write(*file, 7, "x");
  EXPECT_EQ(text(disk_, "/data/t-0/a"), std::string("help!\0\0x", 8));
  ASSERT_TRUE(file->truncate(2));
  EXPECT_EQ(*file->size(), 2U);
  create("/data/b");
  const auto entries = files_->list("/data");
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ((*entries)[0].name, "b");
  EXPECT_TRUE((*entries)[1].is_directory);
  EXPECT_EQ(disk_.all_files(), (std::vector<std::string>{"/data/b", "/data/t-0/a"}));
  EXPECT_FALSE(files_->remove("/data"));
  ASSERT_TRUE(files_->rename("/data/t-0/a", "/data/b"));
  EXPECT_EQ(text(disk_, "/data/b"), "he");
  ASSERT_TRUE(files_->remove_all("/data"));
  EXPECT_TRUE(disk_.all_files().empty());
  EXPECT_EQ(*file->size(), 2U) << "an open file outlives its name";
}

TEST_F(SimDiskTest, ErrorsAreThoseOfTheSystemAndNameThePath) {
  const auto missing = files_->open("/no/such", OpenMode::kCreate);
  ASSERT_FALSE(missing);
  EXPECT_TRUE(is_system(missing.error(), ENOENT));
  EXPECT_NE(missing.error().message.find("/no/such"), std::string::npos);
  EXPECT_FALSE(files_->open("/a", OpenMode::kRead));
  write(*create("/a"), 0, "x");
  const auto readable = files_->open("/a", OpenMode::kRead);
  EXPECT_FALSE((*readable)->write_at(0, ByteChain(Slice::copy_of("y"))));
  EXPECT_EQ(text(disk_, "/a"), "x");
  EXPECT_TRUE(files_->remove("/none"));
  EXPECT_FALSE(files_->list("/none"));
  EXPECT_FALSE(files_->rename("/none", "/b"));
  EXPECT_FALSE(files_->sync_directory("/none"));
}

TEST_F(SimDiskTest, TextIsReplacedAtomicallyAtEveryCrashPoint) {
  ASSERT_TRUE(files_->write_text_atomically("/state", "old"));
  std::vector<std::unique_ptr<SimDisk>> left;
  disk_.observe([&](std::uint64_t, DiskOp, const std::string&) {
    left.push_back(disk_.crashed_copy(SimCrash::kPowerCut));
    left.push_back(disk_.crashed_copy(SimCrash::kPowerCutLosesAll));
  });
  ASSERT_TRUE(files_->write_text_atomically("/state", "new"));
  disk_.observe(nullptr);
  EXPECT_GE(left.size(), 10U);
  for (const auto& disk : left) {
    const std::string found = text(*disk, "/state");
    EXPECT_TRUE(found == "old" || found == "new") << found;
  }
  EXPECT_EQ(text(*disk_.crashed_copy(SimCrash::kPowerCutLosesAll), "/state"), "new");
}

TEST_F(SimDiskTest, UnsyncedBytesMayGoButSyncedOnesStay) {
  const auto file = create("/log");
  ASSERT_TRUE(files_->sync_directory("/"));
  write(*file, 0, "synced ");
  ASSERT_TRUE(file->sync());
  write(*file, 7, std::string(4096, 'u'));
  EXPECT_EQ(text(*disk_.crashed_copy(SimCrash::kPowerCutLosesAll), "/log"), "synced ");
  EXPECT_EQ(text(*disk_.crashed_copy(SimCrash::kProcessDies), "/log").size(), 4103U);
  std::set<std::string> outcomes;
  for (int i = 0; i < 200; ++i) {
    const std::string left = text(*disk_.crashed_copy(SimCrash::kPowerCut), "/log");
    EXPECT_EQ(left.substr(0, 7), "synced ");
    outcomes.insert(left);
  }
  EXPECT_TRUE(outcomes.contains("synced "));
  EXPECT_TRUE(outcomes.contains("synced " + std::string(4096, 'u')));
  EXPECT_GT(outcomes.size(), 10U) << "torn writes";
}

TEST_F(SimDiskTest, LaterWritesMaySurviveEarlierOnes) {
  const auto file = create("/log");
  ASSERT_TRUE(files_->sync_directory("/"));
  write(*file, 0, "first");
  write(*file, 5, "second");
  bool reordered = false;
  for (int i = 0; i < 500; ++i) {
    const std::string left = text(*disk_.crashed_copy(SimCrash::kPowerCut), "/log");
    reordered = reordered || left == std::string(5, '\0') + "second";
  }
  EXPECT_TRUE(reordered);
}

TEST_F(SimDiskTest, NamesAreDurableOnlyAfterSyncOfTheDirectory) {
  write(*create("/a"), 0, "A");
  ASSERT_TRUE((*files_->open("/a", OpenMode::kRead))->sync());
  EXPECT_FALSE(disk_.crashed_copy(SimCrash::kPowerCutLosesAll)->exists("/a"));
  ASSERT_TRUE(files_->sync_directory("/"));
  EXPECT_TRUE(disk_.crashed_copy(SimCrash::kPowerCutLosesAll)->exists("/a"));
  ASSERT_TRUE(files_->rename("/a", "/b"));
  auto copy = disk_.crashed_copy(SimCrash::kPowerCutLosesAll);
  EXPECT_TRUE(copy->exists("/a"));
  EXPECT_FALSE(copy->exists("/b"));
  int as_a = 0;
  int as_b = 0;
  for (int i = 0; i < 100; ++i) {
    copy = disk_.crashed_copy(SimCrash::kPowerCut);
    EXPECT_NE(copy->exists("/a"), copy->exists("/b")) << "a rename happens as a whole or not";
    ++(copy->exists("/a") ? as_a : as_b);
  }
  EXPECT_GT(as_a, 0);
  EXPECT_GT(as_b, 0);
  ASSERT_TRUE(files_->sync_directory("/"));
  copy = disk_.crashed_copy(SimCrash::kPowerCutLosesAll);
  EXPECT_FALSE(copy->exists("/a"));
  EXPECT_EQ(text(*copy, "/b"), "A");
  ASSERT_TRUE(files_->remove("/b"));
  EXPECT_TRUE(disk_.crashed_copy(SimCrash::kPowerCutLosesAll)->exists("/b"));
}

TEST_F(SimDiskTest, RenameBetweenDirectoriesNeverShowsTheFileTwice) {
  ASSERT_TRUE(files_->make_directories("/d/e"));
  ASSERT_TRUE(files_->sync_directory("/"));
  ASSERT_TRUE(files_->sync_directory("/d"));
  write(*create("/d/a"), 0, "A");
  ASSERT_TRUE((*files_->open("/d/a", OpenMode::kRead))->sync());
  ASSERT_TRUE(files_->rename("/d/a", "/d/e/a"));
  ASSERT_TRUE(files_->sync_directory("/d/e"));
  ASSERT_TRUE(files_->sync_directory("/d"));
  const auto copy = disk_.crashed_copy(SimCrash::kPowerCutLosesAll);
  EXPECT_FALSE(copy->exists("/d/a"));
  EXPECT_EQ(text(*copy, "/d/e/a"), "A");
}

TEST_F(SimDiskTest, AProcessThatCrashedReachesNothing) {
  const auto file = create("/a");
  auto lock = files_->lock("/.lock");
  ASSERT_TRUE(lock);
  EXPECT_FALSE(files_->lock("/.lock"));
  EXPECT_FALSE(files_->lock(".lock")) << "the same file by another path";
  auto old = std::exchange(files_, nullptr);
  disk_.crash(SimCrash::kProcessDies);
  files_ = disk_.mount();
  auto mine = files_->lock("/.lock");
  EXPECT_TRUE(mine) << "a crash releases locks";
  lock->reset();
  EXPECT_FALSE(files_->lock("/.lock")) << "the dead process's lock is not ours";
  EXPECT_FALSE(file->write_at(0, ByteChain(Slice::copy_of("late"))));
  EXPECT_FALSE(file->sync());
  EXPECT_FALSE(file->size());
  EXPECT_FALSE(old->open("/a", OpenMode::kRead));
  EXPECT_FALSE(old->remove("/a"));
  EXPECT_FALSE(old->remove_all("/a"));
  EXPECT_FALSE(old->exists("/a"));
  EXPECT_TRUE(files_->exists("/a"));
  EXPECT_EQ(text(disk_, "/a"), "");
}

TEST_F(SimDiskTest, FullDiskKeepsAPrefix) {
  const auto file = create("/log");
  disk_.set_capacity(10);
  write(*file, 0, "12345678");
  const auto full = file->write_at(8, ByteChain(Slice::copy_of("abcd")));
  ASSERT_FALSE(full);
  EXPECT_TRUE(is_system(full.error(), ENOSPC));
  EXPECT_EQ(text(disk_, "/log"), "12345678ab");
  EXPECT_EQ(*files_->free_bytes("/"), 0U);
  write(*file, 0, "X");  // no growth
  ASSERT_TRUE(file->truncate(4));
  EXPECT_EQ(*files_->free_bytes("/"), 6U);
  write(*file, 4, "yz");
  EXPECT_EQ(text(disk_, "/log"), "X234yz");
}

TEST_F(SimDiskTest, FaultsCountAndMatch) {
  const auto good = create("/good");
  const auto bad = create("/bad");
  DiskFault fault(DiskOp::kWrite, "bad", EIO);
  fault.skip = 1;
  fault.count = 2;
  disk_.add_fault(fault);
  const ByteChain bytes(Slice::copy_of("0123456789"));
  EXPECT_TRUE(bad->write_at(0, bytes));
  EXPECT_TRUE(good->write_at(0, bytes));
  const auto failed = bad->write_at(10, bytes);
  ASSERT_FALSE(failed);
  EXPECT_TRUE(is_system(failed.error(), EIO));
  EXPECT_LE(*bad->size(), 20U);
  EXPECT_FALSE(bad->write_at(10, bytes));
  EXPECT_TRUE(bad->write_at(10, bytes));
  disk_.set_fault_rate(DiskOp::kRead, 0.5, EIO);
  int failures = 0;
  for (int i = 0; i < 100; ++i) {
    Bytes out(1);
    if (!good->read_at(0, out)) ++failures;
  }
  EXPECT_GT(failures, 20);
  EXPECT_LT(failures, 80);
  disk_.clear_faults();
  Bytes out(1);
  EXPECT_TRUE(good->read_at(0, out));
}

TEST_F(SimDiskTest, AFailedSyncLosesForGoodWhatALaterOneSeemsToKeep) {
  const auto file = create("/log");
  ASSERT_TRUE(files_->sync_directory("/"));
  write(*file, 0, "lost");
  disk_.add_fault(DiskFault(DiskOp::kSync, "/log", EIO));
  EXPECT_FALSE(file->sync());
  EXPECT_TRUE(file->sync());
  EXPECT_EQ(text(disk_, "/log"), "lost") << "it can still be read";
  EXPECT_EQ(text(*disk_.crashed_copy(SimCrash::kPowerCutLosesAll), "/log"), "");
}

TEST_F(SimDiskTest, ACopyOfTheDiskLeavesTheRunningOneAlone) {
  const auto file = create("/log");
  write(*file, 0, "x");
  const auto copy = disk_.crashed_copy(SimCrash::kPowerCutLosesAll);
  EXPECT_FALSE(copy->exists("/log"));
  write(*file, 1, "y");
  EXPECT_EQ(text(disk_, "/log"), "xy");
  auto other = copy->mount();
  ASSERT_TRUE(other->open("/log", OpenMode::kCreate));
  EXPECT_EQ(text(*copy, "/log"), "");
  disk_.damage("/log", 0, as_bytes("?"));
  EXPECT_EQ(text(disk_, "/log"), "?y");
}

TEST_F(SimDiskTest, PagesCanBeCold) {
  const auto file = create("/segment.log");
  write(*file, 0, "x");
  EXPECT_TRUE(file->is_cached(0, 1));
  disk_.set_cold(".log", true);
  EXPECT_FALSE(file->is_cached(0, 1));
  EXPECT_TRUE(file->is_cached(0, 0));
}

}  // namespace
}  // namespace kmirror::env
