// The real file system.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "kmirror/env/errors.h"
#include "kmirror/env/posix.h"
#include "support/temp_dir.h"

namespace kmirror::env {
namespace {

class PosixFileTest : public ::testing::Test {
 protected:
  FileSystem& files() { return posix_.environment().files; }
  std::shared_ptr<File> open(const std::string& name, OpenMode mode = OpenMode::kCreate) {
    auto file = files().open(dir_.at(name), mode);
    EXPECT_TRUE(file) << file.error().message;
    return *file;
  }
  static std::string text_of(const File& file, std::uint64_t position, std::size_t size) {
    std::string text(size, '?');
    const auto count = file.read_at(position, {reinterpret_cast<std::uint8_t*>(text.data()), size});
    EXPECT_TRUE(count);
    text.resize(*count);
    return text;
  }
  static mode_t mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 0777;
  }

  PosixEnvironment posix_{PosixOptions(1, 1)};
  test::TempDir dir_;
};

ByteChain chain_of(const std::vector<std::string>& parts) {
  ByteChain chain;
  for (const auto& part : parts) chain.append(Slice::copy_of(part));
  return chain;
}

TEST_F(PosixFileTest, WritesAndReadsAtPositions) {
  const auto file = open("a");
  ASSERT_TRUE(file->write_at(0, chain_of({"hello", " ", "world"})));
  ASSERT_TRUE(file->write_at(6, chain_of({"there"})));
  EXPECT_EQ(text_of(*file, 0, 11), "hello there");
  EXPECT_EQ(text_of(*file, 6, 100), "there") << "a read at the end is short";
  EXPECT_EQ(text_of(*file, 11, 5), "");
  EXPECT_EQ(*file->size(), 11U);
  ASSERT_TRUE(file->write_at(13, chain_of({"!"})));
  EXPECT_EQ(text_of(*file, 9, 5), std::string("re\0\0!", 5));
  ASSERT_TRUE(file->truncate(5));
  EXPECT_EQ(*file->size(), 5U);
  EXPECT_TRUE(file->sync());
}

TEST_F(PosixFileTest, WritesMorePiecesThanOneCallTakes) {
  std::vector<std::string> parts;
  std::string all;
  for (int i = 0; i < 1500; ++i) {
    parts.push_back(
        std::string(static_cast<std::size_t>(i % 7 + 1), static_cast<char>('a' + i % 26)));
    all += parts.back();
  }
  const auto file = open("many");
  ASSERT_TRUE(file->write_at(3, chain_of(parts)));
  EXPECT_EQ(text_of(*file, 3, all.size()), all);
}

TEST_F(PosixFileTest, OpenModes) {
  const auto missing = files().open(dir_.at("no"), OpenMode::kRead);
  ASSERT_FALSE(missing);
  EXPECT_TRUE(is_system(missing.error(), ENOENT));
  EXPECT_NE(missing.error().message.find(dir_.at("no")), std::string::npos);
  EXPECT_FALSE(files().open(dir_.at("no"), OpenMode::kReadWrite));
  ASSERT_TRUE(open("a")->write_at(0, chain_of({"kept"})));
  EXPECT_EQ(text_of(*open("a", OpenMode::kCreate), 0, 9), "kept");
  const auto readable = open("a", OpenMode::kRead);
  EXPECT_EQ(text_of(*readable, 0, 9), "kept");
  const auto refused = readable->write_at(0, chain_of({"x"}));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(dir_.at("a")), std::string::npos);
  EXPECT_EQ(text_of(*open("a", OpenMode::kCreateEmpty), 0, 9), "");
}

TEST_F(PosixFileTest, SecretsAreForTheOwnerOnly) {
  const mode_t before = ::umask(022);
  ASSERT_TRUE(files().open(dir_.at("secret"), OpenMode::kCreate, true));
  EXPECT_EQ(mode_of(dir_.at("secret")), 0600U);
  ASSERT_TRUE(files().open(dir_.at("open"), OpenMode::kCreate, false));
  EXPECT_EQ(mode_of(dir_.at("open")), 0644U);
  ASSERT_TRUE(files().write_text_atomically(dir_.at("open"), "now secret", true));
  EXPECT_EQ(mode_of(dir_.at("open")), 0600U);
  ::umask(before);
}

TEST_F(PosixFileTest, ListsSortedWithSizes) {
  ASSERT_TRUE(files().make_directories(dir_.at("d/e/f")));
  ASSERT_TRUE(files().make_directories(dir_.at("d/e/f"))) << "making them again is no error";
  ASSERT_TRUE(open("d/b")->write_at(0, chain_of({"12345"})));
  open("d/a");
  const auto entries = files().list(dir_.at("d"));
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_EQ((*entries)[0].name, "a");
  EXPECT_EQ((*entries)[1].name, "b");
  EXPECT_EQ((*entries)[1].size_bytes, 5U);
  EXPECT_FALSE((*entries)[1].is_directory);
  EXPECT_EQ((*entries)[2].name, "e");
  EXPECT_TRUE((*entries)[2].is_directory);
  EXPECT_FALSE(files().list(dir_.at("none")));
}

TEST_F(PosixFileTest, RemovesAndRenames) {
  EXPECT_TRUE(files().remove(dir_.at("none")));
  EXPECT_TRUE(files().remove_all(dir_.at("none")));
  ASSERT_TRUE(open("a")->write_at(0, chain_of({"A"})));
  ASSERT_TRUE(open("b")->write_at(0, chain_of({"B"})));
  ASSERT_TRUE(files().rename(dir_.at("a"), dir_.at("b")));
  EXPECT_FALSE(files().exists(dir_.at("a")));
  EXPECT_EQ(*files().read_text(dir_.at("b"), 10), "A");
  const auto gone = files().rename(dir_.at("a"), dir_.at("c"));
  ASSERT_FALSE(gone);
  EXPECT_NE(gone.error().message.find(dir_.at("a") + " to " + dir_.at("c")), std::string::npos);
  ASSERT_TRUE(files().make_directories(dir_.at("d/e")));
  EXPECT_FALSE(files().remove(dir_.at("d"))) << "a directory that holds something";
  ASSERT_TRUE(files().remove_all(dir_.at("d")));
  EXPECT_FALSE(files().exists(dir_.at("d")));
  EXPECT_TRUE(files().sync_directory(dir_.path()));
  EXPECT_FALSE(files().sync_directory(dir_.at("d")));
}

TEST_F(PosixFileTest, AnOpenFileOutlivesItsName) {
  const auto file = open("a");
  ASSERT_TRUE(file->write_at(0, chain_of({"still here"})));
  ASSERT_TRUE(files().remove(dir_.at("a")));
  EXPECT_EQ(text_of(*file, 0, 99), "still here");
}

TEST_F(PosixFileTest, LockExcludesEvenTheSameProcess) {
  auto first = files().lock(dir_.at(".lock"));
  ASSERT_TRUE(first);
  const auto second = files().lock(dir_.at(".lock"));
  ASSERT_FALSE(second);
  EXPECT_TRUE(is_system(second.error(), EWOULDBLOCK));
  EXPECT_NE(second.error().message.find(dir_.at(".lock")), std::string::npos);
  first->reset();
  EXPECT_TRUE(files().lock(dir_.at(".lock")));
}

TEST_F(PosixFileTest, TextIsReplacedAsAWhole) {
  const std::string path = dir_.at("state");
  ASSERT_TRUE(files().write_text_atomically(path, "one"));
  ASSERT_TRUE(files().write_text_atomically(path, "two"));
  EXPECT_EQ(*files().read_text(path, 3), "two");
  EXPECT_FALSE(files().exists(path + ".tmp"));
  const auto too_long = files().read_text(path, 2);
  ASSERT_FALSE(too_long);
  EXPECT_TRUE(is_system(too_long.error(), EFBIG));
  EXPECT_FALSE(files().write_text_atomically(dir_.at("no/such/dir"), "x"));
  ASSERT_TRUE(files().write_text_atomically(path, ""));
  EXPECT_EQ(*files().read_text(path, 0), "");
}

// What the kernel says about all pages of a file, by another way than the code under test.
bool all_resident(const std::string& path, std::size_t size) {
  const int descriptor = ::open(path.c_str(), O_RDONLY);
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  EXPECT_NE(memory, MAP_FAILED);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(size / page);
  EXPECT_EQ(::mincore(memory, size, pages.data()), 0);
  ::munmap(memory, size);
  ::close(descriptor);
  return std::all_of(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; });
}

TEST_F(PosixFileTest, TellsWhatIsInThePageCache) {
  constexpr std::size_t kSize = 4 * 1024 * 1024;
  const auto file = open("big");
  ASSERT_TRUE(file->write_at(0, ByteChain(Slice::take(Bytes(kSize, 7)))));
  ASSERT_TRUE(file->sync());
  EXPECT_TRUE(all_resident(dir_.at("big"), kSize));
  EXPECT_TRUE(file->is_cached(0, kSize));
  EXPECT_TRUE(file->is_cached(100, 0));
  const int descriptor = ::open(dir_.at("big").c_str(), O_RDONLY);
  EXPECT_EQ(::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED), 0);
  ::close(descriptor);
  // A file system in memory has nothing to drop.
  EXPECT_EQ(file->is_cached(0, kSize), all_resident(dir_.at("big"), kSize));
  EXPECT_EQ(text_of(*file, 0, 1), "\7");
}

TEST_F(PosixFileTest, KnowsFreeSpace) {
  const auto free = files().free_bytes(dir_.path());
  ASSERT_TRUE(free);
  EXPECT_EQ(*free, std::filesystem::space(dir_.path()).available);
  EXPECT_FALSE(files().free_bytes(dir_.at("none")));
}

}  // namespace
}  // namespace kmirror::env
