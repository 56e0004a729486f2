// G22 (interleaved epochs), G57 (divergence) and the ends of the search.
#include "mirror/truncation.h"

#include <gtest/gtest.h>

namespace kmirror::mirror {
namespace {

using Entries = std::vector<std::pair<std::int32_t, std::int64_t>>;

std::vector<storage::EpochEntry> entries(const Entries& pairs) {
  std::vector<storage::EpochEntry> list;
  for (const auto& [epoch, offset] : pairs) list.emplace_back(LeaderEpoch{epoch}, Offset(offset));
  return list;
}

/// What a broker with these epochs answers (KIP-279).
storage::EpochAndEndOffset said_by(const Entries& source, std::int64_t end, LeaderEpoch asked) {
  storage::EpochAndEndOffset answer;
  for (std::size_t i = 0; i < source.size() && source[i].first <= asked.get(); ++i) {
    answer.epoch = LeaderEpoch{source[i].first};
    answer.end_offset = Offset(i + 1 < source.size() ? source[i + 1].second : end);
  }
  return answer;
}

struct Search {
  std::vector<std::int32_t> asked;
  Offset common_end;
};

Search run(const Entries& ours, std::int64_t our_end, const Entries& source,
           std::int64_t source_end) {
  Search result;
  DivergenceSearch search(entries(ours), Offset(our_end));
  while (search.question()) {
    const LeaderEpoch question = *search.question();
    result.asked.push_back(question.get());
    search.answer(said_by(source, source_end, question));
  }
  result.common_end = search.common_end();
  return result;
}

// G22, to the number.
TEST(DivergenceSearch, TwoStepsWhenEpochsInterleave) {
  const Search result = run({{0, 0}, {1, 5}, {3, 8}}, 10, {{0, 0}, {2, 4}, {5, 9}}, 12);
  EXPECT_EQ(result.asked, (std::vector<std::int32_t>{3, 1}));
  EXPECT_EQ(result.common_end, Offset(4));
}

TEST(DivergenceSearch, TheFirstStepOfG22) {
  DivergenceSearch search(entries({{0, 0}, {1, 5}, {3, 8}}), Offset(10));
  search.answer(storage::EpochAndEndOffset(LeaderEpoch{2}, Offset(9)));
  EXPECT_EQ(search.common_end(), Offset(8));
  EXPECT_EQ(search.question(), LeaderEpoch{1});
}

// G57: ours 0-49 of epoch 3; the source became {0@0, 3@20, 5@40}.
TEST(DivergenceSearch, CutsToTheEndOfTheCommonEpoch) {
  const Search result = run({{3, 0}}, 50, {{0, 0}, {3, 20}, {5, 40}}, 60);
  EXPECT_EQ(result.common_end, Offset(40));
}

TEST(DivergenceSearch, EqualLogsAreLeftAlone) {
  const Search result = run({{0, 0}, {4, 7}}, 10, {{0, 0}, {4, 7}}, 25);
  EXPECT_EQ(result.asked, std::vector<std::int32_t>{4});
  EXPECT_EQ(result.common_end, Offset(10));
}

TEST(DivergenceSearch, ASourceThatIsShorterCutsUsToItsEnd) {
  EXPECT_EQ(run({{0, 0}}, 100, {{0, 0}}, 5).common_end, Offset(5));
}

TEST(DivergenceSearch, ASourceWithoutEpochsProvesNothing) {
  const Search result = run({{0, 0}, {1, 5}}, 10, {}, 0);
  EXPECT_EQ(result.common_end, Offset(10));
  EXPECT_EQ(result.asked.size(), 1U);
}

TEST(DivergenceSearch, ALogWithoutEpochsHasNoQuestion) {
  EXPECT_FALSE(DivergenceSearch({}, Offset(10)).question().has_value());
}

TEST(DivergenceSearch, NothingInCommonCutsToWhereOursBegin) {
  EXPECT_EQ(run({{5, 3}, {7, 8}}, 20, {{0, 0}, {6, 2}}, 30).common_end, Offset(2));
}

TEST(DivergenceSearch, EndsWhateverTheSourceSays) {
  DivergenceSearch search(entries({{0, 0}, {1, 5}, {2, 6}, {3, 8}}), Offset(10));
  int questions = 0;
  while (search.question()) {
    ++questions;
    // A liar: an epoch above the one asked for.
    search.answer(storage::EpochAndEndOffset(LeaderEpoch{9}, Offset(1)));
  }
  EXPECT_LE(questions, 4);
  EXPECT_GE(search.common_end(), Offset(0));
}

}  // namespace
}  // namespace kmirror::mirror
