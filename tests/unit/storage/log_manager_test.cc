#include "kmirror/storage/log_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kmirror/model/error_code.h"
#include "storage/checkpoint_file.h"
#include "support/log_world.h"

namespace kmirror::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace kmirror::testing;

Uuid id_of(std::uint8_t n) { return Uuid(std::array<std::uint8_t, 16>{n}); }

ExpectedLog expected(const std::string& topic, std::int32_t partition, std::uint8_t id) {
  ExpectedLog log;
  log.topic_partition = TopicPartition(topic, partition);
  log.topic_id = id_of(id);
  return log;
}

struct Site {
  Site() { settings.log_dirs = {world.dir.path()}; }

  std::unique_ptr<LogManager> start(const std::vector<ExpectedLog>& logs) {
    auto manager = std::make_unique<LogManager>(world.environment, settings, metrics);
    const auto loaded = manager->load(logs);
    EXPECT_TRUE(loaded) << loaded.error().message;
    if (loaded) report = *loaded;
    return manager;
  }
  std::shared_ptr<PartitionLog> create(LogManager& manager, const ExpectedLog& wanted) {
    std::shared_ptr<PartitionLog> made;
    manager.create(wanted, [&made](Result<std::shared_ptr<PartitionLog>> log) {
      EXPECT_TRUE(log) << log.error().message;
      if (log) made = *log;
    });
    world.run();
    return made;
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    auto text = world.environment.files.read_text(world.dir.at(name), 1'000'000);
    return text ? *text : "";
  }
  void put(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(world.environment.files.write_text_atomically(world.dir.at(name), text));
  }

  mutable LogWorld world;
  metrics::Registry metrics;
  LogManagerConfig settings;
  LoadReport report;
};

TEST(LogManager, CreatesFindsAndRemoves) {
  Site site;
  const auto manager = site.start({});
  const auto log = site.create(*manager, expected("a", 3, 1));
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(manager->find(TopicPartition("a", 3)), log);
  EXPECT_EQ(manager->find(id_of(1), 3), log);
  EXPECT_EQ(manager->find(id_of(1), 2), nullptr);
  EXPECT_EQ(&manager->loop_of(*log), &manager->loop_of(id_of(1), 3));
  EXPECT_EQ(site.create(*manager, expected("a", 3, 1)), log);
  EXPECT_THAT(manager->all(), SizeIs(1));

  std::optional<Result<void>> removed;
  manager->remove(TopicPartition("a", 3), [&](Result<void> r) { removed = std::move(r); });
  site.world.run();
  ASSERT_TRUE(removed && *removed);
  EXPECT_EQ(manager->find(TopicPartition("a", 3)), nullptr);
  EXPECT_FALSE(log->is_online());
  EXPECT_EQ(to_kafka_error(*follow(*log, simple_batch(0)).error), ErrorCode::KAFKA_STORAGE_ERROR);
  EXPECT_FALSE(site.world.environment.files.exists(site.world.dir.at("a-3")));
  manager->start();
  site.world.clock.advance_ms(61'000);
  site.world.run();
  for (const auto& entry : *site.world.environment.files.list(site.world.dir.path())) {
    EXPECT_FALSE(entry.is_directory) << entry.name;
  }
  // The name is free again, for another topic id too.
  EXPECT_NE(site.create(*manager, expected("a", 3, 2)), nullptr);
}

TEST(LogManager, ConcurrentCreatesOfOneLogShareIt) {
  Site site;
  const auto manager = site.start({});
  std::vector<std::shared_ptr<PartitionLog>> made;
  for (int i = 0; i < 3; ++i) {
    manager->create(expected("a", 0, 1), [&](auto log) { made.push_back(*log); });
  }
  site.world.run();
  ASSERT_THAT(made, SizeIs(3));
  EXPECT_EQ(made[0], made[1]);
  EXPECT_EQ(made[0], made[2]);
}

TEST(LogManager, ACleanStopIsReadBackAsOne) {
  Site site;
  const std::vector<ExpectedLog> logs{expected("a", 0, 1), expected("b", 0, 2)};
  {
    const auto manager = site.start(logs);
    EXPECT_EQ(site.report.loaded, 2U);
    follow(*manager->find(TopicPartition("a", 0)), simple_batch(0, 7, 3));
    ASSERT_TRUE(manager->shut_down_clean());
    EXPECT_THAT(site.file(".kafka_cleanshutdown"), HasSubstr("version"));
    EXPECT_EQ(site.file("recovery-point-offset-checkpoint"), "0\n2\na 0 7\nb 0 0\n");
  }
  const auto manager = site.start(logs);
  const auto log = manager->find(TopicPartition("a", 0));
  EXPECT_EQ(log->log_end_offset(), Offset(7));
  EXPECT_EQ(log->recovery_point(), Offset(7));
  EXPECT_EQ(site.file(".kafka_cleanshutdown"), "");
  EXPECT_THAT(log->epoch_entries(), ElementsAre(EpochEntry(LeaderEpoch(3), Offset(0))));
}

TEST(LogManager, TheDirectoryIsLocked) {
  Site site;
  const auto manager = site.start({});
  LogManager second(site.world.environment, site.settings, site.metrics);
  EXPECT_FALSE(second.load({}));
}

TEST(LogManager, StraysAreMovedAsideAndReported) {
  Site site;
  {
    const auto manager = site.start({expected("a", 0, 1), expected("gone", 2, 2)});
    follow(*manager->find(TopicPartition("gone", 2)), simple_batch(0, 1));
    ASSERT_TRUE(manager->shut_down_clean());
  }
  // "a" comes back under another topic id, "gone" is unknown.
  const auto manager = site.start({expected("a", 0, 9)});
  EXPECT_THAT(site.report.strays, SizeIs(2));
  for (const auto& stray : site.report.strays) {
    EXPECT_TRUE(stray.ends_with("-stray"));
    EXPECT_TRUE(site.world.environment.files.exists(stray));
  }
  EXPECT_EQ(manager->find(TopicPartition("a", 0))->log_end_offset(), Offset(0));
  EXPECT_EQ(manager->find(TopicPartition("gone", 2)), nullptr);
  const auto again = site.report.strays.size();
  ASSERT_TRUE(manager->shut_down_clean());
  site.start({expected("a", 0, 9)});
  EXPECT_THAT(site.report.strays, IsEmpty());
  EXPECT_EQ(again, 2U);
}

TEST(LogManager, FlushesAreShared) {
  Site site;
  const auto manager = site.start({expected("a", 0, 1)});
  const auto log = manager->find(TopicPartition("a", 0));
  int done = 0;
  follow(*log, simple_batch(0, 1));
  for (int i = 0; i < 5; ++i) {
    manager->flush(log, [&](const Result<void>& result) {
      EXPECT_TRUE(result);
      EXPECT_GE(log->recovery_point(), Offset(1));
      ++done;
    });
  }
  EXPECT_EQ(done, 0);
  site.world.run();
  EXPECT_EQ(done, 5);
  // The first caller's, then one for the four that came meanwhile.
  EXPECT_EQ(site.metrics.counter("kmirror_log_flushes_total", "").value(), 2U);
}

TEST(LogManager, PeriodicWorkFlushesAndWritesCheckpoints) {
  Site site;
  const auto manager = site.start({expected("a", 0, 1)});
  const auto log = manager->find(TopicPartition("a", 0));
  manager->start();
  follow(*log, simple_batch(0, 4));
  ASSERT_TRUE(*log->advance_log_start_offset(Offset(2)));
  for (int i = 0; i < 2; ++i) {
    site.world.clock.advance_ms(5'000);
    site.world.run();
  }
  EXPECT_EQ(log->recovery_point(), Offset(4));
  EXPECT_EQ(site.file("recovery-point-offset-checkpoint"), "0\n1\na 0 4\n");
  EXPECT_EQ(site.file("replication-offset-checkpoint"), "0\n1\na 0 4\n");
  EXPECT_EQ(site.file("log-start-offset-checkpoint"), "0\n1\na 0 2\n");
}

TEST(LogManager, G65_CheckpointsAheadOfTheLog) {
  struct Case {
    const char* file;
    const char* text;
    std::int64_t start;
    std::int64_t end;
  };
  const Case cases[] = {
      {"recovery-point-offset-checkpoint", "0\n1\na 0 150\n", 0, 100},
      {"replication-offset-checkpoint", "0\n1\na 0 120\n", 0, 100},
      {"log-start-offset-checkpoint", "0\n1\na 0 500\n", 500, 500},
      {"recovery-point-offset-checkpoint", "", 0, 100},
      {"recovery-point-offset-checkpoint", "0\n1\na 0 -5\n", 0, 100},
      {"log-start-offset-checkpoint", "0\n2\na 0 7\n", 0, 100},
      {"replication-offset-checkpoint", "rubbish", 0, 100},
  };
  for (const auto& c : cases) {
    Site site;
    auto wanted = expected("a", 0, 1);
    {
      const auto manager = site.start({wanted});
      const auto log = manager->find(TopicPartition("a", 0));
      for (int i = 0; i < 100; i += 20) {
        EXPECT_TRUE(i != 60 || log->roll());
        follow(*log, simple_batch(i, 20, 2));
      }
    }
    site.put(c.file, c.text);
    const auto manager = site.start({wanted});
    const auto log = manager->find(TopicPartition("a", 0));
    ASSERT_NE(log, nullptr) << c.text;
    EXPECT_EQ(log->log_start_offset(), Offset(c.start)) << c.text;
    EXPECT_EQ(log->log_end_offset(), Offset(c.end)) << c.text;
    EXPECT_EQ(log->high_watermark(), Offset(c.end));
    EXPECT_LE(log->recovery_point(), Offset(c.end));
    if (c.start == 500) {
      EXPECT_THAT(log->epoch_entries(), IsEmpty());
      EXPECT_THAT(log->active_producers(), IsEmpty());
    }
    EXPECT_FALSE(follow(*log, simple_batch(c.end, 1, 2)).error);
    EXPECT_EQ(log->log_end_offset(), Offset(c.end + 1));
  }
}

TEST(LogManager, G65_TheNewestSegmentIsGone) {
  Site site;
  auto wanted = expected("a", 0, 1);
  {
    const auto manager = site.start({wanted});
    const auto log = manager->find(TopicPartition("a", 0));
    follow(*log, simple_batch(0, 60));
    ASSERT_TRUE(log->roll());
    follow(*log, simple_batch(60, 40));
  }
  ASSERT_TRUE(
      site.world.environment.files.remove(site.world.dir.at("a-0/00000000000000000060.log")));
  site.put("log-start-offset-checkpoint", "0\n1\na 0 80\n");
  const auto manager = site.start({wanted});
  const auto log = manager->find(TopicPartition("a", 0));
  EXPECT_EQ(log->log_start_offset(), Offset(80));
  EXPECT_EQ(log->log_end_offset(), Offset(80));
  EXPECT_THAT(read_all(*log, 80), IsEmpty());
  EXPECT_TRUE(
      site.world.environment.files.exists(site.world.dir.at("a-0/00000000000000000080.log")));
}

TEST(LogManager, SeveralDirectoriesShareTheLogs) {
  Site site;
  site.settings.log_dirs = {site.world.dir.at("x"), site.world.dir.at("y")};
  const auto manager = site.start({});
  for (int i = 0; i < 4; ++i) site.create(*manager, expected("a", i, 1));
  int in_x = 0;
  for (const auto& log : manager->all()) {
    in_x += log->directory().starts_with(site.settings.log_dirs[0]) ? 1 : 0;
  }
  EXPECT_EQ(in_x, 2);
}

}  // namespace
}  // namespace kmirror::storage
